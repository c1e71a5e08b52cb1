import { DAY_MS, parseInstant, parseZoneOffset } from '../../time.ts'
import { listAt, textAt, valueAt } from '../answers.ts'
import type { Json } from '../part.ts'
import type { Answer } from '../provider.ts'

// Much of what Polar measures has a date and times of day, and no zone: the nights show where the person was.

/** Start and end in epoch milliseconds, and minutes east of UTC or null, of nights by their dates. */
export type Nights = Readonly<Record<string, readonly [startMs: number, endMs: number, zoneMin: number | null]>>

/** What a request was for, and what nights were known then; goes with its answer to the mapping. */
export interface NightArgs {
  /** The nights themselves, before what needs them. */
  readonly of: 'nights' | 'data'
  readonly nights: Nights
}

/** More than the 28 days that Polar lists. */
const MAX_NIGHTS = 62

const DATE = /^\d{4}-\d\d-\d\d$/
const ZONE = /(?:Z|[+-]\d\d:?\d\d)$/

/** The nights of an answer: a list, or one. */
export function nightsOf({ json }: Pick<Answer, 'json'>): Nights {
  const listed = valueAt(json, 'nights') === undefined ? [json] : listAt(json, 'nights')
  const nights = listed.slice(0, MAX_NIGHTS).flatMap((night) => {
    const date = textAt(night, 'date') ?? ''
    const startText = textAt(night, 'sleep_start_time') ?? textAt(night, 'sleep-start-time') ?? ''
    const startMs = parseInstant(startText)
    const endMs = parseInstant(textAt(night, 'sleep_end_time') ?? textAt(night, 'sleep-end-time') ?? '')
    if (!DATE.test(date) || startMs === undefined || endMs === undefined) return []
    return [[date, [startMs, endMs, parseZoneOffset(ZONE.exec(startText)?.[0] ?? '') ?? null]] as const]
  })
  return Object.fromEntries(nights)
}

/** The nights that went with a request. */
export function nightsIn(args: Json): Nights {
  return (valueAt(args, 'nights') ?? {}) as Nights
}

/** The night of a date. */
export const nightOf = (nights: Nights, date: string) => (Object.hasOwn(nights, date) ? nights[date] : undefined)

/**
 * Minutes east of UTC on a date: where the person woke that day, else where they woke on the day next to it that is
 * known, the earlier one of two; else `otherwise`.
 */
export function zoneOn(date: string, nights: Nights, otherwise: number | null): number | null {
  const dayMs = Date.parse(date)
  let best: { far: number; zoneMin: number } | undefined
  for (const [other, [, , zoneMin]] of Object.entries(nights)) {
    if (zoneMin === null) continue
    const days = (Date.parse(other) - dayMs) / DAY_MS
    // Half a day further: of two at the same distance the earlier one.
    const far = days > 0 ? days + 0.5 : -days
    if (far >= 0 && (!best || far < best.far)) best = { far, zoneMin }
  }
  return best?.zoneMin ?? otherwise
}

/** The instant of a time of day, `HH:MM` or `HH:MM:SS`, in a night, epoch milliseconds; undefined for anything else. */
export function inNight(time: string, [startMs, endMs, zoneMin]: Nights[string]): number | undefined {
  const dayMs = timeOfDayMs(time)
  if (dayMs === undefined) return undefined
  const localMs = startMs + (zoneMin ?? 0) * 60_000
  // What is earlier than the minute in which the night began is of the next day.
  const minuteMs = Math.floor(localMs / 60_000) * 60_000
  const sameDayMs = Math.floor(localMs / DAY_MS) * DAY_MS + dayMs
  const ms = (sameDayMs < minuteMs ? sameDayMs + DAY_MS : sameDayMs) - (zoneMin ?? 0) * 60_000
  return Math.min(Math.max(ms, startMs), endMs)
}

/** Milliseconds since midnight of `HH:MM` or `HH:MM:SS`. */
export function timeOfDayMs(text: string): number | undefined {
  const [, hours, minutes, seconds = '0'] = /^([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d(?:\.\d{1,6})?))?$/.exec(text) ?? []
  if (hours === undefined || minutes === undefined) return undefined
  return (Number(hours) * 60 + Number(minutes)) * 60_000 + Math.round(Number(seconds) * 1000)
}
