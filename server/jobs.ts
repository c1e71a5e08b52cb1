import type { Task, TaskList } from 'graphile-worker'
import type { Config } from './config.ts'
import { compressChunks } from './db/compress.ts'
import { type Database, violatedConstraint } from './db/database.ts'
import { SIGN_IN_LIVES } from './http/console-cookie.ts'
import { subscribeAccounts } from './intake/notices/account-subscriptions.ts'
import { resealKeys } from './intake/notices/keys.ts'
import { REPEATED_DAYS } from './intake/notices/repeats.ts'
import { STATE_DAYS } from './intake/notices/states.ts'
import { repairAll, subscribeTask } from './intake/notices/subscribe-jobs.ts'
import { planPulls } from './intake/pulls/plan.ts'
import type { Importer } from './intake/uploads/import.ts'
import { closeSilentRuns } from './intake/uploads/silent-runs.ts'
import type { Logger } from './log.ts'
import { checkGrantTask } from './oauth/check-grant.ts'
import { deleteWithdrawnTask } from './oauth/delete-withdrawn.ts'
import { leaveTask } from './oauth/leave.ts'
import type { OAuthParts } from './oauth/parts.ts'
import { endPauses } from './oauth/pauses.ts'
import type { AccessTokens } from './oauth/refresh.ts'
import { openRefreshAhead } from './oauth/refresh-ahead.ts'
import { reseal } from './oauth/reseal.ts'
import { type LivingProcess, recoverDeadProcesses } from './processes.ts'
import { notifyingProviders } from './providers/index.ts'
import { archive } from './rollups/archive.ts'
import { refreshRollups } from './rollups/refresh.ts'
import { thinRollups } from './rollups/thin.ts'
import { computeResilience } from './scores/compute-resilience.ts'
import { computeSleepScores } from './scores/compute-sleep.ts'
import { closeSleep } from './store/sleep/close.ts'
import { pruneWebhooks, type WebhookRetention } from './webhooks/prune.ts'
import type { EventSettings } from './webhooks/record.ts'
import { resealSecrets } from './webhooks/reseal.ts'

/** Delay of a job that found another one importing for the same user. */
const BUSY_DELAY_MS = 250

/** Stored bodies removed in one transaction. */
const BODIES_AT_ONCE = 500

/** Everything that jobs need. */
export interface JobsOptions {
  url: string
  db: Database
  importer: Importer
  settings: EventSettings &
    WebhookRetention &
    Pick<
      Config,
      'uploadRetentionDays' | 'scoreBackfillDays' | 'syncIntervalSeconds' | 'reconcileIntervalSeconds' | 'apiBaseUrl'
    >
  concurrency: number
  log: Logger
  /** Grants of cloud providers, and their access tokens; absent: no such jobs are taken. */
  grants?: { parts: OAuthParts; tokens: AccessTokens }
}

/** Every kind of job that asks nobody, with its work; crons and transactions enqueue them by these names. */
export function ownTasks(options: JobsOptions, process: LivingProcess): TaskList {
  const { db, settings, log, grants } = options
  const { scoreBackfillDays, syncIntervalSeconds, reconcileIntervalSeconds } = settings
  const plan = ({ clients }: OAuthParts) => ({ db, clients, syncIntervalSeconds, reconcileIntervalSeconds })
  return {
    import_uploads: importUploads(options),
    recover_processes: async () => {
      await recoverDeadProcesses(db, process, log)
      await requeueForgotten(db)
    },
    refresh_rollups: untilDone(() => refreshRollups(db)),
    thin_rollups: untilDone(() => thinRollups(db)),
    compress_chunks: untilDone(() => compressChunks(db)),
    archive: untilDone(() => archive(db, Date.now(), (message) => log.info(message))),
    close_silent_runs: () => closeSilentRuns(db),
    close_sleep: untilDone(() => closeSleep(db, settings)),
    score_sleep: untilDone(() => computeSleepScores(db, scoreBackfillDays)),
    score_resilience: untilDone(() => computeResilience(db, scoreBackfillDays)),
    prune: () => prune(db, settings),
    ...(grants && {
      plan_pulls: untilDone(async () => {
        await endPauses(grants.parts)
        return planPulls(plan(grants.parts))
      }),
      refresh_grants: refreshGrants(grants),
      reseal: untilDone(async () => {
        await resealSecrets(grants.parts)
        await resealKeys(grants.parts)
        return reseal(grants.parts)
      }),
      delete_withdrawn: deleteWithdrawnTask(grants.parts),
    }),
  }
}

/** Every kind of job that asks a provider, which may not answer for long: these have workers of their own. */
export function askingTasks({ db, settings, grants }: JobsOptions): TaskList {
  if (!grants) return {}
  const { parts, tokens } = grants
  const { apiBaseUrl } = settings
  return {
    leave: leaveTask(parts),
    left: () => {},
    repair_subscriptions: () => repairAll(subscribing(parts)),
    subscribe: subscribeTask(subscribing(parts), apiBaseUrl),
    subscribe_accounts: untilDone(
      () => subscribeAccounts({ db, parts, tokens, apiBaseUrl, notifying: notifyingProviders }),
      'subscribe_accounts',
    ),
    check_grant: checkGrantTask(parts, tokens),
  }
}

/** Only begins: it takes as long as token endpoints do. */
function refreshGrants({ parts, tokens }: NonNullable<JobsOptions['grants']>): Task {
  const ahead = openRefreshAhead(parts, tokens)
  return () => ahead.begin()
}

