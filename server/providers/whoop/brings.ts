import type { Brings } from '../part.ts'

/** What WHOOP's records hold that is stored (docs/providers.md). */
export const brings: Brings = {
  series: [
    'resting_heart_rate',
    'heart_rate_variability_rmssd',
    'oxygen_saturation',
    'respiratory_rate',
    'skin_temperature',
    'recovery_score',
    'height',
    'weight',
  ],
  workouts: ['caloriesKcal', 'distanceMeters', 'heartRateAvg', 'heartRateMax', 'elevationGainMeters', 'hrZones'],
  nights: ['asleepS', 'inBedS', 'awakeS', 'lightS', 'deepS', 'remS', 'efficiencyPercent'],
  scores: ['sleep', 'recovery', 'strain'],
}
