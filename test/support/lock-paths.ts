// Every operation that locks a user's data, applied to a user with all kinds of data.
import { closeSilentRuns } from '../../server/intake/uploads/silent-runs.ts'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { computeSleepScores } from '../../server/scores/compute-sleep.ts'
import { closeSleep } from '../../server/store/sleep/close.ts'
import type { TestAnswer, TestApp } from './app.ts'
import { createEndpoint, fanOut, hooks, recordEvent, until } from './endpoints.ts'
import { workout } from './event-lists.ts'
import { body, createUser, heartRate, importerOf, upload } from './sdk.ts'
import { stage } from './sleep.ts'

const HOUR_MS = 3_600_000

/** A user with one of everything, in every state that an operation waits for. */
export interface Target {
  user: string
  endpoint: { id: string }
  workout: string
  batch: string
}

/** Creates such a user. */
export async function createTarget(app: TestApp): Promise<Target> {
  const user = await createUser(app)
  const nightMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 30 * HOUR_MS
  const data = {
    records: [heartRate(nightMs, 60, { id: 'beat' })],
    sleep: [stage('deep', nightMs, nightMs + 6 * HOUR_MS)],
    workouts: [workout('running', nightMs + 10 * HOUR_MS, 30, { id: 'run' })],
  }
  const { batch_id: batch } = (await upload(app, user, body([], { data }))).body
  await importerOf(app).importUploads(user)
  await app.db.query(`update sleep set changed_at = now() - interval '1 hour' where user_id = $1`, [user])
  await app.db.query(
    `insert into sync_run (run_key, user_id, provider, source, updated_at)
     select 'silent', id, 'apple', 'sdk', now() - interval '2 days' from app_user where id = $1`,
    [user],
  )
  const endpoint = await createEndpoint(app, { user_id: user })
  const everybody = await app.db.query('select from endpoint where user_id is null')
  if (everybody.length === 0) await createEndpoint(app)
  await recordEvent(app.db, { user })
  await recordEvent(app.db, { user })
  await fanOut(app.db)
  await recordEvent(app.db, { user })
  await upload(app, user, body([heartRate(nightMs, 61, { id: 'other' })], { syncTimestamp: 'queued' }))
  const { id } = await app.db.one<{ id: string }>('select id from workout where user_id = $1', [user])
  return { user, endpoint, workout: id, batch }
}

const ok = async (answer: Promise<TestAnswer>): Promise<void> => {
  const { status, body } = await answer
  // The object may already be deleted.
  if (status >= 400 && status !== 404 && status !== 409) throw new Error(`${status} ${JSON.stringify(body)}`)
}

type Work = (app: TestApp, target: Target) => Promise<unknown>

