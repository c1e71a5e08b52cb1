// Waiting until nothing is left to do, as if the pauses after failures had passed.
import type { Database } from '../../../server/db/database.ts'
import { waitUntil } from '../../../server/db/embedded/processes.ts'

const PATIENCE_MS = 180_000
const LOOK_MS = 200
/** What a provider refuses twice counts when a minute has passed in between. */
const DOUBT = `interval '2 minutes'`

/** What is left, by kind. */
const LEFT = {
  task: 'select count(*) from sync_task',
  // Others are held until somebody connects the account again.
  notice: `select count(*) from notification where state = 'waiting'`,
  upload: `select count(*) from upload where status = 'queued'`,
  run: `select count(*) from sync_run where status = 'in_progress'`,
  'recorded event': 'select count(*) from event where pending',
  delivery: 'select count(*) from waiting_deliveries()',
  'open night': 'select count(*) from sleep where closed_at is null',
  // Anything but what the clock enqueues.
  job: `select count(*) from graphile_worker._private_jobs where key is null or key not like 'cron:%'`,
} as const
const LEFT_SQL = `select ${Object.entries(LEFT)
  .map(([name, sql]) => `(${sql}) as "${name}"`)
  .join(', ')}`

/** What is left to ask, to open, to import and to deliver, by kind. */
export const leftOf = (db: Database): Promise<Record<keyof typeof LEFT, number>> => db.one(LEFT_SQL)

// Whoever changes the tasks of a grant holds it (server/store/lock.ts).
const TASKS_SQL = `
  with held as (
    select g.id from provider_grant g
    where g.process_id is null and exists (select from sync_task s where s.grant_id = g.id)
    order by g.id
    for update
  ), due as (
    update sync_task s set due_at = now()
    from held
    where s.grant_id = held.id and s.due_at > now() and s.due_at < 'infinity'
  )
  update provider_grant g
  set refresh_due_at = null, renewed_at = null, refused_at = refused_at - ${DOUBT}, refused_since = refused_since - ${DOUBT},
      asked_at = case when asked_at is not null then now() end, live_at = case when live_at is not null then now() end,
      history_at = case when history_at is not null then now() end
  from held
  where g.id = held.id`

/** As if the pauses after failures had passed. */
export async function pausesPass(db: Database): Promise<void> {
  await db.query(`
    update rate_budget set closed_until = null, live_until = null, history_until = null
    where closed_until is not null or live_until is not null or history_until is not null`)
  await db.query(TASKS_SQL)
  await db.query(`update notification set due_at = now() where state = 'waiting' and due_at > now()`)
}

/** What waits for more of the same is done now. */
const hurryJobs = (db: Database) =>
  db.query(`
    select graphile_worker.reschedule_jobs(array_agg(id), now()) from graphile_worker.jobs
    where locked_at is null and run_at > now()`)

/** Waits until nothing is left. @throws Error saying what is */
export async function settled(db: Database): Promise<void> {
  const isIdle = async () => {
    const left = await leftOf(db)
    if (Object.values(left).every((n) => n === 0)) return true
    if (left.task > 0 || left.notice > 0) await pausesPass(db)
    if (left['open night'] > 0) await closeNights(db)
    if (left.job > 0) await hurryJobs(db)
    return false
  }
  if (await waitUntil(isIdle, PATIENCE_MS, LOOK_MS)) return
  const tasks = await db.query('select kind, stream, object, due_at, attempts, position from sync_task limit 5')
  const runs = await db.query(`select source, stage, message, error from sync_run where status = 'in_progress' limit 5`)
  const grants = await db.query(
    `select provider, state, process_id, refresh_due_at, pause_error, refusals, refresh_doubt, asked_at, live_at, history_at
     from provider_grant where id in (select grant_id from sync_task)`,
  )
  throw new Error(`something is left: ${JSON.stringify({ left: await leftOf(db), tasks, runs, grants })}`)
}

/** Has the service do what its clock would have it do. */
export async function enqueue(db: Database, job: string): Promise<void> {
  await db.query(`select graphile_worker.add_job($1, '{}'::json, job_key := $2)`, [job, `cron:${job}`])
}

/** As if nothing had changed in the nights for a while. */
async function closeNights(db: Database): Promise<void> {
  await db.query(`
    update sleep set changed_at = now() - interval '11 minutes'
    where closed_at is null and changed_at > now() - interval '10 minutes'`)
  await enqueue(db, 'close_sleep')
}

const UNPLANNED_SQL = `
  select from provider_grant g
  where g.state = 'live' and g.next_pull_at <= now()
    and exists (select from connection c where c.grant_id = g.id and c.status = 'active')`

/** Asks the providers for what is new. */
export async function pull(db: Database): Promise<void> {
  await db.query(`
    update provider_grant set next_pull_at = now()
    where id in (select id from provider_grant where state = 'live' order by id for update)`)
  const isPlanned = async () => {
    if ((await db.query(UNPLANNED_SQL)).length === 0) return true
    // A grant that was locked when the last job looked waits for the next one.
    await enqueue(db, 'plan_pulls')
    return false
  }
  if (!(await waitUntil(isPlanned, PATIENCE_MS, 200))) throw new Error('some pulls are not planned')
}

/** As if what was asked of providers so far had been asked a day earlier. */
export async function dayPasses(db: Database): Promise<void> {
  const day = `interval '1 day'`
  await db.query(`
    update stream_cursor
    set reached_week_at = reached_week_at - ${day}, reached_month_at = reached_month_at - ${day},
        closed_until = closed_until - ${day}, failing_since = failing_since - ${day}, notice_due_at = notice_due_at - ${day}`)
}
