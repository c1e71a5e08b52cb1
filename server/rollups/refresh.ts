import type { Database } from '../db/database.ts'
import { refreshContinuous } from './continuous.ts'
import type { Strategy } from './strategy.ts'

/** Series that are refreshed in one transaction. */
const SERIES_AT_ONCE = 20

/** Dirty time of a series that one transaction covers: bounds its length, whatever was uploaded. */
const SPAN = '120 days'

/** Time after which a run leaves the rest to the next one. */
const BUDGET_MS = 20_000

const REFRESH_SQL = `
  select refresh_series(d.source_id, d.series_id, $1)
  from (
    select source_id, series_id from rollup_dirty group by source_id, series_id order by min(seq) limit $2
  ) d`

/**
 * Brings rollups up to date in the way the database keeps them, for about `budgetMs`. Any number of processes may do so
 * at once, and one that is killed has lost nothing. Returns whether there is more to do.
 */
export async function refreshRollups(db: Database, budgetMs = BUDGET_MS): Promise<boolean> {
  const { strategy } = await db.one<{ strategy: Strategy }>('select strategy from rollup_strategy')
  return strategy === 'continuous' ? refreshContinuous(db, budgetMs) : refreshPerSeries(db, budgetMs)
}

/**
 * Brings rollups up to date, the series that has waited longest first. Any number of processes may do so at once, and
 * one that is killed has lost nothing: a series is refreshed and its dirty ranges are forgotten in one transaction.
 * Returns whether there is more to do.
 */
async function refreshPerSeries(db: Database, budgetMs: number): Promise<boolean> {
  const deadline = performance.now() + budgetMs
  for (;;) {
    const rows = await db.rows<[refreshed: boolean]>(REFRESH_SQL, [SPAN, SERIES_AT_ONCE])
    // Nothing is dirty, or others are at all of it.
    if (!rows.some(([refreshed]) => refreshed)) return false
    if (performance.now() > deadline) return true
  }
}
