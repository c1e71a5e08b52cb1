import { withoutNoise } from '../../batch/units.ts'
import type { SeriesName } from '../../catalogue/series.ts'
import { valueAt } from '../answers.ts'
import { listedWithin } from '../listed.ts'
import type { At, Item, Out, Part } from '../part.ts'
import { completeDates, completeDeletion, completeFamily, completePoints, isOfDates } from './complete.ts'
import { hydration, meal } from './meals.ts'
import { sleep } from './sleep.ts'
import type { VariabilityArgs } from './streams.ts'
import { addWorkout } from './summaries.ts'
import { dateAt, intervalOf, sampleTime, startOf } from './times.ts'
import { type DataType, fieldOf, typeNamed } from './types.ts'

// What the points and roll-ups of Google Health become: docs/providers.md.

const HOUR_MS = 3_600_000

/** Our name of the source that Google has merged. */
const APP = 'Google Health'

type Values = readonly (readonly [series: SeriesName, value: number | undefined])[]

const scaled = (value: number | undefined, factor: number) =>
  value === undefined ? undefined : withoutNoise(value * factor)

/** Minutes of activity by level: all of them, and those of exercise. */
function activeMinutes(value: Item, list: string): Values {
  const levels = value.objects(list).map((one) => ({
    level: one.text('activityLevel'),
    minutes: one.numeric('activeMinutesSum') ?? one.numeric('activeMinutes'),
  }))
  const sum = (...names: readonly string[]) =>
    levels.reduce<number | undefined>((total, { level, minutes }) => {
      return minutes === undefined || !names.includes(level ?? '') ? total : (total ?? 0) + minutes
    }, undefined)
  return [
    ['active_time', sum('LIGHT', 'MODERATE', 'VIGOROUS')],
    ['exercise_time', sum('MODERATE', 'VIGOROUS')],
  ]
}

/** What a point of a type is, in our units. */
const ofPoint: Readonly<Record<string, (value: Item) => Values>> = {
  steps: (value) => [['steps', value.numeric('count')]],
  distance: (value) => [['distance_walking_running', scaled(value.numeric('millimeters'), 0.001)]],
  'active-energy-burned': (value) => [['energy', value.numeric('kcal')]],
  'basal-energy-burned': (value) => [['basal_energy', value.numeric('kcal')]],
  floors: (value) => [['flights_climbed', value.numeric('count')]],
  'active-minutes': (value) => activeMinutes(value, 'activeMinutesByActivityLevel'),
  'heart-rate': (value) => [['heart_rate', value.numeric('beatsPerMinute')]],
  'daily-resting-heart-rate': (value) => [['resting_heart_rate', value.numeric('beatsPerMinute')]],
  'heart-rate-variability': (value) => [
    ['heart_rate_variability_rmssd', value.numeric('rootMeanSquareOfSuccessiveDifferencesMilliseconds')],
    ['heart_rate_variability_sdnn', value.numeric('standardDeviationMilliseconds')],
  ],
  'daily-heart-rate-variability': (value) => [
    ['heart_rate_variability_rmssd', value.numeric('averageHeartRateVariabilityMilliseconds')],
  ],
  'oxygen-saturation': (value) => [['oxygen_saturation', value.numeric('percentage')]],
  'daily-oxygen-saturation': (value) => [['oxygen_saturation', value.numeric('averagePercentage')]],
  'daily-respiratory-rate': (value) => [['respiratory_rate', value.numeric('breathsPerMinute')]],
  'daily-sleep-temperature-derivations': temperatures,
  'vo2-max': (value) => [['vo2_max', value.numeric('vo2Max')]],
  'run-vo2-max': (value) => [['vo2_max', value.numeric('runVo2Max')]],
  'daily-vo2-max': (value) => [['vo2_max', value.numeric('vo2Max')]],
  weight: (value) => [['weight', scaled(value.numeric('weightGrams'), 0.001)]],
  height: (value) => [['height', scaled(value.numeric('heightMillimeters'), 0.1)]],
  'body-fat': (value) => [['body_fat_percentage', value.numeric('percentage')]],
  'core-body-temperature': (value) => [
    ['body_temperature', value.numeric('temperatureCelsius') ?? value.numeric('celsius')],
  ],
  'blood-glucose': (value) => [['blood_glucose', value.numeric('bloodGlucoseMilligramsPerDeciliter')]],
}

