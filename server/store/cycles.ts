import { randomUUID } from 'node:crypto'
import type { CycleObservation } from '../batch/columns.ts'
import type { Transaction } from '../db/database.ts'
import { planned } from '../db/planned.ts'
import { type Cycle, cyclesOf, type Observation } from './cycle-rules.ts'
import type { EventCounts, EventTarget, Rebuilt, RemovedItems } from './event-items.ts'
import { countItems, derivedChanges } from './event-items.ts'
import { deleteRows, placeText, relabelRows, storedRows, takeIds } from './held-rows.ts'
import { columnsOf, type HeldRow, hasMoved, resolveItems } from './platform-ids.ts'

type Owner = Pick<EventTarget, 'userId' | 'provider'>

/**
 * Writes observations and derives the cycles of the user and provider again when one of them changed, or when they
 * arrive `again`. Kind and times identify an observation, and its id if it has one (sdk-types 9).
 */
export async function writeCycles(
  tx: Transaction,
  target: EventTarget,
  observations: readonly CycleObservation[],
  again: boolean,
): Promise<EventCounts | undefined> {
  if (observations.length === 0) return undefined
  const placeOf = ({ source, startMs, endMs, kind }: CycleObservation) => ({
    ...{ sourceId: target.sourceIds[source] as number, startMs, endMs, kind },
  })
  const ids = observations.map(({ externalId }) => externalId)
  const stored = await storedRows(tx, target, 'cycle_observation', { ids, places: observations.map(placeOf) })
  const { taken, relabelled, gone } = resolveItems(stored, observations, (one) => placeText(placeOf(one)))
  // Moved observations are removed first, since the new place of one may be the old place of another.
  await deleteRows(tx, 'cycle_observation', [...gone, ...taken.filter(hasMoved).map(({ stored }) => stored as HeldRow)])
  const rows = taken.map(({ ids, item }, position) => ({
    ...{ position, ...columnsOf(ids), source_id: target.sourceIds[item.source], kind: item.kind, level: item.level },
    ...{ cycle_start: item.cycleStart, start_ms: item.startMs, end_ms: item.endMs, zone_offset_min: item.zoneMin },
  }))
  const written = await planned<{ position: number }>(tx, WRITE_SQL, [target.userId, JSON.stringify(rows)])
  await relabelRows(tx, 'cycle_observation', relabelled)
  const changed = written.map(({ position }) => ({ position, is_new: taken[position]?.stored === null }))
  const rebuilt = changed.length > 0 || again ? await rebuildCycles(tx, target) : { derived: [], announced: [] }
  const kept = taken.map(({ item }) => item)
  return { ...countItems('menstrual_cycle', observations.length, kept, changed), ...rebuilt }
}

/** Takes these ids from the observations that have them, deletes those left without one, and derives the cycles again. */
export async function deleteCycleObservations(
  tx: Transaction,
  target: Owner,
  externalIds: readonly string[],
): Promise<RemovedItems> {
  const found = await takeIds(tx, target, 'cycle_observation', externalIds)
  const { announced } = found.length > 0 ? await rebuildCycles(tx, target) : { announced: [] }
  return { found, announced }
}

/**
 * Removes a stored cycle: one that a provider gave, or with everything observed in it, and derives the others again. Returns
 * its provider, the provider's id if it gave it as a whole, and the ids of new cycles; undefined when the user has no cycle
 * with this id.
 */
export async function deleteCycle(
  tx: Transaction,
  userId: string,
  id: string,
): Promise<{ provider: string; externalId: string | null; announced: string[] } | undefined> {
  const [cycle] = await tx.query<{ provider: string; external_id: string | null }>(DELETE_CYCLE_SQL, [id, userId])
  if (!cycle) return undefined
  const { provider, external_id: externalId } = cycle
  const announced = externalId === null ? (await rebuildCycles(tx, { userId, provider })).announced : []
  return { provider, externalId, announced }
}

