import type { Database } from './database.ts'

/**
 * How long after a chunk's end to wait for late data: phones that were off for a week or two come first, since later
 * data opens compressed rows, whose segments are then compressed again.
 */
const AGE = '14 days'

/** A chunk of very many users takes minutes; one that takes longer is postponed to the next day. */
const CHUNK_TIMEOUT = '1800s'

/** Time after which a run leaves the rest to the next one. */
const BUDGET_MS = 20_000

/**
 * Compresses the chunks that ended `age` ago (an interval of PostgreSQL), each in a separate transaction, if the engine
 * has chunks. Any number of processes may do so at once. Returns whether there is more to do.
 */
export async function compressChunks(db: Database, age = AGE, budgetMs = BUDGET_MS): Promise<boolean> {
  const deadline = performance.now() + budgetMs
  while (performance.now() < deadline) {
    const { done } = await db.transaction(async (tx) => {
      await tx.query(`select set_config('statement_timeout', $1, true)`, [CHUNK_TIMEOUT])
      return tx.one<{ done: boolean }>('select compress_next($1) as done', [age])
    })
    if (!done) return false
  }
  return true
}
