import { kept } from './kept.ts'

export const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000
export const DAY_MS = 86_400_000

/** What a zone does in eight days of UTC: its offset before and after `changeMs`; clocks never change twice in them. */
interface ZoneSpan {
  before: number
  changeMs: number
  after: number
}

const formats = new Map<string, Intl.DateTimeFormat>()
const zones = new Map<string, Map<number, ZoneSpan>>()
const SPAN_MS = 8 * DAY_MS

/** Offset of a zone from UTC at an instant, in minutes (east is positive). */
export function offsetAt(zone: string, ms: number): number {
  const spans = kept(zones, zone, () => new Map<number, ZoneSpan>())
  const number = Math.floor(ms / SPAN_MS)
  const span = kept(spans, number, () => spanOf(zone, number))
  return ms < span.changeMs ? span.before : span.after
}

function spanOf(zone: string, number: number): ZoneSpan {
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
  const format = kept(formats, zone, () => {
    const parts = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const
    return new Intl.DateTimeFormat('en-US', { timeZone: zone, hourCycle: 'h23', ...parts })
  })
  const found: Record<string, number> = {}
  for (const { type, value } of format.formatToParts(ms)) found[type] = Number(value)
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0 } = found
  return Math.round((Date.UTC(year, month - 1, day, hour, minute) - ms) / MINUTE_MS)
}

/** Days from 1970-01-01 to the local date of an instant. */
export function localDay(zone: string, ms: number): number {
  return Math.floor((ms + offsetAt(zone, ms) * MINUTE_MS) / DAY_MS)
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

/** Days since 1970-01-01 of YYYY-MM-DD; NaN for anything else, such as February 30. */
export function dayOf(date: string): number {
  const day = /^\d{4}-\d\d-\d\d$/.test(date) ? Date.parse(`${date}T00:00:00Z`) / DAY_MS : Number.NaN
  return Number.isInteger(day) && dateOf(day) === date ? day : Number.NaN
}

/** `+05:45` of 345. */
export function offsetText(minutes: number): string {
  const size = Math.abs(minutes)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`
}

/** An instant as local time with offset: `2026-03-07T07:04:12+01:00`. */
export function isoAt(ms: number, offsetMinutes: number, fraction = ''): string {
  return `${new Date(ms + offsetMinutes * MINUTE_MS).toISOString().slice(0, 19)}${fraction}${offsetText(offsetMinutes)}`
}
