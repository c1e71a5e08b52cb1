// How a connection ends and starts again, and which data stays (contract 3.8, 3.9, 12.10).
import t, { type Test } from 'tap'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { startTestApp, type TestAnswer, type TestApp, type TestRequest } from '../support/app.ts'
import {
  body,
  createUser,
  eachEngine,
  heartRate,
  importBody,
  oneEngine,
  PHONE,
  startImports,
  steps,
  storedSamples,
  timeseries,
  upload,
  waitForAll,
  waitForBatch,
} from '../support/sdk.ts'
import { PROCESSES } from '../support/several.ts'
import { runs } from '../support/thorough.ts'

const NOON = Date.parse('2026-02-24T12:00:00Z')
const MINUTE_MS = 60_000
const NOBODY = '00000000-0000-4000-8000-000000000000'

type Auth = NonNullable<TestRequest['auth']>

const disconnect = (app: TestApp, user: string, provider = 'apple', auth: Auth = 'key') =>
  app.request('DELETE', `/api/v1/users/${user}/connections/${provider}`, { auth })
const purge = (app: TestApp, user: string, provider = 'apple', auth: Auth = 'key') =>
  app.request('DELETE', `/api/v1/users/${user}/connections/${provider}/data`, { auth })
const statusOf = async (app: TestApp, user: string): Promise<Record<string, string>> => {
  const connections = (await app.request('GET', `/api/v1/users/${user}/connections`)).body
  return Object.fromEntries(connections.map((one: { provider: string; status: string }) => [one.provider, one.status]))
}
const userOf = async (app: TestApp, user: string) => (await app.request('GET', `/api/v1/users/${user}`)).body

/** A phone's upload; `minute` makes it a different one each time. */
const rates = (minute: number, provider = 'apple') =>
  provider === 'apple'
    ? body([heartRate(NOON + minute * MINUTE_MS, 60 + minute), steps(NOON + minute * MINUTE_MS, 10, { source: PHONE })])
    : body(
        [heartRate(NOON + minute * MINUTE_MS, 60 + minute, { type: 'HEART_RATE', source: { deviceModel: 'Pixel 9' } })],
        {
          provider,
        },
      )

function refused(t: Test, answer: TestAnswer, status: number, detail: string): void {
  t.equal(answer.status, status)
  t.equal(answer.body.detail, detail)
}

/** Rows of every table, those of the user and those below, that a purge must empty. */
const leftOf = (app: TestApp, user: string, provider: string) =>
  app.db.one<Record<string, number>>(
    `with source as (select id from data_source where user_id = $1 and provider = $2)
     select (select count(*) from source) as sources,
            (select count(*) from upload where user_id = $1 and provider = $2) as uploads,
            (select count(*) from upload_body b where user_id = $1
               and not exists (select from upload u where u.user_id = $1 and u.sha256 = b.sha256)) as bodies,
            (select count(*) from sync_run where user_id = $1 and provider = $2) as runs,
            (select count(*) from sync_event e where user_id = $1
               and not exists (select from sync_run r where r.user_id = $1 and r.run_key = e.run_key)) as events,
            (select count(*) from sync_run_type k where user_id = $1
               and not exists (select from sync_run r where r.user_id = $1 and r.run_key = k.run_key)) as types`,
    [user, provider],
  )

/** Rows whose source no longer exists; samples and rollups have no foreign key. */
const orphans = (app: TestApp) =>
  app.db.one<Record<string, number>>(
    `select ${['sample', 'rollup_15min', 'rollup_1hour', 'rollup_1day', 'rollup_dirty', 'source_series']
      .map((name) => `(select count(*) from ${name} where source_id not in (select id from data_source)) as ${name}`)
      .join(', ')}`,
  )
const NONE = { sample: 0, rollup_15min: 0, rollup_1hour: 0, rollup_1day: 0, rollup_dirty: 0, source_series: 0 }

