import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { importerOf } from '../support/sdk.ts'
import { engines } from '../support/servers.ts'
import { COUNTS_STATEMENTS, ofOneProcess } from '../support/several.ts'
import { runs } from '../support/thorough.ts'

const [engine] = engines()
if (!engine) throw new Error('no engine')
const app = await startTestApp(t, engine)

const USERS = '/api/v1/users'
const MIDNIGHT = Date.UTC(2026, 0, 1)
const DAY_MS = 86_400_000
const iso = (ms: number) => new Date(ms).toISOString()

interface ConnectionRow {
  provider: string
  status: 'active' | 'revoked' | 'expired'
  lastSyncedMs: number | null
}

const create = async (app: TestApp, fields: object = {}): Promise<string> =>
  (await app.request('POST', USERS, { body: fields })).body.id

async function connect(
  app: TestApp,
  userId: string,
  { provider, status, lastSyncedMs }: ConnectionRow,
  account = '',
): Promise<string> {
  const row = await app.db.one<{ id: string }>(
    `insert into connection (user_id, provider, status, last_synced_at, provider_user_id) values ($1, $2, $3, $4, $5) returning id`,
    [userId, provider, status, lastSyncedMs === null ? null : iso(lastSyncedMs), account || null],
  )
  return row.id
}

async function list(app: TestApp, query: Record<string, string | string[] | number | boolean> = {}) {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) for (const one of [value].flat()) search.append(name, String(one))
  const answer = await app.request('GET', `${USERS}?${search}`)
  if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}

const ids = (page: { items: { id: string }[] }) => page.items.map((user) => user.id)

t.test('create', async (t) => {
  await app.db.query('delete from app_user')

  t.test('takes an empty object', async (t) => {
    const answer = await app.request('POST', USERS, { body: {} })
    t.equal(answer.status, 201)
    const { id, created_at, ...rest } = answer.body
    t.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    t.match(created_at, /^\d{4}-\d{2}-\d{2}T[\d:]{8}(\.\d{6})?Z$/)
    t.strictSame(rest, {
      first_name: null,
      last_name: null,
      email: null,
      external_user_id: null,
      last_synced_at: null,
      last_synced_provider: null,
      has_active_connection: false,
      connections: null,
    })
  })

  t.test('stores every field, and ignores unknown ones', async (t) => {
    const fields = { first_name: 'Ada', last_name: 'Lövelace 🏃', email: 'Ada@example.org', external_user_id: 'a-1' }
    const answer = await app.request('POST', USERS, {
      body: { ...fields, id: 'x', is_admin: true, email: 'Ada@EXAMPLE.org' },
    })
    t.equal(answer.status, 201)
    t.match(answer.body, fields)
    t.match((await app.request('GET', `${USERS}/${answer.body.id}`)).body, fields)
  })

  t.test('an empty external_user_id is none, so several users may have it', async (t) => {
    for (let user = 0; user < 2; user += 1) {
      const { status, body } = await app.request('POST', USERS, { body: { external_user_id: '' } })
      t.strictSame([status, body.external_user_id], [201, null])
    }
  })

  t.test('refuses what another user has', async (t) => {
    for (const email of ['Ada@example.org', 'aDA@Example.ORG']) {
      const answer = await app.request('POST', USERS, { body: { email } })
      t.equal(answer.status, 409)
      t.strictSame(answer.body, { detail: 'User with this email already exists.' })
    }
    const answer = await app.request('POST', USERS, { body: { external_user_id: 'a-1' } })
    t.equal(answer.status, 409)
    t.strictSame(answer.body, { detail: 'User with this external_user_id already exists.' })
    const racing = await Promise.all(
      Array.from({ length: 5 }, () => app.request('POST', USERS, { body: { email: 'race@example.org' } })),
    )
    t.strictSame(racing.map(({ status }) => status).sort(), [201, 409, 409, 409, 409])
  })

  t.test('checks the limits in characters', async (t) => {
    t.equal((await app.request('POST', USERS, { body: { first_name: '🏃'.repeat(100) } })).status, 201)
    const answer = await app.request('POST', USERS, {
      body: { first_name: '🏃'.repeat(101), last_name: 1, email: 'nobody', external_user_id: 'x'.repeat(256) },
    })
    t.equal(answer.status, 422)
    t.match(answer.body.detail, [
      { type: 'string_too_long', loc: ['body', 'first_name'], ctx: { max_length: 100 } },
      { type: 'string_type', loc: ['body', 'last_name'] },
      { type: 'value_error', loc: ['body', 'email'] },
      { type: 'string_too_long', loc: ['body', 'external_user_id'], ctx: { max_length: 255 } },
    ])
    t.equal((await app.request('POST', USERS)).status, 422, 'a missing body')
  })
})

