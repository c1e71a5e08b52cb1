import type { Database } from '../../db/database.ts'

/**
 * Closes runs that a phone opened by its log and that nothing was heard of for 24 hours, as `stale`; runs with uploads
 * that wait for their import stay open. Whatever comes later opens such a run again.
 */
export async function closeSilentRuns(db: Database): Promise<void> {
  await db.query(
    `with silent as (
       update sync_run
       set stage = 'cancelled', status = 'stale', message = 'Nothing was heard for 24 hours', ended_at = now(),
           updated_at = now()
       where status = 'in_progress' and pending = 0 and updated_at < now() - interval '24 hours'
       returning user_id, run_key, stage, status, message
     )
     insert into sync_event (user_id, run_key, stage, status, message)
     select user_id, run_key, stage, status, message from silent order by user_id`,
  )
}