oneEngine(t, 'a connection', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)

  await t.test('a connection that is ended keeps its data, and the next upload opens it again', async (t) => {
    const user = await createUser(app)
    await importBody(app, user, rates(1))
    t.strictSame(await statusOf(app, user), { apple: 'active' })
    const before = await userOf(app, user)
    t.match(before, { has_active_connection: true, last_synced_provider: 'apple' })

    const answer = await disconnect(app, user)
    t.equal(answer.status, 204)
    t.equal(answer.body, '')
    t.equal((await disconnect(app, user)).status, 204, 'again')
    t.strictSame(await statusOf(app, user), { apple: 'revoked' })
    t.match(await userOf(app, user), {
      has_active_connection: false,
      last_synced_at: before.last_synced_at,
      last_synced_provider: 'apple',
    })
    t.equal((await storedSamples(app.db, user)).length, 2)

    await importBody(app, user, rates(2, 'health_connect'))
    t.match(await userOf(app, user), { has_active_connection: true, last_synced_provider: 'health_connect' })
    t.strictSame(await statusOf(app, user), { apple: 'revoked', health_connect: 'active' }, 'of its own provider only')
    await importBody(app, user, rates(3))
    t.strictSame(await statusOf(app, user), { apple: 'active', health_connect: 'active' })
    const after = await userOf(app, user)
    t.match(after, { last_synced_provider: 'apple' })
    t.ok(after.last_synced_at > before.last_synced_at)
    await importBody(app, user, rates(3))
    t.equal((await disconnect(app, user)).status, 204)
    await importBody(app, user, rates(3))
    t.strictSame(await statusOf(app, user), { apple: 'active', health_connect: 'active' }, 'also with nothing new')
  })

  await t.test('a purge that fails has removed nothing', async (t) => {
    const user = await createUser(app)
    await importBody(app, user, rates(1))
    const before = await storedSamples(app.db, user)
    if (PROCESSES === 1) t.capture(app.deps.log, 'error')
    await app.db.query('alter table sync_run rename to sync_run_away')
    t.equal((await purge(app, user)).status, 500)
    await app.db.query('alter table sync_run_away rename to sync_run')
    t.strictSame(await storedSamples(app.db, user), before)
    t.strictSame(await statusOf(app, user), { apple: 'active' })
    t.equal((await purge(app, user)).status, 204)
    t.strictSame(await storedSamples(app.db, user), [])
  })
  await t.test('a purge among uploads and imports of the same user', async (t) => {
    const other = await app.another()
    const user = await createUser(app)
    await importBody(app, user, rates(0))
    // The same bytes as well: their stored body is being deleted at this moment.
    const send = (n: number) => upload(n % 2 ? app : other, user, rates(n % 5))
    for (let run = 0; run < runs(2, 3); run += 1) {
      const answers = await Promise.all([
        ...Array.from({ length: runs(5, 10) }, (_, n) => send(n)),
        purge(app, user),
        ...Array.from({ length: runs(5, 10) }, (_, n) => send(n)),
        disconnect(other, user),
      ])
      t.strictSame([...new Set(answers.map(({ status }) => status))].sort(), [202, 204])
      t.ok((await waitForAll(app, user)).every(({ status }) => status === 'success'))
      t.strictSame(await orphans(app), NONE)
    }
    t.equal((await purge(app, user)).status, 204)
    t.strictSame(await storedSamples(app.db, user), [])
    t.strictSame(await leftOf(app, user, 'apple'), { sources: 0, uploads: 0, bodies: 0, runs: 0, events: 0, types: 0 })
  })

  await t.test('an upload that was being accepted when a purge began goes with it', async (t) => {
    const user = await createUser(app)
    await importBody(app, user, rates(1))
    const waiting = async (query: string) =>
      (
        await app.db.query(
          `select 1 from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock' and query like $1`,
          [query],
        )
      ).length > 0
    const client = await app.db.pool.connect()
    t.teardown(() => client.release())
    // It has stored everything but not committed.
    await client.query('begin')
    await client.query(
      `select accept_upload(gen_random_uuid(), $1, 'apple', '\\x00', '\\x00', 1, 1, null, null, 'live', null, 'late')`,
      [user],
    )
    const purging = purge(app, user)
    t.ok(await waitUntil(() => waiting('select 1 from app_user%for update'), 60_000, 5))
    await client.query('commit')
    t.equal((await purging).status, 204)
    t.strictSame(await leftOf(app, user, 'apple'), { sources: 0, uploads: 0, bodies: 0, runs: 0, events: 0, types: 0 })
  })

  await t.test('who may end a connection, and which', async (t) => {
    const user = await createUser(app)
    const other = await createUser(app)
    const token = async (id: string): Promise<Auth> => ({
      bearer: (await app.request('POST', `/api/v1/users/${id}/token`, { auth: 'developer' })).body.access_token,
    })
    const own = await token(user)
    await importBody(app, user, rates(1))
    await importBody(app, user, rates(1, 'google'))
    t.strictSame(await statusOf(app, user), { apple: 'active', health_connect: 'active' })

    refused(t, await disconnect(app, user, 'apple', await token(other)), 403, 'Token does not match user_id')
    const none = 'Authentication required: provide JWT token or API key'
    refused(t, await disconnect(app, user, 'apple', 'none'), 401, none)
    refused(t, await purge(app, user, 'apple', 'none'), 401, none)
    refused(t, await purge(app, user, 'apple', own), 401, none)
    t.strictSame(await statusOf(app, user), { apple: 'active', health_connect: 'active' })

    t.equal((await disconnect(app, user, 'google', own)).status, 204, 'as released SDKs call it')
    t.strictSame(await statusOf(app, user), { apple: 'active', health_connect: 'revoked' })
    t.equal((await disconnect(app, user, 'apple', own)).status, 204)
    t.equal((await disconnect(app, user, 'apple', 'developer')).status, 204)
    const header = { 'X-Open-Wearables-API-Key': app.apiKey }
    const path = `/api/v1/users/${user}/connections`
    t.equal((await app.request('DELETE', `${path}/apple`, { auth: 'none', headers: header })).status, 204)
    t.equal((await app.request('DELETE', `${path}/apple/data`, { auth: 'none', headers: header })).status, 401)
    t.equal((await purge(app, user, 'google', 'developer')).status, 204)
    t.notMatch(await storedSamples(app.db, user), [{ provider: 'health_connect' }])

    for (const end of [disconnect, purge]) {
      for (const provider of ['samsung', 'oura', 'unknown', 'internal']) {
        const never = await end(app, user, provider)
        refused(t, never, 404, `Connection with ID: ${user} not found.`)
        t.match(never.body.hint, `has never connected ${provider}`)
      }
      refused(t, await end(app, NOBODY), 404, `User with ID: ${NOBODY} not found.`)
      for (const provider of ['Apple', 'GOOGLE', 'x', '%20', 'apple%00']) {
        const answer = await end(app, user, provider)
        t.equal(answer.status, 422, provider)
        t.match(answer.body.detail, [{ type: 'enum', loc: ['path', 'provider'] }])
      }
      t.equal((await end(app, 'x')).status, 422)
    }
    await app.request('DELETE', `/api/v1/users/${user}`, { auth: 'developer' })
    refused(t, await disconnect(app, user, 'apple', own), 401, 'Authentication required: provide SDK token or API key')
  })
})