t.test('get', async (t) => {
  await app.db.query('delete from app_user')
  const id = await create(app, { first_name: 'Ada' })
  await connect(app, id, { provider: 'oura', status: 'active', lastSyncedMs: MIDNIGHT })
  await connect(app, id, { provider: 'garmin', status: 'revoked', lastSyncedMs: MIDNIGHT + 250 })
  await connect(app, id, { provider: 'apple', status: 'expired', lastSyncedMs: null })

  const answer = await app.request('GET', `${USERS}/${id}`)
  t.equal(answer.status, 200)
  t.match(answer.body, {
    id,
    first_name: 'Ada',
    last_synced_at: '2026-01-01T00:00:00.250000Z',
    last_synced_provider: 'garmin',
    has_active_connection: true,
    connections: null,
    has_womens_health_data: false,
  })
  const detailed = await app.request('GET', `${USERS}/${id}?include=connections`)
  t.strictSame(detailed.body.connections, [
    { provider: 'apple', status: 'expired', last_synced_at: null },
    { provider: 'garmin', status: 'revoked', last_synced_at: '2026-01-01T00:00:00.250000Z' },
    { provider: 'oura', status: 'active', last_synced_at: '2026-01-01T00:00:00Z' },
  ])
  t.strictSame((await app.request('GET', `${USERS}/${await create(app)}?include=connections`)).body.connections, [])

  for (const spelling of [id.toUpperCase(), id.replaceAll('-', ''), `urn:uuid:${id}`, `{${id}}`]) {
    t.equal((await app.request('GET', `${USERS}/${encodeURIComponent(spelling)}`)).body.id, id, spelling)
  }
  const unknown = randomUUID()
  const missing = await app.request('GET', `${USERS}/${unknown.toUpperCase()}`)
  t.equal(missing.status, 404)
  t.strictSame(missing.body, { detail: `User with ID: ${unknown} not found.` })
  t.equal((await app.request('GET', `${USERS}/${id}?include=everything`)).status, 422)
})

t.test('update', async (t) => {
  await app.db.query('delete from app_user')
  const patch = (id: string, body: object) => app.request('PATCH', `${USERS}/${id}`, { body })
  const id = await create(app, { first_name: 'Ada', email: 'ada@example.org', external_user_id: 'a' })
  await connect(app, id, { provider: 'oura', status: 'active', lastSyncedMs: MIDNIGHT })
  await create(app, { email: 'grace@example.org', external_user_id: 'g' })

  const named = await patch(id, { last_name: 'Lovelace' })
  t.equal(named.status, 200)
  t.match(named.body, {
    first_name: 'Ada',
    last_name: 'Lovelace',
    email: 'ada@example.org',
    last_synced_provider: 'oura',
    has_active_connection: true,
    connections: null,
  })
  t.notOk('has_womens_health_data' in named.body)
  t.match((await patch(id, { first_name: null, email: null })).body, {
    first_name: null,
    email: null,
    external_user_id: 'a',
  })
  t.match((await patch(id, { external_user_id: '' })).body, { external_user_id: null })
  t.match((await patch(id, { external_user_id: 'a' })).body, { external_user_id: 'a' })
  t.match((await patch(id, {})).body, { last_name: 'Lovelace' })
  t.match((await patch(id, { unknown: 1 })).body, { last_name: 'Lovelace' })
  t.strictSame((await patch(id, { email: 'GRACE@example.org' })).body, {
    detail: 'User with this email already exists.',
  })
  t.strictSame((await patch(id, { external_user_id: 'g' })).body, {
    detail: 'User with this external_user_id already exists.',
  })
  t.equal((await patch(id, { external_user_id: 'a', email: 'ada@example.org' })).status, 200, 'its own value')
  const unknown = randomUUID()
  for (const body of [{ first_name: 'x' }, {}]) {
    const missing = await patch(unknown, body)
    t.equal(missing.status, 404)
    t.strictSame(missing.body, { detail: `User with ID: ${unknown} not found.` })
  }
})

