import type { EventName } from '../catalogue/events.ts'
import { type SeriesType, seriesByName } from '../catalogue/series.ts'
import { samplesJson } from './packed.ts'

// Fixed ids and times of contract 10.5.
const USER = '00000000-0000-0000-0000-000000000002'
const RECORD = '00000000-0000-0000-0000-000000000001'
const CONNECTION = '00000000-0000-0000-0000-000000000003'
const START_MS = Date.UTC(2024, 0, 1, 8)
const watch = { provider: 'garmin', device: 'Fenix 7' }
const session = { id: RECORD, user_id: USER, start_time: '2024-01-01T08:00:00Z', end_time: '2024-01-01T09:00:00Z' }

/** The `data` of all events except those of samples, with every field of contract 10.3. */
const sessions: Partial<Record<EventName, object>> = {
  'connection.created': {
    user_id: USER,
    provider: 'garmin',
    connection_id: CONNECTION,
    connected_at: '2024-01-01T08:00:00Z',
  },
  'connection.revoked': {
    user_id: USER,
    provider: 'garmin',
    connection_id: CONNECTION,
    reason: 'user_disconnected',
    revoked_at: '2024-01-01T08:00:00Z',
  },
  'workout.created': {
    ...{ ...session, type: 'running', zone_offset: '+01:00', duration_seconds: 3600, source: watch },
    calories_kcal: 620,
    distance_meters: 10_000,
    avg_heart_rate_bpm: 148,
    max_heart_rate_bpm: 176,
    avg_pace_sec_per_km: 360,
    elevation_gain_meters: 85,
  },
  'sleep.created': {
    ...{ id: RECORD, user_id: USER, start_time: '2023-12-31T22:30:00Z', end_time: '2024-01-01T06:30:00Z' },
    zone_offset: '+01:00',
    duration_seconds: 28_800,
    sleep_duration_seconds: 26_400,
    source: { provider: 'oura', device: 'Oura Ring Gen3', source: 'oura_api' },
    efficiency_percent: 91.7,
    stages: { deep_minutes: 90, rem_minutes: 110, light_minutes: 240, awake_minutes: 40 },
    sleep_stage_intervals: [
      { stage: 'light', start_time: '2023-12-31T22:30:00Z', end_time: '2024-01-01T00:30:00Z' },
      { stage: 'deep', start_time: '2024-01-01T00:30:00Z', end_time: '2024-01-01T02:00:00Z' },
      { stage: 'awake', start_time: '2024-01-01T02:00:00Z', end_time: '2024-01-01T02:40:00Z' },
      { stage: 'rem', start_time: '2024-01-01T02:40:00Z', end_time: '2024-01-01T04:30:00Z' },
      { stage: 'light', start_time: '2024-01-01T04:30:00Z', end_time: '2024-01-01T06:30:00Z' },
    ],
    is_nap: false,
  },
  'meal.created': {
    id: RECORD,
    user_id: USER,
    timestamp: '2024-01-01T08:00:00Z',
    start_time: '2024-01-01T08:00:00Z',
    end_time: '2024-01-01T08:20:00Z',
    zone_offset: '+01:00',
    source: { provider: 'apple', device: 'iPhone17,1' },
    title: 'Porridge with berries',
    meal_type: 'breakfast',
    calories_kcal: 420,
    macros: { protein_g: 14, carbohydrates_g: 68, fat_g: 9.5, fiber_g: 8.2 },
    water_ml: 250,
    nutrients: {
      hydration: { value: 250, unit: 'mL' },
      dietary_energy_consumed: { value: 420, unit: 'kcal' },
      dietary_protein: { value: 14, unit: 'g' },
      dietary_carbohydrates: { value: 68, unit: 'g' },
      dietary_fiber: { value: 8.2, unit: 'g' },
      dietary_fat_total: { value: 9.5, unit: 'g' },
    },
  },
  'menstrual_cycle.created': {
    id: RECORD,
    user_id: USER,
    start_time: '2024-01-01T00:00:00Z',
    end_time: '2024-01-29T00:00:00Z',
    zone_offset: '+00:00',
    source: watch,
    current_phase_type: 'follicular',
    day_in_cycle: 8,
    cycle_length: 28,
    is_predicted_cycle: false,
    pregnancy_snapshot: null,
  },
  'activity.created': { ...session, type: 'meditation', zone_offset: '+01:00', duration_seconds: 3600, source: watch },
}

/** One sample of a series that represents its kind of event. */
const samples: Partial<Record<EventName, [type: string, value: number]>> = {
  'heart_rate.created': ['heart_rate', 72],
  'heart_rate_variability.created': ['heart_rate_variability_rmssd', 48],
  'steps.created': ['steps', 1000],
  'calories.created': ['energy', 42.5],
  'spo2.created': ['oxygen_saturation', 97],
  'respiratory_rate.created': ['respiratory_rate', 15],
  'body_temperature.created': ['body_temperature', 36.6],
  'stress.created': ['garmin_stress_level', 31],
  'blood_glucose.created': ['blood_glucose', 95],
  'blood_pressure.created': ['blood_pressure_systolic', 118],
  'body_composition.created': ['weight', 72.4],
  'fitness_metrics.created': ['vo2_max', 44],
  'recovery_score.created': ['recovery_score', 71],
  'activity_timeseries.created': ['exercise_time', 30],
  'workout_metrics.created': ['cadence', 84],
  'environmental.created': ['environmental_audio_exposure', 62],
  'timeseries.created': ['elevation', 312],
}

/** The `data` of a test event as JSON (contract 10.3, 10.5). */
export function exampleData(name: EventName): string {
  const sample = samples[name]
  if (!sample) return JSON.stringify(sessions[name])
  const [type, value] = sample
  const { aggregation } = seriesByName.get(type) as SeriesType
  return samplesJson(USER, {
    provider: watch.provider,
    type,
    total: 1,
    chunk: null,
    sources: [{ device: watch.device, isDailyTotal: aggregation === 'sum' ? false : null }],
    timeMs: Float64Array.of(START_MS),
    value: Float64Array.of(value),
    zoneMin: Int16Array.of(60),
    of: Uint16Array.of(0),
  })
}
