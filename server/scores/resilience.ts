import { groupBy } from '../batch/group-by.ts'

/** How steady the heart rate variability in sleep was. */
export interface Resilience {
  /** Standard deviation of the daily means divided by their mean, a fraction. */
  variation: number
  /** Days with a measurement. */
  days: number
  /** From 0 to 100, steadiest best. */
  score: number
}

/** The days before a date that count, and how many of them must have measurements (contract 14.3). */
export const RESILIENCE_DAYS = 7
const DAYS_NEEDED = 5

/** Variation in percent that scores 100, and 0. */
const STEADY = 7
const UNSTEADY = 40

/**
 * The resilience (contract 14.3) from the daily means of heart_rate_variability_rmssd in sleep, ms. Null with fewer
 * than five days. The variation is rounded to six decimals, which do not depend on the order of addition.
 */
export function resilience(means: readonly number[]): Resilience | null {
  if (means.length < DAYS_NEEDED) return null
  const mean = means.reduce((sum, value) => sum + value, 0) / means.length
  if (!(mean > 0)) return null
  const squares = means.reduce((sum, value) => sum + (value - mean) ** 2, 0)
  const variation = Math.round((Math.sqrt(squares / (means.length - 1)) / mean) * 1e6) / 1e6
  const percent = Math.min(UNSTEADY, Math.max(STEADY, variation * 100))
  return { variation, days: means.length, score: Math.round((100 * (UNSTEADY - percent)) / (UNSTEADY - STEADY)) }
}

/** A night and the measurements during it, those of its own source at its very end included; epoch seconds. */
export interface MeasuredNight {
  startS: number
  endS: number
  stages: readonly (readonly [stage: string, startS: number, endS: number])[] | null
  samples: readonly Reading[]
}

/** A measurement of one of several series, which `rank` orders for the night, the best first, and `place` where it is equal. */
interface Reading {
  series: string
  rank: number
  place: number
  at: number
  value: number
}

const ASLEEP = new Set(['sleeping', 'light', 'deep', 'rem'])
const DAY_S = 86_400

/**
 * The mean of the measurements asleep on each UTC day (days since 1970): in the intervals of sleep, or in the whole
 * night if it has no intervals. Of each night the best series that has any counts, of equal ones that with most of them
 * (decision D-27). A measurement in two nights counts once.
 */
export function meansAsleep(nights: readonly MeasuredNight[]): Map<number, number> {
  const counted = new Map<string, Reading>()
  for (const { stages, samples } of nights) {
    const spans = stages?.filter(([stage]) => ASLEEP.has(stage)) ?? []
    const isAsleep = ({ at }: Reading) => spans.some(([, fromS, untilS]) => at >= fromS && at < untilS)
    const asleep = stages?.length ? samples.filter(isAsleep) : samples
    for (const sample of ofBestSeries(asleep)) counted.set(`${sample.series} ${sample.at}`, sample)
  }
  const days = new Map<number, { n: number; total: number }>()
  for (const { at, value } of counted.values()) {
    const day = Math.floor(at / DAY_S)
    const { n, total } = days.get(day) ?? { n: 0, total: 0 }
    days.set(day, { n: n + 1, total: total + value })
  }
  return new Map([...days].map(([day, { n, total }]) => [day, total / n]))
}

function ofBestSeries(samples: readonly Reading[]): readonly Reading[] {
  const [best = []] = [...groupBy(samples, ({ series }) => series).values()].sort((one, other) => {
    const [a, b] = [one[0] as Reading, other[0] as Reading]
    return a.rank - b.rank || other.length - one.length || a.place - b.place
  })
  return best
}