// A cycle lasts until the first day of the next one, by the local dates of its observations.
const DELETE_CYCLE_SQL = `
  with gone as (
    delete from menstrual_cycle c
    where c.id = $1 and c.user_id = $2
    returning c.provider, case when c.given then c.external_id end as external_id, local_day(c.start_at, c.zone_offset_min) as first_day,
              (select min(local_day(next.start_at, next.zone_offset_min))
               from menstrual_cycle next
               where next.user_id = $2 and next.provider = c.provider and next.start_at > c.start_at and not next.given
              ) as next_day
  ), observations as (
    delete from cycle_observation o
    using gone c, data_source d
    where c.external_id is null and o.user_id = $2 and d.id = o.source_id and d.provider = c.provider
      and local_day(o.start_at, o.zone_offset_min) >= c.first_day
      and (c.next_day is null or local_day(o.start_at, o.zone_offset_min) < c.next_day)
  )
  select provider, external_id from gone`

// Which ids an observation has changes no cycle.
const WRITE_SQL = `
  with input as (
    select i.*, to_timestamp(i.start_ms / 1000) as start_at, to_timestamp(i.end_ms / 1000) as end_at
    from jsonb_to_recordset($2) as i (position int4, source_id int4, external_id text, other_ids text[], kind text,
                                      level text, cycle_start boolean, start_ms float8, end_ms float8,
                                      zone_offset_min int2)
  ), compared as (
    select i.*, o.source_id is null or (o.level, o.cycle_start, o.zone_offset_min)
                  is distinct from (i.level, i.cycle_start, i.zone_offset_min) as changed,
           (o.external_id, o.other_ids) is distinct from (i.external_id, i.other_ids) as relabelled
    from input i
    left join lateral (
      select o.source_id, o.external_id, o.other_ids, o.level, o.cycle_start, o.zone_offset_min
      from cycle_observation o
      where (o.source_id, o.kind, o.start_at, o.end_at) = (i.source_id, i.kind, i.start_at, i.end_at)
      limit 1
    ) o on true
  ), written as (
    insert into cycle_observation (
      user_id, source_id, kind, start_at, end_at, zone_offset_min, external_id, other_ids, level, cycle_start)
    select $1, c.source_id, c.kind, c.start_at, c.end_at, c.zone_offset_min, c.external_id, c.other_ids, c.level,
           c.cycle_start
    from compared c
    where c.changed or c.relabelled
    on conflict (source_id, kind, start_at, end_at) do update
    set zone_offset_min = excluded.zone_offset_min, external_id = excluded.external_id,
        other_ids = excluded.other_ids, level = excluded.level, cycle_start = excluded.cycle_start
  )
  select position from compared where changed`

/** A stored cycle; times in epoch milliseconds. */
interface StoredCycle {
  id: string
  external_id: string
  startMs: number
  endMs: number
}

/**
 * Makes the stored cycles those that follow from the observations; a cycle that grew or shrank keeps its row. Returns
 * the cycles that are different now, and the ids of new ones.
 */
async function rebuildCycles(tx: Transaction, { userId, provider }: Owner): Promise<Rebuilt> {
  const observations = await planned<Observation>(tx, OBSERVATIONS_SQL, [userId, provider])
  const cycles = cyclesOf(observations, provider)
  const stored = await planned<StoredCycle>(tx, STORED_SQL, [userId, provider])
  const ids = rowsOf(cycles, stored)
  const rows = cycles.map((cycle, index) => ({ id: ids[index] ?? randomUUID(), ...cycle }))
  const written = await planned<StoredCycle>(tx, CYCLES_SQL, [userId, provider, JSON.stringify(rows)])
  const kept = new Set(ids)
  return {
    derived: derivedChanges(stored, [...stored.filter(({ id }) => !kept.has(id)), ...written]),
    announced: rows.filter((_, index) => !ids[index]).map(({ id }) => id),
  }
}

