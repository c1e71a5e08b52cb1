import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { Database } from './db/database.ts'
import type { Logger } from './log.ts'

// First key of the advisory locks that mean "this process lives"; the second is the process row's id.
const LIVENESS = 7_234_902

/** Workers' ids may reach the table a moment after their first job; older locks without a process are orphans. */
const ORPHAN_SECONDS = 60

const RETRY_MS = 1000

/**
 * Registers this process and holds an advisory lock on a separate connection. PostgreSQL drops the lock when the
 * process dies, however it dies, so others learn of it at once and without a clock. A process that only lost the
 * connection registers again.
 */
export async function registerProcess(url: string, log: Logger): Promise<LivingProcess> {
  const living = new LivingProcess(url, log)
  await living.enter()
  return living
}

/** This process' entry among the living. */
export class LivingProcess {
  readonly #url: string
  readonly #log: Logger
  readonly #workerIds: string[] = []
  #closing = false
  #entry: { id: number; client: pg.Client } | undefined
  // Operations on the entry, one after the other.
  #done: Promise<unknown> = Promise.resolve()

  constructor(url: string, log: Logger) {
    this.#url = url
    this.#log = log
  }

  /** 0 before the first entry. */
  readonly id = (): number => this.#entry?.id ?? 0

  /** Creates the entry, or a new one if its connection was lost. Throws the database's errors. */
  async enter(): Promise<void> {
    const options = { connectionString: this.#url, application_name: 'pulsebase process', keepAlive: true }
    const client = new pg.Client(options)
    client.on('error', (error) => {
      if (this.#closing || client !== this.#entry?.client) return
      this.#log.warn({ err: error }, 'lost the connection that shows that this process is alive')
      this.#done = this.#done.then(() => this.#enterAgain())
    })
    try {
      this.#entry = { id: await takeEntry(client, this.id(), this.#workerIds), client }
    } catch (error) {
      await client.end().catch(() => {})
      throw error
    }
  }

  /** Notes that a worker of the queue belongs to this process. */
  addWorker(workerId: string): void {
    this.#workerIds.push(workerId)
    this.#done = this.#done
      .then(() =>
        this.#entry?.client.query('update process set worker_ids = $2 where id = $1', [this.id(), this.#workerIds]),
      )
      .catch((error) => this.#log.warn({ err: error }, 'cannot register a worker'))
  }

  async close(): Promise<void> {
    this.#closing = true
    await this.#done
    await this.#entry?.client.query('delete from process where id = $1', [this.id()]).catch(() => {})
    await this.#entry?.client.end()
  }

  async #enterAgain(): Promise<void> {
    while (!this.#closing) {
      try {
        return await this.enter()
      } catch (error) {
        this.#log.warn({ err: error }, 'cannot register this process yet')
        await delay(RETRY_MS)
      }
    }
  }
}

/** Connects, and replaces the row of an entry by a new one with its lock; returns its id. */
async function takeEntry(client: pg.Client, formerId: number, workerIds: string[]): Promise<number> {
  await client.connect()
  // The row may only become visible once its lock is held, else another process would consider it dead.
  await client.query('begin')
  await client.query('delete from process where id = $1', [formerId])
  const { rows } = await client.query<{ id: string }>(
    'insert into process (host, pid, worker_ids) values ($1, $2, $3) returning id',
    [hostname(), process.pid, workerIds],
  )
  const id = Number(rows[0]?.id)
  await client.query('select pg_advisory_lock($1, $2)', [LIVENESS, id])
  await client.query('commit')
  return id
}

/** Frees the jobs that dead processes had taken; the queue alone would wait four hours. */
export async function recoverDeadProcesses(db: Database, self: LivingProcess, log: Logger): Promise<void> {
  await db.transaction(async (tx) => {
    const dead = await tx.query<{ id: number; worker_ids: string[] }>(
      'select id, worker_ids from process where id <> $1 and pg_try_advisory_xact_lock($2, id::int4)',
      [self.id(), LIVENESS],
    )
    const workers = dead.flatMap((row) => row.worker_ids)
    const orphans = await tx.query<{ locked_by: string }>(
      `select distinct j.locked_by
       from graphile_worker.jobs j
       where j.locked_at < now() - make_interval(secs => $1)
         and not exists (select 1 from process p where j.locked_by = any (p.worker_ids))`,
      [ORPHAN_SECONDS],
    )
    workers.push(...orphans.map((row) => row.locked_by))
    if (workers.length > 0) await tx.query('select graphile_worker.force_unlock_workers($1)', [workers])
    if (dead.length === 0) return
    await tx.query('delete from process where id = any ($1)', [dead.map((row) => row.id)])
    log.info({ processes: dead.length }, 'took over the jobs of processes that had died')
  })
}
