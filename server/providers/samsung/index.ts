import { androidRecords } from '../health_connect/records.ts'
import type { SdkAbility } from '../sdk.ts'

/**
 * Samsung Health through the Android SDK, which writes the same record types as for Health Connect (sdk-types 4, 5).
 */
export const sdk: SdkAbility = {
  recordKind: (type) => androidRecords.get(type) ?? 'ignored',
  givesSleepSessions: true,
}
