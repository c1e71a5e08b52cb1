import type { WorkoutType } from '../../catalogue/workouts.ts'
import { wireWorkoutType, wireWorkoutTypes } from '../workout-types.ts'

const PREFIX = 'hkworkoutactivitytype'

// HealthKit names in lower case without that prefix, if they differ from the SDK's names without underscores.
const renamed: readonly (readonly [healthKit: string, sdk: string])[] = [
  ['wheelchairwalkpace', 'wheelchair_walk'],
  ['wheelchairrunpace', 'wheelchair_run'],
  ['traditionalstrengthtraining', 'strength_training'],
  ['highintensityintervaltraining', 'hiit'],
  ['equestriansports', 'equestrian'],
  ['skatingsports', 'skating'],
  ['surfingsports', 'surfing'],
]

const healthKitTypes: ReadonlyMap<string, WorkoutType> = new Map([
  ...[...wireWorkoutTypes].map(([name, type]) => [name.replaceAll('_', ''), type] as const),
  ...renamed.map(([healthKit, sdk]) => [healthKit, wireWorkoutType(sdk)] as const),
])

/**
 * Our type of a workout by the iOS SDK's name, or by HealthKit's identifier, HKWorkoutActivityType and so on (sdk-types
 * 8.5).
 */
export function appleWorkoutType(wire: string | null): WorkoutType {
  const name = wire?.trim().toLowerCase() ?? ''
  if (name.startsWith(PREFIX)) return healthKitTypes.get(name.slice(PREFIX.length)) ?? 'other'
  return wireWorkoutType(name)
}