function temperatures(value: Item): Values {
  const [nightly, baseline] = [value.numeric('nightlyTemperatureCelsius'), value.numeric('baselineTemperatureCelsius')]
  const deviation = nightly === undefined || baseline === undefined ? undefined : withoutNoise(nightly - baseline)
  return [
    ['skin_temperature', nightly],
    ['skin_temperature_deviation', deviation],
  ]
}

/** What a roll-up of a type is; `isSum`: of a day it is a total. */
const ofRollUp: Readonly<Record<string, readonly [isSum: boolean, values: (value: Item) => Values]>> = {
  steps: [true, (value) => [['steps', value.numeric('countSum')]]],
  distance: [true, (value) => [['distance_walking_running', scaled(value.numeric('millimetersSum'), 0.001)]]],
  'active-energy-burned': [true, (value) => [['energy', value.numeric('kcalSum')]]],
  floors: [true, (value) => [['flights_climbed', value.numeric('countSum')]]],
  'active-minutes': [true, (value) => activeMinutes(value, 'activeMinutesRollupByActivityLevel')],
  'heart-rate': [false, (value) => [['heart_rate', value.numeric('beatsPerMinuteAvg')]]],
  'core-body-temperature': [false, (value) => [['body_temperature', value.numeric('temperatureCelsiusAvg')]]],
  'blood-glucose': [false, (value) => [['blood_glucose', value.numeric('bloodGlucoseMilligramsPerDeciliterAvg')]]],
}

/** A point with what it is, from the source that it names. */
interface Point {
  readonly point: Item
  readonly value: Item
  /** Google's name of it; not every type has one. */
  readonly id: string | undefined
}

/** The points of a part, one after the other with their sources. */
function* pointsOf(out: Out, part: Part, type: DataType): Iterable<Point> {
  const field = fieldOf(type.name)
  // Thousands of merged points name none: it stays.
  let isNamed = true
  for (const point of listOf(out, part, 'dataPoints')) {
    const value = point.object(field)
    if (!value) point.reject('missing', field)
    else {
      const source = point.object('dataSource')
      if (source || isNamed) sourceOf(out, source)
      isNamed = source !== undefined
      yield { point, value, id: point.id('dataPointName') ?? point.id('name') }
    }
  }
  out.source('', APP)
}

/** The items of a list, which is left out when it is empty. */
function* listOf(out: Out, { body }: Part, name: string): Iterable<Item> {
  for (const _ of out.whole()) if (valueAt(body, name) !== undefined) yield* out.items(name)
}

/** The device and the app that a point names; merged points name none. */
function sourceOf(out: Out, source: Item | undefined): void {
  const [maker, kind] = [source?.text('device', 'manufacturer'), source?.text('device', 'formFactor')]
  const made = maker === undefined ? '' : [maker, kind?.toLowerCase()].filter(Boolean).join(' ')
  const app = source?.text('application', 'packageName') ?? source?.text('platform') ?? APP
  out.source(source?.text('device', 'displayName') ?? made, app, kind)
}

/** Samples of a type, from the start of their intervals, at their instants, or on their dates. */
function samples(out: Out, part: Part, type: DataType): void {
  const read = ofPoint[type.name]
  const told = type.name === 'daily-heart-rate-variability' ? (part.args as unknown as VariabilityArgs) : undefined
  if (!read || told?.of === 'samples') return
  const counted = new Set(told?.days)
  for (const { value, id } of pointsOf(out, part, type)) {
    const at = timeOf(type, value)
    if (!at || (told && counted.has(dateOf(at)))) continue
    for (const [series, number] of read(value)) {
      if (id !== undefined && type.isMovable) out.once(series, at, number, id)
      else out.sample(series, at, number)
    }
  }
  // The value of a date that has samples now; what is at that instant otherwise is one of them.
  for (const date of told?.days ?? []) {
    const ms = Date.parse(date)
    if (!told?.midnights.includes(date)) out.only({ series: 'heart_rate_variability_rmssd' }, ms, ms + 1)
  }
}