eachEngine(t, 'a purge removes what came from one provider', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const user = await createUser(app)
  const other = await createUser(app)
  for (const id of [user, other]) await importBody(app, id, rates(1))
  await importBody(app, user, rates(2), { headers: { 'X-Request-Id': 'one' } })
  await importBody(app, user, rates(3, 'health_connect'))
  await refreshRollups(app.db)
  await importBody(app, user, rates(4))
  const page = { types: 'heart_rate', start_time: '2026-02-24', end_time: '2026-02-24' }
  const seen = await timeseries(app, user, page)
  t.equal(seen.body.data.length, 4)
  const etag = seen.headers.get('etag') ?? ''
  const kept = (await storedSamples(app.db, user)).filter(({ provider }) => provider === 'health_connect')
  const others = await storedSamples(app.db, other)
  const [batch] = (await app.request('GET', `/api/v1/sdk/users/${user}/sync/batches`)).body.filter(
    ({ provider }: { provider: string }) => provider === 'apple',
  )

  const answer = await purge(app, user)
  t.equal(answer.status, 204)
  t.equal(answer.body, '')
  t.strictSame(await statusOf(app, user), { apple: 'revoked', health_connect: 'active' })
  t.strictSame(await storedSamples(app.db, user), kept)
  t.strictSame(await orphans(app), NONE)
  t.strictSame(await leftOf(app, user, 'apple'), { sources: 0, uploads: 0, bodies: 0, runs: 0, events: 0, types: 0 })
  t.strictSame(await storedSamples(app.db, other), others, 'of another user nothing')
  t.strictSame(await statusOf(app, other), { apple: 'active' })
  t.match(await leftOf(app, user, 'health_connect'), { sources: 1, uploads: 1, runs: 1 })

  const now = await timeseries(app, user, page, { headers: { 'If-None-Match': etag } })
  t.equal(now.status, 200, 'no reader is told that nothing changed')
  t.equal(now.body.data.length, 1)
  t.equal((await timeseries(app, user, { ...page, resolution: '1hour' })).body.data.length, 1)
  await refreshRollups(app.db)
  t.equal((await timeseries(app, user, { ...page, resolution: '1hour' })).body.data.length, 1)
  const sources = (await app.request('GET', `/api/v1/users/${user}/data-sources`)).body
  t.strictSame(
    sources.items.map(({ provider }: { provider: string }) => provider),
    ['health_connect'],
  )
  const history = (await app.request('GET', `/api/v1/users/${user}/sync/history`)).body
  t.notMatch(JSON.stringify(history), 'apple')

  const gone = await app.request('POST', `/api/v1/sdk/users/${user}/sync/batches/${batch.batch_id}/import`)
  refused(t, gone, 404, `Batch with ID: ${batch.batch_id} not found.`)
  t.equal((await purge(app, user)).status, 204, 'again')
  t.match(
    await importBody(app, user, rates(2), { headers: { 'X-Request-Id': 'one' } }),
    { status: 'success', inserted: 2 },
    'the phone may send it again, even with the same request id',
  )
  t.strictSame(await statusOf(app, user), { apple: 'active', health_connect: 'active' })
})

