import type { Activity } from '../batch/columns.ts'
import type { Transaction } from '../db/database.ts'
import type { EventCounts, EventTarget } from './event-items.ts'
import { type ChangedItem, countItems, deleteItems, lastOfEach, planned } from './event-items.ts'

/**
 * Writes sessions that are neither workout nor sleep. Type and times identify a session, and its id if it has one: a
 * session that arrives with other times under its id is the same one, moved.
 */
export async function writeActivities(
  tx: Transaction,
  target: EventTarget,
  activities: readonly Activity[],
): Promise<EventCounts | undefined> {
  if (activities.length === 0) return undefined
  const kept = lastOfEach(
    lastOfEach(activities, ({ externalId }) => externalId),
    ({ source, type, startMs, endMs }) => `${source} ${startMs} ${endMs} ${type}`,
  )
  const items = kept.map(({ source, externalId, type, startMs, endMs, zoneMin }, position) => ({
    position,
    source_id: target.sourceIds[source],
    external_id: externalId,
    type,
    start_ms: startMs,
    end_ms: endMs,
    zone_offset_min: zoneMin,
  }))
  const owner = [target.userId, target.provider]
  const moved = await planned<{ id: string; external_id: string }>(tx, MOVED_SQL, [...owner, JSON.stringify(items)])
  const rowIds = new Map(moved.map(({ id, external_id }) => [external_id, id]))
  const rows = items.map((item) => ({ ...item, id: rowIds.get(item.external_id ?? '') ?? null }))
  const changed = await planned<ChangedItem>(tx, WRITE_SQL, [target.userId, JSON.stringify(rows)])
  return countItems('activity', activities.length, kept, changed)
}

/** Removes the sessions with one of these ids and returns the ids found. */
export function deleteActivities(
  tx: Transaction,
  target: Pick<EventTarget, 'userId' | 'provider'>,
  externalIds: readonly string[],
): Promise<string[]> {
  return deleteItems(tx, target, 'activity', externalIds)
}

const INPUT = (parameter: string) => `
  select i.*, to_timestamp(i.start_ms / 1000) as start_at, to_timestamp(i.end_ms / 1000) as end_at
  from jsonb_to_recordset(${parameter}) as i (position int4, id uuid, source_id int4, external_id text, type text,
                                              start_ms float8, end_ms float8, zone_offset_min int2)`

// Moved sessions are removed first, since the new place of one may be the old place of another.
const MOVED_SQL = `
  with input as (${INPUT('$3')})
  delete from activity
  where id = any (array(
    select a.id
    from input i
    cross join lateral (
      select a.id, a.source_id, a.type, a.start_at, a.end_at
      from activity a
      where a.user_id = $1 and a.external_id = i.external_id
      offset 0
    ) a
    join data_source d on d.id = a.source_id and d.provider = $2
    where (a.source_id, a.type, a.start_at, a.end_at) is distinct from (i.source_id, i.type, i.start_at, i.end_at)))
  returning id, external_id`

const WRITE_SQL = `
  with input as (${INPUT('$2')}), changed as (
    select i.*, coalesce(i.id, gen_random_uuid()) as row_id, a.id is null and i.id is null as is_new
    from input i
    left join lateral (
      select a.id, a.external_id, a.zone_offset_min
      from activity a
      where (a.source_id, a.type, a.start_at, a.end_at) = (i.source_id, i.type, i.start_at, i.end_at)
      limit 1
    ) a on true
    where a.id is null
       or (a.external_id, a.zone_offset_min) is distinct from (coalesce(i.external_id, a.external_id), i.zone_offset_min)
  ), written as (
    insert into activity as a (id, user_id, source_id, external_id, type, start_at, end_at, zone_offset_min)
    select c.row_id, $1, c.source_id, c.external_id, c.type, c.start_at, c.end_at, c.zone_offset_min
    from changed c
    on conflict (source_id, type, start_at, end_at) do update
    set external_id = coalesce(excluded.external_id, a.external_id), zone_offset_min = excluded.zone_offset_min
  )
  select position, is_new, row_id as id from changed`
