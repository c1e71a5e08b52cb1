// Jobs survive failures of the processes, connections and jobs around them: an upload answered 202 is imported. Real
// kills are in test/intake/uploads/crash.long.ts.
import pg from 'pg'
import t from 'tap'
import { waitUntil } from '../server/db/embedded/processes.ts'
import { createHandover } from '../server/intake/uploads/handover.ts'
import type { Importer } from '../server/intake/uploads/import.ts'
import { startJobs } from '../server/queue.ts'
import type { Threads } from '../server/threads.ts'
import { startTestApp, type TestApp } from './support/app.ts'
import {
  body,
  createUser,
  heartRate,
  importerOf,
  oneEngine,
  startImports,
  storedSamples,
  upload,
  waitForAll,
} from './support/sdk.ts'

const NOON = Date.UTC(2026, 1, 24, 12)
const LIVENESS = 7_234_902

/** Uploads and returns the user; nothing imports the upload. */
async function queued(app: TestApp): Promise<string> {
  const user = await createUser(app)
  const { status } = await upload(app, user, body([heartRate(NOON, 60)]))
  if (status !== 202) throw new Error(`upload: ${status}`)
  return user
}

/** As if a worker had taken this user's import job. */
const take = (app: TestApp, user: string, worker: string) =>
  app.db.query(
    `update graphile_worker._private_jobs set locked_by = $2, locked_at = now(), attempts = attempts + 1 where key = $1`,
    [`import:${user}`, worker],
  )

const imported = async (app: TestApp, user: string) => (await storedSamples(app.db, user)).length === 1

