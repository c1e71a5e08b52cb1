import type pg from 'pg'
import type { Database } from '../db/database.ts'

/** Series of the late lane refreshed by one statement, and how much dirty time of each it covers. */
const SERIES_AT_ONCE = 20
const SPAN = '120 days'

/** How far back from now dirty ranges are refreshed for everybody at once. */
const RECENT = '2 days'

/** A first refresh reads the recent days of everybody. */
const STATEMENT_TIMEOUT = '600s'

/** Aggregates in the order in which each is computed from the one before, with their bucket. */
const AGGREGATES = [
  ['rollup_1min', '1 minute'],
  ['rollup_5min', '5 minutes'],
  ['rollup_15min', '15 minutes'],
  ['rollup_1hour', '1 hour'],
  ['rollup_1day', '1 day'],
] as const

/**
 * Start of the recent lane: invalidations are ranges of time of all users, so refreshing them together pays only where
 * all users write. Archived data can never be computed again.
 */
const RECENT_SQL = `
  select greatest(time_bucket('1 day', now() - $1::interval), raw_floor()) as recent`

const LATE_SQL = 'call refresh_due_series($1, $3, $2, null)'

/**
 * One pass over each window. Versions with options split a window into batches and, up to 2.28.3 at least, leave out a
 * change whose only instant is the very start of a batch.
 */
const CALL_SQL = `
  select case when pronargs > 4
    then 'call refresh_continuous_aggregate($1::text::regclass, $2::timestamptz, $3::timestamptz, options => ''{"buckets_per_batch": 0}'')'
    else 'call refresh_continuous_aggregate($1::text::regclass, $2::timestamptz, $3::timestamptz)' end as call
  from pg_proc where proname = 'refresh_continuous_aggregate'`

const DIRTY_SQL = `
  select array_agg(d.seq) as seqs, min(d.lo) as lo, max(d.hi) as hi from rollup_dirty d where d.lo >= $1`

const FORGET_SQL = `
  with gone as (
    delete from rollup_dirty where seq = any($1) returning source_id, series_id, lo, hi
  )
  select note_stale_days(array_agg(source_id), array_agg(series_id), array_agg(lo), array_agg(hi)) from gone`

/**
 * Refreshes continuous aggregates: dirty ranges of the last days by a refresh of everybody's buckets, older ones series
 * by series, which is far cheaper if one user's history arrived late. One process at a time does so. If it is killed,
 * nothing is lost: dirty ranges are deleted after the refresh that covered them. Returns whether there is more to do.
 */
export async function refreshContinuous(db: Database, budgetMs: number, recentTime = RECENT): Promise<boolean> {
  const deadline = performance.now() + budgetMs
  const client = await db.pool.connect()
  let fault: Error | undefined
  try {
    await client.query(`select set_config('statement_timeout', $1, false)`, [STATEMENT_TIMEOUT])
    const lock = await client.query(`select pg_try_advisory_lock(hashtextextended('refresh all rollups', 0)) as held`)
    if (!lock.rows[0]?.held) return false
    const { recent } = (await client.query<{ recent: string }>(RECENT_SQL, [recentTime])).rows[0] as { recent: string }
    await refreshRecent(client, recent)
    return await refreshLate(client, recent, deadline)
  } catch (error) {
    fault = error as Error
    throw error
  } finally {
    // Also ends the session's lock and settings; a broken connection is not returned to the pool.
    if (!fault) await client.query('reset statement_timeout; select pg_advisory_unlock_all()').catch(() => {})
    client.release(fault)
  }
}

/** Any number of dirty ranges at the cost of one, level by level. */
async function refreshRecent(client: pg.PoolClient, recent: string): Promise<void> {
  const { seqs, lo, hi } = (await client.query(DIRTY_SQL, [recent])).rows[0]
  if (!seqs) return
  await client.query('select await_writers($1)', [seqs])
  const { call } = (await client.query<{ call: string }>(CALL_SQL)).rows[0] as { call: string }
  for (const [name, width] of AGGREGATES) {
    const window = await client.query<{ lo: string; hi: string }>(
      `select greatest(time_bucket($3, $1::timestamptz), rollup_from($3))::text as lo,
              (time_bucket($3, $2::timestamptz) + $3)::text as hi
       from (select $3::interval) width`,
      [lo, hi, width],
    )
    const { lo: from, hi: to } = window.rows[0] as { lo: string; hi: string }
    if (from < to) await client.query(call, [name, from, to])
  }
  await client.query(FORGET_SQL, [seqs])
}

/** Like the strategy per series, through the aggregates' views. */
async function refreshLate(client: pg.PoolClient, recent: string, deadline: number): Promise<boolean> {
  for (;;) {
    const { rows } = await client.query<{ did: boolean }>(LATE_SQL, [SPAN, recent, SERIES_AT_ONCE])
    if (!rows[0]?.did) return false
    if (performance.now() > deadline) return true
  }
}
