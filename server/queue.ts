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
import { CONNECTION_OPTIONS, connectionTo } from './db/database.ts'
import { askingTasks, type JobsOptions, ownTasks } from './jobs.ts'
import { type LivingProcess, recoverDeadProcesses, registerProcess } from './processes.ts'
import { queueConnections } from './shares.ts'

/** Attempts of a job that the clock enqueues again anyway. */
const CLOCK_ATTEMPTS = 3

/** How often the queue looks for due jobs; a job that may run at once sends a notification. */
const POLL_MS = 2_000

/** Jobs at the same time that ask providers, and how often it is looked for them: none takes the place of an import. */
const ASKING = 4
const ASKING_POLL_MS = 2_000

const RETRY_MS = 1000

/** The clock enqueues a job every 15 s: a connection that ended in between would be made again each time. */
const IDLE_MS = 60_000

/** Some kinds of jobs, and how many of them run at the same time. */
interface Workers {
  taskList: TaskList
  concurrency: number
  pollInterval: number
}

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
  readonly #workers: readonly Workers[]
  #runners: readonly Runner[] = []
  #isReplacing = false
  #replacing: Promise<void> | undefined
  /** Of runners that were replaced: resolves when their jobs are done. */
  #ending: Promise<unknown> = Promise.resolve()
  #stopping = false

  /** Resolves when the queue cannot continue. */
  readonly failed = new Promise<Error>((resolve) => {
    this.#fail = resolve
  })

  constructor(options: JobsOptions, process: LivingProcess) {
    const { url, concurrency, log } = options
    this.#options = options
    this.#process = process
    const own = { taskList: ownTasks(options, process), concurrency, pollInterval: POLL_MS }
    const asking = { taskList: askingTasks(options), concurrency: ASKING, pollInterval: ASKING_POLL_MS }
    this.#workers = [own, asking].filter(({ taskList }) => Object.keys(taskList).length > 0)
    const max = queueConnections(concurrency)
    this.#pool = new pg.Pool({
      ...connectionTo(url, CONNECTION_OPTIONS),
      application_name: 'pulsebase queue',
      max,
      idleTimeoutMillis: IDLE_MS,
    })
    // Because the queue stops listening to its errors before all of its connections have ended.
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
    this.#runners = await this.#startRunners()
  }

  /** One that asks providers takes as long as they do: there, the next one of its kind waits for it to end. */
  async enqueue(kind: string, jobKey: string): Promise<void> {
    const [, asking] = this.#workers
    const options = { jobKey, jobKeyMode: 'preserve_run_at', maxAttempts: CLOCK_ATTEMPTS } as const
    const queued = asking && kind in asking.taskList ? { ...options, queueName: kind } : options
    await this.#runners[0]?.addJob(kind, {}, queued)
  }

  /** Lets running jobs finish and starts no more. */
  async stop(): Promise<void> {
    this.#stopping = true
    await this.#replacing
    await Promise.all([this.#ending, ...this.#runners.map((runner) => runner.stop())])
    await this.#pool.end()
    await this.#process.close()
  }

  async #startRunners(): Promise<Runner[]> {
    const started: Runner[] = []
    try {
      for (const workers of this.#workers) started.push(await this.#startRunner(workers))
      return started
    } catch (error) {
      await Promise.all(started.map((runner) => runner.stop()))
      throw error
    }
  }

  async #startRunner(workers: Workers): Promise<Runner> {
    const { log } = this.#options
    const started = await run({
      ...workers,
      pgPool: this.#pool,
      noHandleSignals: true,
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
    if (!this.#isReplacing) this.#replacing = this.#replaceRunners()
  }

  /**
   * The queue continues without a worker that gave up, and its job stays locked for four hours. More may give up meanwhile,
   * also of those that replaced others: nobody waits until the old ones have ended, since their jobs may take long.
   */
  async #replaceRunners(): Promise<void> {
    const { db, log } = this.#options
    this.#isReplacing = true
    while (!this.#stopping && this.#lost.length > 0) {
      const known = this.#lost.length
      const old = this.#runners
      try {
        await db.query('select graphile_worker.force_unlock_workers($1)', [this.#lost.slice(0, known)])
        this.#runners = await this.#startRunners()
        this.#lost.splice(0, known)
        this.#ending = Promise.all([this.#ending, ...old.map((runner) => runner.stop())])
      } catch (error) {
        log.warn({ err: error }, 'cannot replace a worker yet')
        await delay(RETRY_MS)
      }
    }
    this.#isReplacing = false
  }
}
