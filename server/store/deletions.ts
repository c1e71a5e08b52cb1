import type { AnnouncedRows } from '../batch/changes.ts'
import type { Deletion } from '../batch/columns.ts'
import type { Transaction } from '../db/database.ts'
import { planned } from '../db/planned.ts'
import { deleteActivities } from './activities.ts'
import { deleteCycleObservations } from './cycles.ts'
import type { EventTarget, RemovedItems } from './event-items.ts'
import { deleteMeals } from './meals.ts'
import { deleteSamples } from './origins/delete-samples.ts'
import { deleteScores } from './scores.ts'
import { deleteNights } from './sleep/nights.ts'
import { deleteSleep } from './sleep/sleep.ts'
import { deleteWholeCycles } from './whole-cycles.ts'
import { deleteWorkouts } from './workouts.ts'

/** Deletes items by the platform's ids. */
type Remove<Removed> = (tx: Transaction, target: EventTarget, ids: readonly string[]) => Promise<Removed>

/** These return the known ids. */
const kinds: readonly Remove<string[]>[] = [deleteWorkouts, deleteMeals, deleteActivities, deleteWholeCycles]

/** Kinds with derived rows, which are rebuilt from the remaining items. */
const derived: readonly [AnnouncedRows['type'], Remove<RemovedItems>][] = [
  ['sleep', deleteSleep],
  ['sleep', deleteNights],
  ['menstrual_cycle', deleteCycleObservations],
]

/** What deletions did; `announced`: the rows that developers get events about. */
export interface Deleted {
  deleted: number
  unknown: number
  duplicates: number
  announced: AnnouncedRows[]
}

/**
 * Removes what the platform deleted (sdk-payload 8), after everything else of the upload was written; with a night or
 * workout go its samples and scores. Unknown ids are ignored; ids that were sent twice count once. What a provider said
 * later, before its deletion was imported, stays.
 */
export async function applyDeletions(
  tx: Transaction,
  target: EventTarget,
  deletions: readonly Deletion[],
): Promise<Deleted> {
  if (deletions.length === 0) return { deleted: 0, unknown: 0, duplicates: 0, announced: [] }
  const all = new Map(deletions.map((one) => [one.externalId, one]))
  const once = await withoutLater(tx, target, [...all.values()])
  const ids = once.map(({ externalId }) => externalId)
  const found = await deleteBelongings(tx, target, once)
  for (const remove of kinds) for (const id of await remove(tx, target, ids)) found.add(id)
  const announced: AnnouncedRows[] = []
  for (const [type, remove] of derived) {
    const removed = await remove(tx, target, ids)
    for (const id of removed.found) found.add(id)
    announced.push({ type, announced: removed.announced })
  }
  const deleted = [...all.keys()].filter((id) => found.has(id)).length
  return { deleted, unknown: all.size - deleted, duplicates: deletions.length - all.size, announced }
}

/** Deletes the samples and scores that belong to events with these ids (contract 5.7). */
export async function deleteWith(tx: Transaction, target: EventTarget, externalIds: readonly string[]): Promise<void> {
  await deleteBelongings(
    tx,
    target,
    externalIds.map((externalId) => ({ externalId, seriesId: null })),
  )
}

/** Deletes samples and scores of these ids, and the samples of these scores. Returns the ids found. */
async function deleteBelongings(
  tx: Transaction,
  target: EventTarget,
  deletions: readonly Deletion[],
): Promise<Set<string>> {
  const scores = await deleteScores(
    tx,
    target,
    deletions.map(({ externalId }) => externalId),
  )
  const ofScores = scores.scores.map((externalId) => ({ externalId, seriesId: null }))
  return new Set([...(await deleteSamples(tx, target, [...deletions, ...ofScores])), ...scores.found])
}

/** The deletions without those of rows that were stored from a later answer, or changed later. */
async function withoutLater(
  tx: Transaction,
  { userId, provider }: EventTarget,
  deletions: readonly Deletion[],
): Promise<Deletion[]> {
  const said = deletions.filter(({ atMs }) => atMs !== undefined)
  if (said.length === 0) return [...deletions]
  const rows = await planned<{ external_id: string }>(tx, LATER_SQL, [
    ...[userId, provider, said.map(({ externalId }) => externalId), said.map(({ atMs }) => atMs)],
  ])
  const later = new Set(rows.map(({ external_id }) => external_id))
  return deletions.filter(({ externalId }) => !later.has(externalId))
}

const LATER = `(r.version > g.at_ms or r.answered_at > to_timestamp(g.at_ms / 1000))`

const LATER_SQL = `
  with gone as materialized (
    select * from unnest($3::text[], $4::float8[]) g (external_id, at_ms)
  ), source as materialized (
    select id from data_source where user_id = $1 and provider = $2
  )
  select g.external_id
  from gone g
  cross join source d
  join sleep_part r on r.source_id = d.id and r.external_id = g.external_id
  where ${LATER}
  union
  select g.external_id
  from gone g
  join workout r on r.user_id = $1 and r.external_id = g.external_id and r.source_id in (select id from source)
  where ${LATER}
  union
  select g.external_id
  from gone g
  join health_score r on r.user_id = $1 and r.provider = $2 and r.external_id = g.external_id
  where ${LATER}`
