import { randomUUID } from 'node:crypto'
import type { Deletion, Workout } from '../batch/columns.ts'
import type { Transaction } from '../db/database.ts'
import { isoInstant } from '../time.ts'
import type { EventCounts, EventTarget } from './event-items.ts'
import { countItems, planned } from './event-items.ts'
import { deleteSamples } from './origins/delete-samples.ts'

/** A stored or new row of `workout`: its current keys, and its new content. */
interface Entry {
  id: string
  externalId: string | null
  /** Key of source and times; null when another took its place. */
  times: string | null
  stored: boolean
  /** What an item of this batch says; absent until one does. */
  workout?: Workout
  /** Whether it took the place of another stored row. */
  displaced: boolean
}

/** An entry that an item of the batch ended in. */
type Taken = Entry & { workout: Workout }

// Columns an upload fills, beside id and user; JSON documents are sent as text.
type Column = readonly [name: string, type: string, value: (workout: Workout) => string | number | null]
const columns: readonly Column[] = [
  ['source_id', 'int4', ({ source }) => source],
  ['external_id', 'text', ({ externalId }) => externalId],
  ['type', 'text', ({ type }) => type],
  ['title', 'text', ({ title }) => title],
  ['notes', 'text', ({ notes }) => notes],
  ['entry_source', 'text', ({ entrySource }) => entrySource],
  ['intensity', 'text', ({ intensity }) => intensity ?? null],
  ['start_at', 'timestamptz', ({ startMs }) => isoInstant(startMs)],
  ['end_at', 'timestamptz', ({ endMs }) => isoInstant(endMs)],
  ['zone_offset_min', 'int2', ({ zoneMin }) => zoneMin],
  ['duration_s', 'int4', ({ durationSeconds }) => durationSeconds],
  ['moving_s', 'int4', ({ movingSeconds }) => movingSeconds],
  ['calories_kcal', 'float8', ({ caloriesKcal }) => caloriesKcal],
  ['distance_m', 'float8', ({ distanceMeters }) => distanceMeters],
  ['steps', 'int4', ({ steps }) => steps],
  ['heart_rate_min', 'float8', ({ heartRateMin }) => heartRateMin],
  ['heart_rate_avg', 'float8', ({ heartRateAvg }) => heartRateAvg],
  ['heart_rate_max', 'float8', ({ heartRateMax }) => heartRateMax],
  ['average_speed', 'float8', ({ averageSpeed }) => averageSpeed],
  ['max_speed', 'float8', ({ maxSpeed }) => maxSpeed],
  ['average_cadence', 'float8', ({ averageCadence }) => averageCadence],
  ['average_watts', 'float8', ({ averageWatts }) => averageWatts],
  ['max_watts', 'float8', ({ maxWatts }) => maxWatts],
  ['elevation_gain_m', 'float8', ({ elevationGainMeters }) => elevationGainMeters],
  ['elevation_high_m', 'float8', ({ elevationHighMeters }) => elevationHighMeters],
  ['elevation_low_m', 'float8', ({ elevationLowMeters }) => elevationLowMeters],
  ['hr_zones', 'jsonb', ({ hrZones }) => hrZones ?? null],
  ['segments', 'jsonb', ({ segments }) => segments],
  ['laps', 'jsonb', ({ laps }) => laps],
  ['route', 'jsonb', ({ route }) => route],
]

/**
 * Writes the workouts of a batch inside the caller's transaction, under the user's ingest lock (contract 12.9,
 * sdk-payload 7). The platform's id identifies a workout, else source, start and end; either way the later one replaces
 * the earlier and keeps its row. Undefined when there are none.
 */
export async function writeWorkouts(
  tx: Transaction,
  target: EventTarget,
  workouts: readonly Workout[],
): Promise<EventCounts | undefined> {
  if (workouts.length === 0) return undefined
  const stored = await storedKeys(tx, target, workouts)
  const { entries, replaced } = resolve(stored, workouts, target)
  await deleteSamples(tx, target, moved(stored, entries))
  if (replaced.length > 0) await planned(tx, 'delete from workout where id = any ($1)', [replaced])
  const rows = entries.map((entry) => rowOf(entry, target))
  const written = new Set(
    (await planned<{ id: string }>(tx, WRITE_SQL, [target.userId, JSON.stringify(rows)])).map(({ id }) => id),
  )
  const changed = entries.flatMap(({ id, stored, displaced }, position) =>
    written.has(id) || displaced ? [{ position, is_new: !stored, id }] : [],
  )
  const kept = entries.map(({ workout }) => workout)
  return countItems('workout', workouts.length, kept, changed)
}

/** Stored workouts that moved: the samples they came with are removed, and arrive again with the batch. */
function moved(stored: readonly StoredKeys[], entries: readonly Taken[]): Deletion[] {
  const times = new Map(entries.map((entry) => [entry.id, entry.times]))
  return stored.flatMap((row) =>
    row.external_id === null || times.get(row.id) === timesOf(row)
      ? []
      : [{ externalId: row.external_id, seriesId: null }],
  )
}

const timesOf = ({ source_id, start_ms, end_ms }: StoredKeys) => `${source_id} ${start_ms} ${end_ms}`

/**
 * Deletes workouts of the user and provider by the platform's ids and returns those found. An id also stands for the
 * sessions made of it, `{id}-s0` and so on (sdk-payload 4.7, 8).
 */
