/** A sleep session with the facts that its score needs; seconds, epoch seconds for instants, null = not reported. */
export interface ScoredSleep {
  startS: number
  /** Minutes east of UTC; null = UTC. */
  zoneMin: number | null
  asleepS: number | null
  deepS: number | null
  remS: number | null
  awakeS: number | null
  /** Ascending, none overlapping. */
  stages: readonly (readonly [stage: string, startS: number, endS: number])[] | null
}

/** Whole numbers from 0 to 100. */
export interface SleepScore {
  value: number
  duration: number
  stages: number
  consistency: number
  interruptions: number
}

const HOUR_S = 3600
const DAY_S = 24 * HOUR_S

/** Start of a session by the local clock, in seconds past noon: bedtimes before and after midnight are close. */
export function bedtimeS({ startS, zoneMin }: Pick<ScoredSleep, 'startS' | 'zoneMin'>): number {
  const pastNoon = (startS + (zoneMin ?? 0) * 60 - DAY_S / 2) % DAY_S
  return pastNoon < 0 ? pastNoon + DAY_S : pastNoon
}

/**
 * The sleep score of a session (contract 14.2); `earlier` are the bedtimes of the nights before, as `bedtimeS`. Null when
 * the time asleep is unknown, none, or more than a day.
 */
export function sleepScore(sleep: ScoredSleep, earlier: readonly number[]): SleepScore | null {
  if (sleep.asleepS === null || sleep.asleepS <= 0 || sleep.asleepS > DAY_S) return null
  const duration = durationScore(sleep.asleepS / HOUR_S)
  const stages = Math.floor((stageScore(sleep.deepS) + stageScore(sleep.remS)) / 2)
  const consistency = consistencyScore(bedtimeS(sleep), earlier)
  const interruptions = interruptionsScore(sleep)
  // 0.4 and three times 0.2, in whole numbers.
  const value = Math.floor((2 * duration + stages + consistency + interruptions) / 5)
  return { value, duration, stages, consistency, interruptions }
}

/** Seven to nine hours are best; less counts more than longer. */
function durationScore(hours: number): number {
  if (hours < 7) return Math.floor(fallOff(hours, -1.5, 5, 7))
  if (hours > 9) return Math.max(50, Math.floor(fallOff(hours, 0.8, 11, 9)))
  return 100
}

/** A logistic curve around `middle`, scaled to be 100 at `best`. */
const fallOff = (hours: number, slope: number, middle: number, best: number) =>
  (100 * (1 + Math.exp(slope * (best - middle)))) / (1 + Math.exp(slope * (hours - middle)))

/** Ninety minutes of deep sleep, and of REM sleep, are enough; unknown counts as none. */
const stageScore = (seconds: number | null) => Math.min(100, Math.floor(((seconds ?? 0) * 100) / (90 * 60)))

const GRACE_S = 15 * 60
const LATE_S = 105 * 60

/** Later than usual costs more than earlier. */
function consistencyScore(bedtime: number, earlier: readonly number[]): number {
  if (earlier.length === 0) return 0
  const deviation = bedtime - median(earlier)
  const lost = ((Math.abs(deviation) - GRACE_S) * 100) / LATE_S
  if (lost <= 0) return 100
  return Math.max(0, Math.floor(100 - (deviation > 0 ? lost : Math.min(20, lost))))
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] as number
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] as number) + upper) / 2
}

const AWAKE_FREE_S = 20 * 60
const AWAKE_S = 70 * 60
/** Being awake for longer counts as an awakening. */
const AWAKENING_S = 5 * 60
/** Points by the number of awakenings; more score none. */
const AWAKENING_POINTS = [20, 20, 15, 10] as const

/** 80 points for the time awake, 20 for the number of awakenings; lying awake before and after sleep is neither. */
function interruptionsScore({ stages, awakeS }: ScoredSleep): number {
  const awake = stages?.length ? awakenings(stages) : null
  const totalS = awake ? awake.reduce((sum, seconds) => sum + seconds, 0) : (awakeS ?? 0)
  const count = awake?.filter((seconds) => seconds > AWAKENING_S).length ?? 0
  const excessS = Math.min(AWAKE_S, Math.max(0, totalS - AWAKE_FREE_S))
  return Math.floor((80 * (AWAKE_S - excessS)) / AWAKE_S + (AWAKENING_POINTS[count] ?? 0))
}

/** Seconds of each time awake between the first and the last interval asleep. */
function awakenings(stages: NonNullable<ScoredSleep['stages']>): number[] {
  const isAwake = ([stage]: (typeof stages)[number]) => stage === 'awake'
  const first = stages.findIndex((stage) => !isAwake(stage))
  const last = stages.findLastIndex((stage) => !isAwake(stage))
  return stages
    .slice(first < 0 ? stages.length : first, last)
    .filter(isAwake)
    .map(([, startS, endS]) => endS - startS)
}
