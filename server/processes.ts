import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { Database } from './db/database.ts'
import type { Logger } from './log.ts'

// First key of the advisory locks that say "this process lives"; the second is the process row's id.
const LIVENESS = 7_234_902

/** Workers' ids may reach the table a moment after their first job; older locks without a process are orphans. */
const ORPHAN_SECONDS = 60

const RETRY_MS = 1000

/** This process' entry among the living. */
export interface LivingProcess {
  id(): number
  addWorker(workerId: string): void
  close(): Promise<void>
}

/**
 * Registers this process and holds an advisory lock on a connection of its own. PostgreSQL drops the lock when the
 * process dies, however it dies, so others learn of it at once and without a clock. A process that only lost the
 * connection registers again.
 */
export async function registerProcess(url: string, log: Logger): Promise<LivingProcess> {
  const workerIds: string[] = []
  let closing = false
  let registered: pg.Client | undefined
  let entry = await enter(0)
  // What is done with the entry, one after the other.
  let done: Promise<unknown> = Promise.resolve()

  async function enter(formerId: number): Promise<{ id: number; client: pg.Client }> {
    const client = new pg.Client({ connectionString: url, application_name: 'pulsebase process', keepAlive: true })
    client.on('error', (error) => {
      if (closing || client !== registered) return
      log.warn({ err: error }, 'lost the connection that shows this process lives')
      done = done.then(enterAgain)
    })
    try {
      return await takeEntry(client, formerId)
    } catch (error) {
      await client.end().catch(() => {})
      throw error
    }
  }

  async function takeEntry(client: pg.Client, formerId: number): Promise<{ id: number; client: pg.Client }> {
    await client.connect()
    // The row may only be seen once its lock is held, else another process would take it for dead.
    await client.query('begin')
    await client.query('delete from process where id = $1', [formerId])
    const { rows } = await client.query<{ id: string }>(
      'insert into process (host, pid, worker_ids) values ($1, $2, $3) returning id',
      [hostname(), process.pid, workerIds],
    )
    const id = Number(rows[0]?.id)
    await client.query('select pg_advisory_lock($1, $2)', [LIVENESS, id])
    await client.query('commit')
    registered = client
    return { id, client }
  }

  async function enterAgain(): Promise<void> {
    while (!closing) {
      try {
        entry = await enter(entry.id)
        return
      } catch (error) {
        log.warn({ err: error }, 'cannot register this process yet')
        await delay(RETRY_MS)
      }
    }
  }

  return {
    id: () => entry.id,
    addWorker(workerId) {
      workerIds.push(workerId)
      done = done
        .then(() => entry.client.query('update process set worker_ids = $2 where id = $1', [entry.id, workerIds]))
        .catch((error) => log.warn({ err: error }, 'cannot register a worker'))
    },
    async close() {
      closing = true
      await done
      await entry.client.query('delete from process where id = $1', [entry.id]).catch(() => {})
      await entry.client.end()
    },
  }
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
