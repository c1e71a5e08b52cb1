import { EventEmitter } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import {
  Logger as QueueLogger,
  type Runner,
  run,
  runMigrations,
  type TaskList,
  type WorkerEvents,
} from 'graphile-worker'
import pg from 'pg'
import type { Config } from './config.ts'
import { compressChunks } from './db/compress.ts'
import { type Database, violatedConstraint } from './db/database.ts'
import type { Importer } from './intake/uploads/import.ts'
import { closeSilentRuns } from './intake/uploads/silent-runs.ts'
import type { Logger } from './log.ts'
import { type LivingProcess, recoverDeadProcesses, registerProcess } from './processes.ts'
import { archive } from './rollups/archive.ts'
import { refreshRollups } from './rollups/refresh.ts'
import { computeResilience } from './scores/compute-resilience.ts'
import { computeSleepScores } from './scores/compute-sleep.ts'
import { closeSleep } from './store/sleep/close.ts'
import { pruneWebhooks, type WebhookRetention } from './webhooks/prune.ts'
import type { EventSettings } from './webhooks/record.ts'

/** Attempts of a job that the clock enqueues again anyway. */
const CLOCK_ATTEMPTS = 3

/** How long a job waits that met another one importing for the same user. */
const BUSY_DELAY_MS = 250

/** Bodies of uploads that are removed in one transaction. */
const BODIES_AT_ONCE = 500

/** How often the queue looks for jobs whose time has come; one that may run at once is notified. */
const POLL_MS = 500

/** Every kind of job, with its work; crons and transactions enqueue them by these names. */
function tasks({ db, importer, settings, log }: JobsOptions, process: LivingProcess): TaskList {
  const { uploadRetentionDays, scoreBackfillDays } = settings
  return {
    import_uploads: async (payload, helpers) => {
      const { user_id: userId } = payload as { user_id: string }
      // The next turn goes to the back of the queue, so that one long history does not hold up everybody else.
      const left = await importer.importUploads(userId)
      if (uploadRetentionDays === 0) await forgetBodies(db, 0)
      if (!left) return
      const runAt = new Date(Date.now() + (left === 'busy' ? BUSY_DELAY_MS : 0))
      // A job that new data has added meanwhile is not put off.
      const options = { jobKey: `import:${userId}`, jobKeyMode: 'preserve_run_at', priority: 10, runAt } as const
      await helpers.addJob('import_uploads', { user_id: userId }, options)
    },
    recover_processes: async () => {
      await recoverDeadProcesses(db, process, log)
      await requeueForgotten(db)
    },
    refresh_rollups: async (_payload, helpers) => {
      const more = await refreshRollups(db)
      if (more) await helpers.addJob('refresh_rollups', {}, { jobKey: 'cron:refresh_rollups', priority: 10 })
    },
    compress_chunks: async (_payload, helpers) => {
      const more = await compressChunks(db)
      if (more) await helpers.addJob('compress_chunks', {}, { jobKey: 'cron:compress_chunks', priority: 10 })
    },
    archive: async (_payload, helpers) => {
      const more = await archive(db, Date.now(), (message) => log.info(message))
      if (more) await helpers.addJob('archive', {}, { jobKey: 'cron:archive', priority: 10 })
    },
    close_silent_runs: () => closeSilentRuns(db),
    close_sleep: async (_payload, helpers) => {
      const more = await closeSleep(db, settings)
      if (more) await helpers.addJob('close_sleep', {}, { jobKey: 'cron:close_sleep', priority: 10 })
    },
    score_sleep: async (_payload, helpers) => {
      const more = await computeSleepScores(db, scoreBackfillDays)
      if (more) await helpers.addJob('score_sleep', {}, { jobKey: 'cron:score_sleep', priority: 10 })
    },
    score_resilience: async (_payload, helpers) => {
      const more = await computeResilience(db, scoreBackfillDays)
      if (more) await helpers.addJob('score_resilience', {}, { jobKey: 'cron:score_resilience', priority: 10 })
    },
    prune: async () => {
      await db.query('select forget_old_minutes()')
      await db.query('delete from score_due where day < first_scored_day() and not scored')
      await db.query("delete from refresh_token where expires_at < now() - interval '1 day'")
      await db.query('delete from invitation_code where expires_at < now()')
      await db.query("delete from invitation where expires_at < now() - interval '30 days'")
      await db.query("delete from sync_event where created_at < now() - interval '30 days'")
      await forgetBodies(db, uploadRetentionDays)
      await pruneWebhooks(db, settings)
    },
  }
}

