export const SECOND_MS = 1_000
export const MINUTE_MS = 60_000
export const QUARTER_MS = 900_000
export const HOUR_MS = 3_600_000
export const DAY_MS = 86_400_000

/** What a zone does in eight days of UTC: its offset before and after `changeMs`; clocks never change twice in them. */
interface Span {
  before: number
  changeMs: number
  after: number
}

const SPAN_MS = 8 * DAY_MS
const formats = new Map<string, Intl.DateTimeFormat>()
const spans = new Map<string, Map<number, Span>>()

/** Offset of a zone from UTC at an instant, in minutes (east is positive). */
export function offsetAt(zone: string, ms: number): number {
  const ofZone = spans.get(zone) ?? new Map<number, Span>()
  spans.set(zone, ofZone)
  const number = Math.floor(ms / SPAN_MS)
  const span = ofZone.get(number) ?? spanOf(zone, number)
  ofZone.set(number, span)
  return ms < span.changeMs ? span.before : span.after
}

function spanOf(zone: string, number: number): Span {
  let low = number * SPAN_MS
  let high = low + SPAN_MS
  const before = askOffset(zone, low)
  const after = askOffset(zone, high)
  if (before === after) return { before, changeMs: high, after }
  while (high - low > MINUTE_MS) {
    const middle = low + Math.floor((high - low) / 2 / MINUTE_MS) * MINUTE_MS
    if (askOffset(zone, middle) === before) low = middle
    else high = middle
  }
  return { before, changeMs: high, after }
}

function askOffset(zone: string, ms: number): number {
  const parts = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const
  const format = formats.get(zone) ?? new Intl.DateTimeFormat('en-US', { timeZone: zone, hourCycle: 'h23', ...parts })
  formats.set(zone, format)
  const found: Record<string, number> = {}
  for (const { type, value } of format.formatToParts(ms)) found[type] = Number(value)
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0 } = found
  return Math.round((Date.UTC(year, month - 1, day, hour, minute) - ms) / MINUTE_MS)
}

/** The instant of a local date and minute of the day; one that a clock change leaves out is read as if it did not. */
export function localMs(zone: string, day: number, minute: number): number {
  const wall = day * DAY_MS + minute * MINUTE_MS
  const guess = wall - offsetAt(zone, wall) * MINUTE_MS
  return wall - offsetAt(zone, guess) * MINUTE_MS
}

/** YYYY-MM-DD of days since 1970-01-01. */
export function dateOf(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10)
}

/** Days since 1970-01-01 of a date; months count from 1. */
export function dayOf(year: number, month: number, date: number): number {
  return Date.UTC(year, month - 1, date) / DAY_MS
}

/** The year of a date. */
export function yearOf(day: number): number {
  return new Date(day * DAY_MS).getUTCFullYear()
}

/** 0 is Sunday. */
export function weekday(day: number): number {
  return (((day + 4) % 7) + 7) % 7
}

/** `+05:45` of 345. */
export function offsetText(minutes: number): string {
  const size = Math.abs(minutes)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`
}

const TWO = Array.from({ length: 60 }, (_, value) => String(value).padStart(2, '0'))
const dates = { day: Number.NaN, text: '' }

/** Whole seconds of UTC, as SDKs send instants. */
export function utcText(ms: number): string {
  const day = Math.floor(ms / DAY_MS)
  // A million instants are written for a year, most of them of the date of the one before.
  if (day !== dates.day) Object.assign(dates, { day, text: dateOf(day) })
  const seconds = Math.floor((ms - day * DAY_MS) / SECOND_MS)
  const [hour, minute] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  return `${dates.text}T${TWO[hour]}:${TWO[minute]}:${TWO[seconds % 60]}Z`
}
