import type { ToldRows } from '../batch/changes.ts'
import type { Deletion } from '../batch/columns.ts'
import type { Transaction } from '../db/database.ts'
import { deleteActivities } from './activities.ts'
import { deleteCycleObservations } from './cycles.ts'
import type { EventTarget, RemovedItems } from './event-items.ts'
import { deleteMeals } from './meals.ts'
import { deleteSamples } from './origins/delete-samples.ts'
import { deleteSleep } from './sleep/sleep.ts'
import { deleteWorkouts } from './workouts.ts'

/** Deletes items by the platform's ids. */
type Remove<Removed> = (tx: Transaction, target: EventTarget, ids: readonly string[]) => Promise<Removed>

/** These return the known ids. */
const kinds: readonly Remove<string[]>[] = [deleteWorkouts, deleteMeals, deleteActivities]

/** Kinds with derived rows, which are rebuilt from the remaining items. */
const derived: readonly [ToldRows['type'], Remove<RemovedItems>][] = [
  ['sleep', deleteSleep],
  ['menstrual_cycle', deleteCycleObservations],
]

/**
 * Removes what the platform deleted (sdk-payload 8), after everything else of the upload was written. Unknown ids are
 * ignored; ids that were sent twice count once. `told`: the rows that developers get events about.
 */
export async function applyDeletions(
  tx: Transaction,
  target: EventTarget,
  deletions: readonly Deletion[],
): Promise<{ deleted: number; unknown: number; duplicates: number; told: ToldRows[] }> {
  if (deletions.length === 0) return { deleted: 0, unknown: 0, duplicates: 0, told: [] }
  const once = [...new Map(deletions.map((one) => [one.externalId, one])).values()]
  const ids = once.map(({ externalId }) => externalId)
  const found = new Set(await deleteSamples(tx, target, once))
  for (const remove of kinds) for (const id of await remove(tx, target, ids)) found.add(id)
  const told: ToldRows[] = []
  for (const [type, remove] of derived) {
    const removed = await remove(tx, target, ids)
    for (const id of removed.found) found.add(id)
    told.push({ type, told: removed.told })
  }
  return { deleted: found.size, unknown: ids.length - found.size, duplicates: deletions.length - ids.length, told }
}
