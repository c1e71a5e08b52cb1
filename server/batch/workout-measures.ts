import { type SeriesName, type SeriesType, seriesByName } from '../catalogue/series.ts'
import type { WorkoutMeasures } from './columns.ts'

/** Longest workout; a longer one was never ended, or has a wrong date. */
export const MAX_WORKOUT_DAYS = 7

/** The plausible range of a measure is that of its series; only an altitude may be below zero. */
const sameRange = {
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
} satisfies Record<keyof WorkoutMeasures, SeriesName>

/** Every measure of a workout as a whole. */
export const workoutMeasures = Object.keys(sameRange) as readonly (keyof WorkoutMeasures)[]

/** Whether this is the name of a measure of a workout. */
export const isMeasure = (name: string): name is keyof WorkoutMeasures => Object.hasOwn(sameRange, name)

/** The series whose plausible range a measure has (contract 2.6). */
export const rangeOf = (measure: keyof WorkoutMeasures): SeriesType =>
  seriesByName.get(sameRange[measure]) as SeriesType
