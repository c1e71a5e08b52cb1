import type { Workout } from '../batch/columns.ts'
import type { Transaction } from '../db/database.ts'
import { planned } from '../db/planned.ts'
import { isoInstant } from '../time.ts'
import { countItems, type EventCounts, type EventTarget } from './event-items.ts'
import { deleteRows, placeText, relabelRows, storedRows, takeIds } from './held-rows.ts'
import { deleteSamples } from './origins/delete-samples.ts'
import { columnsOf, type IdColumns, idsIn, resolveItems, type Taken } from './platform-ids.ts'
import { isOlder, type Versioned } from './versions.ts'

// Columns an upload fills, beside the ids and the user; JSON documents are sent as text.
type Column = readonly [name: string, type: string, value: (workout: Placed) => string | number | null]
const columns: readonly Column[] = [
  ['source_id', 'int4', ({ sourceId }) => sourceId],
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

/** A workout with the key of its source. */
type Placed = Workout & { sourceId: number }

/**
 * Writes the workouts of a batch inside the caller's transaction, under the user's ingest lock (contract 12.9,
 * sdk-payload 7). The platform's id identifies a workout, else source, start and end; either way the later one replaces
 * the earlier and keeps its row. An older version never overwrites, and a partial one leaves what it does not say.
 * Undefined when there are none.
 */
export async function writeWorkouts(
  tx: Transaction,
  target: EventTarget,
  workouts: readonly Workout[],
): Promise<EventCounts | undefined> {
  if (workouts.length === 0) return undefined
  const { items, older } = await currentItems(tx, target, workouts)
  const ids = items.map(({ externalId }) => externalId)
  const stored = await storedRows(tx, target, 'workout', { ids, places: items })
  const { taken, relabelled, gone, moved } = resolveItems(stored, items, placeText)
  // The samples that a workout came with are removed when it moves, and arrive again with the batch.
  await deleteSamples(
    tx,
    target,
    moved.map((externalId) => ({ externalId, seriesId: null })),
  )
  await deleteRows(tx, 'workout', gone)
  const written = await planned<{ id: string }>(tx, WRITE_SQL, [target.userId, JSON.stringify(taken.map(rowOf))])
  await relabelRows(tx, 'workout', relabelled)
  const different = new Set(written.map(({ id }) => id))
  const changed = taken.flatMap(({ row: id, stored, displaced }, position) =>
    different.has(id) || displaced ? [{ position, is_new: stored === null, id }] : [],
  )
  const kept = taken.map(({ item }) => item)
  const counts = countItems('workout', workouts.length - older, kept, changed)
  return { ...counts, unchanged: counts.unchanged + older }
}

/**
 * The workouts with the keys of their sources, without those of which a later version is stored, and how many these are. A
 * partial one belongs to the source that the stored one has.
 */
async function currentItems(
  tx: Transaction,
  target: EventTarget,
  workouts: readonly Workout[],
): Promise<{ items: Placed[]; older: number }> {
  const placed = workouts.map((item) => ({ ...item, sourceId: target.sourceIds[item.source] as number }))
  // Phones give no versions.
  if (placed.every(({ atMs }) => atMs === undefined)) return { items: placed, older: 0 }
  const latest = joined(placed)
  const ids = latest.map(({ externalId }) => externalId)
  const stored = await storedRows(tx, target, 'workout', { ids, places: [] })
  const said = await planned<Said>(tx, SAID_SQL, [stored.map(({ row }) => row)])
  const byRow = new Map(said.map((one) => [one.id, one]))
  const byId = new Map(stored.flatMap(({ row, ids }) => ids.map((id) => [id, byRow.get(row)])))
  const items = latest.flatMap((item) => {
    const before = item.externalId === null ? undefined : byId.get(item.externalId)
    if (before && isOlder(item, before)) return []
    return [item.partial && before ? { ...item, sourceId: before.sourceId } : item]
  })
  return { items, older: latest.length - items.length }
}

/** What is stored of when a workout was said. */
interface Said extends Versioned {
  id: string
  sourceId: number
}

const SAID_SQL = `
  select id, source_id as "sourceId", version, round(date_part('epoch', answered_at) * 1000) as "atMs"
  from workout
  where id = any ($1)`

/** The latest of the workouts with one id; what a partial one says, over the others. */
function joined(items: readonly Placed[]): Placed[] {
  const kept = new Map<string | Placed, Placed>()
  for (const item of items) {
    const key = item.externalId ?? item
    const before = kept.get(key)
    if (!before) kept.set(key, item)
    else if (!isOlder(item, before)) kept.set(key, item.partial ? over(before, item) : item)
  }
  return [...kept.values()]
}

function over(before: Placed, { partial: _, source: __, sourceId: ___, ...given }: Placed): Placed {
  const said = Object.entries(given).filter(([, value]) => value !== null && value !== undefined)
  return { ...before, ...Object.fromEntries(said) }
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

/** What is written of an entry: its content by column, and how it is joined with what is stored. */
function rowOf({ row, ids, item }: Taken<Placed>) {
  const { atMs, version = null, partial = false, zoneTaken = false } = item
  return {
    ...{ id: row, ...columnsOf(ids), ...Object.fromEntries(columns.map(([name, , value]) => [name, value(item)])) },
    ...{ version, answered_at: atMs === undefined ? null : isoInstant(atMs) },
    ...{ partial, keeps_zone: zoneTaken && atMs !== undefined },
  }
}

const named = (prefix: string) => columns.map(([name]) => `${prefix}${name}`).join(', ')
const asSent = columns.map(([name, type]) => `${name} ${type === 'jsonb' ? 'text' : type}`).join(', ')
const asStored = columns
  .map(([name, type]) => (type === 'jsonb' ? `r.${name}::jsonb as ${name}` : `r.${name}`))
  .join(', ')
const asSaid = columns
  .map(([name]) => {
    const taken = name === 'zone_offset_min' ? 'i.keeps_zone and o.zone_offset_min is not null or ' : ''
    return `case when ${taken}i.partial and i.${name} is null then o.${name} else i.${name} end as ${name}`
  })
  .join(', ')

// A row with unchanged content and ids is not even touched; which ids and which version it has is no change that a reader
// sees.
const WRITE_SQL = `
  with input as materialized (
    select r.id, r.external_id, r.other_ids, r.version, r.answered_at, r.partial, r.keeps_zone, ${asStored}
    from json_to_recordset($2::json) as r (
      id uuid, external_id text, other_ids text[], version int8, answered_at timestamptz, partial boolean,
      keeps_zone boolean, ${asSent}
    )
  ), said as (
    select i.id, i.external_id, i.other_ids, coalesce(i.version, case when i.partial then o.version end) as version,
           i.answered_at, ${asSaid}
    from input i
    left join workout o on o.id = i.id
  ), compared as (
    select i.*, o.id is null or (${named('o.')}) is distinct from (${named('i.')}) as changed,
           (o.external_id, o.other_ids, o.version) is distinct from (i.external_id, i.other_ids, i.version) as relabelled
    from said i
    left join workout o on o.id = i.id
  ), written as (
    insert into workout as w (id, user_id, external_id, other_ids, version, answered_at, ${named('')})
    select c.id, $1, c.external_id, c.other_ids, c.version, c.answered_at, ${named('c.')}
    from compared c
    where c.changed or c.relabelled
    on conflict (id) do update
    set (external_id, other_ids, version, answered_at, ${named('')})
        = (excluded.external_id, excluded.other_ids, excluded.version, excluded.answered_at, ${named('excluded.')})
  )
  select c.id from compared c where c.changed`
