// What one kind of request, or one user, keeps from others: nothing.
import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import type { Transaction } from '../../server/db/database.ts'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { openProbe } from '../../server/db/probe.ts'
import { countAnswers } from '../../server/http/answers.ts'
import { LIMITS, type Limits } from '../../server/limits.ts'
import { startTestApp, type TestAnswer, type TestApp } from '../support/app.ts'
import { body, createUser, eachEngine, heartRate, upload } from '../support/sdk.ts'
import { engines } from '../support/servers.ts'
import { THOROUGH } from '../support/thorough.ts'

const NOON = Date.UTC(2026, 1, 24, 12)
const MIB = 2 ** 20
const LONG_MS = 60_000

// What contends has nothing to do with the engine, but for the locks of a deletion.
const engine = engines().at(-1)
if (!engine) throw new Error('no engine')

/** The limits of the service, with these times for every gate but the one that all pass. */
const limitsWith = (waitMs: number, more: Partial<Limits> = {}): Limits => ({
  ...LIMITS,
  ...more,
  gates: Object.fromEntries(
    Object.entries(LIMITS.gates).map(([name, gate]) => [
      name,
      { ...gate, waitMs: name === 'guard' ? LONG_MS : waitMs },
    ]),
  ) as Limits['gates'],
})

/** Nothing ends by itself while a test looks. */
const PATIENT = limitsWith(LONG_MS, { lockMs: LONG_MS, statementMs: LONG_MS })
const HASTY = limitsWith(100, { lockMs: 100 })

const until = async (t: Test, what: string, condition: () => Promise<boolean> | boolean) =>
  t.ok(await waitUntil(async () => condition(), LONG_MS, 10), what)

/** A transaction of somebody else that holds something until `end`. */
async function hold(t: Test, app: TestApp, statement: string, params: (string | string[])[] = []) {
  const client: Transaction['client'] = await app.db.pool.connect()
  t.teardown(() => client.release(true))
  await client.query('begin')
  await client.query(statement, params)
  return { end: () => client.query('commit') }
}

/** As the import of an upload does. */
const holdUser = (t: Test, app: TestApp, user: string) =>
  hold(t, app, `select pg_advisory_xact_lock(hashtextextended('ingest:' || $1, 0))`, [user])