export async function deleteWorkouts(
  tx: Transaction,
  { userId, provider }: EventTarget,
  externalIds: readonly string[],
): Promise<string[]> {
  const rows = await planned<{ id: string }>(
    tx,
    `with asked as materialized (
       select distinct id from unnest($3::text[]) as a (id)
     ), deleted as (
       delete from workout w
       using data_source d
       where w.user_id = $1 and d.id = w.source_id and d.provider = $2
         and (w.external_id in (select id from asked)
              or regexp_replace(w.external_id, '-s\\d+$', '') in (select id from asked))
       returning w.external_id
     )
     select id
     from asked
     where id in (select external_id from deleted)
        or id in (select regexp_replace(external_id, '-s\\d+$', '') from deleted)`,
    [userId, provider, externalIds],
  )
  return rows.map(({ id }) => id)
}

interface StoredKeys {
  id: string
  source_id: number
  external_id: string | null
  start_ms: number
  end_ms: number
}

/** The stored workouts that share a key with one of the batch. */
function storedKeys(tx: Transaction, target: EventTarget, workouts: readonly Workout[]): Promise<StoredKeys[]> {
  return planned<StoredKeys>(tx, KEYS_SQL, [
    target.userId,
    target.provider,
    workouts.map(({ externalId }) => externalId).filter((id) => id !== null),
    workouts.map(({ source }) => target.sourceIds[source] as number),
    workouts.map(({ startMs }) => startMs / 1000),
    workouts.map(({ endMs }) => endMs / 1000),
  ])
}

// One look-up per item: until a user's first export is in the statistics, a join compares every item with every row of
// the user (4 s for 10,000 workouts against 0.1 s).
const KEYS_SQL = `
  with key as (
    select e.id, e.source_id, e.external_id, e.start_at, e.end_at
    from unnest($3::text[]) as i (external_id)
    cross join lateral (
      select w.id, w.source_id, w.external_id, w.start_at, w.end_at
      from workout w
      where w.user_id = $1 and w.external_id = i.external_id
      offset 0
    ) e
    where e.source_id = any (array (select d.id from data_source d where d.user_id = $1 and d.provider = $2))
    union
    select s.id, s.source_id, s.external_id, s.start_at, s.end_at
    from unnest($4::int4[], $5::float8[], $6::float8[]) as i (source_id, start_s, end_s)
    cross join lateral (
      select w.id, w.source_id, w.external_id, w.start_at, w.end_at
      from workout w
      where w.source_id = i.source_id and w.start_at = to_timestamp(i.start_s) and w.end_at = to_timestamp(i.end_s)
      offset 0
    ) s
  )
  select id, source_id, external_id,
         round(date_part('epoch', start_at) * 1000) as start_ms, round(date_part('epoch', end_at) * 1000) as end_ms
  from key`

/**
 * Takes the items one after another, as if each had its own upload, so it makes no difference how they are spread. An
 * item goes to the row with its id, else to the one with its times. If the times are those of a third row, that row is
 * removed, unless its id still follows. Returns the rows that items of the batch ended in, and the removed stored rows.
 */
function resolve(stored: readonly StoredKeys[], workouts: readonly Workout[], { sourceIds }: EventTarget) {
  const byId = new Map<string, Entry>()
  const byTimes = new Map<string, Entry>()
  const entries = new Set<Entry>()
  const gone = new Set<Entry>()
  for (const row of stored) {
    const times = timesOf(row)
    const entry = { id: row.id, externalId: row.external_id, times, stored: true, displaced: false }
    byTimes.set(times, entry)
    if (entry.externalId !== null) byId.set(entry.externalId, entry)
  }
  for (const workout of workouts) {
    const { externalId, startMs, endMs } = workout
    const times = `${sourceIds[workout.source]} ${startMs} ${endMs}`
    const same = externalId === null ? undefined : byId.get(externalId)
    const there = byTimes.get(times)
    const entry = same ?? there ?? { id: randomUUID(), externalId, times, stored: false, displaced: false }
    if (there && there !== entry) {
      there.times = null
      gone.add(there)
      entries.delete(there)
      entry.displaced ||= there.stored || there.displaced
    }
    gone.delete(entry)
    entries.add(entry)
    if (entry.times !== null) byTimes.delete(entry.times)
    entry.times = times
    byTimes.set(times, entry)
    // An item without its id is still the workout whose id is known.
    if (externalId !== null) {
      if (entry.externalId !== null) byId.delete(entry.externalId)
      entry.externalId = externalId
      byId.set(externalId, entry)
    }
    entry.workout = workout
  }
  const replaced = [...gone].filter((entry) => entry.stored).map(({ id }) => id)
  return { entries: [...entries] as Taken[], replaced }
}

/** The stored content of an entry, by column. */
function rowOf({ id, externalId, workout }: Taken, { sourceIds }: EventTarget) {
  const stored = { ...workout, externalId, source: sourceIds[workout.source] as number }
  return { id, ...Object.fromEntries(columns.map(([name, , value]) => [name, value(stored)])) }
}

const named = (prefix: string) => columns.map(([name]) => `${prefix}${name}`).join(', ')
const asSent = columns.map(([name, type]) => `${name} ${type === 'jsonb' ? 'text' : type}`).join(', ')
const asStored = columns.map(([name, type]) => (type === 'jsonb' ? `r.${name}::jsonb` : `r.${name}`)).join(', ')

// A row with unchanged content is not even touched.
const WRITE_SQL = `
  with input (id, ${named('')}) as materialized (
    select r.id, ${asStored}
    from json_to_recordset($2::json) as r (id uuid, ${asSent})
  )
  insert into workout as w (id, user_id, ${named('')})
  select i.id, $1, ${named('i.')}
  from input i
  left join workout o on o.id = i.id
  where o.id is null or (${named('o.')}) is distinct from (${named('i.')})
  on conflict (id) do update
  set (${named('')}) = (${named('excluded.')})
  returning w.id`