/** Ids of the rows the cycles are in: the row of the same first day, else the next spare one of the same time. */
function rowsOf(cycles: readonly Cycle[], stored: readonly StoredCycle[]): (string | undefined)[] {
  const byDay = new Map(stored.map((row) => [row.external_id, row.id]))
  const days = new Set(cycles.map(({ external_id }) => external_id))
  const spare = stored.filter(({ external_id }) => !days.has(external_id))
  let at = 0
  return cycles.map(({ external_id, start_ms, end_ms }) => {
    const same = byDay.get(external_id)
    if (same) return same
    while ((spare[at]?.endMs ?? Number.POSITIVE_INFINITY) <= start_ms) at += 1
    const row = spare[at]
    if (!row || row.startMs >= end_ms) return undefined
    at += 1
    return row.id
  })
}

// In an order that does not depend on the order of arrival.
const OBSERVATIONS_SQL = `
  select o.source_id as "sourceId", o.kind, o.level, o.cycle_start as "cycleStart",
         round(date_part('epoch', o.start_at) * 1000) as "startMs", round(date_part('epoch', o.end_at) * 1000) as "endMs",
         o.zone_offset_min as "zoneMin"
  from cycle_observation o
  join data_source d on d.id = o.source_id
  where o.user_id = $1 and d.provider = $2
  order by o.start_at, o.end_at, d.device_model, d.source, o.kind`

const STORED = `
  id, external_id, round(date_part('epoch', start_at) * 1000) as "startMs",
  round(date_part('epoch', end_at) * 1000) as "endMs"`

const STORED_SQL = `
  select ${STORED}
  from menstrual_cycle
  where user_id = $1 and provider = $2 and not given
  order by start_at`

const CYCLES_SQL = `
  with input as (
    select i.*, to_timestamp(i.start_ms / 1000) as start_at, to_timestamp(i.end_ms / 1000) as end_at,
           to_timestamp(i.last_updated_ms / 1000) as last_updated_at
    from jsonb_to_recordset($3) as i (
      id uuid, external_id text, source_id int4, start_ms float8, end_ms float8, zone_offset_min int2,
      current_phase_type text, day_in_cycle int4, cycle_length int4, predicted_cycle_length int4, period_length int4,
      is_predicted_cycle boolean, last_updated_ms float8)
  ), gone as (
    delete from menstrual_cycle m
    where m.user_id = $1 and m.provider = $2 and not m.given and m.id not in (select i.id from input i)
  )
  insert into menstrual_cycle as m (
    id, user_id, provider, external_id, source_id, start_at, end_at, zone_offset_min, current_phase_type, day_in_cycle,
    cycle_length, predicted_cycle_length, period_length, is_predicted_cycle, last_updated_at)
  select i.id, $1, $2, i.external_id, i.source_id, i.start_at, i.end_at, i.zone_offset_min,
         i.current_phase_type, i.day_in_cycle, i.cycle_length, i.predicted_cycle_length, i.period_length,
         i.is_predicted_cycle, i.last_updated_at
  from input i
  on conflict (id) do update
  set external_id = excluded.external_id, source_id = excluded.source_id, start_at = excluded.start_at,
      end_at = excluded.end_at, zone_offset_min = excluded.zone_offset_min,
      current_phase_type = excluded.current_phase_type, day_in_cycle = excluded.day_in_cycle,
      cycle_length = excluded.cycle_length, predicted_cycle_length = excluded.predicted_cycle_length,
      period_length = excluded.period_length, is_predicted_cycle = excluded.is_predicted_cycle,
      last_updated_at = excluded.last_updated_at
  where (m.external_id, m.source_id, m.start_at, m.end_at, m.zone_offset_min, m.current_phase_type, m.day_in_cycle,
         m.cycle_length, m.predicted_cycle_length, m.period_length, m.is_predicted_cycle, m.last_updated_at)
        is distinct from
        (excluded.external_id, excluded.source_id, excluded.start_at, excluded.end_at, excluded.zone_offset_min,
         excluded.current_phase_type, excluded.day_in_cycle, excluded.cycle_length, excluded.predicted_cycle_length,
         excluded.period_length, excluded.is_predicted_cycle, excluded.last_updated_at)
  returning ${STORED}`
