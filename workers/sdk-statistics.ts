import type { WorkoutMeasures } from '../server/batch/columns.ts'
import { convertUnit } from '../server/batch/units.ts'
import { type SeriesName, type SeriesType, seriesByName } from '../server/catalogue/series.ts'
import { recordRule } from '../server/providers/sdk.ts'
import type { Decode } from './json-bytes.ts'
import { isObject, type Json, type Problem, WRONG_UNIT } from './sdk-fields.ts'

/** Far above anything a person does in one workout, and within the integer columns. */
const MAX_VALUE = 1e9

/** Longest workout; a longer one was never ended, or has a wrong date. */
export const MAX_WORKOUT_DAYS = 7
const MAX_SECONDS = MAX_WORKOUT_DAYS * 86_400

const NO_DURATION = ['implausible_duration', `Input should be a time of at most ${MAX_WORKOUT_DAYS} days`] as const
const NO_MEASURE = ['implausible_value', 'Input should be a number that fits the statistic'] as const

/** Values from the statistics of a workout; null = not reported. */
export interface Statistics {
  measures: WorkoutMeasures
  durationSeconds: number | null
  /** Samples at the end of the workout, in the unit of their series. */
  samples: [series: SeriesType, value: number][]
  indoor: boolean
  water: 'pool' | 'open' | null
  leftOut: LeftOutStatistic[]
  /** Series whose plausible range statistics exceed, which are left out; once for each statistic. */
  implausible: SeriesType[]
}

/** A statistic that cannot be stored: its place in the list, what is wrong, and the series that it is a sample of. */
interface LeftOutStatistic {
  at: number
  part: Json
  problem: Problem
  series: SeriesType | undefined
}

/** Undefined when the unit is unknown or of another dimension. */
type Convert = (value: number, unit: string | null) => number | undefined

// Column, its unit, and the statistics it may come from, the best first: if several were sent, one counts, never their
// sum (sdk-types 8.2). Basal energy is in none: it would make the energy of a walk that of lying down as well.
const measured: readonly (readonly [measure: keyof WorkoutMeasures, unit: string, ...names: string[]])[] = [
  ['caloriesKcal', 'kcal', 'activeEnergyBurned', 'calories', 'totalCalories', 'totalEnergyBurned'],
  ['distanceMeters', 'meters', 'distance', 'totalDistance'],
  ['steps', 'count', 'stepCount', 'totalSteps'],
  ['heartRateMin', 'bpm', 'minHeartRate'],
  ['heartRateAvg', 'bpm', 'averageHeartRate', 'meanHeartRate'],
  ['heartRateMax', 'bpm', 'maxHeartRate'],
  ['averageSpeed', 'm_per_s', 'averageSpeed', 'meanSpeed', 'averageRunningSpeed', 'averageCyclingSpeed'],
  ['maxSpeed', 'm_per_s', 'maxSpeed'],
  ['averageCadence', 'rpm', 'meanCadence', 'averageCyclingCadence'],
  ['averageWatts', 'watts', 'averageRunningPower', 'averageCyclingPower', 'meanPower'],
  ['maxWatts', 'watts', 'maxPower'],
  ['elevationGainMeters', 'meters', 'elevationAscended', 'altitudeGain'],
  ['elevationHighMeters', 'meters', 'maxAltitude'],
  ['elevationLowMeters', 'meters', 'minAltitude'],
]

/** The plausible range of a measure is that of its series; only an altitude may be below zero. */
const sameRange: Partial<Record<string, SeriesName>> = {
  caloriesKcal: 'energy',
  distanceMeters: 'distance_walking_running',
  steps: 'steps',
  heartRateMin: 'heart_rate',
  heartRateAvg: 'heart_rate',
  heartRateMax: 'heart_rate',
  averageSpeed: 'speed',
  maxSpeed: 'speed',
  averageCadence: 'cadence',
  averageWatts: 'power',
  maxWatts: 'power',
  elevationGainMeters: 'elevation',
  elevationHighMeters: 'elevation',
  elevationLowMeters: 'elevation',
} satisfies Partial<Record<keyof WorkoutMeasures, SeriesName>>

// Series, wire unit, statistics as above, factor if the unit text misleads: humidity is a fraction of 1.
type Sampled = readonly [series: SeriesName, wireUnit: string, names: readonly string[], factor?: number]
const sampled: readonly Sampled[] = [
  ['running_stride_length', 'm', ['averageRunningStrideLength']],
  ['running_vertical_oscillation', 'cm', ['averageVerticalOscillation']],
  ['running_ground_contact_time', 'ms', ['averageGroundContactTime']],
  ['average_met', 'kcal/kg/hr', ['averageMETs']],
  ['swimming_stroke_count', 'count', ['swimmingStrokeCount']],
  ['cadence', 'rpm', ['meanCadence', 'averageCyclingCadence']],
  ['vo2_max', 'mL/kg/min', ['vo2Max']],
  ['weather_temperature', 'degC', ['weatherTemperature']],
  ['weather_humidity', '%', ['weatherHumidity'], 100],
]