oneEngine(t, 'jobs', async (t, engine) => {
  const app = await startTestApp(t, engine)

  await t.test('of a process that died are taken over when another starts', async (t) => {
    const user = await queued(app)
    await take(app, user, 'worker-dead')
    await app.db.query(`insert into process (host, pid, worker_ids) values ('elsewhere', 1, '{worker-dead}')`)
    const jobs = await startImports(t, app)
    t.ok(await waitUntil(() => imported(app, user), 10_000))
    t.equal((await app.db.query('select 1 from process')).length, 1, 'of the living')
    await jobs.stop()
    t.strictSame(await app.db.query('select 1 from process'), [], 'who sign off')
  })

  await t.test('of a process that lives are left to it', async (t) => {
    const user = await queued(app)
    const client = new pg.Client({ connectionString: app.databaseUrl })
    await client.connect()
    const { rows } = await client.query(
      `insert into process (host, pid, worker_ids) values ('elsewhere', 2, '{worker-alive}') returning id`,
    )
    await client.query('select pg_advisory_lock($1, $2)', [LIVENESS, Number(rows[0].id)])
    await take(app, user, 'worker-alive')
    const jobs = await startImports(t, app)
    await jobs.enqueue('recover_processes', 'test')
    const swept = async () => (await app.db.query(`select 1 from graphile_worker.jobs where key = 'test'`)).length === 0
    t.ok(await waitUntil(swept, 10_000))
    t.notOk(await imported(app, user))

    await client.end()
    await jobs.enqueue('recover_processes', 'test')
    t.ok(await waitUntil(() => imported(app, user), 10_000), 'until it dies')
    await jobs.stop()
  })

  await t.test('take along an upload that arrives while a worker takes the job', async (t) => {
    // The queue sees a job that is about to run, but the worker looks for uploads before this one is committed.
    const user = await queued(app)
    const worker = await app.db.pool.connect()
    await worker.query('begin')
    await worker.query(
      `update graphile_worker._private_jobs set locked_by = 'w', locked_at = now() where key = 'import:' || $1`,
      [user],
    )
    const answer = upload(app, user, body([heartRate(NOON, 61)]))
    const waiting = async () =>
      (
        await app.db.query(
          `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%accept_upload%'`,
        )
      ).length > 0
    t.ok(await waitUntil(waiting, 10_000))
    await worker.query('commit')
    worker.release()
    t.equal((await answer).status, 202)
    await app.db.query(`delete from graphile_worker._private_jobs where locked_by = 'w'`)
    const jobs = await startImports(t, app)
    t.ok(await waitUntil(() => imported(app, user), 10_000))
    await jobs.stop()
  })

  await t.test('that are lost are found', async (t) => {
    const user = await queued(app)
    await app.db.query('delete from graphile_worker._private_jobs')
    await app.db.query(`update upload set received_at = received_at - interval '1 minute' where user_id = $1`, [user])
    // Or a worker takes the job, but loses the answer to its query.
    const other = await queued(app)
    await take(app, other, 'unaware')
    const hour = `interval '1 hour'`
    await app.db.query(
      `update graphile_worker._private_jobs set locked_at = now() - ${hour} where locked_by = 'unaware'`,
    )
    await app.db.query(`update upload set received_at = now() - ${hour} where user_id = $1`, [other])
    await app.db.query(`insert into process (host, pid, worker_ids) values ('elsewhere', 3, '{unaware}')`)
    const client = new pg.Client({ connectionString: app.databaseUrl })
    await client.connect()
    await client.query('select pg_advisory_lock($1, id::int4) from process', [LIVENESS])

    const jobs = await startImports(t, app)
    await jobs.enqueue('recover_processes', 'test')
    t.ok(await waitUntil(() => imported(app, user), 10_000))
    t.ok(await waitUntil(() => imported(app, other), 10_000))
    await jobs.stop()
    await client.end()
    await app.db.query('delete from process')
  })

  await t.test('go on after every connection to the database was lost', async (t) => {
    // Requests and jobs fail for a moment, and log it.
    t.capture(app.deps.log, 'error')
    t.capture(console, 'trace')
    const jobs = await startImports(t, app)
    const users = await Promise.all(Array.from({ length: 3 }, () => createUser(app)))
    const accepted = new Map(users.map((user) => [user, 0]))
    for (let round = 0; round < 12; round += 1) {
      await Promise.all(
        users.map(async (user) => {
          const answer = await upload(app, user, body([heartRate(NOON + round * 1000, round)]))
          // Cut off before it was stored: the phone sends it again.
          if (answer.status >= 500) return
          t.equal(answer.status, 202)
          accepted.set(user, (accepted.get(user) ?? 0) + 1)
        }),
      )
      if (round % 4 !== 3) continue
      const client = new pg.Client({ connectionString: engine.url })
      await client.connect()
      await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [
        new URL(app.databaseUrl).pathname.slice(1),
      ])
      await client.end()
    }
    // A worker that lost its connection while taking a job does not know of it: the next upload adds another.
    for (const user of users) {
      const last = async () => (await upload(app, user, body([heartRate(NOON - 1000, 1)]))).status === 202
      t.ok(await waitUntil(last, 10_000))
      accepted.set(user, (accepted.get(user) ?? 0) + 1)
    }
    // Every quarter of a minute the service looks for uploads that neither a job nor a worker covers.
    const finished = async () => {
      const waiting = `update upload set received_at = now() - interval '1 minute' where status = 'queued' returning 1`
      if ((await app.db.query(waiting)).length === 0) return true
      await jobs.enqueue('recover_processes', 'test')
      return false
    }
    t.ok(await waitUntil(finished, 30_000, 300))
    for (const user of users) {
      const batches = await waitForAll(app, user)
      t.ok(batches.every(({ status }) => status === 'success'))
      t.equal(batches.length, accepted.get(user))
      t.equal((await storedSamples(app.db, user)).length, accepted.get(user))
    }
    await jobs.stop()
  })

  await t.test('keep a successor while one runs, so that its death loses no time', async (t) => {
    const { log } = app.deps
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const threads: Threads = { ...app.threads(), readUpload: (task) => held.then(() => app.threads().readUpload(task)) }
    const importer = importerOf(app, { threads, handover: createHandover(0) })
    const ended: unknown[] = []
    const counting: Importer = {
      async importUploads(user) {
        const outcome = await importer.importUploads(user)
        ended.push(outcome)
        return outcome
      },
    }
    const user = await queued(app)
    const jobs = await startJobs({
      settings: app.deps.config,
      url: app.databaseUrl,
      db: app.db,
      importer: counting,
      concurrency: 2,
      log,
    })
    t.teardown(() => jobs.stop())
    const running = () =>
      app.db.query('select 1 from graphile_worker.jobs where key = $1 and locked_at is not null', [`import:${user}`])
    t.ok(await waitUntil(async () => (await running()).length === 1, 10_000, 10))
    await upload(app, user, body([heartRate(NOON, 99)]))
    t.ok(await waitUntil(async () => ended.length > 0, 10_000, 5), 'the second job met the first one')
    // The queue never retries a job whose key was given to another one.
    const successors = await app.db.query(
      'select 1 from graphile_worker.jobs where key = $1 and attempts < max_attempts',
      [`import:${user}`],
    )
    t.equal(successors.length, 1)
    release()
    t.ok((await waitForAll(app, user)).every(({ status }) => status === 'success'))
  })

  await t.test('are done even after a worker could not report the end of one', async (t) => {
    const { log } = app.deps
    const importer = importerOf(app)
    const trace = t.capture(console, 'trace')
    let renamed = false
    const breakOnce: Importer = {
      async importUploads(user) {
        const more = await importer.importUploads(user)
        if (!renamed) await app.db.query('alter table graphile_worker._private_jobs rename to away')
        renamed = true
        return more
      },
    }
    const user = await queued(app)
    const jobs = await startJobs({
      settings: app.deps.config,
      url: app.databaseUrl,
      db: app.db,
      importer: breakOnce,
      concurrency: 1,
      log,
    })
    t.teardown(() => jobs.stop())
    t.ok(await waitUntil(async () => trace().length > 0, 10_000), 'the only worker has given up')
    await app.db.query('alter table graphile_worker.away rename to _private_jobs')
    const other = await queued(app)
    t.ok(await waitUntil(() => imported(app, other), 10_000))
    const ended = async () =>
      (await app.db.query('select 1 from graphile_worker.jobs where key = $1', [`import:${user}`])).length === 0
    t.ok(await waitUntil(ended, 10_000), 'and its job is not locked for ever')
    t.ok(await imported(app, user))
  })

  await t.test('are done when workers give up while others are replaced', async (t) => {
    const { log } = app.deps
    const importer = importerOf(app)
    const trace = t.capture(console, 'trace')
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const slow = await queued(app)
    /** Whose job's end cannot be reported. */
    const broken = new Set<string>()
    const breaking: Importer = {
      async importUploads(user) {
        if (user === slow) await held
        const more = await importer.importUploads(user)
        if (broken.has(user)) await app.db.query('alter table graphile_worker._private_jobs rename to away')
        return more
      },
    }
    const jobs = await startJobs({
      ...{ settings: app.deps.config, url: app.databaseUrl, db: app.db, importer: breaking, concurrency: 2, log },
    })
    t.teardown(() => jobs.stop())
    // The first of those that hold the other job, then both of those that replaced them.
    for (const place of [1, 2, 3]) {
      const user = await createUser(app)
      broken.add(user)
      await upload(app, user, body([heartRate(NOON, place)]))
      t.ok(await waitUntil(async () => trace().length > 0, 10_000), `worker ${place} has given up`)
      broken.delete(user)
      await app.db.query('alter table graphile_worker.away rename to _private_jobs')
    }
    const other = await queued(app)
    t.ok(await waitUntil(() => imported(app, other), 10_000))
    release()
    t.ok(await waitUntil(() => imported(app, slow), 10_000))
  })

  await t.test('are not taken away from a process that lost a connection', async (t) => {
    const jobs = await startImports(t, app, 4)
    const alive = () =>
      app.db.query<{ pid: number; workers: number }>(
        `select l.pid, array_length(p.worker_ids, 1) as workers
         from process p left join pg_locks l on l.locktype = 'advisory' and (l.classid, l.objid) = ($1, p.id)`,
        [LIVENESS],
      )
    t.ok(await waitUntil(async () => (await alive())[0]?.workers === 4, 10_000))
    const [before] = await alive()
    await app.db.query('select pg_terminate_backend($1)', [before?.pid ?? 0])
    const registered = async () => {
      const rows = await alive()
      return rows.length === 1 && rows[0]?.workers === 4 && ![null, before?.pid].includes(rows[0].pid)
    }
    t.ok(await waitUntil(registered, 10_000), 'it registers again')
    await jobs.stop()
    t.strictSame(await alive(), [])
  })

  await t.test('that run are finished before the process stops', async (t) => {
    const user = await createUser(app)
    const other = await startImports(t, app)
    const values = Array.from({ length: 20 }, (_, n) => n)
    for (const value of values) await upload(app, user, body([heartRate(NOON + value * 1000, value)]))
    await other.stop()
    const left = await app.db.query(
      `select 1 from graphile_worker._private_jobs where payload ->> 'user_id' = $1 and locked_at is not null`,
      [user],
    )
    t.strictSame(left, [], 'nothing is left half done')
    await startImports(t, app)
    await waitForAll(app, user)
    t.strictSame(
      (await storedSamples(app.db, user)).map(({ value }) => value),
      values,
    )
  })
})
