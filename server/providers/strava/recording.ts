import { normaliseDeviceString } from '../../catalogue/devices.ts'
import { parseInstant } from '../../time.ts'
import { textAt, valueAt } from '../answers.ts'
import { cadenceFactor, workoutType } from './workouts.ts'

/** What has to be known of an activity to read what was recorded in it. */
export interface Recording {
  readonly id: string
  readonly startMs: number
  readonly zoneMin: number | null
  readonly device: string
  /** See `cadenceFactor`. */
  readonly cadenceFactor: number
  /** False: power is Strava's estimate. */
  readonly hasPower: boolean
}

/** The longest name of a device, in characters. */
const MAX_DEVICE = 100

/** Of a detailed activity; undefined when it has no id or no time. */
export function recordingOf(activity: unknown): Recording | undefined {
  const id = String(valueAt(activity, 'id'))
  const startMs = parseInstant(textAt(activity, 'start_date') ?? '')
  if (!/^\d{1,20}$/.test(id) || startMs === undefined) return undefined
  return {
    id,
    startMs,
    zoneMin: zoneMinOf(valueAt(activity, 'utc_offset'), startMs, textAt(activity, 'start_date_local')),
    device: normaliseDeviceString(textAt(activity, 'device_name'), MAX_DEVICE),
    cadenceFactor: cadenceFactor(workoutType(textAt(activity, 'sport_type'), textAt(activity, 'type'))),
    hasPower: valueAt(activity, 'device_watts') !== false,
  }
}

/** No clock is further from UTC: 18 hours. */
const MAX_ZONE_MIN = 1_080

/**
 * Minutes east of UTC: of the seconds that an activity says, else of its local time, which is written as if it were UTC;
 * null for none.
 */
export function zoneMinOf(seconds: unknown, startMs: number, local: string | undefined): number | null {
  const told = typeof seconds === 'number' ? Math.round(seconds / 60) : Number.NaN
  const shown = Math.round(((parseInstant(local ?? '') ?? Number.NaN) - startMs) / 60_000)
  return [told, shown].find((minutes) => Math.abs(minutes) <= MAX_ZONE_MIN) ?? null
}
