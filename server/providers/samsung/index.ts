import { androidRecords } from '../health_connect/records.ts'
import { idleSegments } from '../health_connect/workouts.ts'
import type { SdkAbility } from '../sdk.ts'
import { samsungWorkoutType } from './workouts.ts'

/**
 * Samsung Health through the Android SDK, which writes the same record types as for Health Connect (sdk-types 4, 5, 8).
 */
export const sdk: SdkAbility = {
  records: androidRecords,
  recordKind: (type) => androidRecords.get(type) ?? 'ignored',
  workoutType: samsungWorkoutType,
  idleSegments,
  givesSleepSessions: true,
}