const dateOf = ({ ms }: At) => new Date(ms).toISOString().slice(0, 10)

function timeOf({ shape }: DataType, value: Item): At | undefined {
  if (shape === 'daily') return dateAt(value, 'date')
  return shape === 'sample' ? sampleTime(value) : intervalOf(value)
}

/** Sums and means of hours or of dates. */
function rollUps(out: Out, part: Part, type: DataType): void {
  const [isSum, read] = ofRollUp[type.name] ?? []
  if (!read) return
  const field = fieldOf(type.name)
  out.source('', APP)
  for (const point of listOf(out, part, 'rollupDataPoints')) {
    const value = point.object(field)
    // Nothing was measured in it.
    if (!value) continue
    const at = point.object('civilStartTime') ? dateAt(point, 'civilStartTime', 'date') : hourAt(point)
    for (const [series, number] of at ? read(value) : []) {
      if (at?.isDate && isSum) out.total(series, at, number, `google_health:${type.name}:${dateOf(at)}`)
      else if (at) out.sample(series, at, number)
    }
  }
  if (isOfDates(part.body, part.args)) completeDates(out, part, type, isSum === true)
  else completePoints(out, part, type)
}

function hourAt(point: Item): At | undefined {
  const at = point.instant('startTime')
  if (at) return { ms: at.ms, zoneMin: null, endMs: at.ms + HOUR_MS }
  point.reject('missing', 'startTime')
  return undefined
}

function exercises(out: Out, part: Part, type: DataType): void {
  const starts: number[] = []
  for (const { point, value, id } of pointsOf(out, part, type)) {
    const start = startOf(value)
    const isManual = point.text('dataSource', 'recordingMethod') === 'MANUAL'
    if (start && addWorkout(out, value, { start, id: id ?? `exercise:${start.ms}`, isManual })) starts.push(start.ms)
  }
  listedWithin(out, part, starts, 'workouts')
}

function nights(out: Out, part: Part, type: DataType): void {
  const starts: number[] = []
  let isWhole = true
  for (const { value, id } of pointsOf(out, part, type)) {
    const startMs = sleep(out, value, id)
    if (startMs === undefined) isWhole = false
    else starts.push(startMs)
  }
  if (isWhole) listedWithin(out, part, starts, 'nights')
}

function drinks(out: Out, part: Part, type: DataType): void {
  for (const { value, id } of pointsOf(out, part, type)) {
    const start = startOf(value)
    if (start) hydration(out, value, { start, id })
  }
}

function meals(out: Out, part: Part, type: DataType): void {
  for (const { value, id } of pointsOf(out, part, type)) {
    const start = startOf(value)
    if (start) meal(out, value, { start, id })
  }
}

type Reader = (out: Out, part: Part, type: DataType) => void

/** What reads points that are no samples. */
const readers: Readonly<Record<string, Reader>> = {
  exercise: exercises,
  sleep: nights,
  'hydration-log': drinks,
  'nutrition-log': meals,
}

/** Adds what a part of Google's holds. */
export function map(part: Part, out: Out): void {
  const type = typeNamed(part.stream)
  if (!type) out.ignore(part.stream)
  else if (valueAt(part.args, 'kept') !== undefined) {
    out.source('', APP)
    completeFamily(out, part, type)
  } else if (isOfDates(part.body, part.args) || Array.isArray(valueAt(part.body, 'rollupDataPoints')))
    rollUps(out, part, type)
  else {
    out.source('', APP)
    ;(readers[type.name] ?? samples)(out, part, type)
    if (valueAt(part.args, 'deleted') === true) completeDeletion(out, part, type)
    else completePoints(out, part, type)
  }
}
