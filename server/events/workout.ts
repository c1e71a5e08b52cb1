import { paceTypes, type WorkoutType } from '../catalogue/workouts.ts'
import { type EventRow, zoneOf } from './row.ts'

/** The columns of `workout`, as `e`, that a workout is made from, besides its documents. */
export const WORKOUT_COLUMNS = `
    e.type, e.title, e.entry_source, e.intensity, e.duration_s, e.moving_s, e.calories_kcal, e.distance_m, e.steps,
    e.heart_rate_min, e.heart_rate_avg, e.heart_rate_max, e.average_speed, e.max_speed, e.average_cadence,
    e.average_watts, e.max_watts, e.elevation_gain_m, e.elevation_high_m, e.elevation_low_m`

/** A row of WORKOUT_COLUMNS, and the requested documents. */
export interface WorkoutRow extends EventRow {
  type: string
  title: string | null
  entry_source: string | null
  intensity: string | null
  duration_s: number
  moving_s: number | null
  calories_kcal: number | null
  distance_m: number | null
  steps: number | null
  heart_rate_min: number | null
  heart_rate_avg: number | null
  heart_rate_max: number | null
  average_speed: number | null
  max_speed: number | null
  average_cadence: number | null
  average_watts: number | null
  max_watts: number | null
  elevation_gain_m: number | null
  elevation_high_m: number | null
  elevation_low_m: number | null
  hr_zones: object | null
  power_zones: object | null
  segments: object[] | null
}

/** A workout in its API form (contract 5.3); `heartRate`: its mean in beats per minute, null if nothing measured it. */
export function workoutItem(row: WorkoutRow, source: object, heartRate: number | null) {
  return {
    id: row.id,
    type: row.type,
    name: row.title,
    start_time: row.start_at,
    end_time: row.end_at,
    zone_offset: zoneOf(row),
    duration_seconds: row.duration_s,
    source,
    entry_source: row.entry_source,
    intensity: row.intensity,
    calories_kcal: row.calories_kcal,
    distance_meters: row.distance_m,
    avg_heart_rate_bpm: rounded(heartRate),
    max_heart_rate_bpm: rounded(row.heart_rate_max),
    avg_pace_sec_per_km: pace(row),
    elevation_gain_meters: row.elevation_gain_m,
    heart_rate_min: rounded(row.heart_rate_min),
    steps_count: row.steps,
    average_speed: row.average_speed,
    max_speed: row.max_speed,
    average_cadence: row.average_cadence,
    average_watts: row.average_watts,
    max_watts: row.max_watts,
    moving_time_seconds: row.moving_s,
    elev_high: row.elevation_high_m,
    elev_low: row.elevation_low_m,
    hr_zones: row.hr_zones,
    power_zones: row.power_zones,
    segments: row.segments,
  }
}

/** To a whole number; null stays. */
export const rounded = (value: number | null) => (value === null ? null : Math.round(value))

/** Seconds per kilometre to a tenth: from the average speed, else from duration and distance (contract 5.3). */
export function pace({
  type,
  average_speed,
  duration_s,
  distance_m,
}: Pick<WorkoutRow, 'type' | 'average_speed' | 'duration_s' | 'distance_m'>): number | null {
  if (!paceTypes.has(type as WorkoutType)) return null
  const speed = average_speed || (distance_m ?? 0) / duration_s
  return speed > 0 && speed < Number.POSITIVE_INFINITY ? Math.round(10_000 / speed) / 10 : null
}