t.test('list', async (t) => {
  await app.db.query('delete from app_user')

  await t.test('of nobody', async (t) => {
    t.strictSame(await list(app), {
      items: [],
      total: 0,
      page: 1,
      limit: 20,
      pages: 0,
      has_next: false,
      has_prev: false,
    })
    t.match(await list(app, { page: 3 }), { items: [], total: 0, pages: 0, has_next: false, has_prev: true })
  })

  const created: string[] = []
  for (let n = 0; n < 25; n += 1) created.push(await create(app, { first_name: `User ${n}` }))
  const newest = [...created].reverse()

  t.test('is paged, newest first', async (t) => {
    const first = await list(app)
    t.strictSame(ids(first), newest.slice(0, 20))
    t.match(first, { total: 25, page: 1, limit: 20, pages: 2, has_next: true, has_prev: false })
    const second = await list(app, { page: 2 })
    t.strictSame(ids(second), newest.slice(20))
    t.match(second, { total: 25, page: 2, pages: 2, has_next: false, has_prev: true })
    t.match(await list(app, { page: 3 }), { items: [], total: 25, page: 3, pages: 2, has_next: false, has_prev: true })
    t.match(await list(app, { page: 2_147_483_647, limit: 100 }), { items: [], total: 25, pages: 1 })
    t.match(await list(app, { page: 5, limit: 5 }), { total: 25, pages: 5, has_next: false })
    t.strictSame(ids(await list(app, { sort_order: 'asc', limit: 3 })), created.slice(0, 3))
  })

  t.test(
    'asks the database once or twice, however many users and connections there are',
    ofOneProcess(COUNTS_STATEMENTS),
    async (t) => {
      for (const id of created) await connect(app, id, { provider: 'oura', status: 'active', lastSyncedMs: MIDNIGHT })
      const { query, one } = app.db
      let statements = 0
      app.db.query = (...args) => {
        statements += 1
        return query.apply(app.db, args) as never
      }
      app.db.one = (...args) => {
        statements += 1
        return one.apply(app.db, args) as never
      }
      t.teardown(() => Object.assign(app.db, { query, one }))
      await list(app, { include: 'connections', limit: 10, provider: 'oura', sort_by: 'last_synced_at' })
      t.equal(statements, 2)
      statements = 0
      t.equal((await list(app, { include: 'connections', limit: 100 })).total, 25)
      t.equal(statements, 1, 'a last page needs no count')
    },
  )

  t.test('refuses what it does not know', async (t) => {
    for (const [query, type] of [
      ['limit=101', 'less_than_equal'],
      ['limit=0', 'greater_than_equal'],
      ['page=0', 'greater_than_equal'],
      ['page=99999999999999999999', 'less_than_equal'],
      ['page=1.5', 'int_parsing'],
      ['page=', 'int_parsing'],
      ['sort_by=id', 'enum'],
      ['sort_order=up', 'enum'],
      ['email=nobody', 'value_error'],
      ['provider=google', 'enum'],
      ['provider=Oura', 'enum'],
      ['connection_status=dead', 'enum'],
      ['has_active_connection=maybe', 'bool_parsing'],
      ['last_synced_before=yesterday', 'datetime_from_date_parsing'],
      ['include=devices', 'enum'],
      ['last_name=x', 'extra_forbidden'],
    ]) {
      const answer = await app.request('GET', `${USERS}?${query}`)
      t.equal(answer.status, 422, `${query}`)
      t.match(answer.body.detail, [{ type, loc: ['query', query?.split('=')[0]] }])
    }
  })
})

