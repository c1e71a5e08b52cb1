import type { Database } from '../db/database.ts'
import { refreshContinuous } from './continuous.ts'
import type { Strategy } from './strategy.ts'

/** Series refreshed by one statement, and days of each that it covers: bounds its length. */
const SERIES_AT_ONCE = 20
const SPAN_DAYS = 120

/** Time after which a run leaves the rest to the next one. */
const BUDGET_MS = 20_000

/** SQLSTATE query_canceled. */
const STATEMENT_TIMEOUT = '57014'

const SERIES_SQL = `call refresh_due_series(make_interval(days => $1), $2, 'infinity', null)`
const LOCAL_DAYS_SQL = 'call refresh_due_days($1, $2, null)'

/**
 * Refreshes rollups, in the way the database stores them, for about `budgetMs`; then the local days that are over. Any
 * number of processes may do so at once; if one is killed, nothing is lost. Returns whether there is more to do.
 */
export async function refreshRollups(db: Database, budgetMs = BUDGET_MS): Promise<boolean> {
  const deadline = performance.now() + budgetMs
  const { strategy } = await db.one<{ strategy: Strategy }>('select strategy from rollup_strategy')
  const more =
    strategy === 'continuous' ? await refreshContinuous(db, budgetMs) : await refreshBySeries(db, SERIES_SQL, deadline)
  return (await refreshBySeries(db, LOCAL_DAYS_SQL, deadline)) || more
}

/**
 * Runs `sql`, which refreshes $1 days of $2 series, until there is nothing to do or the deadline is over. Returns whether
 * there is more to do.
 */
async function refreshBySeries(db: Database, sql: string, deadline: number): Promise<boolean> {
  let [series, days] = [SERIES_AT_ONCE, SPAN_DAYS]
  for (;;) {
    try {
      const { did } = await db.one<{ did: boolean }>(sql, [days, series])
      // There is nothing to do, or other processes do all of it.
      if (!did) return false
    } catch (error) {
      // Samples so dense that the statement took too long: do less at once.
      if ((error as { code?: string }).code !== STATEMENT_TIMEOUT || series === 1) throw error
      series = Math.ceil(series / 5)
      days = Math.ceil(days / 5)
    }
    if (performance.now() > deadline) return true
  }
}
