import { parseInstant, parseZoneOffset } from '../server/time.ts'

const HOUR_MS = 3_600_000

let cachedDay = ''
let cachedDayMs = 0

/** Every SDK writes `2025-05-06T06:10:04Z`: parsed digit by digit, with the day from a one-entry cache. */
export function instant(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined
  if (value.length !== 20 || value[19] !== 'Z' || value[10] !== 'T' || value[13] !== ':' || value[16] !== ':') {
    return parseInstant(value)
  }
  const day = value.slice(0, 10)
  if (day !== cachedDay) {
    const dayMs = parseInstant(`${day}T00:00:00Z`)
    if (dayMs === undefined) return undefined
    cachedDay = day
    cachedDayMs = dayMs
  }
  const hour = twoDigits(value, 11)
  const minute = twoDigits(value, 14)
  const second = twoDigits(value, 17)
  if (!(hour < 24 && minute < 60 && second < 60)) return undefined
  return cachedDayMs + hour * HOUR_MS + minute * 60_000 + second * 1000
}

function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 48
  const ones = text.charCodeAt(at + 1) - 48
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : Number.NaN
}

/** Of a time of day. */
const OFFSET_AT_END = /[+-]\d{2}(?::?\d{2})?$/

/** Minutes east of UTC that a date-time says; null if it says none, or UTC, as libraries write whatever the local time is. */
export function ownOffset(time: unknown): number | null {
  const [offset] = (typeof time === 'string' && OFFSET_AT_END.exec(time.slice('2026-02-24T'.length))) || []
  return (offset && parseZoneOffset(offset)) || null
}
