import { createHash } from 'node:crypto'
import { numberOf, uuidOf } from '../random.ts'
import type { Day, Person } from '../truth/person.ts'
import { knownUntil } from '../truth/personas.ts'
import type { Workout } from '../truth/workouts.ts'
import { MINUTE_MS, offsetAt } from '../zones.ts'

export type Row = Record<string, unknown>

/** A record of a summary type: when it begins and ends, and what is written of it. */
export interface Item {
  readonly startMs: number
  readonly endMs: number
  row(): Row
}

/** How records are written. */
export interface Style {
  /** Seconds between heart rates of a day, and between samples of an activity. */
  readonly heartRateSeconds: number
  readonly detailSeconds: number
  /** Whether a night gets another id when it becomes longer. */
  readonly newSleepIds: boolean
}

export function userIdOf(person: Person): string {
  return uuidOf(`garmin/account/${person.seed}`)
}

/** `x1a2b3c4-69af4e70-15180`: who, when, and what else tells it apart. */
export function summaryId(person: Person, startMs: number, rest: string): string {
  const who = createHash('sha256').update(`garmin/${person.seed}`).digest('hex').slice(0, 7)
  return `x${who}-${seconds(startMs).toString(16)}${rest === '' ? '' : `-${rest}`}`
}

export function activityId(person: Person, { key }: Workout): number {
  return 15_000_000_000 + numberOf(`garmin/${person.seed}/${key}`)
}

export function seconds(ms: number): number {
  return Math.floor(ms / 1000)
}

export function offsetSeconds(zone: string, ms: number): number {
  return offsetAt(zone, ms) * 60
}

/** Whether the watch measures what only newer ones do: variability of the heart rate, temperature of the skin. */
export function isNew({ ring }: Person): boolean {
  return ring !== 'gen3'
}

/** Minutes of a local day that are known. */
export function knownMinutes(person: Person, { day }: Day, nowMs: number): number {
  const { startMs, met } = person.minutes(day)
  return Math.max(0, Math.min(met.length, Math.floor((knownUntil(person, nowMs) - startMs) / MINUTE_MS)))
}
