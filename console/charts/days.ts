import { clock, DAY_MS, MINUTE_MS, midnight, type Tick } from './time.ts'

/** A value for each day of a range, null where there is none. */
export type Daily = readonly (number | null)[]

/** The number of days from a date to another. */
export const daysBetween = (first: string, last: string): number => (midnight(last) - midnight(first)) / DAY_MS

/** Mean and standard deviation of some days before a place; undefined if fewer than `least` have a value. */
function momentsOf(values: Daily, [from, until]: readonly [number, number], least: number) {
  const known = values.slice(Math.max(0, from), until).filter((value) => value !== null)
  if (known.length < least) return undefined
  const mean = known.reduce((sum, value) => sum + value, 0) / known.length
  const deviation = Math.sqrt(known.reduce((sum, value) => sum + (value - mean) ** 2, 0) / known.length)
  return { mean, deviation }
}

/** The mean of the seven days that end with each day, if three of them have a value. */
export const weekMeans = (values: Daily): Daily =>
  values.map((_, index) => momentsOf(values, [index - 6, index + 1], 3)?.mean ?? null)

/** The median of the seven days that end with each day, if three of them have a value. */
export function weekMedians(values: Daily): Daily {
  const end = values.findLastIndex((value) => value !== null)
  return values.map((_, index) => {
    const known = values.slice(Math.max(0, index - 6), index + 1).filter((value) => value !== null)
    const sorted = known.sort((a, b) => a - b)
    const middle = sorted.length / 2
    const [low, high] = [sorted[Math.ceil(middle) - 1] ?? 0, sorted[Math.floor(middle)] ?? 0]
    return known.length < 3 || index > end ? null : (low + high) / 2
  })
}

/** What was usual in the 28 days before each day: a deviation around their mean, if seven of them have a value. */
export function usualRanges(values: Daily): ([number, number] | null)[] {
  return values.map((_, index) => {
    const found = momentsOf(values, [index - 28, index], 7)
    return found ? [found.mean - found.deviation, found.mean + found.deviation] : null
  })
}

/** The mean of all values; undefined without any. */
export const meanOf = (values: Daily): number | undefined => momentsOf(values, [0, values.length], 1)?.mean

/** For each value the step from 0 to 5 that it has between the person's own percentiles 10, 30, 50, 70 and 90. */
export function stepsOf(values: Daily): (number | null)[] {
  const sorted = values.filter((value) => value !== null).sort((a, b) => a - b)
  const borders = [0.1, 0.3, 0.5, 0.7, 0.9].map((share) => sorted[Math.round(share * (sorted.length - 1))] ?? 0)
  return values.map((value) => (value === null ? null : borders.filter((border) => value > border).length))
}

const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
const MONTH = new Intl.DateTimeFormat('en-GB', { month: 'short', timeZone: 'UTC' })

/** The month, such as Nov. */
export const monthOf = (local: number): string => MONTH.format(local)

/** A day of the month, such as 3 Nov. */
export const dayOfMonth = (local: number): string => DAY.format(local)

/** Distances of labels. */
const STEPS_MS = [1, 5, 15, 30, 60, 180, 360, 720, 1440, 2880, 7 * 1440, 14 * 1440].map(
  (minutes) => minutes * MINUTE_MS,
)

/** A Monday, from which weeks are counted. */
const MONDAY_MS = 4 * DAY_MS

/** Labels of an axis, at most `most` of them: times, days, Mondays, or months. */
export function timeTicks(from: number, until: number, most: number): Tick[] {
  const step = STEPS_MS.find((ms) => (until - from) / ms <= most)
  const start = step && step > 2 * DAY_MS ? MONDAY_MS : 0
  // None at the very end, where it would not fit.
  const end = until - (until - from) * 0.03
  const ticks: Tick[] = []
  if (step) {
    for (let at = start + Math.ceil((from - start) / step) * step; at < end; at += step) {
      ticks.push({ at, text: at % DAY_MS === 0 ? dayOfMonth(at) : clock(at) })
    }
    return ticks
  }
  const months = Math.ceil((until - from) / (30.5 * DAY_MS) / most)
  const first = new Date(from)
  for (let n = first.getUTCDate() === 1 ? 0 : 1; ; n += months) {
    const at = Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + n, 1)
    if (at >= end) return ticks
    ticks.push({ at, text: monthOf(at) })
  }
}