t.test('search and filters', async (t) => {
  await app.db.query('delete from app_user')
  const names = async (query: Record<string, string | string[]>) =>
    (await list(app, { ...query, sort_by: 'first_name', sort_order: 'asc' })).items.map(
      (user: { first_name: string }) => user.first_name,
    )
  const ada = await create(app, {
    first_name: 'Ada',
    last_name: 'Lovelace',
    email: 'ada@example.org',
    external_user_id: '1',
  })
  await create(app, { first_name: 'Bob', last_name: '100%', email: 'b_b@example.org', external_user_id: '1%' })
  await create(app, { first_name: 'Cy', last_name: 'back\\slash', email: 'bxb@example.org' })
  await create(app, { first_name: 'Ödön' })

  t.strictSame(await names({ search: 'LOVE' }), ['Ada'])
  t.strictSame(await names({ search: 'EXAMPLE.org' }), ['Ada', 'Bob', 'Cy'])
  t.strictSame(await names({ search: '%' }), ['Bob'])
  t.strictSame(await names({ search: 'b_b' }), ['Bob'])
  t.strictSame(await names({ search: '\\' }), ['Cy'])
  t.strictSame(await names({ search: '' }), ['Ada', 'Bob', 'Cy', 'Ödön'])
  t.strictSame(await names({ search: "'; drop table app_user; --" }), [])
  t.strictSame(await names({ search: 'ödön' }), ['Ödön'])
  t.strictSame(await names({ search: ada }), ['Ada'])
  t.strictSame(await names({ search: `{${ada.toUpperCase()}}` }), ['Ada'])
  t.strictSame(await names({ search: ada.slice(0, -1) }), [])
  t.strictSame(await names({ email: 'ADA@example.ORG' }), ['Ada'])
  t.strictSame(await names({ external_user_id: '1' }), ['Ada'])
  t.strictSame(await names({ search: 'a', 'provider[]': ['oura'] }), [])
})

interface Person {
  id: string
  created: number
  first_name: string | null
  last_name: string | null
  email: string | null
  connections: ConnectionRow[]
}

const compare = (a: string | number, b: string | number) => (a < b ? -1 : a > b ? 1 : 0)
const newestSync = ({ connections }: Person) =>
  connections.reduce<number | null>(
    (max, { lastSyncedMs }) => (lastSyncedMs !== null && lastSyncedMs > (max ?? -1) ? lastSyncedMs : max),
    null,
  )

const sortKeys: Record<string, (person: Person) => string | number | null> = {
  created_at: (person) => person.created,
  email: (person) => person.email?.toLowerCase() ?? null,
  first_name: (person) => person.first_name?.toLowerCase() ?? null,
  last_name: (person) => person.last_name?.toLowerCase() ?? null,
  name: (person) => [person.first_name, person.last_name].filter(Boolean).join(' ').toLowerCase() || null,
  last_synced_at: newestSync,
}

interface ListedUser {
  id: string
  last_synced_at: string | null
  has_active_connection: boolean
  connections: { provider: string }[]
}

interface ListQuery {
  sort_by: string
  sort_order: string
  search?: string
  provider?: string[]
  connection_status?: string
  has_active_connection?: boolean
  last_synced_before?: string
}

