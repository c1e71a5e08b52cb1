// One order of locks (server/store/lock.ts): the holder of a lock may take every later one, whatever else is running.
import t from 'tap'
import { archive } from '../../server/rollups/archive.ts'
import { startTestApp } from '../support/app.ts'
import { until } from '../support/endpoints.ts'
import { type LockPath, meetings } from '../support/lock-paths.ts'
import { body, createUser, heartRate, importerOf, steps, upload } from '../support/sdk.ts'
import { engines } from '../support/servers.ts'

/** Those that wait while they hold a lock; lock.long.ts has all of them. */
const WAITING: readonly LockPath[] = [
  'delete the user',
  'disconnect a provider',
  'disconnect one whose first upload waits',
  "delete a provider's data",
  'import uploads',
  'set an upload aside',
  'close silent runs',
  'forget bodies',
  'record attempts',
  'give an endpoint a user',
]

t.test('whoever holds a lock of a user gets the later ones, whatever else waits for it', async (t) => {
  // Locks are the same on every engine.
  const [engine] = engines()
  if (!engine) throw new Error('no engine')
  const app = await startTestApp(t, engine, { outgoingWebhooksEnabled: true, eventFeedEnabled: true })
  t.strictSame(await meetings(app, WAITING), [])
})

t.test('the archive, for which every revision moves, locks users in the order of their ids', async (t) => {
  const [engine] = engines()
  if (!engine) throw new Error('no engine')
  const app = await startTestApp(t, engine)
  const [first, last] = ['00000000-0000-4000-8000-000000000000', 'ffffffff-ffff-4fff-bfff-ffffffffffff']
  // A statement that locks rows in stored order would lock the last one first.
  await app.db.query('insert into app_user (id) values ($1), ($2)', [last, first])
  const failures: string[] = []
  const fail = (who: string) => (error: Error) => void failures.push(`${who}: ${error.message}`)
  const lock = 'select from app_user where id = $1 for no key update'
  for (const [move, days] of [
    ['raised', 30],
    ['lowered', null],
  ] as const) {
    await app.db.query('update archival set delete_after_days = $1', [days])
    let archiving: Promise<unknown> = Promise.resolve()
    const holding = app.db.transaction(async (tx) => {
      await tx.query("set local deadlock_timeout = '20ms'")
      await tx.query(lock, [first])
      const { pid } = await tx.one<{ pid: number }>('select pg_backend_pid() as pid')
      archiving = archive(app.db, Date.now()).catch(fail(`floor ${move}, the archive`))
      const waits = 'select 1 from pg_stat_activity where $1 = any (pg_blocking_pids(pid))'
      const waiting = await until(async () => (await app.db.query(waits, [pid])).length > 0)
      if (!waiting) failures.push(`floor ${move}: nobody waits`)
      await tx.query(lock, [last])
    })
    await holding.catch(fail(`floor ${move}, who holds the first user`))
    await archiving
  }
  t.strictSame(failures, [])
  const moved = await app.db.rows<[id: string, revision: number]>('select id, revision from app_user order by id')
  t.strictSame(moved, [
    [first, 2],
    [last, 2],
  ])
})

t.test(
  'the archive, which visits every series, does not meet an import that goes from one series to another',
  async (t) => {
    const [engine] = engines()
    if (!engine) throw new Error('no engine')
    const app = await startTestApp(t, engine)
    const user = await createUser(app)
    await upload(app, user, body([heartRate(Date.now() - 60_000, 60), steps(Date.now() - 60_000, 10)]))
    await importerOf(app).importUploads(user)
    const series = await app.db.rows<[source: number, series: number]>(
      'select source_id, series_id from source_series order by 1, 2',
    )
    t.equal(series.length, 2)
    await app.db.query(`update source_series set archived_to = 'infinity'`)
    await app.db.query('update archival set delete_after_days = 30, raw_floor = now()')
    const failures: string[] = []
    const fail = (who: string) => (error: Error) => void failures.push(`${who}: ${error.message}`)
    let ended = false
    let archiving: Promise<unknown> = Promise.resolve()
    const importing = app.db.transaction(async (tx) => {
      await tx.query("set local deadlock_timeout = '20ms'")
      const { pid } = await tx.one<{ pid: number }>('select pg_backend_pid() as pid')
      // As for late samples; an import asks for samples, then for those of events.
      const take = ([source, id]: readonly [number, number]) =>
        tx.query('select archived_within($1, $2, $3, $3)', [[source], [id], [Date.now() / 1000 - 1000]])
      await take(series[1] as [number, number])
      archiving = archive(app.db, Date.now())
        .catch(fail('the archive'))
        .finally(() => {
          ended = true
        })
      const waits = async () =>
        (await app.db.query('select 1 from pg_stat_activity where $1 = any (pg_blocking_pids(pid))', [pid])).length > 0
      if (!(await until(async () => ended || (await waits())))) failures.push('the archive neither waits nor ends')
      await take(series[0] as [number, number])
    })
    await importing.catch(fail('the import'))
    await archiving
    t.strictSame(failures, [])
  },
)
