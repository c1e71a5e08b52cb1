import type { Database, Transaction } from '../db/database.ts'
import { ingestLockKey } from '../store/lock.ts'
import { DAY_MS } from '../time.ts'

/** The kinds of computed scores, as `score_due` and `health_score` name them. */
export type ScoreCategory = 'sleep' | 'resilience'

/** A user with the days whose scores are outdated, ascending; the table `score_due` defines the days. */
export interface Due {
  userId: string
  days: number[]
}

/** Users whose scores are computed in one transaction; their imports wait for it. */
const USERS_AT_ONCE = 20

/** Time after which a run leaves the rest to the next one. */
const BUDGET_MS = 30_000

/** Days that are over at the user's place but not yet in UTC. */
const AHEAD: Record<ScoreCategory, number> = { sleep: 1, resilience: 0 }

/** A user whose data is being imported is left to the next run. */
const DUE_SQL = `
  with due as materialized (
    select d.user_id, array_agg(d.day order by d.day) as days
    from score_due d
    where d.category = $1 and (d.day >= $2 or d.scored) and d.day <= $3 and d.user_id > $4
    group by d.user_id
    order by d.user_id
    limit $5
  )
  select d.user_id, d.days, pg_try_advisory_xact_lock(${ingestLockKey('d.user_id')}) as free
  from due d
  order by d.user_id`

const FORGET_SQL = `
  delete from score_due d
  using unnest($2::uuid[], $3::int4[]) k (user_id, day)
  where d.user_id = k.user_id and d.category = $1 and d.day = k.day`

// In the order in which everyone locks several users (lock.ts).
const MOVE_REVISIONS_SQL = `
  with changed as (
    select id from app_user where id = any ($1) order by id for no key update
  )
  update app_user u set revision = u.revision + 1 from changed c where u.id = c.id`

interface DueRow {
  user_id: string
  days: number[]
  free: boolean
}

/**
 * Lets `compute` update the outdated scores of the last `backfillDays` days, and of earlier days that had a score: some
 * users at a time under their ingest locks, so that nothing changes meanwhile. `compute` returns the users of whom a
 * score changed. Each day is looked at once, whether or not its data is enough for a score, until that data changes.
 * Returns whether there is more.
 */
export async function computeDue(
  db: Database,
  category: ScoreCategory,
  { backfillDays, nowMs, budgetMs = BUDGET_MS }: { backfillDays: number; nowMs: number; budgetMs?: number },
  compute: (tx: Transaction, due: readonly Due[]) => Promise<readonly string[]>,
): Promise<boolean> {
  const deadline = performance.now() + budgetMs
  const today = Math.floor(nowMs / DAY_MS)
  const days = [today - backfillDays, today + AHEAD[category]]
  for (let after = '00000000-0000-0000-0000-000000000000'; ; ) {
    const rows = await db.transaction(async (tx) => {
      const found = await tx.query<DueRow>(DUE_SQL, [category, ...days, after, USERS_AT_ONCE])
      const due = found.filter(({ free }) => free).map((row): Due => ({ userId: row.user_id, days: row.days }))
      if (due.length === 0) return found
      const changed = await compute(tx, due)
      if (changed.length > 0) await tx.query(MOVE_REVISIONS_SQL, [changed])
      await tx.query(FORGET_SQL, [category, ...userDays(due)])
      return found
    })
    if (rows.length < USERS_AT_ONCE) return false
    if (performance.now() > deadline) return true
    after = rows.at(-1)?.user_id as string
  }
}

/** Users and days of every score that is due, as two arrays of one length. */
export function userDays(due: readonly Due[]): [userIds: string[], days: number[]] {
  const pairs = due.flatMap(({ userId, days }) => days.map((day) => [userId, day] as const))
  return [pairs.map(([userId]) => userId), pairs.map(([, day]) => day)]
}