/** Contract 3.2, over arrays. */
function expected(people: Person[], query: ListQuery): string[] {
  const { provider, connection_status: status } = query
  const found = people.filter((person) => {
    const texts = [person.first_name, person.last_name, person.email].map((text) => text?.toLowerCase() ?? '')
    const newest = newestSync(person)
    const fits = (one: ConnectionRow) =>
      (!provider || provider.includes(one.provider)) && (!status || one.status === status)
    return (
      (!query.search || texts.some((text) => text.includes(String(query.search).toLowerCase()))) &&
      ((!provider && !status) || person.connections.some(fits)) &&
      (query.has_active_connection === undefined ||
        person.connections.some((one) => one.status === 'active') === query.has_active_connection) &&
      (query.last_synced_before === undefined || newest === null || newest < Date.parse(query.last_synced_before))
    )
  })
  const key = sortKeys[query.sort_by] as (person: Person) => string | number | null
  const sign = query.sort_order === 'asc' ? 1 : -1
  const nullsFirst = query.sort_by === 'last_synced_at' && query.sort_order === 'asc'
  found.sort((a, b) => {
    const [x, y] = [key(a), key(b)]
    if (x === null || y === null) return x === y ? sign * compare(a.id, b.id) : (x === null) === nullsFirst ? -1 : 1
    return sign * (compare(x, y) || compare(a.id, b.id))
  })
  return found.map((person) => person.id)
}

t.test('any combination of filters, order and page answers what the contract says', async (t) => {
  await app.db.query('delete from app_user')
  const providers = ['oura', 'garmin', 'polar']
  const statuses = ['active', 'revoked', 'expired'] as const
  const nameOrNull = fc.option(fc.constantFrom('Anna', 'bert', 'Carla', 'dora', ''), { nil: null })
  const connections = fc.uniqueArray(
    fc.record({
      provider: fc.constantFrom(...providers),
      status: fc.constantFrom(...statuses),
      lastSyncedMs: fc.option(fc.constantFrom(...[0, 1, 2, 3].map((day) => MIDNIGHT + day * DAY_MS)), { nil: null }),
    }),
    { selector: (one) => one.provider },
  )
  const drafts = fc.sample(
    fc.record({ first_name: nameOrNull, last_name: nameOrNull, hasEmail: fc.boolean(), connections }),
    {
      numRuns: runs(10, 40),
      seed: 7,
    },
  )
  const people: Person[] = []
  for (const [index, { hasEmail, connections, ...names }] of drafts.entries()) {
    const email = hasEmail ? `${'zyx'[index % 3]}${String(index).padStart(2, '0')}@example.org` : null
    const id = await create(app, { ...names, email })
    // Some at the same instant, to show the tie-break.
    const created = MIDNIGHT + Math.floor(index / 3) * 1000
    await app.db.query('update app_user set created_at = $2 where id = $1', [id, iso(created)])
    for (const connection of connections) await connect(app, id, connection)
    people.push({ ...names, id, email, created, connections })
  }
  const queries = fc.record(
    {
      sort_by: fc.constantFrom(...Object.keys(sortKeys)),
      sort_order: fc.constantFrom('asc', 'desc'),
      search: fc.constantFrom('a', 'AR', 'z', '@example', 'q'),
      provider: fc.uniqueArray(fc.constantFrom(...providers), { minLength: 1 }),
      connection_status: fc.constantFrom(...statuses),
      has_active_connection: fc.boolean(),
      last_synced_before: fc.constantFrom(...[0, 1, 2, 9].map((day) => iso(MIDNIGHT + day * DAY_MS))),
    },
    { requiredKeys: ['sort_by', 'sort_order'] },
  )
  const shown = (user: ListedUser) => [
    user.id,
    user.last_synced_at && Date.parse(user.last_synced_at),
    user.has_active_connection,
    user.connections.map((one) => one.provider),
  ]
  const modelled = (id: string) => {
    const person = people.find((one) => one.id === id) as Person
    const active = person.connections.some(({ status }) => status === 'active')
    return [id, newestSync(person), active, person.connections.map((one) => one.provider).sort()]
  }
  const property = fc.assert(
    fc.asyncProperty(
      queries,
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 45 }),
      async (query, page, limit) => {
        const wanted = expected(people, query)
        const pages = Math.ceil(wanted.length / limit)
        const { items, ...envelope } = await list(app, { ...query, page, limit, include: 'connections' })
        assert.deepStrictEqual(envelope, {
          total: wanted.length,
          page,
          limit,
          pages,
          has_next: page < pages,
          has_prev: page > 1,
        })
        assert.deepStrictEqual(items.map(shown), wanted.slice((page - 1) * limit, page * limit).map(modelled))
      },
    ),
    { numRuns: runs(40, 200), seed: 11, endOnFailure: true },
  )
  await t.resolves(property)
})

