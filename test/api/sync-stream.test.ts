// Live progress (contract 7.5): over real connections, between processes, through every kind of interruption.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import { openSyncFeed } from '../../server/api/sync/feed.ts'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { body, createUser, heartRate, importBody, oneEngine, startImports, upload, waitForAll } from '../support/sdk.ts'
import { onDatabase, startService } from '../support/service.ts'
import { ofOneProcess, REPLACES } from '../support/several.ts'
import { runs } from '../support/thorough.ts'

const NOON = Date.UTC(2026, 1, 24, 12)
const UNKNOWN = '00000000-0000-4000-8000-000000000000'
const WAIT_MS = 60_000

const streamPath = (user: string) => `/api/v1/users/${user}/sync/stream`

interface FollowOptions {
  replay?: number
  lastEventId?: string
  headers?: Record<string, string>
}

/** A client that follows a user, and the events it has received. */
interface Client {
  response: IncomingMessage
  text(): string
  ids(): string[]
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape
  events(): any[]
  /** Waits until this many events have arrived. */
  received(count: number): Promise<boolean>
  /** Whether the answer ended, and how. */
  ended(): 'no' | 'complete' | 'broken'
  leave(): void
}

/** Opens a stream and waits for its headers; it ends with the test. */
async function follow(t: Test, app: { url: string; apiKey: string }, user: string, options: FollowOptions = {}) {
  const { replay, lastEventId, headers = { 'X-Service-API-Key': app.apiKey } } = options
  const url = new URL(streamPath(user) + (replay === undefined ? '' : `?replay=${replay}`), app.url)
  const sent = { ...headers, ...(lastEventId !== undefined && { 'Last-Event-ID': lastEventId }) }
  const sending = request(url, { headers: sent, agent: false })
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    sending.on('response', resolve).on('error', reject).end()
  })
  let text = ''
  let ended: 'no' | 'complete' | 'broken' = 'no'
  response.setEncoding('utf8')
  response.on('data', (chunk) => {
    text += chunk
  })
  response.on('error', () => {})
  response.on('close', () => {
    ended = response.complete ? 'complete' : 'broken'
  })
  t.teardown(() => sending.destroy())
  const fields = (name: string) =>
    [...text.slice(0, text.lastIndexOf('\n\n') + 2).matchAll(new RegExp(`^${name}: (.*)$`, 'gm'))].map(
      ([, value = '']) => value,
    )
  const client: Client = {
    response,
    text: () => text,
    ids: () => fields('id'),
    events: () => fields('data').map((json) => JSON.parse(json)),
    received: (count) => waitUntil(async () => client.ids().length >= count, WAIT_MS, 5),
    ended: () => ended,
    leave: () => sending.destroy(),
  }
  return client
}

/** Writes an event straight into the table, as a worker of another process would. */
async function write(db: Pick<TestApp['db'], 'query'>, user: string, message: string): Promise<void> {
  await db.query(
    `with run as (
       insert into sync_run (run_key, user_id, provider, source) values ('run', $1, 'apple', 'sdk') on conflict do nothing
     )
     select 1`,
    [user],
  )
  await db.query(
    `insert into sync_event (user_id, run_key, stage, status, message) values ($1, 'run', 'fetching', 'in_progress', $2)`,
    [user, message],
  )
}

/** Bytes of the first answer on this path that the network has accepted, as seen by the server of this process. */
function countSent(t: Test, path: string): () => number {
  let socket: Socket | undefined
  const started = (message: unknown) => {
    const { request, socket: of } = message as { request: IncomingMessage; socket: Socket }
    if (request.url === path) socket ??= of
  }
  subscribe('http.server.request.start', started)
  t.teardown(() => unsubscribe('http.server.request.start', started))
  return () => (socket ? socket.bytesWritten - socket.writableLength : 0)
}

const messages = (client: Client) => client.events().map(({ message }) => message)
const openStreams = async (app: TestApp) =>
  Number(/^pulsebase_sync_streams (\d+)$/m.exec((await app.request('GET', '/metrics')).body)?.[1])
const noneOpen = (app: TestApp) => waitUntil(async () => (await openStreams(app)) === 0, WAIT_MS, 5)

/** Gives an app other intervals and limits than the service's. */
async function withFeed(
  app: TestApp,
  options: { heartbeatMs?: number; maxStreams?: number },
  db = app.db,
): Promise<TestApp> {
  await app.deps.syncFeed.close()
  app.deps.syncFeed = await openSyncFeed(db, app.deps.log, app.deps.metrics, options)
  return app
}

