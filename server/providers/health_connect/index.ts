import type { SdkAbility } from '../sdk.ts'
import { wireWorkoutType } from '../workout-types.ts'
import { androidRecords } from './records.ts'
import { idleSegments } from './workouts.ts'

/** Health Connect through the Android SDK (sdk-types 4, 5, 8). */
export const sdk: SdkAbility = {
  records: androidRecords,
  recordKind: (type) => androidRecords.get(type) ?? 'ignored',
  workoutType: wireWorkoutType,
  idleSegments,
  givesSleepSessions: true,
}
