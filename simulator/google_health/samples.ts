import { round, uuidOf } from '../random.ts'
import { compositionOf, glucoseOf, spotOxygenOf, temperatureOf } from '../truth/measurements.ts'
import { type Day, type Person, sleepsOf, workoutsOf } from '../truth/person.ts'
import { knownMs } from '../truth/personas.ts'
import { MEANS_SECONDS, type SleepView } from '../truth/sleep.ts'
import { localMs } from '../zones.ts'
import type { Point, Row, Source } from './points.ts'

/** Points of a type that begin on these days, as known at an instant. */
export type Find = (person: Person, days: readonly Day[], nowMs: number) => Point[]

interface Taken {
  readonly atMs: number
  readonly knownMs: number
  readonly value: Row
}

/** Samples of days, as they become known. */
function samples(source: Source, find: (person: Person, day: Day) => readonly Taken[]): Find {
  return (person, days, nowMs) =>
    days.flatMap((day) =>
      find(person, day)
        .filter((one) => one.knownMs <= nowMs)
        .map(({ atMs, value }) => ({
          ...{ startMs: atMs, endMs: atMs, zone: day.zone, value, source },
          id: uuidOf(`google/${person.seed}/${Object.keys(value)[0]}/${atMs}`),
        })),
    )
}

export const weights = samples('scale', (_, { weighing }) =>
  weighing ? [{ ...weighing, value: { weightGrams: Math.round(weighing.kg * 1000) } }] : [],
)

export const bodyFat = samples('scale', (person, { weighing }) =>
  weighing ? [{ ...weighing, value: { percentage: compositionOf(person, weighing).fatPercent } }] : [],
)

/** Given once, when the account was made. */
export const heights = samples('app', (person, { day, zone }) => {
  const atMs = localMs(zone, day, 720)
  return day === person.span.firstDay
    ? [{ atMs, knownMs: atMs, value: { heightMillimeters: String(person.heightCm * 10) } }]
    : []
})

export const temperatures = samples('app', (person, { day }) =>
  [temperatureOf(person, day)].flatMap((one) => (one ? { ...one, value: { temperatureCelsius: one.celsius } } : [])),
)

export const glucose = samples('app', (person, { day }) =>
  glucoseOf(person, day).map((one) => ({ ...one, value: { bloodGlucoseMilligramsPerDeciliter: one.mgPerDl } })),
)

export const oxygen = samples('watch', (person, { day }) =>
  [spotOxygenOf(person, day)].flatMap((one) => (one ? { ...one, value: { percentage: one.percent } } : [])),
)

/** At the end of each run. */
export const runFitness: Find = (person, days, nowMs) =>
  workoutsOf(days, nowMs)
    .filter(({ deleted, sport }) => !deleted && sport === 'running')
    .map(({ workout }) => ({
      ...{ startMs: workout.endMs, endMs: workout.endMs, zone: workout.zone, source: 'watch' as const },
      value: { runVo2Max: person.day(workout.day).vo2Max },
    }))

/** Nights that are known and were not deleted; naps are none of them. */
function nights(person: Person, days: readonly Day[], nowMs: number): SleepView[] {
  return sleepsOf(days, nowMs).filter(
    ({ sleep, deleted }) => !sleep.nap && !deleted && sleep.day >= person.span.firstDay,
  )
}

/** Of each five minutes of a night. */
export const variability: Find = (person, days, nowMs) =>
  nights(person, days, nowMs).flatMap(({ hrv, startMs, sleep }) =>
    Array.from(hrv, (rmssd, i): Point[] => {
      const ms = startMs + i * MEANS_SECONDS * 1000
      const value = {
        rootMeanSquareOfSuccessiveDifferencesMilliseconds: rmssd,
        standardDeviationMilliseconds: round(rmssd * 1.25, 2),
      }
      return rmssd > 0 ? [{ startMs: ms, endMs: ms, zone: sleep.zone, value, source: 'watch' }] : []
    }).flat(),
  )

export const breathing: Find = (person, days, nowMs) =>
  nights(person, days, nowMs).map(({ sleep, endMs }) => {
    const value = { fullSleepStats: { breathsPerMinute: round(sleep.breaths, 1) } }
    return { startMs: endMs, endMs, zone: sleep.zone, value, source: 'watch' }
  })

/** What is said of a whole day after its night. */
function daily(say: (view: SleepView) => Row | null): Find {
  return (person, days, nowMs) =>
    nights(person, days, nowMs).flatMap((view): Point[] => {
      const { day, zone } = view.sleep
      const value = say(view)
      const startMs = localMs(zone, day, 0)
      return value ? [{ startMs, endMs: startMs, zone, value, source: 'watch', date: day }] : []
    })
}

export const dailyVariability = daily((view) => ({
  averageHeartRateVariabilityMilliseconds: round(view.averageHrv, 2),
  deepSleepRootMeanSquareOfSuccessiveDifferencesMilliseconds: round(view.averageHrv * 1.1, 2),
  ...{ nonRemHeartRateBeatsPerMinute: String(Math.round(view.averageHeartRate)), entropy: 2.4 },
}))

/** The lowest of the night. */
export const dailyResting = daily((view) => ({
  beatsPerMinute: String(view.lowestHeartRate),
  dailyRestingHeartRateMetadata: { calculationMethod: 'WITH_SLEEP' },
}))

export const dailyOxygen = daily(({ sleep }) =>
  sleep.spo2 === null
    ? null
    : {
        averagePercentage: round(sleep.spo2, 1),
        lowerBoundPercentage: round(sleep.spo2 - 2, 1),
        upperBoundPercentage: Math.min(100, round(sleep.spo2 + 2, 1)),
      },
)

export const dailyBreathing = daily(({ sleep }) => ({ breathsPerMinute: round(sleep.breaths, 1) }))

export const dailyTemperature = daily(({ sleep }) => ({
  nightlyTemperatureCelsius: sleep.skinTemperature,
  baselineTemperatureCelsius: round(sleep.skinTemperature - sleep.temperatureDeviation, 2),
}))

/** In the evening of each seventh day, by what the watch knows of it. */
export const dailyFitness: Find = (person, days, nowMs) =>
  days
    .filter(({ day, zone }) => day % 7 === 2 && knownMs(person, localMs(zone, day, 1260)) <= nowMs)
    .map(({ day, zone, vo2Max }) => {
      const startMs = localMs(zone, day, 0)
      return { startMs, endMs: startMs, zone, date: day, value: { vo2Max, estimated: true }, source: 'watch' as const }
    })
