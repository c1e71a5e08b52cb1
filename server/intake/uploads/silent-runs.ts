import type { Database } from '../../db/database.ts'

/** A run of a provider that is still to be asked, if only once it takes requests again, ends by itself. */
const STILL_ASKED = `
  r.source <> 'sdk' and exists (
    select from sync_run_report p
    where p.user_id = r.user_id and p.run_key = r.run_key and p.status = 'in_progress'
  )`

/**
 * Closes as `stale` the runs that a phone's log opened and that have been silent for 24 hours; runs with uploads that
 * wait for their import stay open. Later data opens such a run again. Skips users that are being deleted.
 */
export async function closeSilentRuns(db: Database): Promise<void> {
  await db.query(
    `with open as (
       select r.user_id, r.run_key
       from sync_run r
       join app_user u on u.id = r.user_id
       where r.status = 'in_progress' and r.pending = 0 and r.updated_at < now() - interval '24 hours'
         and not (${STILL_ASKED})
       for key share of u skip locked
     ), silent as (
       update sync_run r
       set stage = 'cancelled', status = 'stale', message = 'Nothing was heard for 24 hours', ended_at = now(),
           updated_at = now()
       from open o
       where r.user_id = o.user_id and r.run_key = o.run_key
         and r.status = 'in_progress' and r.pending = 0 and r.updated_at < now() - interval '24 hours'
       returning r.user_id, r.run_key, r.stage, r.status, r.message
     )
     insert into sync_event (user_id, run_key, stage, status, message)
     select user_id, run_key, stage, status, message from silent order by user_id`,
  )
}
