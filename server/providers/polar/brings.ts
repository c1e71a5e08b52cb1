import type { Brings } from '../part.ts'

/** What Polar's answers hold that is stored (docs/providers.md). */
export const brings: Brings = {
  series: [
    'heart_rate',
    'resting_heart_rate',
    'heart_rate_variability_rmssd',
    'oxygen_saturation',
    'respiratory_rate',
    'height',
    'weight',
    'body_temperature',
    'skin_temperature',
    'skin_temperature_deviation',
    'vo2_max',
    'steps',
    'energy',
    'basal_energy',
    'active_time',
    'distance_walking_running',
    'cadence',
    'power',
    'speed',
    'elevation',
    'latitude',
    'longitude',
    'air_temperature',
  ],
  workouts: ['caloriesKcal', 'distanceMeters', 'heartRateAvg', 'heartRateMax', 'elevationGainMeters', 'hrZones'],
  nights: ['asleepS', 'awakeS', 'lightS', 'deepS', 'remS', 'efficiencyPercent'],
  scores: ['sleep', 'recovery', 'strain', 'readiness'],
}
