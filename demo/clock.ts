import { DAY_MS, dateOf } from '../simulator/zones.ts'

export const SECOND_MS = 1_000
export const QUARTER_MS = 900_000

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
