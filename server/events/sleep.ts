import { Type } from 'typebox'
import { Instant, Nullable } from '../http/schema.ts'
import { isoInstant } from '../time.ts'
import { type EventRow, zoneOf } from './row.ts'

/** The columns of `sleep`, as `e`, that a session is made from, besides its intervals `stages`. */
export const SLEEP_COLUMNS = `
  e.asleep_s, e.in_bed_s, e.awake_s, e.light_s, e.deep_s, e.rem_s, e.efficiency_percent, e.is_nap`

/** A row of SLEEP_COLUMNS. */
export interface SleepRow extends EventRow {
  asleep_s: number | null
  in_bed_s: number | null
  awake_s: number | null
  light_s: number | null
  deep_s: number | null
  rem_s: number | null
  efficiency_percent: number | null
  is_nap: boolean | null
  stages: [stage: string, startS: number, endS: number][] | null
}

const Minutes = Nullable(Type.Integer())

/** `stages` of a session. */
export const SleepStages = Type.Object(
  { awake_minutes: Minutes, light_minutes: Minutes, deep_minutes: Minutes, rem_minutes: Minutes },
  { title: 'SleepStages' },
)

/** One of `sleep_stage_intervals`. */
export const SleepStageInterval = Type.Object(
  { stage: Type.String(), start_time: Instant(), end_time: Instant() },
  { title: 'SleepStageInterval' },
)

/** A session in its API form (contract 5.4). */
export function sleepItem(row: SleepRow, source: object) {
  const span = Math.floor((Date.parse(row.end_at) - Date.parse(row.start_at)) / 1000)
  return {
    id: row.id,
    start_time: row.start_at,
    end_time: row.end_at,
    zone_offset: zoneOf(row),
    source,
    duration_seconds: span,
    sleep_duration_seconds: row.asleep_s,
    time_in_bed_seconds: row.in_bed_s ?? span,
    efficiency_percent: row.efficiency_percent,
    stages: stagesOf(row),
    sleep_stage_intervals:
      row.stages?.map(([stage, startS, endS]) => ({ stage, start_time: instant(startS), end_time: instant(endS) })) ??
      null,
    is_nap: row.is_nap ?? false,
  }
}

const instant = (seconds: number) => isoInstant(Math.round(seconds * 1000))

/** Whole minutes; null where the source does not report it, and everywhere if it reports nothing (D-18). */
function stagesOf({ awake_s, light_s, deep_s, rem_s }: SleepRow) {
  const minutes = (seconds: number | null) => (seconds === null ? null : Math.floor(seconds / 60))
  if (awake_s === null && light_s === null && deep_s === null && rem_s === null) return null
  return {
    awake_minutes: minutes(awake_s),
    light_minutes: minutes(light_s),
    deep_minutes: minutes(deep_s),
    rem_minutes: minutes(rem_s),
  }
}
