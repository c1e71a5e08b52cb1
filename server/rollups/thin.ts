import type { Database } from '../db/database.ts'

/** Series thinned by one statement. */
const SERIES_AT_ONCE = 100

/** Time after which a run leaves the rest to the next one. */
const BUDGET_MS = 20_000

/**
 * Removes rollups of quarter hours where they pay no longer: of months that are over, and in which a series has few samples
 * (sql/routines/rollups/sparse_time.sql). Any number of processes may do so at once. Returns whether there is more to do.
 */
export async function thinRollups(db: Database, budgetMs = BUDGET_MS): Promise<boolean> {
  const deadline = performance.now() + budgetMs
  while (performance.now() < deadline) {
    const { did } = await db.one<{ did: boolean }>('call thin_due_series($1, null)', [SERIES_AT_ONCE])
    if (!did) return false
  }
  return true
}
