import { dateExists } from '../../time.ts'
import type { At, Item } from '../part.ts'

/** No clock is further from UTC: 18 hours. */
const MAX_ZONE_MIN = 1_080

/** Seconds of a duration such as `7200s` or `1.5s`; undefined for anything else. */
export function durationSeconds(text: string | undefined): number | undefined {
  const [, digits] = /^(-?\d{1,9}(?:\.\d{1,9})?)s$/.exec(text ?? '') ?? []
  return digits === undefined ? undefined : Number(digits)
}

/** Minutes east of UTC of an offset that is written as a duration; null: not known. */
export function offsetMinutes(text: string | undefined): number | null {
  const seconds = durationSeconds(text)
  if (seconds === undefined) return null
  const minutes = Math.trunc(seconds / 60)
  return Math.abs(minutes) <= MAX_ZONE_MIN ? minutes : null
}

/** The start of an interval, with the offset there; rejected where it is missing. */
export function startOf(value: Item): At | undefined {
  return instantAt(value, ['interval', 'startTime'], value.text('interval', 'startUtcOffset'))
}

/** The time of an interval: its start, with the offset there, and its end; rejected where the start is missing. */
export function intervalOf(value: Item): At | undefined {
  const start = startOf(value)
  return start && { ...start, endMs: value.instant('interval', 'endTime')?.ms }
}

/** When a sample was taken; rejected where that is missing. */
export function sampleTime(value: Item): At | undefined {
  return instantAt(value, ['sampleTime', 'physicalTime'], value.text('sampleTime', 'utcOffset'))
}

function instantAt(value: Item, path: readonly string[], offset: string | undefined): At | undefined {
  const at = value.instant(...path)
  if (at) return { ms: at.ms, zoneMin: offsetMinutes(offset) }
  value.reject('missing', ...path)
  return undefined
}

/** A date of three numbers; rejected where it is missing or none. */
export function dateAt(item: Item, ...path: readonly string[]): At | undefined {
  const [year, month, day] = ['year', 'month', 'day'].map((name) => item.numeric(...path, name))
  if (year === undefined || month === undefined || day === undefined) {
    item.reject('missing', ...path)
    return undefined
  }
  if (dateExists(year, month, day)) return { ms: Date.UTC(year, month - 1, day), zoneMin: null, isDate: true }
  item.reject('implausible_value', ...path)
  return undefined
}
