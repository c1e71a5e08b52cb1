import type { Database } from '../db/database.ts'

/** Sessions that one statement closes; an export of years has some thousands. */
const SESSIONS_AT_ONCE = 5_000

/**
 * Closes the sessions of which nothing more is expected: they ended more than 120 minutes ago or a later one of their
 * source is there, and they have not changed for 10 minutes, since an export extends a night many times (sdk-types 7.4).
 * Any number of processes may do so at once; what an import is changing is left to the next run. Returns whether there
 * is more to do.
 */
export async function closeSleep(db: Database): Promise<boolean> {
  const closed = await db.query(
    `with due as (
       select s.id
       from sleep s
       where s.closed_at is null
         and s.changed_at < now() - interval '10 minutes'
         and (s.end_at < now() - interval '120 minutes'
              or exists (select 1 from sleep later where later.source_id = s.source_id and later.end_at > s.end_at))
       limit $1
       for update of s skip locked
     )
     update sleep s set closed_at = now() from due where s.id = due.id
     returning s.id`,
    [SESSIONS_AT_ONCE],
  )
  return closed.length === SESSIONS_AT_ONCE
}
