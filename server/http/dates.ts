import { errors } from '../errors.ts'
import { DAY_MS, parseInstant } from '../time.ts'

// Year 0001 to 9999: the range of both ISO text and PostgreSQL.
const MIN_MS = -62_135_596_800_000
const MAX_MS = 253_402_300_799_999

/** The meaning of a date-only end at an endpoint (contract 1.3): the start of that day, or all of it. */
export type DateOnlyEnd = 'start of day' | 'whole day'

/**
 * Parses a date input of contract 1.3 to epoch milliseconds. Unix seconds, ISO 8601 with or without zone (UTC), or a
 * date; repairs a space that was a `+`.
 * @throws AppError bad_datetime (400)
 */
export function parseDateInput(text: string, dateOnly: DateOnlyEnd = 'start of day'): number {
  const value = text.trim()
  const ms =
    unixSeconds(value) ?? calendarDay(value, dateOnly) ?? parseInstant(value) ?? parseInstant(plusRestored(value))
  if (ms === undefined || ms < MIN_MS || ms > MAX_MS) throw errors.badDatetime(text)
  return ms
}

function unixSeconds(value: string): number | undefined {
  return /^[+-]?\d+(\.\d+)?$/.test(value) ? Math.round(Number(value) * 1000) : undefined
}

function calendarDay(value: string, dateOnly: DateOnlyEnd): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(value)) return undefined
  const midnight = parseInstant(`${value}T00:00:00Z`)
  if (midnight === undefined || dateOnly === 'start of day') return midnight
  return Math.min(midnight + DAY_MS, MAX_MS)
}

// A literal + in a query string decodes to a space: "…T00:00:00 02:00" was "+02:00".
const plusRestored = (value: string) => value.replace(/ (?=\d{2}:\d{2}$)/, '+')
