import type { Activity } from '../batch/columns.ts'
import type { Transaction } from '../db/database.ts'
import { planned } from '../db/planned.ts'
import type { EventCounts, EventTarget } from './event-items.ts'
import { countItems } from './event-items.ts'
import { deleteRows, placeText, relabelRows, storedRows, takeIds } from './held-rows.ts'
import { columnsOf, hasMoved, resolveItems } from './platform-ids.ts'

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
  const placeOf = ({ source, startMs, endMs, type }: Activity) => ({
    ...{ sourceId: target.sourceIds[source] as number, startMs, endMs, kind: type },
  })
  const ids = activities.map(({ externalId }) => externalId)
  const stored = await storedRows(tx, target, 'activity', { ids, places: activities.map(placeOf) })
  const { taken, relabelled, gone } = resolveItems(stored, activities, (one) => placeText(placeOf(one)))
  // Moved rows are removed first, since the new place of one may be the old place of another.
  await deleteRows(tx, 'activity', [...gone, ...taken.filter(hasMoved)])
  const rows = taken.map(({ row, ids, item }, position) => ({
    ...{ position, id: row, ...columnsOf(ids), source_id: target.sourceIds[item.source], type: item.type },
    ...{ start_ms: item.startMs, end_ms: item.endMs, zone_offset_min: item.zoneMin },
  }))
  const written = await planned<{ position: number }>(tx, WRITE_SQL, [target.userId, JSON.stringify(rows)])
  await relabelRows(tx, 'activity', relabelled)
  const changed = written.map(({ position }) => {
    const { row: id, stored } = taken[position] as (typeof taken)[number]
    return { position, is_new: stored === null, id }
  })
  const kept = taken.map(({ item }) => item)
  return countItems('activity', activities.length, kept, changed)
}

/** Takes these ids from the sessions that have them, deletes those left without one, and returns the ids found. */
export function deleteActivities(
  tx: Transaction,
  target: Pick<EventTarget, 'userId' | 'provider'>,
  externalIds: readonly string[],
): Promise<string[]> {
  return takeIds(tx, target, 'activity', externalIds)
}

// Which ids a session has is no change that a reader sees.
const WRITE_SQL = `
  with input as (
    select i.*, to_timestamp(i.start_ms / 1000) as start_at, to_timestamp(i.end_ms / 1000) as end_at
    from jsonb_to_recordset($2) as i (position int4, id uuid, source_id int4, external_id text, other_ids text[],
                                      type text, start_ms float8, end_ms float8, zone_offset_min int2)
  ), compared as (
    select i.*, a.id is null or a.zone_offset_min is distinct from i.zone_offset_min as changed,
           (a.external_id, a.other_ids) is distinct from (i.external_id, i.other_ids) as relabelled
    from input i
    left join lateral (
      select a.id, a.external_id, a.other_ids, a.zone_offset_min
      from activity a
      where (a.source_id, a.type, a.start_at, a.end_at) = (i.source_id, i.type, i.start_at, i.end_at)
      limit 1
    ) a on true
  ), written as (
    insert into activity (id, user_id, source_id, external_id, other_ids, type, start_at, end_at, zone_offset_min)
    select c.id, $1, c.source_id, c.external_id, c.other_ids, c.type, c.start_at, c.end_at, c.zone_offset_min
    from compared c
    where c.changed or c.relabelled
    on conflict (source_id, type, start_at, end_at) do update
    set external_id = excluded.external_id, other_ids = excluded.other_ids, zone_offset_min = excluded.zone_offset_min
  )
  select position from compared where changed`
