import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../db/database.ts'

/** Series read by one statement. */
const SERIES_AT_ONCE = 1_000

/** Time after which a run leaves the rest to the next one, and how long it waits for series that are in use. */
const BUDGET_MS = 20_000
const WAIT_MS = 1_000

const DUE_SQL = `
  select k.source_id, k.series_id
  from source_series k
  left join sparse_time t on t.source_id = k.source_id and t.series_id = k.series_id
  where (k.source_id, k.series_id) > ($1, $2::int2) and (t.judged_to is null or t.judged_to < months_over())
  order by k.source_id, k.series_id
  limit ${SERIES_AT_ONCE}`

type Key = [source: number, series: number]

/**
 * Removes rollups of quarter hours where they pay no longer: of months that are over, and in which a series has few samples
 * (sql/routines/rollups/sparse_time.sql), each series in a transaction of its own. Any number of processes may do so at once.
 * Returns whether there is more to do, as when other sessions use some of the series.
 */
export async function thinRollups(db: Database, budgetMs = BUDGET_MS): Promise<boolean> {
  const deadline = performance.now() + budgetMs
  let last: Key = [0, 0]
  let inUse = false
  for (;;) {
    const due = await db.rows<Key>(DUE_SQL, last)
    for (const key of due) {
      if (performance.now() > deadline) return true
      const { did } = await db.one<{ did: boolean }>('select thin_series($1, $2) as did', key)
      if (!did) inUse = true
      last = key
    }
    if (due.length < SERIES_AT_ONCE) break
  }
  if (inUse) await delay(WAIT_MS)
  return inUse
}
