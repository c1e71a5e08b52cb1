import type { SdkAbility } from '../sdk.ts'
import { appleRecords } from './records.ts'

/** Apple Health through the iOS SDK: HealthKit records (sdk-types 2, 3, 5). */
export const sdk: SdkAbility = {
  recordKind: (type) => appleRecords.get(type) ?? 'ignored',
  givesSleepSessions: false,
}