oneEngine(t, 'following a user', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const second = await app.another()
  await startImports(t, app)

  await t.test('tells the last events, oldest first, and then each one, in every process', async (t) => {
    const user = await createUser(app)
    await importBody(app, user, body([heartRate(NOON, 60)]))
    const here = await follow(t, app, user)
    const there = await follow(t, second, user)
    const newest = await follow(t, second, user, { replay: 1 })
    t.equal(here.response.statusCode, 200)
    t.match(here.response.headers, {
      'content-type': /^text\/event-stream/,
      'cache-control': 'private, no-cache, no-store, no-transform',
      'x-accel-buffering': 'no',
      'x-request-id': /./,
    })
    t.ok(await there.received(2))
    t.ok(here.text().startsWith(': connected\n\nid: '))
    t.match(here.text(), /^id: [0-9a-f-]{36}\nevent: sync\.status\ndata: \{.*\}\n\n/m)
    t.match(here.events(), [
      { stage: 'queued', status: 'in_progress' },
      { stage: 'completed', status: 'success', message: 'Apple batch saved: 1 new, 0 updated' },
    ])
    t.ok(await newest.received(1))
    t.match(newest.events(), [{ stage: 'completed' }])

    await importBody(second, user, body([heartRate(NOON + 1000, 60), heartRate(NOON + 2000, null)]))
    for (const client of [here, there]) t.ok(await client.received(4))
    t.ok(await newest.received(3))
    const listed = (await app.request('GET', `/api/v1/users/${user}/sync/recent`)).body
    t.strictSame(here.events(), listed.toReversed(), 'the same as the list')
    t.strictSame(there.ids(), here.ids())
    t.strictSame(newest.ids(), here.ids().slice(1))

    const other = await createUser(app)
    await importBody(app, other, body([heartRate(NOON, 60)]))
    await importBody(app, user, body([heartRate(NOON + 3000, 60)]))
    t.ok(await here.received(6))
    t.ok(
      here.events().every((event) => event.user_id === user),
      'nothing of others',
    )
    for (const client of [here, there, newest]) client.leave()
    t.ok((await noneOpen(app)) && (await noneOpen(second)))
  })

  await t.test('is for who may read, of users there are', async (t) => {
    const user = await createUser(app)
    const missing = await app.request('GET', streamPath(UNKNOWN))
    t.match(missing, { status: 404, body: { detail: `User with ID: ${UNKNOWN} not found.` } })
    for (const replay of ['0', '201', 'x']) {
      t.equal((await app.request('GET', `${streamPath(user)}?replay=${replay}`)).status, 422)
    }
    t.equal((await app.request('GET', streamPath(user), { auth: 'none' })).status, 401)
    t.equal((await app.request('GET', streamPath(user), { auth: { bearer: await app.sdkToken(user) } })).status, 401)
    const headers = { Authorization: `Bearer ${await app.developer.token()}` }
    t.equal((await follow(t, app, user, { headers })).response.statusCode, 200)
    t.equal((await app.request('HEAD', streamPath(user))).status, 200)
    t.ok(await waitUntil(async () => (await openStreams(app)) === 1, WAIT_MS, 5), 'a HEAD holds none')
  })

  await t.test('a client that comes back misses nothing and hears nothing twice', async (t) => {
    const user = await createUser(app)
    const seen: string[] = []
    const uploads = Array.from({ length: runs(8, 24) }, (_, n) => n)
    let sending = true
    const sent = (async () => {
      for (const n of uploads) {
        const to = n % 2 ? app : second
        await upload(to, user, body([heartRate(NOON + n * 1000, 60)]))
      }
      await waitForAll(app, user)
      sending = false
    })()
    for (let visit = 0; sending || seen.length < uploads.length * 2; visit += 1) {
      const lastEventId = seen.at(-1)
      const client = await follow(t, visit % 2 ? app : second, user, lastEventId ? { lastEventId } : { replay: 200 })
      await waitUntil(
        async () => client.ids().length > 0 || (!sending && seen.length >= uploads.length * 2),
        WAIT_MS,
        1,
      )
      client.leave()
      seen.push(...client.ids())
    }
    await sent
    const { body: listed } = await app.request('GET', `/api/v1/users/${user}/sync/recent?limit=200`)
    t.strictSame(seen, listed.map(({ event_id: id }: { event_id: string }) => id).reverse())
    t.equal(new Set(seen).size, uploads.length * 2)
  })

  await t.test('an id that is not kept any more, or never was one, counts as none', async (t) => {
    const user = await createUser(app)
    for (const n of [1, 2, 3]) await write(app.db, user, String(n))
    const other = await createUser(app)
    await write(app.db, other, 'other')
    const [{ event_id: theirs }] = (await app.request('GET', `/api/v1/users/${other}/sync/recent`)).body
    for (const lastEventId of [UNKNOWN, 'x', '', theirs]) {
      const client = await follow(t, app, user, { lastEventId, replay: 2 })
      t.ok(await client.received(2))
      t.strictSame(messages(client), ['2', '3'])
    }
  })

  await t.test('tells what was written first, first, however long it takes to be committed', async (t) => {
    const user = await createUser(app)
    const other = await createUser(app)
    await write(app.db, user, 'before')
    const client = await follow(t, second, user)
    t.ok(await client.received(1))
    let letFirst = () => {}
    const first = app.db.transaction(async (tx) => {
      await write(tx, user, 'first')
      await new Promise<void>((resolve) => {
        letFirst = resolve
      })
    })
    const open = `select count(*)::int4 as n from pg_stat_activity
                  where datname = current_database() and state = 'idle in transaction'`
    t.ok(await waitUntil(async () => (await app.db.one<{ n: number }>(open)).n > 0, WAIT_MS, 5))
    const late = await follow(t, app, user)
    let lateDone = false
    const next = app.db
      .transaction((tx) => write(tx, user, 'second'))
      .then(() => {
        lateDone = true
      })
    const waiting = `select count(*)::int4 as n from pg_stat_activity
                     where datname = current_database() and wait_event = 'advisory'`
    t.ok(await waitUntil(async () => (await app.db.one<{ n: number }>(waiting)).n > 0, WAIT_MS, 5))
    await write(app.db, other, 'of another user')
    t.notOk(lateDone, 'one user has one order; others do not wait')
    t.strictSame(messages(client), ['before'])
    letFirst()
    await Promise.all([first, next])
    for (const one of [client, late]) {
      t.ok(await one.received(3))
      t.strictSame(messages(one), ['before', 'first', 'second'])
    }
    const rolledBack = app.db.transaction(async (tx) => {
      await write(tx, user, 'never')
      throw new Error('no')
    })
    await t.rejects(rolledBack)
    await write(app.db, user, 'third')
    t.ok(await client.received(4))
    t.strictSame(messages(client), ['before', 'first', 'second', 'third'])
  })

  await t.test('only users whom somebody follows cost a notification', async (t) => {
    const user = await createUser(app)
    const heard: (string | undefined)[] = []
    const listener = await app.db.pool.connect()
    listener.on('notification', ({ payload }) => heard.push(payload))
    await listener.query('listen sync_event')
    const other = await createUser(app)
    const client = await follow(t, app, user)
    await write(app.db, user, 'one')
    t.ok(await client.received(1))
    heard.length = 0
    await write(app.db, other, 'nobody cares')
    await write(app.db, user, 'two')
    t.ok(await waitUntil(async () => heard.length > 0, WAIT_MS, 5))
    t.strictSame(heard, [user])
    client.leave()
    const free = async () =>
      (await app.db.one<{ free: boolean }>('select pg_try_advisory_xact_lock(sync_watch_key($1)) as free', [user])).free
    t.ok(await waitUntil(free, WAIT_MS, 5), 'and none once they have left')
    heard.length = 0
    await write(app.db, user, 'three')
    await listener.query(`select pg_notify('sync_event', 'end')`)
    t.ok(await waitUntil(async () => heard.includes('end'), WAIT_MS, 5))
    t.strictSame(heard, ['end'])
    listener.release(true)
  })

  await t.test('ends when the user is deleted', async (t) => {
    const user = await createUser(app)
    const clients = [await follow(t, app, user), await follow(t, second, user)]
    for (const client of clients) t.ok(await waitUntil(async () => client.text() !== '', WAIT_MS, 5))
    t.equal((await app.request('DELETE', `/api/v1/users/${user}`, { auth: 'developer' })).status, 200)
    for (const client of clients) {
      t.ok(await waitUntil(async () => client.ended() !== 'no', WAIT_MS, 5))
      t.equal(client.ended(), 'complete')
    }
  })

  await t.test('goes on when the database was away', async (t) => {
    const user = await createUser(app)
    const third = await app.another()
    const client = await follow(t, third, user)
    await write(app.db, user, 'before')
    t.ok(await client.received(1))
    await app.db.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and application_name = 'pulsebase test'`,
    )
    await waitUntil(
      () =>
        write(app.db, user, 'meanwhile').then(
          () => true,
          () => false,
        ),
      WAIT_MS,
      5,
    )
    t.ok(await client.received(2))
    await write(app.db, user, 'after')
    t.ok(await client.received(3))
    t.strictSame(messages(client), ['before', 'meanwhile', 'after'])
    t.equal(client.ended(), 'no')
  })

  await t.test('has a heartbeat, and ends when the key no longer counts', ofOneProcess(REPLACES), async (t) => {
    const third = await withFeed(await app.another(), { heartbeatMs: 20 })
    const user = await createUser(app)
    const key = (await app.request('POST', '/api/v1/developer/api-keys', { body: { name: 'x' }, auth: 'developer' }))
      .body
    const client = await follow(t, { url: third.url, apiKey: key.key }, user)
    t.equal(client.response.statusCode, 200)
    t.ok(await waitUntil(async () => client.text().split(': heartbeat\n\n').length > 3, WAIT_MS, 5))
    t.match(client.text(), /^: connected\n\n(: heartbeat\n\n)+$/)
    t.equal((await app.request('DELETE', `/api/v1/developer/api-keys/${key.id}`, { auth: 'developer' })).status, 200)
    t.ok(await waitUntil(async () => client.ended() !== 'no', WAIT_MS, 5))
    t.equal(client.ended(), 'complete')
  })

  await t.test('a client that does not read costs a few pages, and is dropped', ofOneProcess(REPLACES), async (t) => {
    const another = await app.another()
    const user = await createUser(app)
    const sentBytes = countSent(t, streamPath(user))
    let readBytes = 0
    let aheadBytes = 0
    let pageBytes = 0
    const db: TestApp['db'] = {
      ...another.db,
      async query<Row>(text: string, params?: Parameters<TestApp['db']['query']>[1]) {
        const rows = await another.db.query<Row>(text, params)
        const bytes = text.includes('from sync_event') ? JSON.stringify(rows).length : 0
        readBytes += bytes
        pageBytes = Math.max(pageBytes, bytes)
        // Networks buffer different amounts on different machines; the rest waits in our memory.
        aheadBytes = Math.max(aheadBytes, readBytes - sentBytes())
        return rows
      },
    }
    const third = await withFeed(another, { heartbeatMs: 250 }, db)
    const client = await follow(t, third, user)
    await write(app.db, user, '0')
    t.ok(await client.received(1))
    client.response.pause()
    let count = 0
    // Until the network accepts no more.
    while ((await openStreams(third)) > 0 && count < 50_000 && aheadBytes < 10 * pageBytes) {
      await app.db.query(
        `insert into sync_event (user_id, run_key, stage, status, message, metadata)
         select $1, 'run', 'fetching', 'in_progress', n::text, jsonb_build_object('pad', repeat('x', 10000))
         from generate_series($2::int4 + 1, $2::int4 + 500) n`,
        [user, count],
      )
      count += 500
    }
    t.equal(await openStreams(third), 0, 'dropped')
    t.ok(pageBytes > 900_000, 'a page is 100 events')
    t.ok(aheadBytes < 3 * pageBytes, `${aheadBytes} bytes were read ahead, ${pageBytes} are a page`)
    client.response.resume()
    t.ok(await waitUntil(async () => client.ended() !== 'no', WAIT_MS, 5))
    t.equal(client.ended(), 'broken')
    const again = await follow(t, third, user, { lastEventId: client.ids().at(-1) ?? '' })
    t.ok(await waitUntil(async () => again.text().slice(-12_000).includes(`"message":"${count}"`), 60_000, 200))
    const numbers = [...messages(client), ...messages(again)].map(Number)
    t.ok(numbers.every((number, index) => number === index) && numbers.length === count + 1, 'all of it, in order')
  })

  await t.test('has room for so many, and gives it back', ofOneProcess(REPLACES), async (t) => {
    const third = await withFeed(await app.another(), { maxStreams: 2 })
    const user = await createUser(app)
    const clients = [await follow(t, third, user), await follow(t, third, user)]
    const refused = await third.request('GET', streamPath(user))
    t.match(refused, { status: 503, body: { detail: 'Too many streams are open; please retry.' } })
    t.equal(refused.headers.get('retry-after'), '5')
    t.equal((await third.request('GET', streamPath(UNKNOWN))).status, 503)
    clients[0]?.leave()
    t.ok(await waitUntil(async () => (await openStreams(third)) === 1, WAIT_MS, 5))
    t.equal((await third.request('GET', streamPath(UNKNOWN))).status, 404)
    t.equal((await follow(t, third, user)).response.statusCode, 200, 'an unknown user took no place')
  })

  await t.test('ends when the service stops, before it would be cut off', ofOneProcess(REPLACES), async (t) => {
    const service = await startService(t, onDatabase(app.databaseUrl))
    const user = await createUser(app)
    const client = await follow(t, { url: service.url, apiKey: app.apiKey }, user)
    await write(app.db, user, 'one')
    t.ok(await client.received(1))
    t.equal(await service.stop(), 0)
    t.ok(await waitUntil(async () => client.ended() !== 'no', WAIT_MS, 5))
    t.equal(client.ended(), 'complete')
  })
})
