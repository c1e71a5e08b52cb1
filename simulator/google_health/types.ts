import { daysBetween, type Person } from '../truth/person.ts'
import { knownUntil } from '../truth/personas.ts'
import { DAY_MS } from '../zones.ts'
import * as minutes from './minutes.ts'
import type { Scope } from './oauth.ts'
import type { Point, Row, Shape } from './points.ts'
import * as sums from './rollups.ts'
import * as samples from './samples.ts'
import * as sessions from './sessions.ts'

/** A kind of data. */
export interface DataType {
  readonly shape: Shape
  readonly scope: Scope
  /** Points that touch a span, by time; `merged`: without what two sources measured twice. */
  points(person: Person, span: minutes.Span, merged: boolean): Point[]
  /** What a window of points comes to; absent: there are no rollups. */
  readonly rollup?: (points: readonly Point[]) => Row
  /** Only rollups. */
  readonly unlisted?: true
  /** Longest range of rollups; 90 days where nothing is said. */
  readonly rollupDays?: number
}

const activity = 'activity_and_fitness'
const metrics = 'health_metrics_and_measurements'

function found(shape: Shape, scope: Scope, find: samples.Find, rollup?: DataType['rollup']): DataType {
  const points: DataType['points'] = (person, { fromMs, toMs, nowMs }) => {
    const days = daysBetween(person, fromMs - 2 * DAY_MS, toMs + DAY_MS)
    return find(person, days, nowMs).sort((a, b) => a.startMs - b.startMs)
  }
  return { shape, scope, points, ...(rollup && { rollup }) }
}

type Say = (person: Person) => Parameters<typeof minutes.ofMinutes>[2]

function counted(say: Say, rollup: DataType['rollup'], more: Partial<DataType> & { length?: number } = {}): DataType {
  const { length = 1, ...rest } = more
  const points: DataType['points'] = (person, span) => minutes.ofMinutes(person, span, say(person), length)
  return { shape: 'interval', scope: activity, points, ...(rollup && { rollup }), ...rest }
}

/** The minutes of a phone begin between those of the watch. */
const PHONE_MS = 20_000

const steps: DataType = {
  ...counted(() => minutes.steps, sums.counts),
  points(person, span, merged) {
    const syncedMs = span.nowMs - (span.lateMs ?? 0)
    const watch = minutes.ofMinutes(person, { ...span, nowMs: syncedMs }, minutes.steps)
    if (merged && syncedMs === span.nowMs) return watch
    const phone = minutes
      .ofMinutes(person, span, minutes.phoneSteps)
      .map((one) => ({ ...one, source: 'phone' as const }))
    if (!merged) return [...watch, ...phone].sort((a, b) => a.startMs - b.startMs)
    const knownMs = knownUntil(person, syncedMs)
    const later = phone.filter(({ startMs }) => startMs >= knownMs)
    return [...watch, ...later.map((one) => ({ ...one, startMs: one.startMs + PHONE_MS, endMs: one.endMs + PHONE_MS }))]
  },
}

const totalCalories: DataType = {
  ...counted(minutes.activeEnergy, sums.energy, { unlisted: true, rollupDays: 14 }),
  points: (person, span) => [
    ...minutes.ofMinutes(person, span, minutes.activeEnergy(person)),
    ...minutes.ofMinutes(person, span, minutes.basalEnergy(person), minutes.BASAL_MINUTES),
  ],
}

const heartRate: DataType = {
  ...{ shape: 'sample', scope: metrics, rollup: sums.spread('beatsPerMinute'), rollupDays: 14 },
  points: (person, span) => minutes.heartRates(person, span),
}

const nothing: samples.Find = () => []

/** What there is, by its name in addresses. */
export const types: Readonly<Record<string, DataType>> = {
  steps,
  distance: counted(minutes.distance, sums.sum('millimeters', 'millimetersSum')),
  'active-energy-burned': counted(minutes.activeEnergy, sums.energy),
  'basal-energy-burned': counted(minutes.basalEnergy, undefined, { length: minutes.BASAL_MINUTES }),
  'total-calories': totalCalories,
  floors: counted(() => minutes.floors, sums.counts),
  altitude: counted(() => minutes.altitude, sums.sum('gainMillimeters', 'gainMillimetersSum')),
  'active-minutes': counted(() => minutes.activeMinutes, sums.levels, { rollupDays: 14 }),
  'active-zone-minutes': counted(minutes.activeZone, sums.zones),
  'sedentary-period': counted(() => minutes.sedentary, sums.lengths, { length: minutes.SEDENTARY_MINUTES }),
  'swim-lengths-data': found('interval', activity, nothing),
  'heart-rate': heartRate,
  'heart-rate-variability': found('sample', metrics, samples.variability),
  'daily-heart-rate-variability': found('daily', metrics, samples.dailyVariability),
  'daily-resting-heart-rate': found('daily', metrics, samples.dailyResting),
  'oxygen-saturation': found('sample', metrics, samples.oxygen),
  'daily-oxygen-saturation': found('daily', metrics, samples.dailyOxygen),
  'daily-respiratory-rate': found('daily', metrics, samples.dailyBreathing),
  'respiratory-rate-sleep-summary': found('sample', metrics, samples.breathing),
  'daily-sleep-temperature-derivations': found('daily', metrics, samples.dailyTemperature),
  'vo2-max': found('sample', activity, nothing),
  'run-vo2-max': found('sample', activity, samples.runFitness, sums.spread('runVo2Max', 'rate')),
  'daily-vo2-max': found('daily', activity, samples.dailyFitness),
  weight: found('sample', metrics, samples.weights, sums.average('weightGrams', 'weightGramsAvg')),
  height: found('sample', metrics, samples.heights),
  'body-fat': found('sample', metrics, samples.bodyFat, sums.average('percentage', 'bodyFatPercentageAvg')),
  'core-body-temperature': found('sample', metrics, samples.temperatures, sums.spread('temperatureCelsius')),
  'blood-glucose': found(
    'sample',
    metrics,
    samples.glucose,
    sums.average('bloodGlucoseMilligramsPerDeciliter', 'bloodGlucoseMilligramsPerDeciliterAvg'),
  ),
  'hydration-log': found('session', 'nutrition', sessions.hydration, sums.drinks),
  'nutrition-log': found('session', 'nutrition', sessions.nutrition, sums.meals),
  sleep: found('sleep', 'sleep', sessions.sleeps),
  exercise: found('session', activity, sessions.exercises),
  electrocardiogram: found('session', metrics, nothing),
  moods: found('sample', metrics, nothing),
  symptoms: found('session', metrics, nothing),
}

/** `dailyRestingHeartRate` of `daily-resting-heart-rate`. */
export function fieldOf(type: string): string {
  return type.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}