oneEngine(t, 'uploads that wait for their import', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const signedOut = await createUser(app)
  const again = await createUser(app)
  const purged = await createUser(app)
  const fresh = await createUser(app)
  const session = { syncType: 'historical', syncSessionId: 'export-1' }
  const ids = { signedOut: '', again: '' }
  // Nothing imports yet.
  ids.signedOut = (await upload(app, signedOut, rates(1))).body.batch_id
  t.equal((await disconnect(app, signedOut)).status, 204, 'a connection that is about to be created')
  await upload(app, again, rates(1))
  t.equal((await disconnect(app, again)).status, 204)
  ids.again = (await upload(app, again, rates(2))).body.batch_id
  await upload(app, purged, { ...rates(1), ...session })
  await upload(app, purged, { ...rates(2), ...session })
  const android = (await upload(app, purged, rates(3, 'health_connect'))).body.batch_id
  t.equal((await purge(app, purged)).status, 204)
  t.strictSame(await leftOf(app, purged, 'apple'), { sources: 0, uploads: 0, bodies: 0, runs: 0, events: 0, types: 0 })
  refused(t, await disconnect(app, fresh), 404, `Connection with ID: ${fresh} not found.`)

  await startImports(t, app)
  t.match(await waitForBatch(app, signedOut, ids.signedOut), { status: 'success', inserted: 2 }, 'no data is lost')
  t.strictSame(await statusOf(app, signedOut), { apple: 'revoked' }, 'nor is the phone signed in again')
  t.match(await userOf(app, signedOut), { has_active_connection: false, last_synced_provider: 'apple' })
  await waitForBatch(app, again, ids.again)
  t.strictSame(await statusOf(app, again), { apple: 'active' }, 'by what came later it is')
  t.match(await waitForBatch(app, purged, android), { status: 'success', inserted: 1 })
  t.strictSame((await waitForAll(app, purged)).length, 1)
  t.match(await storedSamples(app.db, purged), [{ provider: 'health_connect' }], 'what was purged does not come back')
  t.strictSame(await statusOf(app, purged), { apple: 'revoked', health_connect: 'active' })
})
