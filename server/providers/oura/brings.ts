import type { Brings } from '../part.ts'

/** What Oura's documents hold that is stored (docs/providers.md). */
export const brings: Brings = {
  series: [
    'heart_rate',
    'resting_heart_rate',
    'heart_rate_variability_rmssd',
    'oxygen_saturation',
    'respiratory_rate',
    'breathing_disturbance_index',
    'height',
    'weight',
    'skin_temperature_deviation',
    'skin_temperature_trend_deviation',
    'vo2_max',
    'cardiovascular_age',
    'steps',
    'energy',
    'basal_energy',
    'distance_walking_running',
    'active_time',
  ],
  workouts: ['title', 'intensity', 'entrySource', 'caloriesKcal', 'distanceMeters'],
  nights: ['asleepS', 'inBedS', 'awakeS', 'lightS', 'deepS', 'remS', 'efficiencyPercent'],
  scores: ['sleep', 'readiness', 'activity', 'stress', 'resilience'],
}