t.test('connections', async (t) => {
  await app.db.query('delete from app_user')
  const ada = await create(app)
  const grace = await create(app)
  const joan = await create(app)
  await connect(app, ada, { provider: 'garmin', status: 'active', lastSyncedMs: MIDNIGHT }, 'account-1')
  const polar = await connect(app, ada, { provider: 'polar', status: 'revoked', lastSyncedMs: null }, 'account-1')
  await connect(app, grace, { provider: 'garmin', status: 'active', lastSyncedMs: null }, 'account-1')
  await connect(app, joan, { provider: 'garmin', status: 'revoked', lastSyncedMs: null }, 'account-1')
  await connect(app, joan, { provider: 'oura', status: 'active', lastSyncedMs: null })
  await app.db.query(`update connection set created_at = created_at - interval '1 hour', scope = 'a b' where id = $1`, [
    polar,
  ])

  const answer = await app.request('GET', `${USERS}/${ada}/connections`)
  t.equal(answer.status, 200)
  t.equal(answer.body.length, 2)
  const [garmin, second] = answer.body
  const { id, created_at, updated_at, ...rest } = garmin
  t.match([id, created_at, updated_at], [/^[0-9a-f-]{36}$/, /Z$/, /Z$/])
  t.strictSame(rest, {
    user_id: ada,
    provider: 'garmin',
    provider_user_id: 'account-1',
    provider_username: null,
    scope: null,
    status: 'active',
    last_synced_at: '2026-01-01T00:00:00Z',
    icon_url: '/static/provider-icons/garmin.svg',
    max_historical_days: 30,
    rest_pull: false,
    webhook_stream: true,
    webhook_ping: false,
    webhook_callback: true,
    live_sync_mode: 'webhook',
    linked_user_ids: [grace],
    failing_streams: [],
  })
  t.match(second, {
    provider: 'polar',
    status: 'revoked',
    scope: 'a b',
    last_synced_at: null,
    rest_pull: true,
    linked_user_ids: [],
  })
  t.equal((await app.request('GET', garmin.icon_url)).status, 200)
  t.strictSame((await app.request('GET', `${USERS}/${await create(app)}/connections`)).body, [])
})

t.test('data sources', async (t) => {
  await app.db.query('delete from app_user')
  const id = await create(app)
  const connection = await connect(app, id, { provider: 'apple', status: 'active', lastSyncedMs: null })
  await app.db.query(
    `insert into data_source (user_id, provider, device_model, source, software_version, device_type, connection_id)
     values ($1, 'google_health', '', 'My ring', null, 'ring', null),
            ($1, 'apple', 'Phone14,2', '', null, 'phone', $2),
            ($1, 'apple', 'Watch7,2', 'Apple Watch', '11.3', 'watch', $2),
            ($1, 'apple', '', '', null, 'unknown', $2),
            ($1, 'unknown', '', '', null, 'unknown', null)`,
    [id, connection],
  )
  const answer = await app.request('GET', `${USERS}/${id}/data-sources`)
  t.equal(answer.status, 200)
  t.equal(answer.body.total, 5)
  t.strictSame(
    answer.body.items.map((item: { display_name: string }) => item.display_name),
    ['Apple', 'Apple - Phone14,2', 'Apple - Watch7,2', 'Google health - My ring', 'Unknown Source'],
    'by provider and model',
  )
  const watch = answer.body.items.find((item: { device_type: string }) => item.device_type === 'watch')
  const [row] = await app.db.query<{ uid: string }>(`select uid from data_source where device_type = 'watch'`)
  t.strictSame(watch, {
    id: row?.uid,
    user_id: id,
    provider: 'apple',
    user_connection_id: connection,
    device_model: 'Watch7,2',
    software_version: '11.3',
    source: 'Apple Watch',
    device_type: 'watch',
    original_source_name: 'Apple Watch',
    display_name: 'Apple - Watch7,2',
  })
  t.match(answer.body.items[0], {
    device_model: null,
    source: null,
    original_source_name: null,
    software_version: null,
  })
  t.strictSame((await app.request('GET', `${USERS}/${await create(app)}/data-sources`)).body, { items: [], total: 0 })
})

