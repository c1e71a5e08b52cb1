import type { Brings } from '../part.ts'

/** What Ultrahuman's answers hold that is stored (docs/providers.md). */
export const brings: Brings = {
  series: [
    'heart_rate',
    'resting_heart_rate',
    'heart_rate_variability_rmssd',
    'oxygen_saturation',
    'blood_glucose',
    'skin_temperature',
    'skin_temperature_deviation',
    'vo2_max',
    'steps',
    'active_time',
  ],
  workouts: [],
  nights: ['asleepS', 'inBedS', 'awakeS', 'lightS', 'deepS', 'remS', 'efficiencyPercent'],
  scores: ['sleep', 'recovery', 'activity'],
}
