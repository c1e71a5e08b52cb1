import type { SdkAbility } from '../sdk.ts'
import { appleRecords } from './records.ts'
import { appleWorkoutType } from './workouts.ts'

/** Apple Health through the iOS SDK: HealthKit records and workouts (sdk-types 2, 3, 5, 8). */
export const sdk: SdkAbility = {
  records: appleRecords,
  recordKind: (type) => appleRecords.get(type) ?? 'ignored',
  workoutType: appleWorkoutType,
  givesSleepSessions: false,
}
