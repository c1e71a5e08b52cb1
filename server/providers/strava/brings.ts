import type { Brings } from '../part.ts'

/** What Strava's activities hold that is stored (docs/providers.md). */
export const brings: Brings = {
  series: [
    'heart_rate',
    'weight',
    'cadence',
    'power',
    'speed',
    'elevation',
    'latitude',
    'longitude',
    'air_temperature',
  ],
  workouts: [
    'title',
    'entrySource',
    'movingSeconds',
    'caloriesKcal',
    'distanceMeters',
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
  nights: [],
  scores: [],
}
