import { readUpload } from './sdk-upload.ts'

/** How much is rehearsed: more of it saved the first upload nothing further. */
const RECORDS = 1_000
const TIMES = 4

const TYPES = [
  ['HeartRate', 'bpm', 62],
  ['StepCount', 'count', 114],
  ['DistanceWalkingRunning', 'm', 31.25],
  ['ActiveEnergyBurned', 'Cal', 1.204],
] as const

const SOURCE = {
  appId: 'com.apple.health.3F1C7A52-8E0B-4C1D-9B64-0D2A7E915C33',
  name: 'Watch',
  deviceId: null,
  deviceName: 'Apple Watch',
  deviceManufacturer: 'Apple Inc.',
  deviceModel: 'Watch7,5',
  deviceType: 'watch',
  recordingMethod: null,
  deviceSoftwareVersion: '11.4',
  operatingSystemVersion: { majorVersion: 11, minorVersion: 4, patchVersion: 0 },
}

/** Thread entry: reads an invented upload a few times, so that V8 compiles what the first real one needs. */
export default function warmUp(nowMs: number): void {
  const bytes = inventedUpload(nowMs)
  for (let times = 0; times < TIMES; times += 1)
    readUpload({ bytes, encoding: 'identity', queryProvider: null, provider: null, nowMs })
}

/** An upload as the iOS SDK sends it. */
export function inventedUpload(nowMs: number): Buffer {
  const records = Array.from({ length: RECORDS }, (_, index) => {
    const [type, unit, value] = TYPES[index % TYPES.length] as (typeof TYPES)[number]
    const at = new Date(nowMs - index * 5_000).toISOString().replace(/\.\d+/, '')
    return {
      id: `00000000-0000-4000-A000-${String(index).padStart(12, '0')}`,
      type: `HKQuantityTypeIdentifier${type}`,
      ...{ startDate: at, endDate: at, zoneOffset: '+01:00', source: SOURCE },
      ...{ value, unit, parentId: null, metadata: null },
    }
  })
  const data = { records, sleep: [], workouts: [] }
  return Buffer.from(JSON.stringify({ provider: 'apple', sdkVersion: '0.15.0', syncType: 'live', data }))
}
