import type { AnnouncedKind, AnnouncedRows } from '../batch/changes.ts'
import type { EventName } from '../catalogue/events.ts'
import type { Scope } from '../catalogue/scopes.ts'
import type { Transaction } from '../db/database.ts'
import { planned } from '../db/planned.ts'
import { MEAL_COLUMNS, type MealRow, mealItem } from '../events/meal.ts'
import { type EventRow, zoneOf } from '../events/row.ts'
import { SLEEP_COLUMNS, type SleepRow, sleepItem } from '../events/sleep.ts'
import { pace, rounded, type WorkoutRow } from '../events/workout.ts'
import { type EventSettings, type NewEvent, recordEvents, wantedEvents } from './record.ts'

// Events that report one row each: their content is read from the row, after everything of its batch was written.

/** A row with its source. */
type WithSource<Row> = Row & { user_id: string; provider: string; device: string | null; source: string | null }

interface Session<Row> {
  event: EventName
  /** Expressions of the table, as `e`. */
  columns: string
  data(row: WithSource<Row>): object
  /** Which rows of `e` have events; absent if all have. */
  condition?: string
  /** The scope of a row's events; absent if that of what changed it. */
  scope?(row: WithSource<Row>): Scope | null
  /** Distinguishes two events of one row; absent if a row has at most one. */
  version?(row: WithSource<Row>): string
}

const spanSeconds = ({ start_at, end_at }: EventRow) => Math.floor((Date.parse(end_at) - Date.parse(start_at)) / 1000)

/** The fields of every session (contract 10.3). */
const common = (row: WithSource<EventRow>) => ({
  id: row.id,
  user_id: row.user_id,
  start_time: row.start_at,
  end_time: row.end_at,
  zone_offset: zoneOf(row),
  source: { provider: row.provider, device: row.device },
})

const workout: Session<WorkoutRow> = {
  event: 'workout.created',
  columns:
    'e.type, e.duration_s, e.calories_kcal, e.distance_m, e.heart_rate_avg, e.heart_rate_max, e.average_speed, e.elevation_gain_m',
  data: (row) => ({
    ...common(row),
    type: row.type,
    duration_seconds: row.duration_s,
    calories_kcal: row.calories_kcal,
    distance_meters: row.distance_m,
    avg_heart_rate_bpm: rounded(row.heart_rate_avg),
    max_heart_rate_bpm: rounded(row.heart_rate_max),
    avg_pace_sec_per_km: pace(row),
    elevation_gain_meters: row.elevation_gain_m,
  }),
}

/** Maximum of intervals in the body of a session; a night has some hundreds. */
const MOST_INTERVALS = 8_000

const sleep: Session<SleepRow & { changed_at: string; scope: Scope | null }> = {
  event: 'sleep.created',
  columns: `${SLEEP_COLUMNS}, case when jsonb_array_length(e.stages) <= ${MOST_INTERVALS} then e.stages end as stages, e.changed_at, e.scope`,
  data: (row) => {
    const source = { provider: row.provider, device: row.device, source: row.source }
    const { time_in_bed_seconds, ...session } = sleepItem(row, source)
    return { ...session, user_id: row.user_id }
  },
  // The others get their event when they are closed.
  condition: 'e.closed_at is not null',
  scope: ({ scope }) => scope,
  version: ({ changed_at }) => `.${Date.parse(changed_at)}`,
}

const meal: Session<MealRow> = {
  event: 'meal.created',
  columns: MEAL_COLUMNS,
  data: (row) => {
    const { name, ...item } = mealItem(row, { provider: row.provider, device: row.device })
    return { ...common(row), ...item, title: name }
  },
}

interface CycleRow extends EventRow {
  current_phase_type: string | null
  day_in_cycle: number | null
  cycle_length: number | null
  is_predicted_cycle: boolean | null
  pregnancy_snapshot: unknown
}

const cycle: Session<CycleRow> = {
  event: 'menstrual_cycle.created',
  columns: 'e.current_phase_type, e.day_in_cycle, e.cycle_length, e.is_predicted_cycle, e.pregnancy_snapshot',
  data: (row) => ({
    ...common(row),
    current_phase_type: row.current_phase_type,
    day_in_cycle: row.day_in_cycle,
    cycle_length: row.cycle_length,
    is_predicted_cycle: row.is_predicted_cycle,
    pregnancy_snapshot: row.pregnancy_snapshot,
  }),
}

const activity: Session<EventRow & { type: string }> = {
  event: 'activity.created',
  columns: 'e.type',
  data: (row) => ({ ...common(row), type: row.type, duration_seconds: spanSeconds(row) }),
}

const sessions = { workout, sleep, meal, menstrual_cycle: cycle, activity } satisfies Record<
  AnnouncedKind,
  // biome-ignore lint/suspicious/noExplicitAny: each has columns of its own
  Session<any>
>

/** Name of the event that reports a kind of row. */
export const eventOf = (kind: AnnouncedKind): EventName => sessions[kind].event

/**
 * The events of rows of one kind, in order of time; a row that no longer exists, or waits to be closed, has none. Their
 * scope is that of what changed the rows, except that nights have their own.
 */
export async function sessionEvents(
  tx: Transaction,
  kind: AnnouncedKind,
  ids: readonly string[],
  changedBy: Scope,
): Promise<NewEvent[]> {
  if (ids.length === 0) return []
  const { event, columns, data, condition = 'true', scope, version }: Session<EventRow> = sessions[kind]
  const rows = await planned<WithSource<EventRow>>(
    tx,
    `select e.id, e.user_id, e.start_at, e.end_at, e.source_id, e.zone_offset_min, ${columns}, d.provider,
            nullif(d.device_model, '') as device, nullif(d.source, '') as source
     from ${kind} e
     join data_source d on d.id = e.source_id
     where e.id = any ($1) and ${condition}
     order by e.start_at, e.id`,
    [ids],
  )
  return rows.map((row) => ({
    userId: row.user_id,
    provider: row.provider,
    name: event,
    key: `${event}.${row.id}${version?.(row) ?? ''}`,
    scope: scope ? scope(row) : changedBy,
    data: Buffer.from(JSON.stringify(data(row))),
    packed: false,
  }))
}

/** Records the events of rows of a user that changed here and now, in the caller's transaction, if somebody wants them. */
export async function recordRows(
  tx: Transaction,
  settings: EventSettings,
  userId: string,
  { type, announced }: AnnouncedRows,
): Promise<void> {
  if (announced.length === 0) return
  const wanted = await wantedEvents(tx, settings, userId)
  if (!wanted?.(eventOf(type), null)) return
  const events = await sessionEvents(tx, type, announced, 'live')
  await recordEvents(
    tx,
    events.filter(({ name, scope }) => wanted(name, scope)),
  )
}
