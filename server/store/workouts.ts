import type { Workout } from '../batch/columns.ts'
import type { Transaction } from '../db/database.ts'
import { planned } from '../db/planned.ts'
import { isoInstant } from '../time.ts'
import { countItems, type EventCounts, type EventTarget } from './event-items.ts'
import { deleteRows, placeText, relabelRows, storedRows, takeIds } from './held-rows.ts'
import { deleteSamples } from './origins/delete-samples.ts'
import { columnsOf, type IdColumns, idsIn, resolveItems, type Taken } from './platform-ids.ts'

// Columns an upload fills, beside the ids and the user; JSON documents are sent as text.
type Column = readonly [name: string, type: string, value: (workout: Workout) => string | number | null]
const columns: readonly Column[] = [
  ['source_id', 'int4', ({ source }) => source],
  ['type', 'text', ({ type }) => type],
  ['title', 'text', ({ title }) => title],
  ['notes', 'text', ({ notes }) => notes],
  ['entry_source', 'text', ({ entrySource }) => entrySource],
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
  const placeOf = ({ source, startMs, endMs }: Workout) => ({
    ...{ sourceId: target.sourceIds[source] as number, startMs, endMs },
  })
  const ids = workouts.map(({ externalId }) => externalId)
  const stored = await storedRows(tx, target, 'workout', { ids, places: workouts.map(placeOf) })
  const { taken, relabelled, gone, moved } = resolveItems(stored, workouts, (one) => placeText(placeOf(one)))
  // The samples that a workout came with are removed when it moves, and arrive again with the batch.
  await deleteSamples(
    tx,
    target,
    moved.map((externalId) => ({ externalId, seriesId: null })),
  )
  await deleteRows(tx, 'workout', gone)
  const rows = taken.map((entry) => rowOf(entry, target))
  const written = await planned<{ id: string }>(tx, WRITE_SQL, [target.userId, JSON.stringify(rows)])
  await relabelRows(tx, 'workout', relabelled)
  const different = new Set(written.map(({ id }) => id))
  const changed = taken.flatMap(({ row: id, stored, displaced }, position) =>
    different.has(id) || displaced ? [{ position, is_new: stored === null, id }] : [],
  )
  const kept = taken.map(({ item }) => item)
  return countItems('workout', workouts.length, kept, changed)
}

/**
 * Takes the platform's ids from the workouts of the user and provider that have them, deletes those left without one, and
 * returns the ids found. An id also stands for the sessions made of it, `{id}-s0` and so on (sdk-payload 4.7, 8).
 */
export function deleteWorkouts(
  tx: Transaction,
  target: EventTarget,
  externalIds: readonly string[],
): Promise<string[]> {
  return takeIds(tx, target, 'workout', externalIds)
}

/** Deletes a workout of the user and returns its provider and the ids it had; undefined when there is none. */
export async function deleteWorkout(
  tx: Transaction,
  userId: string,
  id: string,
): Promise<{ provider: string; ids: string[] } | undefined> {
  const [gone] = await tx.query<IdColumns & { provider: string }>(
    `delete from workout w using data_source d
     where w.id = $1 and w.user_id = $2 and d.id = w.source_id
     returning d.provider, w.external_id, w.other_ids`,
    [id, userId],
  )
  return gone && { provider: gone.provider, ids: idsIn(gone) }
}

/** The stored content of an entry, by column. */
function rowOf({ row, ids, item }: Taken<Workout>, { sourceIds }: EventTarget) {
  const stored = { ...item, source: sourceIds[item.source] as number }
  return { id: row, ...columnsOf(ids), ...Object.fromEntries(columns.map(([name, , value]) => [name, value(stored)])) }
}

const named = (prefix: string) => columns.map(([name]) => `${prefix}${name}`).join(', ')
const asSent = columns.map(([name, type]) => `${name} ${type === 'jsonb' ? 'text' : type}`).join(', ')
const asStored = columns.map(([name, type]) => (type === 'jsonb' ? `r.${name}::jsonb` : `r.${name}`)).join(', ')

// A row with unchanged content and ids is not even touched; which ids it has is no change that a reader sees.
const WRITE_SQL = `
  with input (id, external_id, other_ids, ${named('')}) as materialized (
    select r.id, r.external_id, r.other_ids, ${asStored}
    from json_to_recordset($2::json) as r (id uuid, external_id text, other_ids text[], ${asSent})
  ), compared as (
    select i.*, o.id is null or (${named('o.')}) is distinct from (${named('i.')}) as changed,
           (o.external_id, o.other_ids) is distinct from (i.external_id, i.other_ids) as relabelled
    from input i
    left join workout o on o.id = i.id
  ), written as (
    insert into workout as w (id, user_id, external_id, other_ids, ${named('')})
    select c.id, $1, c.external_id, c.other_ids, ${named('c.')}
    from compared c
    where c.changed or c.relabelled
    on conflict (id) do update
    set (external_id, other_ids, ${named('')}) = (excluded.external_id, excluded.other_ids, ${named('excluded.')})
  )
  select c.id from compared c where c.changed`
