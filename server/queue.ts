import { EventEmitter } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { Logger as QueueLogger, type Runner, run, runMigrations, type WorkerEvents } from 'graphile-worker'
import pg from 'pg'
import { type JobsOptions, tasks } from './jobs.ts'
import { type LivingProcess, recoverDeadProcesses, registerProcess } from './processes.ts'

/** Attempts of a job that the clock enqueues again anyway. */
const CLOCK_ATTEMPTS = 3

/** How often the queue looks for due jobs; a job that may run at once sends a notification. */
const POLL_MS = 500

const RETRY_MS = 1000

/**
 * Creates or upgrades the queue's own tables. Under a lock: if several processes create them at once, the queue itself
 * lets only one succeed.
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

/** Registers this process and starts taking jobs; the jobs of dead processes are freed first. */
export async function startJobs(options: JobsOptions): Promise<Jobs> {
  const { url, db, log } = options
  const process = await registerProcess(url, log)
  await recoverDeadProcesses(db, process, log)
  const { replayed } = await db.one<{ replayed: number }>('select replay_deferred() as replayed')
  if (replayed > 0)
    log.info({ replayed }, 'uploads of an earlier version are imported again, with their sleep and workouts')
  const jobs = new Jobs(options, process)
  await jobs.start()
  return jobs
}

/** Job execution in this process. */
export class Jobs {
  readonly #options: JobsOptions
  readonly #process: LivingProcess
  readonly #pool: pg.Pool
  readonly #events: WorkerEvents = new EventEmitter()
  /** Workers that gave up. */
  readonly #lost: string[] = []
  #fail: (error: Error) => void = () => {}
  #runner: Runner | undefined
  #replacing: Promise<void> | undefined
  #stopping = false

  /** Resolves when the queue cannot continue. */
  readonly failed = new Promise<Error>((resolve) => {
    this.#fail = resolve
  })

  constructor(options: JobsOptions, process: LivingProcess) {
    const { url, concurrency, log } = options
    this.#options = options
    this.#process = process
    // Our listener, because the queue stops listening to its errors before all of its connections have ended.
    this.#pool = new pg.Pool({ connectionString: url, application_name: 'pulsebase queue', max: concurrency + 2 })
    this.#pool.on('error', (error) => log.warn({ err: error }, 'a database connection was lost'))
    this.#pool.on('connect', (client) => client.on('error', () => {}))
    this.#events.on('worker:create', ({ worker }) => process.addWorker(worker.workerId))
    this.#events.on('job:error', ({ job, error }) => {
      log.warn({ err: error, job: job.task_identifier, attempt: job.attempts }, 'a job failed and will be tried again')
    })
    this.#events.on('worker:stop', ({ worker, error }) => {
      if (error && !this.#stopping) this.#replace(worker.workerId, error)
    })
  }

  /** Id of this process in the list of living ones; a new one after the connection to the database was lost. */
  readonly processId = (): number => this.#process.id()

  async start(): Promise<void> {
    this.#runner = await this.#startRunner()
  }

  async enqueue(kind: string, jobKey: string): Promise<void> {
    await this.#runner?.addJob(kind, {}, { jobKey, jobKeyMode: 'preserve_run_at', maxAttempts: CLOCK_ATTEMPTS })
  }

  /** Lets running jobs finish and starts no more. */
  async stop(): Promise<void> {
    this.#stopping = true
    await this.#replacing
    await this.#runner?.stop()
    await this.#pool.end()
    await this.#process.close()
  }

  async #startRunner(): Promise<Runner> {
    const { concurrency, log } = this.#options
    const started = await run({
      pgPool: this.#pool,
      concurrency,
      noHandleSignals: true,
      pollInterval: POLL_MS,
      taskList: tasks(this.#options, this.#process),
      events: this.#events,
      // The queue's own lines repeat the events above.
      logger: new QueueLogger(() => (level, message) => log.debug({ level }, message)),
    })
    started.promise.catch(this.#fail)
    return started
  }

  #replace(workerId: string, error: unknown): void {
    this.#options.log.warn({ err: error }, 'a worker could not report the end of its job and is replaced')
    this.#lost.push(workerId)
    this.#replacing ??= this.#replaceRunner().finally(() => {
      this.#replacing = undefined
    })
  }

  /** The queue continues without a worker that gave up, and its job stays locked for four hours. */
  async #replaceRunner(): Promise<void> {
    const { db, log } = this.#options
    const old = this.#runner
    while (!this.#stopping && (this.#runner === old || this.#lost.length > 0)) {
      try {
        if (this.#runner === old) this.#runner = await this.#startRunner()
        const known = this.#lost.length
        await db.query('select graphile_worker.force_unlock_workers($1)', [this.#lost])
        this.#lost.splice(0, known)
      } catch (error) {
        log.warn({ err: error }, 'cannot replace a worker yet')
        await delay(RETRY_MS)
      }
    }
    if (this.#runner !== old) await old?.stop()
  }
}
