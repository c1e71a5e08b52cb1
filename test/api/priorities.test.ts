// Which source counts: contract 2.3, 2.4, 11, 12.1.
import t from 'tap'
import { deviceTypes } from '../../server/catalogue/devices.ts'
import { migrate } from '../../server/db/migrate.ts'
import { startTestApp } from '../support/app.ts'
import { until } from '../support/endpoints.ts'
import {
  body,
  createUser,
  heartRate,
  importBody,
  oneEngine,
  PHONE,
  record,
  startImports,
  timeseries,
} from '../support/sdk.ts'
import { LOOKS_INSIDE, ofOneProcess } from '../support/several.ts'

const NOON = Date.UTC(2026, 1, 24, 12)

/** Contract 2.4, with health_connect after google_health. */
const PROVIDERS = [
  ...['apple', 'garmin', 'polar', 'suunto', 'whoop', 'fitbit', 'google_health', 'health_connect', 'oura', 'samsung'],
  ...['sensorbio', 'strava', 'ultrahuman', 'withings'],
]

oneEngine(t, 'priorities', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const call = (method: string, path: string, content?: unknown) =>
    app.request(method, `/api/v1/priorities/${path}`, {
      auth: 'developer',
      ...(content !== undefined && { body: content }),
    })
  const order = async (kind: 'providers' | 'device-types') =>
    (await call('GET', kind)).body.items.map((one: Record<string, unknown>) => [
      one.provider ?? one.device_type,
      one.priority,
    ])

  await t.test('start with the documented order', async (t) => {
    t.strictSame(
      await order('providers'),
      PROVIDERS.map((name, index) => [name, index + 1]),
    )
    const { items } = (await call('GET', 'providers')).body
    t.match(items[0], { name: 'Apple Health', icon_url: '/static/provider-icons/apple.svg', id: /^[0-9a-f-]{36}$/ })
    t.match(items[0], { created_at: /Z$/, updated_at: /Z$/ })
    const types = await order('device-types')
    t.strictSame(types.slice(0, 6), [
      ['watch', 1],
      ['band', 2],
      ['ring', 3],
      ['phone', 4],
      ['tablet', 4],
      ['scale', 5],
    ])
    t.strictSame(types.at(-1), ['unknown', 99])
    t.strictSame(types.map(([type]: [string]) => type).sort(), [...deviceTypes].sort())
  })

  await t.test('rank a source by provider, then device type; 99 for what has none', async (t) => {
    const rank = async (provider: string, type: string | null) =>
      (await app.db.one<{ rank: number }>('select source_rank($1, $2) as rank', [provider, type])).rank
    t.equal(await rank('apple', 'watch'), 1001)
    t.equal(await rank('garmin', 'phone'), 2004)
    t.equal(await rank('internal', 'hoverboard'), 99_099)
    t.equal(await rank('apple', null), 1099)
  })

  await t.test('are changed one by one or together, and a restart leaves them', async (t) => {
    const one = await call('PUT', 'providers/samsung', { priority: 1 })
    t.equal(one.status, 200)
    t.match(one.body, { provider: 'samsung', priority: 1, name: 'Samsung Health' })
    const many = await call('PUT', 'providers', {
      priorities: [
        { provider: 'apple', priority: 30 },
        { provider: 'garmin', priority: 30 },
      ],
    })
    const changed = await order('providers')
    t.strictSame(
      many.body.items.map((item: { provider: string }) => item.provider),
      changed.map(([name]: [string]) => name),
    )
    t.strictSame(changed[0], ['samsung', 1])
    t.strictSame(changed.slice(-2), [
      ['apple', 30],
      ['garmin', 30],
    ])
    t.match((await call('PUT', 'device-types/ring', { priority: 100 })).body, { device_type: 'ring', priority: 100 })
    const types = await call('PUT', 'device-types', { priorities: [{ device_type: 'phone', priority: 1 }] })
    t.strictSame(types.body.items[0].device_type, 'phone')
    t.strictSame(types.body.items.at(-1).device_type, 'ring')
    await migrate(app.databaseUrl)
    t.strictSame(await order('providers'), changed)
    await app.db.query(`delete from provider_priority where provider = 'oura'`)
    await migrate(app.databaseUrl)
    t.ok((await order('providers')).some(([name, priority]: [string, number]) => name === 'oura' && priority === 9))
  })

  await t.test('are changed by many at once, in any order', ofOneProcess(LOOKS_INSIDE), async (t) => {
    const names = PROVIDERS.slice(0, 6)
    const all = (items: string[], priority: number) =>
      call('PUT', 'providers', { priorities: items.map((provider) => ({ provider, priority })) })
    // A process lets one developer make two changes at a time.
    const other = await app.another()
    const elsewhere = (path: string, priority: number) =>
      other.request('PUT', `/api/v1/priorities/${path}`, { auth: 'developer', body: { priority } })
    // All of them are running before any can end.
    const answers = await app.db.transaction(async (tx) => {
      await tx.query('select from ranking for update')
      const asked = [
        all(names, 41),
        all([...names].reverse(), 42),
        elsewhere('providers/apple', 43),
        elsewhere('device-types/watch', 45),
      ]
      // Those that find it locked take turns.
      const taking = () => [app, other].flatMap(({ deps: { gates } }) => [gates.locked.held(), gates.locked.waiting()])
      t.ok(await until(async () => taking().reduce((sum, n) => sum + n) === asked.length))
      return { asked }
    })
    t.strictSame(
      (await Promise.all(answers.asked)).map(({ status }) => status),
      [200, 200, 200, 200],
    )
    const priorities = new Map<string, number>(await order('providers'))
    const bulk = names.slice(1, 5).map((name) => priorities.get(name))
    t.ok(bulk[0] === 41 || bulk[0] === 42)
    t.strictSame(new Set(bulk).size, 1, 'one request wins as a whole')
  })

  await t.test('decide what filtered reads show, at once and not only for new questions', async (t) => {
    const user = await createUser(app)
    await importBody(app, user, body([heartRate(NOON, 60), heartRate(NOON, 70, { source: PHONE })]))
    await importBody(app, user, body([record('HEART_RATE', NOON, 80)], { provider: 'samsung' }))
    const asked = { start_time: '2026-02-24', end_time: '2026-02-24', filter_by_priority: true }
    const read = async (held?: string) => {
      const answer = await timeseries(app, user, asked, { headers: held ? { 'If-None-Match': held } : {} })
      return {
        status: answer.status,
        tag: answer.headers.get('etag') ?? '',
        values: answer.body.data?.map((sample: { value: number }) => sample.value),
      }
    }
    const priority = async (path: string, value: number) =>
      t.equal((await call('PUT', path, { priority: value })).status, 200)
    await priority('providers/apple', 1)
    await priority('providers/samsung', 2)
    await priority('device-types/watch', 1)
    await priority('device-types/phone', 2)
    const first = await read()
    t.strictSame(first.values, [60], 'the watch of the best provider')
    await priority('device-types/phone', 2)
    t.equal((await read(first.tag)).status, 304, 'the same number again changes nothing')
    await priority('device-types/watch', 3)
    const second = await read(first.tag)
    t.strictSame([second.status, second.values], [200, [70]], 'the phone')
    await priority('providers/apple', 3)
    t.strictSame((await read(second.tag)).values, [80], 'the other provider')
    t.equal((await timeseries(app, user, { ...asked, filter_by_priority: false })).body.data.length, 3)
  })

  await t.test('refuse what they do not know', async (t) => {
    const before = await order('providers')
    const type = async (method: string, path: string, content: unknown) => {
      const { status, body } = await call(method, path, content)
      return [status, body.detail[0].type, body.detail[0].loc]
    }
    t.strictSame(await type('PUT', 'providers/apple', { priority: 0 }), [
      422,
      'greater_than_equal',
      ['body', 'priority'],
    ])
    t.strictSame(await type('PUT', 'providers/apple', { priority: 101 }), [
      422,
      'less_than_equal',
      ['body', 'priority'],
    ])
    t.strictSame(await type('PUT', 'providers/apple', {}), [422, 'missing', ['body', 'priority']])
    for (const name of ['internal', 'unknown', 'Apple', 'nobody'])
      t.strictSame(await type('PUT', `providers/${name}`, { priority: 1 }), [422, 'enum', ['path', 'provider']])
    t.strictSame(await type('PUT', 'device-types/hoverboard', { priority: 1 }), [422, 'enum', ['path', 'device_type']])
    t.strictSame(await type('PUT', 'providers', { priorities: [{ provider: 'nobody', priority: 1 }] }), [
      422,
      'enum',
      ['body', 'priorities', 0, 'provider'],
    ])
    const twice = await call('PUT', 'providers', {
      priorities: [
        { provider: 'apple', priority: 1 },
        { provider: 'apple', priority: 2 },
      ],
    })
    t.strictSame([twice.status, twice.body], [400, { detail: "'apple' is listed twice" }])
    t.strictSame(await order('providers'), before)
    const { status, body: refusal } = await app.request('GET', '/api/v1/priorities/providers')
    t.match([status, refusal], [401, { detail: 'Could not validate credentials' }], 'an API key is not enough')
  })
})