t.test('personal record', async (t) => {
  await app.db.query('delete from app_user')
  const id = await create(app)
  const path = `${USERS}/${id}/personal-record`
  const put = (body: object) => app.request('PUT', path, { body })
  const revision = async () =>
    (await app.db.one<{ revision: number }>('select revision from app_user where id = $1', [id])).revision

  t.strictSame((await app.request('GET', path)).body, { user_id: id, birth_date: null, gender: null, sex: null })
  const before = await revision()
  const full = { user_id: id, birth_date: '1990-02-28', gender: 'nonbinary', sex: 'female' }
  const answer = await put(full)
  t.equal(answer.status, 200)
  t.strictSame(answer.body, full)
  t.strictSame((await app.request('GET', path)).body, full)
  t.ok((await revision()) > before, 'what depends on the age is out of date')
  t.strictSame(
    (await put({ sex: 'male' })).body,
    { user_id: id, birth_date: null, gender: null, sex: 'male' },
    'replaced',
  )
  t.strictSame((await put({ birth_date: null, gender: null, sex: null })).body.sex, null)

  const today = new Date().toISOString().slice(0, 10)
  t.equal((await put({ birth_date: today })).status, 200)
  const future = await put({ birth_date: iso(Date.now() + DAY_MS).slice(0, 10) })
  t.equal(future.status, 400)
  t.strictSame(future.body, { detail: 'birth_date cannot be in the future' })
  t.strictSame((await app.request('GET', path)).body.birth_date, today)
  for (const body of [
    { birth_date: '1990-02-30' },
    { birth_date: '1990-13-01' },
    { birth_date: '0000-01-01' },
    { birth_date: '1990' },
    { birth_date: 19900228 },
    { gender: 'x' },
    { sex: 'other' },
  ]) {
    const invalid = await put(body)
    t.equal(invalid.status, 422, JSON.stringify(body))
    t.match(invalid.body.detail, [{ loc: ['body', Object.keys(body)[0]] }])
  }
})

t.test('an unknown user is a 404 on every path below it', async (t) => {
  await app.db.query('delete from app_user')
  const id = randomUUID()
  for (const [method, path, options] of [
    ['GET', '', {}],
    ['PATCH', '', { body: {} }],
    ['DELETE', '', { auth: 'developer' }],
    ['GET', '/connections', {}],
    ['GET', '/data-sources', {}],
    ['GET', '/personal-record', {}],
    ['PUT', '/personal-record', { body: {} }],
  ] as const) {
    const answer = await app.request(method, `${USERS}/${id}${path}`, options)
    t.equal(answer.status, 404, `${method} ${path}`)
    t.strictSame(answer.body, { detail: `User with ID: ${id} not found.` })
  }
})