/** Statements of the service that wait for a lock. */
const heldUp = async (app: TestApp) =>
  (
    await app.db.one<{ n: number }>(
      `select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
  ).n

const short = ({ status, headers, body }: TestAnswer) => [status, headers.get('retry-after'), body?.detail]

/** What must be answered whatever else goes on, with the status of each. */
async function answered(app: TestApp): Promise<[string, number][]> {
  const users = '/api/v1/users'
  const user = await createUser(app)
  await app.db.query(`insert into connection (user_id, provider) values ($1, 'garmin')`, [user])
  const ask = async (method: string, path: string, auth: 'key' | 'developer' = 'key', body?: unknown) => {
    const { status } = await app.request(method, path, { auth, ...(body !== undefined && { body }) })
    return [`${method} ${path.replace(user, '…')}`, status] as [string, number]
  }
  return [
    await ask('GET', '/readyz'),
    await ask('GET', '/metrics'),
    await ask('GET', `${users}/${user}`),
    await ask('GET', `${users}/${user}/connections`, 'developer'),
    await ask('PATCH', `${users}/${user}`, 'key', { first_name: 'Ada' }),
    ['upload', (await upload(app, user, body([heartRate(NOON, 60)]))).status],
    await ask('DELETE', `${users}/${user}/connections/garmin`),
    await ask('DELETE', `${users}/${user}`, 'developer'),
  ]
}

const ANSWERED = [200, 200, 200, 200, 200, 202, 204, 200]

/** Twelve deletions of what a user has. */
const deletions = (app: TestApp, user: string): Promise<TestAnswer>[] =>
  Array.from({ length: 12 }, (_, n) => {
    const of = `/api/v1/users/${user}`
    const any = '5a0e4c1b-3c58-4c5e-8f3c-0d9f0f6f2c77'
    const path = [of, `${of}/connections/apple/data`, `${of}/events/workouts/${any}`, `${of}/events/sleep/${any}`][
      n % 4
    ]
    return app.request('DELETE', String(path), { auth: n % 4 === 0 ? 'developer' : 'key' })
  })

eachEngine(t, 'twelve deletions of a user whose upload is being imported', async (t, engine) => {
  await t.test('keep nobody else waiting, and are done when it is over', async (t) => {
    const app = await startTestApp(t, engine, { limits: PATIENT })
    const user = await createUser(app)
    const holder = await holdUser(t, app, user)
    const answers = deletions(app, user)
    const { locked } = app.deps.gates
    await until(t, 'they wait, with one connection for each of the two kinds', () => {
      return locked.held() === 2 && locked.waiting() === 10
    })
    t.strictSame(
      (await answered(app)).map(([, status]) => status),
      ANSWERED,
    )
    await holder.end()
    const statuses = (await Promise.all(answers)).map(({ status }) => status)
    t.equal(statuses.filter((status) => status === 200).length, 1, 'the user is deleted once')
    t.ok(statuses.every((status) => status === 200 || status === 404))
  })

  await t.test('are put off after a moment, and told why', async (t) => {
    const app = await startTestApp(t, engine, { limits: HASTY })
    const user = await createUser(app)
    await holdUser(t, app, user)
    const refused = (await Promise.all(deletions(app, user))).map(short)
    const texts = new Set(refused.map(([, , detail]) => detail))
    t.strictSame(
      refused.filter(([status, retry]) => status !== 503 || !(Number(retry) > 0)),
      [],
    )
    const held =
      'The same data is being changed, for example by the import of an upload. Nothing was changed; please retry.'
    t.ok(texts.delete(held))
    t.strictSame(
      [...texts].filter(
        (text) => !/^Too many (changes( of the same data)?|deletions) at once; please retry\.$/.test(String(text)),
      ),
      [],
    )
    t.equal((await app.request('GET', `/api/v1/users/${user}`)).status, 200, 'nothing was deleted')
  })
})

/** What developers and phones ask about a user, each of which waits for a lock of the user or of its import. */
function askAbout(app: TestApp, user: string): Promise<TestAnswer>[] {
  const of = `/api/v1/users/${user}`
  const any = '5a0e4c1b-3c58-4c5e-8f3c-0d9f0f6f2c77'
  const log = { sdkVersion: '1', provider: 'apple', events: [{ eventType: 'device_state', timestamp: '2026-02-24' }] }
  const token = () => app.request('POST', `${of}/token`, { auth: 'developer', body: {} })
  return [
    upload(app, user, body([heartRate(NOON, 60)])),
    upload(app, user, body([heartRate(NOON, 61)])),
    app.request('PUT', `${of}/personal-record`, { body: { sex: 'female' } }),
    app.request('PUT', `${of}/personal-record`, { body: { sex: 'male' } }),
    app.request('POST', `/api/v1/sdk/users/${user}/logs`, { body: log }),
    token(),
    token(),
    app.request('DELETE', `${of}/events/workouts/${any}`),
    app.request('DELETE', `${of}/connections/apple/data`),
    app.request('DELETE', `${of}/connections/garmin/data`),
  ]
}

t.test('users whose data are locked', async (t) => {
  const app = await startTestApp(t, engine, { limits: PATIENT })
  const { gates } = app.deps
  const inGates = () =>
    [gates.write, gates.long, gates.login, gates.upload, gates.locked].reduce(
      (n, one) => n + one.held() + one.waiting(),
      0,
    )

  for (const count of THOROUGH ? [2, 20] : [2]) {
    await t.test(`${count} of them keep nobody else waiting`, async (t) => {
      const users = await Promise.all(Array.from({ length: count }, () => createUser(app)))
      const holder = await hold(
        t,
        app,
        `select pg_advisory_xact_lock(hashtextextended('ingest:' || id, 0)) from app_user where id = any ($1) for update`,
        [users],
      )
      const asked = users.flatMap((user) => askAbout(app, user))
      await until(t, 'they wait', () => inGates() === asked.length)
      const { email, password } = app.developer
      const login = new URLSearchParams({ username: email, password })
      const [other, { status }] = await Promise.all([
        answered(app),
        app.request('POST', '/api/v1/auth/login', { auth: 'none', body: login }),
      ])
      t.strictSame([...other.map(([, status]) => status), status], [...ANSWERED, 200], 'while they are locked')
      await until(t, 'and they still wait', () => inGates() === asked.length)
      await holder.end()
      const failed = (await Promise.all(asked)).filter(({ status }) => status >= 300 && status !== 404)
      t.strictSame(failed.map(short), [], 'then they get their answers')
    })
  }

  await t.test('are told to come again, if that takes long', async (t) => {
    const app = await startTestApp(t, engine, { limits: HASTY })
    const user = await createUser(app)
    const holder = await hold(t, app, 'select from app_user where id = $1 for update', [user])
    const asked = askAbout(app, user)
    const refused = (await Promise.all(asked.slice(0, 7))).map(short)
    t.strictSame(
      refused.filter(([status, retry]) => status !== 503 || !(Number(retry) > 0)),
      [],
    )
    // Deletions may take longer: the end of the service would be their answer, which nobody expects.
    await holder.end()
    await Promise.all(asked)
  })
})

t.test('the text of a refusal fits the request', async (t) => {
  const app = await startTestApp(t, engine, { limits: { ...LIMITS, statementMs: 300 } })
  const user = await createUser(app)
  const of = `/api/v1/users/${user}`
  await app.db.query(`insert into connection (user_id, provider) values ($1, 'apple')`, [user])
  // A change that waits for a lock is put off; this one takes long by itself.
  await app.db.query(`create function linger() returns trigger language plpgsql as $$
    begin perform pg_sleep(60); return new; end $$`)
  await app.db.query('create trigger linger before update on connection for each row execute function linger()')
  await app.db.query('create trigger linger before insert on personal_record for each row execute function linger()')
  const holder = await hold(t, app, 'lock table data_source in access exclusive mode')
  const answers = await Promise.all([
    app.request('GET', `${of}/data-sources`),
    app.request('DELETE', `${of}/connections/apple`, { auth: { bearer: await app.sdkToken(user) } }),
    app.request('PUT', `${of}/personal-record`, { body: { sex: 'female' } }),
  ])
  await holder.end()
  t.strictSame(answers.map(short), [
    [503, '1', 'The query took too long. Ask for less, such as a shorter time range.'],
    [503, '5', 'The deletion took too long. Nothing was deleted; please retry.'],
    [503, '5', 'The change took too long. Nothing was changed; please retry.'],
  ])
})

/** Asks for a page of samples as CSV, of so many. */
const page = (app: TestApp, user: string, limit = 200_000) =>
  request(
    `${app.url}/api/v1/users/${user}/timeseries?start_time=2024-01-01&end_time=2027-01-01&types=heart_rate&limit=${limit}`,
    { headers: { 'X-Service-API-Key': app.apiKey, Accept: 'text/csv' } },
  ).on('error', () => {})

const responseTo = async (sent: ClientRequest): Promise<IncomingMessage> => (await once(sent, 'response'))[0]

async function readAll(response: IncomingMessage): Promise<number> {
  let bytes = 0
  for await (const chunk of response) bytes += chunk.length
  return bytes
}

/** A user with so many heart rates; the statistics of the planner are as good as can be. */
async function withSamples(app: TestApp, count: number): Promise<string> {
  const user = await createUser(app)
  await app.db.query(
    `with made as (insert into data_source (user_id, provider) values ($1, 'apple') returning id),
          of as (insert into source_series (source_id, series_id) select id, 1 from made returning source_id)
     insert into sample (ts, value, source_id, series_id)
     select '2025-01-01'::timestamptz + n * interval '1 second', 60 + n % 40, source_id, 1
     from of, generate_series(1, $2::int4) n`,
    [user, count],
  )
  return user
}

t.test('twenty readers of large pages', async (t) => {
  const app = await startTestApp(t, engine, { limits: PATIENT })
  const user = await withSamples(app, 3_000)
  const { bulk } = app.deps.gates
  // The first page asks for what is remembered from then on.
  const bytes = await readAll(await responseTo(page(app, user).end()))

  await t.test('keep nobody else waiting, and all get theirs', async (t) => {
    const holder = await hold(t, app, 'lock table sample in access exclusive mode')
    const readers = Array.from({ length: 20 }, () => responseTo(page(app, user).end()))
    await until(t, 'they wait', async () => bulk.held() + bulk.waiting() === 20 && (await heldUp(app)) === 2)
    t.equal(bulk.held(), 2, 'one caller has two connections')
    const { body: metrics } = await app.request('GET', '/metrics', { auth: 'none' })
    t.match(metrics, /^pulsebase_gate_waiting\{gate="bulk"\} 18$/m)
    const users = await app.request('GET', '/api/v1/users')
    t.equal(users.status, 200)
    t.equal((await upload(app, user, body([heartRate(NOON, 60)]))).status, 202)
    await holder.end()
    t.strictSame(new Set(await Promise.all(readers.map(async (answer) => readAll(await answer)))), new Set([bytes]))
    t.equal(bulk.held(), 0)
  })

  await t.test('and readers of pages that cost as much wait beside small pages', async (t) => {
    const holder = await hold(t, app, 'lock table sample, sleep in access exclusive mode')
    const of = `/api/v1/users/${user}`
    const year = 'start_time=2025-01-01&end_time=2026-01-01'
    const asked = [
      `${of}/timeseries?${year}&limit=7`,
      `${of}/timeseries?${year}&filter_by_priority=true`,
      `${of}/timeseries?${year}&resolution=1min`,
      `${of}/events/sleep?start_date=2025-01-01&end_date=2026-01-01`,
      `${of}/events/sleep?start_date=2025-01-01&end_date=2026-01-01&filter_by_priority=true`,
    ].map((path) => app.request('GET', path))
    const { read, report } = app.deps.gates
    await until(t, 'two small pages; one of three reports waits', () => {
      return read.held() === 2 && report.held() === 2 && report.waiting() === 1
    })
    await holder.end()
    t.strictSame(new Set((await Promise.all(asked)).map(({ status }) => status)), new Set([200]))
  })

  await t.test('that hang up leave neither a place nor a statement behind', async (t) => {
    const holder = await hold(t, app, 'lock table sample in access exclusive mode')
    const readers = Array.from({ length: 6 }, () => page(app, user).end())
    await until(t, 'two read, four wait', async () => bulk.waiting() === 4 && (await heldUp(app)) === 2)
    for (const sent of readers.slice(0, 5)) sent.destroy()
    await until(t, 'one is left', async () => bulk.waiting() === 0 && bulk.held() === 1 && (await heldUp(app)) === 1)
    const answered = responseTo(readers[5] as ClientRequest)
    await holder.end()
    t.equal(await readAll(await answered), bytes)
  })
})

t.test('an answer counts in full while it is compressed', async (t) => {
  const answers = countAnswers({ answers: { bytes: MIB, perCaller: MIB }, answerPace: { ms: 1, bytesPerSecond: 1 } })
  const small = answers.holding('ada', 1_000)
  const large = answers.holding('ada', MIB)
  t.throws(() => answers.admit('ada'), { code: 'overloaded' })
  t.throws(() => answers.admit('ben'), { code: 'overloaded' })
  large()
  answers.admit('ada')
  small()
  answers.admit('ben')
})

t.test('a client that does not read its page', async (t) => {
  const pace = { ms: 200, bytesPerSecond: 1e9 }
  const patient = await startTestApp(t, engine, { limits: { ...PATIENT, answers: { bytes: 1e9, perCaller: 1 } } })
  const user = await withSamples(patient, 120_000)
  const hasty = await patient.another({ limits: { ...patient.deps.limits, answerPace: pace } })
  const { bulk } = patient.deps.gates
  const unread = await responseTo(page(patient, user).end())
  t.equal(unread.statusCode, 200)
  t.equal(bulk.held(), 0, 'keeps no connection')
  const second = await responseTo(page(patient, user).end())
  t.equal(second.statusCode, 503, 'gets no other one')
  t.equal(second.headers['retry-after'], '5')
  second.resume()
  t.ok((await readAll(unread)) > 5 * MIB)
  const third = await responseTo(page(patient, user).end())
  t.equal(third.statusCode, 200, 'until it has read it')
  await readAll(third)

  const left = await responseTo(page(hasty, user).end())
  const again = async () => {
    const answer = await responseTo(page(hasty, user, 2_000).end())
    return (await readAll(answer).catch(() => 0)) > 0 && answer.statusCode === 200
  }
  await until(t, 'or is disconnected', again)
  await t.rejects(readAll(left))
})

/** A request to post so many bytes, of which only the first comes. */
function stallAt(app: TestApp, path: string, length: number, auth: Record<string, string>): ClientRequest {
  const stalled = request(`${app.url}/api/v1${path}`, {
    method: 'POST',
    headers: { ...auth, 'Content-Type': 'application/json', 'Content-Length': length },
  })
  stalled.on('error', () => {}).write(' ')
  return stalled
}

/** The same for an upload. */
const stall = (app: TestApp, user: string, length: number) =>
  stallAt(app, `/sdk/users/${user}/sync`, length, { 'X-Service-API-Key': app.apiKey })

/** An upload of so many bytes that holds one sample. */
const large = (n: number, bytes: number) =>
  JSON.stringify({ ...body([heartRate(NOON, 60 + n)]), padding: ' '.repeat(bytes) })

t.test('uploads that stall', async (t) => {
  const app = await startTestApp(t, engine, { limits: PATIENT })
  const { largeBodies, smallBodies } = app.deps.gates

  await t.test('take one place of a user, however many they are', async (t) => {
    const [user, other] = [await createUser(app), await createUser(app)] as const
    const stalled = Array.from({ length: 4 }, () => stall(app, user, 31 * MIB))
    await until(t, 'one is read, three wait', () => largeBodies.held() === 31 * MIB && largeBodies.waiting() === 3)
    t.equal((await upload(app, user, body([heartRate(NOON, 60)]))).status, 202, 'a small one of the same user')
    t.equal((await upload(app, other, large(0, 2 * MIB))).status, 202, 'a large one of another')
    for (const sent of stalled) sent.destroy()
    await until(t, 'nothing is left of them', () => largeBodies.held() === 0 && largeBodies.waiting() === 0)
  })

  await t.test('of as many users as there are places let small ones through, and large ones later', async (t) => {
    const users = await Promise.all(Array.from({ length: 4 }, () => createUser(app)))
    const stalled = users.map((user) => stall(app, user, 32 * MIB))
    await until(t, 'all places are taken', () => largeBodies.held() === 128 * MIB)
    const user = await createUser(app)
    t.equal((await upload(app, user, body([heartRate(NOON, 60)]))).status, 202)
    const later = upload(app, user, large(1, 2 * MIB))
    const chunked = request(`${app.url}/api/v1/sdk/users/${user}/sync`, {
      method: 'POST',
      headers: { 'X-Service-API-Key': app.apiKey, 'Content-Type': 'application/json' },
    })
    // Listened for from now on: what comes before somebody listens is lost.
    const answered = responseTo(chunked)
    chunked.end(large(2, 2 * MIB))
    await until(t, 'two wait, one that came without its length', () => largeBodies.waiting() === 2)
    stalled[0]?.destroy()
    t.equal((await later).status, 202)
    const answer = await answered
    t.equal(answer.statusCode, 202)
    answer.resume()
    for (const sent of stalled) sent.destroy()
    await until(t, 'nothing is left of them', () => largeBodies.held() + smallBodies.held() === 0)
  })

  await t.test('are ended, with an answer that loses nothing', async (t) => {
    const app = await startTestApp(t, engine, {
      limits: { ...PATIENT, bodyPace: { ...LIMITS.bodyPace, windowMs: 50 } },
    })
    const user = await createUser(app)
    const answer = await responseTo(stall(app, user, 31 * MIB))
    t.match(answer, { statusCode: 503, headers: { 'retry-after': '5', connection: 'close' } })
    answer.resume()
    t.equal(app.deps.gates.largeBodies.held(), 0)
    const json = request(`${app.url}/api/v1/users`, {
      method: 'POST',
      headers: { 'X-Service-API-Key': app.apiKey, 'Content-Type': 'application/json', 'Content-Length': 100 },
    })
    json.on('error', () => {}).write('{')
    const late = await responseTo(json)
    t.match(late, { statusCode: 408, headers: { connection: 'close' } }, 'which a JSON body cannot lose')
    late.resume()
  })

  await t.test('are refused when no place becomes free', async (t) => {
    const app = await startTestApp(t, engine, { limits: HASTY })
    const user = await createUser(app)
    const stalled = stall(app, user, 31 * MIB)
    await until(t, 'one is read', () => app.deps.gates.largeBodies.held() > 0)
    const refused = await upload(app, user, large(0, 2 * MIB))
    t.strictSame(short(refused), [503, '5', 'Too many uploads at once; please retry.'])
    stalled.destroy()
  })
})

t.test('JSON that stalls', async (t) => {
  const app = await startTestApp(t, engine, { limits: PATIENT })
  const { smallRequests, largeRequests } = app.deps.gates
  const user = await createUser(app)
  const bearer = async (of: string) => ({ Authorization: `Bearer ${await app.sdkToken(of)}` })
  const large = (of: string, auth: Record<string, string>) => stallAt(app, `/sdk/users/${of}/logs`, MIB, auth)
  const create = (padding: number) =>
    app.request('POST', '/api/v1/users', { body: { first_name: 'Ada', more: ' '.repeat(padding) } })
  const isOver = () => largeRequests.held() + largeRequests.waiting() + smallRequests.held() === 0

  await t.test('of one phone takes its share of the memory, whatever its size', async (t) => {
    const auth = await bearer(user)
    const stalled = Array.from({ length: 6 }, () => large(user, auth))
    const small = Array.from({ length: 130 }, () => stallAt(app, `/sdk/users/${user}/logs`, 64 * 1024, auth))
    await until(t, 'four and 128 are read, two of each wait', () => {
      return largeRequests.waiting() + smallRequests.waiting() === 4 && smallRequests.held() === 8 * MIB
    })
    t.equal(largeRequests.held(), 4 * MIB)
    t.equal((await create(0)).status, 201, 'a small one of somebody else')
    t.equal((await create(100_000)).status, 201, 'a large one')
    for (const sent of [...stalled, ...small]) sent.destroy()
    await until(t, 'nothing is left of them', isOver)
  })

  await t.test('of many phones lets small requests through, and large ones later', async (t) => {
    const users = await Promise.all(Array.from({ length: 8 }, () => createUser(app)))
    const stalled = await Promise.all(
      users.flatMap((of) => Array.from({ length: 4 }, async () => large(of, await bearer(of)))),
    )
    await until(t, 'all places are taken', () => largeRequests.held() === 32 * MIB)
    t.equal((await create(0)).status, 201)
    const later = create(100_000)
    await until(t, 'a large one waits', () => largeRequests.waiting() === 1)
    stalled[0]?.destroy()
    t.equal((await later).status, 201)
    for (const sent of stalled) sent.destroy()
    await until(t, 'nothing is left of them', isOver)
  })

  await t.test('leaves nothing behind, whatever the answer', async (t) => {
    const post = (body: string, headers = {}) => app.request('POST', '/api/v1/users', { body, headers })
    const json = { 'Content-Type': 'application/json' }
    const statuses = [
      await post(`{"first_name":${' '.repeat(MIB)}"Ada"}`, json),
      await post('{', json),
      await post('{"first_name":1}', json),
      await post('{}', { 'Content-Type': 'text/plain' }),
      await post('{}', { ...json, 'Content-Encoding': 'zstd' }),
    ].map(({ status }) => status)
    t.strictSame(statuses, [413, 422, 422, 415, 415])
    t.ok(isOver())
  })
})

t.test('small uploads do not wait for the threads that read large ones', async (t) => {
  const { startThreads } = await import('../../server/threads.ts')
  const threads = startThreads(2)
  t.teardown(threads.close)
  const task = (text: string) => ({
    bytes: new Uint8Array(Buffer.from(text)),
    encoding: 'identity' as const,
    queryProvider: null,
    provider: null,
    nowMs: NOON,
  })
  const small = () => threads.readUpload(task(JSON.stringify(body([heartRate(NOON, 60)]))))
  // Both threads are there.
  await Promise.all([small(), small(), small(), small()])
  let done = 0
  const all = Array.from({ length: 6 }, () =>
    threads.readUpload(task(large(0, 4 * MIB))).then(() => {
      done += 1
    }),
  )
  t.match(await small(), { ok: true })
  t.ok(done < 6, `${done} of 6 large ones were read before it`)
  await Promise.all(all)
})

t.test('the probe tells that the database does not answer', async (t) => {
  const sockets = new Set<Socket>()
  let stuck = false
  const target = new URL(engine.url)
  const proxy = createServer((client) => {
    const server = connect(Number(target.port || 5432), target.hostname)
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => {}).on('close', () => to.destroy())
      from.on('data', (chunk) => {
        if (!stuck) to.write(chunk)
      })
    }
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
  })
  const url = new URL(engine.url)
  url.hostname = '127.0.0.1'
  url.port = String((proxy.address() as { port: number }).port)
  const probe = openProbe(url.href, 500)
  t.teardown(probe.end)
  await until(t, 'it answers', probe.answers)
  stuck = true
  t.equal(await probe.answers(), false, 'on a connection that is open')
  t.equal(await probe.answers(), false, 'and on a new one')
  stuck = false
  await until(t, 'it answers again', probe.answers)
})