/** The operations, by name. */
export const lockPaths = {
  'delete the user': (app, { user }) => ok(app.request('DELETE', `/api/v1/users/${user}`, { auth: 'developer' })),
  'disconnect a provider': (app, { user }) => ok(app.request('DELETE', `/api/v1/users/${user}/connections/apple`)),
  'disconnect one whose first upload waits': async (app, { user }) => {
    await upload(app, user, body([heartRate(Date.now(), 60)], { provider: 'samsung' }))
    await ok(app.request('DELETE', `/api/v1/users/${user}/connections/samsung`))
  },
  "delete a provider's data": (app, { user }) =>
    ok(app.request('DELETE', `/api/v1/users/${user}/connections/apple/data`)),
  'accept an upload': (app, { user }) => ok(upload(app, user, body([heartRate(Date.now() - 60_000, 60)]))),
  'replay an upload': (app, { user, batch }) =>
    ok(app.request('POST', `/api/v1/sdk/users/${user}/sync/batches/${batch}/import`)),
  'import uploads': (app, { user }) => importerOf(app).importUploads(user),
  'set an upload aside': async (app, { user }) => {
    const broken = { ...app.threads(), readUpload: () => Promise.reject(new Error('set aside')) }
    const silent = Object.assign(Object.create(app.deps.log), { error: () => {} })
    const importer = importerOf(app, {
      threads: broken,
      log: silent,
      handover: { put: () => {}, get: () => undefined },
    })
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      await importer.importUploads(user).catch((error: Error) => {
        if (error.message !== 'set aside') throw error
      })
    }
  },
  'log what a phone does': (app, { user }) =>
    ok(
      app.request('POST', `/api/v1/sdk/users/${user}/logs`, {
        body: {
          sdkVersion: '1',
          provider: 'apple',
          events: [{ eventType: 'device_state', timestamp: new Date().toISOString(), batteryLevel: 0.5 }],
        },
      }),
    ),
  'delete a workout': (app, { user, workout }) =>
    ok(app.request('DELETE', `/api/v1/users/${user}/events/workouts/${workout}`)),
  'change the user': (app, { user }) =>
    ok(app.request('PATCH', `/api/v1/users/${user}`, { body: { external_user_id: crypto.randomUUID() } })),
  'put the personal record': (app, { user }) =>
    ok(app.request('PUT', `/api/v1/users/${user}/personal-record`, { body: { sex: 'female' } })),
  'issue a token': (app, { user }) =>
    ok(app.request('POST', `/api/v1/users/${user}/token`, { body: {}, auth: 'developer' })),
  'close silent runs': (app) => closeSilentRuns(app.db),
  'forget bodies': (app) => app.db.query('select forget_bodies(now(), 500)'),
  'archive the user': (app, { user }) =>
    app.db.query(`select archive_user($1, now() - interval '90 days', false)`, [user]),
  'remove what is archived': (app) =>
    app.db.query('select remove_archived(source_id, series_id, 100) from source_series order by source_id, series_id'),
  'refresh rollups': (app) => refreshRollups(app.db),
  'close nights': (app) => closeSleep(app.db, app.deps.config),
  'score nights': (app) => computeSleepScores(app.db, 30),
  'give an endpoint a user': (app, { user, endpoint }) =>
    ok(hooks(app, 'PATCH', `/endpoints/${endpoint.id}`, { user_id: user, filter_types: ['workout.created'] })),
  'fan events out': (app) => fanOut(app.db),
  'thin rollups': (app) => app.db.query('select thin_series(source_id, series_id) from source_series'),
  'keep quarter hours': (app) => app.db.query('select keep_quarters(source_id, series_id, now()) from source_series'),
  // Of all deliveries of the user, those that wait and those from the feed, with what is ahead of their endpoints.
  'record attempts': (app, { user }) =>
    app.db.query(
      `select record_attempts(array_agg(n.id), array_agg(e.id), array_agg(coalesce(d.attempts, 0::int2)), array_agg(e.position),
                              array_agg(n.url), array_agg(false), array_agg(500::int2), array_agg(''::text), array_agg(1),
                              array_agg(0.0::float8), array_agg(false), array_agg(1.0::float8), array_agg(n.id),
                              array_agg(e.position), array_agg(int8multirange(int8range(e.position, e.position + 1))),
                              interval '5 days')
       from event e
       join endpoint n on n.user_id is null or n.user_id = e.user_id
       left join delivery d on d.event_id = e.id and d.endpoint_id = n.id
       where e.user_id = $1 and e.position is not null
       having count(*) > 0`,
      [user],
    ),
} satisfies Record<string, Work>

export type LockPath = keyof typeof lockPaths

/** The locks on a user's data, in order. */
const LOCKS: readonly (readonly [name: string, sql: string])[] = [
  ['the ingest lock', "select pg_advisory_xact_lock(hashtextextended('ingest:' || $1::uuid, 0))"],
  ['connections', 'select from connection where user_id = $1 order by id for update'],
  ['the user', 'select from app_user where id = $1 for update'],
  ['sources', 'select from data_source where user_id = $1 order by id for update'],
  [
    'series',
    'select from source_series where source_id in (select id from data_source where user_id = $1) order by source_id, series_id for update',
  ],
  ['uploads', 'select from upload where user_id = $1 order by id for update'],
  ['runs', 'select from sync_run where user_id = $1 order by run_key for update'],
  ['endpoints', 'select from endpoint where user_id is null or user_id = $1 order by id for no key update'],
  ['events', 'select from event where user_id = $1 order by id for update'],
]

/**
 * Runs the operation while another session holds one lock of a user and then takes all later ones; returns failures.
 */
async function meet(app: TestApp, first: number, path: LockPath): Promise<string[]> {
  const target = await createTarget(app)
  const failures: string[] = []
  const fail = (who: string) => (error: Error) => {
    failures.push(`${path}, ${LOCKS[first]?.[0]} held: ${who}: ${error.message}`)
  }
  let ended = false
  let work: Promise<unknown> = Promise.resolve()
  const holding = app.db.transaction(async (tx) => {
    await tx.query("set local deadlock_timeout = '20ms'")
    await tx.query(LOCKS[first]?.[1] ?? '', [target.user])
    const { pid } = await tx.one<{ pid: number }>('select pg_backend_pid() as pid')
    work = Promise.resolve(lockPaths[path](app, target)).catch(fail('the work'))
    void work.finally(() => {
      ended = true
    })
    const waits = async () =>
      (await app.db.query('select 1 from pg_stat_activity where $1 = any (pg_blocking_pids(pid))', [pid])).length > 0
    if (!(await until(async () => ended || (await waits())))) failures.push(`${path}: neither waits nor ends`)
    for (const [, sql] of LOCKS.slice(first + 1)) await tx.query(sql, [target.user])
  })
  await holding.catch(fail('the holder'))
  await work
  return failures
}

/** The failures when each of these operations meets a holder of each of the locks. */
export async function meetings(app: TestApp, paths: readonly LockPath[]): Promise<string[]> {
  const failures: string[] = []
  for (const path of paths) {
    // No lock follows the last one.
    for (const first of LOCKS.slice(1).keys()) failures.push(...(await meet(app, first, path)))
  }
  return failures
}