const subscribing = (parts: OAuthParts) => ({ parts, noticesOf: (name: string) => notifyingProviders.get(name) })

/** A job of the clock; while its work returns that there is more, it is enqueued again, in the same queue. */
const untilDone =
  (work: () => Promise<boolean>, queueName?: string): Task =>
  async (_payload, helpers) => {
    const name = helpers.job.task_identifier
    if (await work())
      await helpers.addJob(name, {}, { jobKey: `cron:${name}`, priority: 10, ...(queueName && { queueName }) })
  }

/** Imports uploads of a user, then goes to the back of the queue: one long history must not delay everybody. */
const importUploads =
  ({ db, importer, settings }: JobsOptions): Task =>
  async (payload, helpers) => {
    const { user_id: userId } = payload as { user_id: string }
    const left = await importer.importUploads(userId)
    if (settings.uploadRetentionDays === 0) await forgetBodies(db, 0)
    if (!left) return
    const runAt = new Date(Date.now() + (left === 'busy' ? BUSY_DELAY_MS : 0))
    // Does not postpone a job that new data has added meanwhile.
    const options = { jobKey: `import:${userId}`, jobKeyMode: 'preserve_run_at', priority: 10, runAt } as const
    await helpers.addJob('import_uploads', { user_id: userId }, options)
  }

/** Deletes everything past its retention. */
async function prune(db: Database, settings: JobsOptions['settings']): Promise<void> {
  await db.query('select forget_old_minutes()')
  await db.query('delete from score_due where day < first_scored_day() and not scored')
  await db.query("delete from refresh_token where expires_at < now() - interval '1 day'")
  await db.query('delete from invitation_code where expires_at < now()')
  await db.query('delete from oauth_state where expires_at < now()')
  await db.query('delete from used_link_token where expires_at < now()')
  await db.query(`delete from console_session s where not (${SIGN_IN_LIVES})`)
  await db.query('delete from console_code where expires_at < now()')
  // Their payload names a person's account.
  await db.query(
    `select graphile_worker.complete_jobs(array_agg(id)) from graphile_worker.jobs
     where task_identifier = 'leave' and attempts >= max_attempts and created_at < now() - interval '1 hour'`,
  )
  await db.query("delete from notification where state = 'malformed' and received_at < now() - interval '7 days'")
  await db.query('delete from opened_notice where opened_at < now() - make_interval(days => $1)', [REPEATED_DAYS])
  await db.query('delete from carried_state where noted_at < now() - make_interval(days => $1)', [STATE_DAYS])
  await db.query("delete from invitation where expires_at < now() - interval '30 days'")
  await forgetRuns(db)
  await db.query("delete from sync_event where created_at < now() - interval '30 days'")
  await forgetBodies(db, settings.uploadRetentionDays)
  await pruneWebhooks(db, settings)
}

/**
 * Forgets runs of cloud providers that ended: scheduled ones that brought nothing after a day, since there are dozens a
 * day, others after 90 days.
 */
async function forgetRuns(db: Database): Promise<void> {
  // Users who were deleted while a run that they had asked for was held.
  await db.query(
    `update sync_run r set primary_user_id = null
     from (
       select user_id, run_key from sync_run s
       where primary_user_id is not null and not exists (select from app_user u where u.id = s.primary_user_id)
       for update skip locked
     ) one
     where r.user_id = one.user_id and r.run_key = one.run_key`,
  )
  await db.query(
    `delete from sync_run
     where source in ('pull', 'webhook', 'backfill', 'linked_account') and ended_at < now() - interval '1 day'
       and (ended_at < now() - interval '90 days'
            or (scope = 'live' and status = 'success' and items_inserted + items_updated + items_deleted = 0))`,
  )
}

/** Removes the stored bodies of uploads received more than this many days ago. */
async function forgetBodies(db: Database, days: number): Promise<void> {
  const forget = async () => {
    const { gone } = await db.one<{ gone: number }>(
      'select forget_bodies(now() - make_interval(days => $1), $2) as gone',
      [days, BODIES_AT_ONCE],
    )
    return gone
  }
  try {
    while ((await forget()) === BODIES_AT_ONCE);
  } catch (error) {
    // One was requested again at this moment: it is left for the next run.
    if (violatedConstraint(error) !== 'upload_body_fkey') throw error
  }
}

/**
 * Enqueues the imports that have uploads but no job: an upload accepted at the very moment a worker takes the user's
 * job adds none, and that worker may look for uploads before this one is committed. A worker that lost its connection
 * while taking a job does not know of it, so a job taken long ago counts as none; imports of one user never run side by
 * side.
 */
async function requeueForgotten(db: Database): Promise<void> {
  await db.query(
    `select graphile_worker.add_job(
       'import_uploads',
       payload => json_build_object('user_id', waiting.user_id),
       job_key => 'import:' || waiting.user_id,
       job_key_mode => 'preserve_run_at',
       priority => 10
     )
     from (
       select distinct user_id from upload where status = 'queued' and received_at < now() - interval '20 seconds'
     ) waiting
     where not exists (
       select 1 from graphile_worker.jobs j
       where j.key = 'import:' || waiting.user_id
         and j.attempts < j.max_attempts
         and (j.locked_at is null or j.locked_at > now() - interval '10 minutes')
     )`,
  )
}
