import { type SeriesName, seriesByName } from '../catalogue/series.ts'
import type { WorkoutMeasures } from './columns.ts'

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

/** Whether a workout can have this value of a measure, in the unit of `WorkoutMeasures` (contract 2.6, ranges). */
export function isPlausible(measure: keyof WorkoutMeasures, value: number): boolean {
  if (measure === 'elevationGainMeters' && value < 0) return false
  const range = seriesByName.get(sameRange[measure])
  return range === undefined || (value >= range.lowest && value <= range.highest)
}
