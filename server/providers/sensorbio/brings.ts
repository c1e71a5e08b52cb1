import type { Brings } from '../part.ts'

/** What Sensor Bio's answers hold that is stored (docs/providers.md). */
export const brings: Brings = {
  series: [
    'heart_rate',
    'resting_heart_rate',
    'heart_rate_variability_rmssd',
    'oxygen_saturation',
    'respiratory_rate',
    'steps',
    'energy',
    'distance_walking_running',
  ],
  workouts: [
    'title',
    'movingSeconds',
    'caloriesKcal',
    'distanceMeters',
    'heartRateMin',
    'heartRateAvg',
    'heartRateMax',
  ],
  nights: ['asleepS', 'awakeS', 'lightS', 'deepS', 'remS', 'efficiencyPercent'],
  scores: ['recovery', 'sleep', 'activity'],
}
