import type { Transaction } from '../db/database.ts'
import { deleteActivities } from './activities.ts'
import type { Deletion } from './columns.ts'
import { deleteCycleObservations } from './cycles.ts'
import type { EventTarget } from './events.ts'
import { deleteMeals } from './meals.ts'
import { deleteSamples } from './origins.ts'
import { deleteSleep } from './sleep.ts'
import { deleteWorkouts } from './workouts.ts'

/** What can be deleted by the platform's id: returns the ids it knew. */
type Remove = (tx: Transaction, target: EventTarget, ids: readonly string[]) => Promise<string[]>
const kinds: readonly Remove[] = [deleteWorkouts, deleteSleep, deleteMeals, deleteCycleObservations, deleteActivities]

/**
 * Removes what the platform deleted (sdk-payload 8), after everything else of the upload was written. An id that nobody
 * knows is ignored; ids that were sent twice count once.
 */
export async function applyDeletions(
  tx: Transaction,
  target: EventTarget,
  deletions: readonly Deletion[],
): Promise<{ deleted: number; unknown: number; duplicates: number }> {
  if (deletions.length === 0) return { deleted: 0, unknown: 0, duplicates: 0 }
  const once = [...new Map(deletions.map((one) => [one.externalId, one])).values()]
  const ids = once.map(({ externalId }) => externalId)
  const found = new Set(await deleteSamples(tx, target, once))
  for (const remove of kinds) for (const id of await remove(tx, target, ids)) found.add(id)
  return { deleted: found.size, unknown: ids.length - found.size, duplicates: deletions.length - ids.length }
}
