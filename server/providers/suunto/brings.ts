import type { Brings } from '../part.ts'

/** What Suunto's answers hold that is stored (docs/providers.md). */
export const brings: Brings = {
  series: [
    'heart_rate',
    'resting_heart_rate',
    'heart_rate_variability_rmssd',
    'oxygen_saturation',
    'steps',
    'energy',
    'elevation',
  ],
  workouts: [
    'title',
    'entrySource',
    'caloriesKcal',
    'distanceMeters',
    'steps',
    'heartRateMin',
    'heartRateAvg',
    'heartRateMax',
    'averageSpeed',
    'maxSpeed',
    'averageCadence',
    'averageWatts',
    'maxWatts',
    'elevationGainMeters',
    'elevationHighMeters',
    'elevationLowMeters',
  ],
  nights: ['asleepS', 'awakeS', 'lightS', 'deepS', 'remS', 'efficiencyPercent'],
  scores: ['sleep', 'recovery'],
}
