import type { Database } from '../db/database.ts'
import { refreshContinuous } from './continuous.ts'
import type { Strategy } from './strategy.ts'

/** Series that are refreshed in one transaction, and dirty days of each that it covers: bounds its length. */
const SERIES_AT_ONCE = 20
const SPAN_DAYS = 120

/** Time after which a run leaves the rest to the next one. */
const BUDGET_MS = 20_000

/** SQLSTATE query_canceled. */
const STATEMENT_TIMEOUT = '57014'

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
  let [series, days] = [SERIES_AT_ONCE, SPAN_DAYS]
  for (;;) {
    try {
      const rows = await db.rows<[refreshed: boolean]>(REFRESH_SQL, [`${days} days`, series])
      // Nothing is dirty, or others are at all of it.
      if (!rows.some(([refreshed]) => refreshed)) return false
    } catch (error) {
      // Samples so dense that the statement took too long: less at once.
      if ((error as { code?: string }).code !== STATEMENT_TIMEOUT || series === 1) throw error
      series = Math.ceil(series / 5)
      days = Math.ceil(days / 5)
    }
    if (performance.now() > deadline) return true
  }
}