/** Removes the stored bodies of uploads that came more than so many days ago. */
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
    // One was asked for again in this very moment: it is for the next time.
    if (violatedConstraint(error) !== 'upload_body_fkey') throw error
  }
}

/**
 * Enqueues the imports that have uploads but no job: an upload that is accepted in the very moment a worker takes the
 * user's job adds none, and that worker may look for uploads before this one is committed. A worker that lost its
 * connection while taking a job does not know of it, so one taken long ago counts as none; imports of one user never
 * run side by side.
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

interface JobsOptions {
  url: string
  db: Database
  importer: Importer
  settings: EventSettings & WebhookRetention & Pick<Config, 'uploadRetentionDays' | 'scoreBackfillDays'>
  concurrency: number
  log: Logger
}

/** Job execution in this process. */
export interface Jobs {
  enqueue(kind: string, jobKey: string): Promise<void>
  /** Id of this process among the living; another one after the connection to the database was lost. */
  processId(): number
  /** Lets running jobs finish and takes no more. */
  stop(): Promise<void>
  failed: Promise<Error>
}

/**
 * Creates or upgrades the queue's own tables. Under a lock: of several processes that create them at once, the queue
 * itself lets only one succeed.
 */
export async function migrateJobs(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, application_name: 'pulsebase migrate' })
  await client.connect()
  try {
    await client.query(`select pg_advisory_lock(hashtextextended('migrate jobs', 0))`)
    await runMigrations({ connectionString: url })
  } finally {
    await client.end()
  }
}

const RETRY_MS = 1000

/** Registers this process and starts taking jobs; the jobs of dead processes are freed first. */
export async function startJobs(options: JobsOptions): Promise<Jobs> {
  const { url, db, concurrency, log } = options
  const process = await registerProcess(url, log)
  await recoverDeadProcesses(db, process, log)
  const { replayed } = await db.one<{ replayed: number }>('select replay_deferred() as replayed')
  if (replayed > 0)
    log.info({ replayed }, 'uploads of an earlier version are imported again, with their sleep and workouts')
  let fail: (error: Error) => void = () => {}
  const failed = new Promise<Error>((resolve) => {
    fail = resolve
  })
  const lost: string[] = []
  let stopping = false
  // Ours, because the queue stops listening to the errors of its own before all of its connections have ended.
  const pool = new pg.Pool({ connectionString: url, application_name: 'pulsebase queue', max: concurrency + 2 })
  pool.on('error', (error) => log.warn({ err: error }, 'a database connection was lost'))
  pool.on('connect', (client) => client.on('error', () => {}))
  let replacing: Promise<void> | undefined

  const events: WorkerEvents = new EventEmitter()
  events.on('worker:create', ({ worker }) => process.addWorker(worker.workerId))
  events.on('job:error', ({ job, error }) => {
    log.warn({ err: error, job: job.task_identifier, attempt: job.attempts }, 'a job failed and will be tried again')
  })
  events.on('worker:stop', ({ worker, error }) => {
    if (!error || stopping) return
    log.warn({ err: error }, 'a worker could not report the end of its job and is replaced')
    lost.push(worker.workerId)
    replacing ??= replaceRunner().finally(() => {
      replacing = undefined
    })
  })
  async function startRunner(): Promise<Runner> {
    const started = await run({
      pgPool: pool,
      concurrency,
      noHandleSignals: true,
      pollInterval: POLL_MS,
      taskList: tasks(options, process),
      events,
      // The queue's own lines repeat what the events above report.
      logger: new QueueLogger(() => (level, message) => log.debug({ level }, message)),
    })
    started.promise.catch(fail)
    return started
  }
  let runner = await startRunner()

  /** The queue goes on without a worker that gave up, and its job stays locked for four hours. */
  async function replaceRunner(): Promise<void> {
    const old = runner
    while (!stopping && (runner === old || lost.length > 0)) {
      try {
        if (runner === old) runner = await startRunner()
        const known = lost.length
        await db.query('select graphile_worker.force_unlock_workers($1)', [lost])
        lost.splice(0, known)
      } catch (error) {
        log.warn({ err: error }, 'cannot replace a worker yet')
        await delay(RETRY_MS)
      }
    }
    if (runner !== old) await old.stop()
  }

  return {
    enqueue: async (kind, jobKey) => {
      await runner.addJob(kind, {}, { jobKey, jobKeyMode: 'preserve_run_at', maxAttempts: CLOCK_ATTEMPTS })
    },
    processId: () => process.id(),
    async stop() {
      stopping = true
      await replacing
      await runner.stop()
      await pool.end()
      await process.close()
    },
    failed,
  }
}
