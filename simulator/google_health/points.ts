import type { Person } from '../truth/person.ts'
import { DAY_MS, MINUTE_MS, offsetAt } from '../zones.ts'

export type Row = Record<string, unknown>

/** What measures: devices of a person, and what others enter. */
export type Source = 'watch' | 'phone' | 'scale' | 'app'

/** Something that was measured, between two instants or at one. */
export interface Point {
  readonly startMs: number
  /** Of samples the start. */
  readonly endMs: number
  readonly zone: string
  /** What it says, besides its time. */
  readonly value: Row
  readonly source: Source
  /** Days since 1970-01-01, of what is said of a whole day. */
  readonly date?: number
  /** Its name below its type, where it can be asked for by it. */
  readonly id?: string
}

/** An instant in the API's spelling, without fractions of seconds that are 0. */
export function instant(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z')
}

/** A zone's offset as a duration. */
export function offsetText(zone: string, ms: number): string {
  return `${offsetAt(zone, ms) * 60}s`
}

/** Local time as ms since 1970-01-01T00:00 local time. */
export function wallMs(zone: string, ms: number): number {
  return ms + offsetAt(zone, ms) * MINUTE_MS
}

export function dateParts(day: number): Row {
  const date = new Date(day * DAY_MS)
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() }
}

/** Local time in parts; those that are 0 are left out. */
export function civil(wall: number): Row {
  const date = new Date(wall)
  const parts = { hours: date.getUTCHours(), minutes: date.getUTCMinutes(), seconds: date.getUTCSeconds() }
  const time = Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== 0))
  return { date: dateParts(Math.floor(wall / DAY_MS)), time }
}

export type Shape = 'interval' | 'sample' | 'daily' | 'session' | 'sleep'

/** The time of a point as its type has it. */
export function timeOf({ startMs, endMs, zone, date }: Point, shape: Shape): Row {
  if (shape === 'daily') return { date: dateParts(date ?? 0) }
  if (shape === 'sample') {
    const times = { physicalTime: instant(startMs), utcOffset: offsetText(zone, startMs) }
    return { sampleTime: { ...times, civilTime: civil(wallMs(zone, startMs)) } }
  }
  return {
    interval: {
      ...{ startTime: instant(startMs), endTime: instant(endMs) },
      ...{ startUtcOffset: offsetText(zone, startMs), endUtcOffset: offsetText(zone, endMs) },
      ...{ civilStartTime: civil(wallMs(zone, startMs)), civilEndTime: civil(wallMs(zone, endMs)) },
    },
  }
}

function isNew({ ring }: Person): boolean {
  return ring !== 'gen3'
}

/** Where a point comes from, which lists say and merged streams do not. */
export function sourceOf(person: Person, source: Source): Row {
  if (source === 'app')
    return {
      ...{ platform: 'HEALTH_CONNECT', recordingMethod: 'MANUAL' },
      application: { packageName: 'com.example.food' },
    }
  if (source === 'phone') {
    const device = { manufacturer: 'Google', formFactor: 'PHONE' }
    return { platform: 'FIT', recordingMethod: 'PASSIVELY_MEASURED', device }
  }
  if (source === 'scale') {
    const device = { displayName: 'Aria Air', manufacturer: 'Fitbit', formFactor: 'SCALE' }
    return { platform: 'FITBIT', recordingMethod: 'ACTIVELY_MEASURED', device }
  }
  return { platform: 'FITBIT', recordingMethod: 'PASSIVELY_MEASURED', device: watchOf(person) }
}

/** The watch, or the band of who has an older one. */
export function watchOf(person: Person): Row {
  return isNew(person)
    ? { displayName: 'Pixel Watch 4', manufacturer: 'Google', formFactor: 'WATCH' }
    : { displayName: 'Charge 6', manufacturer: 'Fitbit', formFactor: 'FITNESS_BAND' }
}
