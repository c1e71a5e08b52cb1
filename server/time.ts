// Instants and zone offsets in their wire form; pure functions for the API and for worker threads.

const DATETIME =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*(Z|z|[+-]\d{2}(?::?\d{2})?)?$/
const ZONE = /^([+-])(\d{2})(?::?(\d{2}))?$/

/** Largest civil zone offset accepted, in minutes (18 hours, as java.time has it). */
const MAX_ZONE_MIN = 18 * 60

/** Whether a calendar date exists: month 1 to 12, day within the month. */
export function dateExists(year: number, month: number, day: number): boolean {
  return month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()
}

/**
 * Parses an ISO 8601 date-time to epoch milliseconds; without a zone it is UTC (contract 1.3). Undefined for anything
 * else, including a date alone, impossible dates, 24:00 and offsets beyond 18 hours.
 */
export function parseInstant(text: string): number | undefined {
  const match = DATETIME.exec(text)
  if (!match) return undefined
  const part = (index: number) => Number(match[index] ?? 0)
  const [year, month, day, hour, minute, second] = [part(1), part(2), part(3), part(4), part(5), part(6)]
  if (!dateExists(year, month, day) || hour > 23 || minute > 59 || second > 59) return undefined
  const zone = match[8] ? parseZoneOffset(match[8]) : 0
  if (zone === undefined) return undefined
  const ms = match[7] ? Math.round(Number(`0.${match[7]}`) * 1000) : 0
  return new Date(0).setUTCFullYear(year, month - 1, day) + ((hour * 60 + minute - zone) * 60 + second) * 1000 + ms
}

/** Minutes east of UTC of `Z`, `+02:00`, `+0200` or `+02`; undefined for anything else and beyond 18 hours. */
export function parseZoneOffset(text: string): number | undefined {
  if (text === 'Z' || text === 'z') return 0
  const match = ZONE.exec(text)
  if (!match) return undefined
  const [hour, minute] = [Number(match[2]), Number(match[3] ?? 0)]
  const minutes = hour * 60 + minute
  if (minute > 59 || minutes > MAX_ZONE_MIN) return undefined
  return match[1] === '-' ? -minutes : minutes
}

/** Milliseconds of a day of 24 hours. */
export const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const MINUTES_OF_DAY = 1440
const TWO_DIGITS = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'))
let cachedMinute = Number.NaN
let cachedStart = ''

/**
 * Writes epoch milliseconds in the form of contract 1.2: UTC with Z, six fractional digits only when not zero. Pages
 * are full of neighbouring instants, so what those of a minute have in common is cached.
 */
export function isoInstant(ms: number): string {
  const minute = Math.floor(ms / MINUTE_MS)
  if (minute !== cachedMinute) {
    cachedStart = startOfMinute(minute)
    cachedMinute = minute
  }
  const inMinute = ms - minute * MINUTE_MS
  const second = Math.floor(inMinute / 1000)
  const fraction = inMinute - second * 1000
  const seconds = cachedStart + TWO_DIGITS[second]
  return fraction === 0 ? `${seconds}Z` : `${seconds}.${String(fraction).padStart(3, '0')}000Z`
}

let cachedDay = Number.NaN
let cachedDate = ''

/** `2026-02-24T08:30:` of the minute that begins so many minutes after 1970. */
function startOfMinute(minute: number): string {
  const day = Math.floor(minute / MINUTES_OF_DAY)
  if (day !== cachedDay) {
    cachedDate = new Date(day * DAY_MS).toISOString().slice(0, -13)
    cachedDay = day
  }
  const inDay = minute - day * MINUTES_OF_DAY
  return `${cachedDate}${TWO_DIGITS[Math.floor(inDay / 60)]}:${TWO_DIGITS[inDay % 60]}:`
}

/** Writes minutes east of UTC, at most 18 hours, as `+HH:MM` (contract 1.2). */
export function zoneText(minutes: number): string {
  const size = Math.abs(minutes)
  return `${minutes < 0 ? '-' : '+'}${TWO_DIGITS[Math.trunc(size / 60)]}:${TWO_DIGITS[size % 60]}`
}