const rowCounts = async (app: TestApp): Promise<Record<string, number>> => {
  const tables = await app.db.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by relname`,
  )
  const counts: Record<string, number> = {}
  for (const { name } of tables) {
    counts[name] = (await app.db.one<{ count: number }>(`select count(*) as count from ${name}`)).count
  }
  return counts
}

/** Gives a user rows in every table: an imported upload, and by SQL those that have no endpoint here. */
async function fill(app: TestApp, id: string): Promise<void> {
  const record = (n: number) => ({
    type: 'HKQuantityTypeIdentifierHeartRate',
    startDate: iso(MIDNIGHT + n * 28 * DAY_MS),
    endDate: iso(MIDNIGHT + n * 28 * DAY_MS),
    value: 60 + n,
    unit: 'bpm',
    source: { name: 'Apple Watch', deviceModel: 'Watch7,5', deviceType: 'watch' },
  })
  const body = { provider: 'apple', data: { records: Array.from({ length: 8 }, (_, n) => record(n)) } }
  const answer = await app.request('POST', `/api/v1/sdk/users/${id}/sync`, { body })
  if (answer.status !== 202) throw new Error(JSON.stringify(answer.body))
  const { db } = app.deps
  await importerOf(app).importUploads(id)
  await refreshRollups(db)
  await app.request('PUT', `${USERS}/${id}/personal-record`, { body: { sex: 'female' } })
}

for (const engine of engines()) {
  t.test(`delete on ${engine.name}`, async (t) => {
    const app = await startTestApp(t, engine)
    const remove = (id: string) => app.request('DELETE', `${USERS}/${id}`, { auth: 'developer' })
    const other = await create(app, { first_name: 'Other' })
    await fill(app, other)
    const before = await rowCounts(app)
    const id = await create(app, { first_name: 'Ada', email: 'ada@example.org' })
    await fill(app, id)

    t.test('returns the user and leaves nothing of it in any table', async (t) => {
      const filled = await rowCounts(app)
      for (const table of [
        'sample',
        'source_series',
        'data_source',
        'connection',
        'upload',
        'upload_body',
        'sync_run',
        'personal_record',
      ]) {
        t.ok((filled[table] ?? 0) > (before[table] ?? 0), `${table} has rows of the user`)
      }
      const answer = await remove(id)
      t.equal(answer.status, 200)
      t.match(answer.body, {
        id,
        first_name: 'Ada',
        email: 'ada@example.org',
        has_active_connection: true,
        connections: null,
      })
      t.strictSame(await rowCounts(app), before)
      t.equal((await app.request('GET', `${USERS}/${id}`)).status, 404)
      t.equal((await remove(id)).status, 404)
      t.equal((await app.request('GET', `${USERS}/${other}`)).status, 200)
    })

    t.test('every table that names a user follows its deletion', async (t) => {
      const rows = await app.db.query<{ name: string }>(
        `select c.relname as name
         from pg_attribute a join pg_class c on c.oid = a.attrelid
         where a.attname = 'user_id' and c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
           and not exists (
             select from pg_constraint k
             where k.conrelid = c.oid and k.contype = 'f' and k.confdeltype = 'c' and a.attnum = any(k.conkey)
           )`,
      )
      t.strictSame(rows, [])
    })

    t.test('waits for an import that is under way', async (t) => {
      const id = await create(app)
      const client = await app.db.pool.connect()
      t.teardown(() => client.release())
      await client.query('begin')
      await client.query(`select pg_advisory_xact_lock(hashtextextended('ingest:' || $1, 0))`, [id])
      const deletion = remove(id)
      const waiting = `select 1 from pg_locks where locktype = 'advisory' and not granted
                         and database = (select oid from pg_database where datname = current_database())`
      while ((await app.db.query(waiting)).length === 0);
      await client.query(
        `with s as (insert into data_source (user_id, provider) values ($1, 'apple') returning id)
         insert into sample (ts, value, source_id, series_id) select now(), 1, id, 1 from s`,
        [id],
      )
      await client.query('commit')
      t.equal((await deletion).status, 200)
      t.strictSame(await rowCounts(app), before)
    })

    t.test('works once when asked twice at the same time', async (t) => {
      const id = await create(app)
      const answers = await Promise.all([remove(id), remove(id)])
      t.strictSame(answers.map(({ status }) => status).sort(), [200, 404])
    })
  })
}
