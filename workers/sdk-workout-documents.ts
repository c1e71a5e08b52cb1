import type { RoutePoint, WorkoutLap, WorkoutSegment } from '../server/batch/columns.ts'
import { normaliseDeviceString } from '../server/catalogue/devices.ts'
import { isoInstant } from '../server/time.ts'
import { isObject, type Json, plausibleInstant } from './sdk-fields.ts'
import type { Reading } from './sdk-reading.ts'

/** Maximum of segments and laps kept per workout, the first ones. */
export const MAX_PARTS = 2_000

/**
 * Maximum of points kept per route: one per second for nearly six hours. Of a longer one every second, third, … point
 * is kept.
 */
export const MAX_ROUTE_POINTS = 20_000

const MAX_TYPE_LENGTH = 64

/** Bound of metres, seconds and repetitions; values beyond it count as unknown. */
const MAX_VALUE = 1e9

/** An item of a list with its span in epoch milliseconds. */
interface Part {
  item: Json
  startMs: number
  endMs: number
}

/** Segments of a workout, each with a type and two dates in order (sdk-types 8.3). */
export function readSegments(reading: Reading, value: unknown): WorkoutSegment[] {
  const segments: WorkoutSegment[] = []
  for (const { item, startMs, endMs } of partsOf(reading, value)) {
    const type = typeText(reading, item.type)
    if (!type) continue
    segments.push({
      start_time: isoInstant(startMs),
      end_time: isoInstant(endMs),
      type,
      repetitions: Number.isInteger(item.repetitions) ? amount(item.repetitions) : null,
    })
  }
  return segments.slice(0, MAX_PARTS)
}

/** Laps of a workout, each with two dates in order (sdk-types 8.4). */
export function readLaps(reading: Reading, value: unknown): WorkoutLap[] {
  return partsOf(reading, value)
    .slice(0, MAX_PARTS)
    .map(({ item, startMs, endMs }) => ({
      start_time: isoInstant(startMs),
      end_time: isoInstant(endMs),
      type: typeText(reading, item.type) || null,
      duration_seconds: amount(item.duration),
      distance_meters: amount(item.distanceM),
    }))
}

/** The route of a workout in the order it was sent; at most MAX_ROUTE_POINTS points (sdk-types 8.4). */
export function readRoute({ latestMs }: Reading, value: unknown): RoutePoint[] {
  const points: RoutePoint[] = []
  for (const item of Array.isArray(value) ? value : []) {
    if (!isObject(item)) continue
    const ms = plausibleInstant(item.timestamp, latestMs)
    const latitude = within(item.latitude, 90)
    const longitude = within(item.longitude, 180)
    if (ms === undefined || latitude === null || longitude === null) continue
    const accuracies = [amount(item.horizontalAccuracyM), amount(item.verticalAccuracyM)] as const
    points.push([ms / 1000, latitude, longitude, within(item.altitudeM, MAX_VALUE), ...accuracies])
  }
  const step = Math.ceil(points.length / MAX_ROUTE_POINTS)
  return step > 1 ? points.filter((_, index) => index % step === 0) : points
}

/**
 * Seconds of movement: the length of the active segments, else of the workout without its idle ones; null when segments
 * do not say (sdk-types 8.3).
 */
export function movingSeconds(
  segments: readonly WorkoutSegment[],
  idle: ReadonlySet<string>,
  elapsedSeconds: number,
): number | null {
  if (segments.length === 0) return null
  const seconds = (some: readonly WorkoutSegment[]) =>
    some.reduce((sum, one) => sum + (Date.parse(one.end_time) - Date.parse(one.start_time)) / 1000, 0)
  const active = segments.filter(({ type }) => !idle.has(type))
  const moving = active.length > 0 ? seconds(active) : elapsedSeconds - seconds(segments)
  return Math.trunc(Math.min(Math.max(moving, 0), elapsedSeconds))
}

function partsOf({ latestMs }: Reading, value: unknown): Part[] {
  const parts: Part[] = []
  for (const item of Array.isArray(value) ? value : []) {
    if (!isObject(item)) continue
    const startMs = plausibleInstant(item.startDate, latestMs)
    const endMs = plausibleInstant(item.endDate, latestMs)
    if (startMs !== undefined && endMs !== undefined && startMs <= endMs) parts.push({ item, startMs, endMs })
  }
  return parts
}

function typeText({ decode }: Reading, value: unknown): string {
  return typeof value === 'string' ? normaliseDeviceString(decode(value), MAX_TYPE_LENGTH).toLowerCase() : ''
}

/** A number between -bound and bound, else null. */
function within(value: unknown, bound: number): number | null {
  return typeof value === 'number' && Math.abs(value) <= bound ? value : null
}

/** A non-negative number, else null. */
function amount(value: unknown): number | null {
  const number = within(value, MAX_VALUE)
  return number !== null && number >= 0 ? number : null
}
