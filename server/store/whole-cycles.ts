import { randomUUID } from 'node:crypto'
import type { WholeCycle } from '../batch/columns.ts'
import type { Transaction } from '../db/database.ts'
import { planned } from '../db/planned.ts'
import { type ChangedItem, countItems, type EventCounts, type EventTarget } from './event-items.ts'
import { isOlder, latestOfEach } from './versions.ts'

// Menstrual cycles that a provider gives as a whole; those that follow from observations are in cycles.ts.

type Owner = Pick<EventTarget, 'userId' | 'provider'>

/**
 * Writes the cycles of a batch by the provider's ids. The day in the cycle changes every day, which is no new event (contract
 * 12.9). An older version never overwrites.
 */
export async function writeWholeCycles(
  tx: Transaction,
  target: EventTarget,
  cycles: readonly WholeCycle[],
): Promise<EventCounts | undefined> {
  if (cycles.length === 0) return undefined
  const { userId, provider, sourceIds } = target
  const kept = [...latestOfEach(cycles.map(versioned), ({ externalId }) => externalId).kept.values()]
  const ids = kept.map(({ externalId }) => externalId)
  const stored = new Map(
    (await planned<StoredCycle>(tx, STORED_SQL, [userId, provider, ids])).map((row) => [row.externalId, row]),
  )
  const rows = kept.flatMap((cycle, position) => {
    const same = stored.get(cycle.externalId)
    if (same && isOlder(cycle, same)) return []
    const zoneMin = cycle.zoneTaken && same ? same.zoneMin : cycle.zoneMin
    return [{ ...cycle, position, id: same?.id ?? randomUUID(), zoneMin, sourceId: sourceIds[cycle.source] }]
  })
  const changed = await planned<ChangedItem>(tx, WRITE_SQL, [userId, provider, JSON.stringify(rows)])
  return countItems('menstrual_cycle', cycles.length, kept, changed)
}

const versioned = (cycle: WholeCycle) => ({ ...cycle, version: cycle.lastUpdatedMs })

interface StoredCycle {
  id: string
  externalId: string
  zoneMin: number | null
  version: number | null
  atMs: number | null
}

const STORED_SQL = `
  select id, external_id as "externalId", zone_offset_min as "zoneMin",
         round(date_part('epoch', last_updated_at) * 1000) as version, round(date_part('epoch', answered_at) * 1000) as "atMs"
  from menstrual_cycle
  where user_id = $1 and provider = $2 and external_id = any ($3)`

/** Columns as they are in the JSON, and their types. */
const details = [
  ['current_phase', 'currentPhase', 'int4'],
  ['current_phase_type', 'currentPhaseType', 'text'],
  ['day_in_cycle', 'dayInCycle', 'int4'],
  ['cycle_length', 'cycleLength', 'int4'],
  ['predicted_cycle_length', 'predictedCycleLength', 'int4'],
  ['period_length', 'periodLength', 'int4'],
  ['length_of_current_phase', 'lengthOfCurrentPhase', 'int4'],
  ['days_until_next_phase', 'daysUntilNextPhase', 'int4'],
  ['fertile_window_start', 'fertileWindowStart', 'int4'],
  ['length_of_fertile_window', 'lengthOfFertileWindow', 'int4'],
  ['is_predicted_cycle', 'isPredictedCycle', 'boolean'],
  ['has_specified_cycle_length', 'hasSpecifiedCycleLength', 'boolean'],
  ['has_specified_period_length', 'hasSpecifiedPeriodLength', 'boolean'],
  ['zone_offset_min', 'zoneMin', 'int2'],
  ['source_id', 'sourceId', 'int4'],
] as const satisfies readonly (readonly [string, keyof WholeCycle | 'sourceId', string])[]

const computed = ['start_at', 'end_at', 'last_updated_at', 'pregnancy_snapshot']
const columns = [...details.map(([column]) => column), ...computed]
const of = (row: string) => columns.map((column) => `${row}.${column}`).join(', ')

const WRITE_SQL = `
  with input as materialized (
    select n.position, n.id, n."externalId" as external_id, to_timestamp(n."atMs" / 1000) as answered_at,
           ${details.map(([column, field]) => `n."${field}" as ${column}`).join(', ')},
           to_timestamp(n."startMs" / 1000) as start_at, to_timestamp(n."endMs" / 1000) as end_at,
           to_timestamp(n."lastUpdatedMs" / 1000) as last_updated_at, n."pregnancySnapshot"::jsonb as pregnancy_snapshot
    from jsonb_to_recordset($3) as n (
      position int4, id uuid, "externalId" text, "atMs" float8, "startMs" float8, "endMs" float8, "lastUpdatedMs" float8,
      "pregnancySnapshot" text, ${details.map(([, field, type]) => `"${field}" ${type}`).join(', ')}
    )
  ), compared as (
    select i.*, m.id is null as is_new, m.id is null or (${of('m')}) is distinct from (${of('i')}) as changed
    from input i
    left join menstrual_cycle m on m.id = i.id
  ), written as (
    insert into menstrual_cycle (id, user_id, provider, external_id, given, answered_at, ${columns.join(', ')})
    select c.id, $1, $2, c.external_id, true, c.answered_at, ${of('c')}
    from compared c
    where c.changed
    on conflict (id) do update
    set (given, answered_at, ${columns.join(', ')}) = (true, excluded.answered_at, ${of('excluded')})
  )
  select c.position, c.is_new, c.id from compared c where c.changed`

/** Deletes whole cycles by the provider's ids, and returns those found. */
export async function deleteWholeCycles(
  tx: Transaction,
  { userId, provider }: Owner,
  externalIds: readonly string[],
): Promise<string[]> {
  if (externalIds.length === 0) return []
  const gone = await planned<{ external_id: string }>(
    tx,
    `delete from menstrual_cycle
     where user_id = $1 and provider = $2 and given and external_id = any ($3)
     returning external_id`,
    [userId, provider, externalIds],
  )
  return gone.map(({ external_id }) => external_id)
}