/** In seconds. The raw fields of Android records have an empty unit and are milliseconds (sdk-types 8.2). */
const toSeconds =
  (wireUnit: string): Convert =>
  (value, unit) =>
    convertUnit(value, unit === '' ? 'ms' : (unit ?? wireUnit), 's')

/** The target of a statistic; of those with the same target the lowest rank counts. */
interface Rule {
  target: string
  rank: number
  convert: Convert
}

const rules = new Map<string, Rule[]>()
function addRule(name: string, rule: Rule): void {
  const key = folded(name)
  rules.set(key, [...(rules.get(key) ?? []), rule])
}
for (const [measure, unit, ...names] of measured) {
  const convert: Convert = (value, from) => convertUnit(value, from, unit)
  for (const [rank, name] of names.entries()) addRule(name, { target: measure, rank, convert })
}
const seriesOf = new Map<string, SeriesType>()
for (const [name, wireUnit, names, factor] of sampled) {
  const { series, convert } = recordRule(name, wireUnit, factor)
  seriesOf.set(name, series)
  for (const [rank, statistic] of names.entries()) addRule(statistic, { target: name, rank, convert })
}
addRule('duration', { target: 'durationSeconds', rank: 0, convert: toSeconds('s') })
addRule('totalDuration', { target: 'durationSeconds', rank: 1, convert: toSeconds('ms') })

/** Names are compared without case and underscores: raw fields of Android records are written TOTAL_CALORIES. */
export function folded(name: string): string {
  return name.toLowerCase().replaceAll('_', '')
}

/** What of the statistics read so far counts, by target. */
type Best = Map<string, { rank: number; value: number }>

/**
 * Reads `values` of a workout (sdk-types 8.2). A statistic that is unknown or not a number is ignored; one in another
 * unit, or implausible, is left out and reported; the others stay.
 */
export function readStatistics(values: unknown, decode: Decode): Statistics {
  const best: Best = new Map()
  const marks = new Map<string, number>()
  const leftOut: LeftOutStatistic[] = []
  const implausible: SeriesType[] = []
  for (const [at, item] of (Array.isArray(values) ? values : []).entries()) {
    if (!isObject(item) || typeof item.type !== 'string') continue
    const name = folded(item.type)
    if (typeof item.value === 'boolean') marks.set(name, Number(item.value))
    if (typeof item.value !== 'number') continue
    marks.set(name, item.value)
    const unit = typeof item.unit === 'string' ? decode(item.unit) : null
    const { problem, series, outside } = readStatistic(rules.get(name) ?? [], item.value, unit, best)
    if (problem) leftOut.push({ at, part: item, problem, series })
    if (outside) implausible.push(outside)
  }
  const get = (target: string) => best.get(target)?.value ?? null
  const measures = Object.fromEntries(measured.map(([measure]) => [measure, get(measure)])) as unknown
  return {
    measures: measures as WorkoutMeasures,
    durationSeconds: get('durationSeconds'),
    samples: [...seriesOf].flatMap(([name, series]) => {
      const value = get(name)
      return value === null ? [] : [[series, value]]
    }),
    indoor: marks.get('indoorworkout') === 1,
    water: ([null, 'pool', 'open'] as const)[marks.get('swimminglocationtype') ?? 0] ?? null,
    leftOut,
    implausible,
  }
}

/** What is wrong with one statistic. */
interface Fate {
  problem?: Problem
  series?: SeriesType
  /** The series whose range it exceeds, unless it is also stored as a sample of that, which is flagged. */
  outside?: SeriesType
}

/** Notes a statistic in `best` for each of its targets that it fits. */
function readStatistic(own: readonly Rule[], sent: number, unit: string | null, best: Best): Fate {
  const fate: Fate = {}
  for (const { target, rank, convert } of own) {
    const value = convert(sent, unit)
    const series = seriesOf.get(target)
    const range = seriesByName.get(sameRange[target] ?? '')
    const problem = problemOf(target, value)
    if (problem) Object.assign(fate, { problem, ...(series && { series }) })
    else if (value !== undefined && range && (value < range.lowest || value > range.highest)) {
      if (!own.some((other) => seriesOf.get(other.target) === range)) fate.outside = range
    } else if (value !== undefined && !(rank > (best.get(target)?.rank ?? rank))) best.set(target, { rank, value })
  }
  return fate
}

function problemOf(target: string, value: number | undefined): Problem | undefined {
  if (value === undefined) return ['unit', ...WRONG_UNIT]
  if (target === 'durationSeconds') return value >= 0 && value <= MAX_SECONDS ? undefined : ['value', ...NO_DURATION]
  const isNegative = value < 0 && target === 'elevationGainMeters'
  // A measure has the range of its series.
  const isBeyond = seriesOf.has(target) && Math.abs(value) > MAX_VALUE
  return isNegative || isBeyond ? ['value', ...NO_MEASURE] : undefined
}
