import type { SdkAbility } from '../sdk.ts'
import { androidRecords } from './records.ts'

/** Health Connect through the Android SDK (sdk-types 4, 5). */
export const sdk: SdkAbility = {
  recordKind: (type) => androidRecords.get(type) ?? 'ignored',
  givesSleepSessions: true,
}
