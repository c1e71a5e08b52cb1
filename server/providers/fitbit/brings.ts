import type { Brings } from '../part.ts'

/** What Fitbit's answers hold that is stored (docs/providers.md). */
export const brings: Brings = {
  series: [
    'steps',
    'distance_walking_running',
    'flights_climbed',
    'energy',
    'basal_energy',
    'active_time',
    'exercise_time',
    'resting_heart_rate',
    'heart_rate_variability_rmssd',
    'oxygen_saturation',
    'respiratory_rate',
    'skin_temperature_deviation',
    'body_temperature',
    'vo2_max',
    'weight',
    'body_mass_index',
    'body_fat_percentage',
    'height',
  ],
  workouts: [
    'title',
    'entrySource',
    'movingSeconds',
    'caloriesKcal',
    'distanceMeters',
    'steps',
    'heartRateAvg',
    'averageSpeed',
    'elevationGainMeters',
    'hrZones',
  ],
  nights: ['asleepS', 'inBedS', 'awakeS', 'lightS', 'deepS', 'remS', 'efficiencyPercent'],
  scores: [],
}
