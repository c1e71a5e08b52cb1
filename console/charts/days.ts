import { DAY_MS, dateOf, midnight, type Tick } from './time.ts'

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

/** A day of the month, such as 3 Nov. */
export const dayOfMonth = (local: number): string => DAY.format(local)

/** Labels of an axis of days: mondays up to two months, else the months, or every second or third one. */
export function dayTicks(from: number, until: number, narrow: boolean): Tick[] {
  const days = (until - from) / DAY_MS
  // None at the very end, where it would not fit.
  const all = Array.from({ length: Math.floor(days * 0.97) }, (_, index) => from + index * DAY_MS)
  if (days <= 62) return all.filter((at) => new Date(at).getUTCDay() === 1).map((at) => ({ at, text: dayOfMonth(at) }))
  const every = Math.ceil(days / (narrow ? 190 : 400))
  const starts = all.filter((at) => dateOf(at).endsWith('-01'))
  return starts.filter((_, index) => index % every === 0).map((at) => ({ at, text: MONTH.format(at) }))
}
