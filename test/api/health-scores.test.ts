// Health scores in the API: contract 5.8. Their computation is tested in ../scores.
import t from 'tap'
import { startTestApp } from '../support/app.ts'
import { getScores } from '../support/scores.ts'
import { createUser, oneEngine } from '../support/sdk.ts'
import { addSources } from '../support/summaries.ts'

const DAY = Date.UTC(2026, 1, 24)
const HOUR = 3_600_000
const NOBODY = '00000000-0000-4000-8000-000000000000'

const at = (hours: number) => new Date(DAY + hours * HOUR).toISOString()

oneEngine(t, 'health scores', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const user = await createUser(app)
  const [source = 0] = await addSources(app.db, user, [
    { provider: 'oura', device: 'Ring', source: 'app', type: 'ring' },
  ])
  const { uid } = await app.db.one<{ uid: string }>('select uid from data_source where id = $1', [source])
  const add = (of: string, provider: string, category: string, hours: number, value: number | null, fields = {}) =>
    app.db.query(
      `insert into health_score (user_id, source_id, provider, category, value, qualifier, recorded_at, zone_offset_min, components)
       select $1, n.source_id, $2, $3, $4, n.qualifier, $5, n.zone_offset_min, n.components
       from jsonb_to_record($6) n (source_id int4, qualifier text, zone_offset_min int2, components jsonb)`,
      [of, provider, category, value, at(hours), JSON.stringify(fields)],
    )
  const found = async (query: Record<string, string | number> = {}) => {
    const { status, body } = await getScores(app, user, query)
    if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`)
    return body.data.map((one: { value: number }) => one.value)
  }

  await t.test('a user without any', async (t) => {
    const { status, body } = await getScores(app, user)
    t.equal(status, 200)
    t.strictSame(body, {
      data: [],
      pagination: { next_cursor: null, previous_cursor: null, has_more: false, total_count: 0 },
      metadata: { resolution: null, sample_count: 0, start_time: null, end_time: null },
    })
  })

  await add(user, 'oura', 'readiness', 0, 71, {
    source_id: source,
    qualifier: 'good',
    zone_offset_min: -210,
    components: { sleep_balance: { value: 80 }, word: { value: null, qualifier: 'high' } },
  })
  await add(user, 'oura', 'sleep', 1, 72)
  await add(user, 'polar', 'sleep', 23.99, 73)
  await add(user, 'internal', 'resilience', 24, 0.118)
  await add(user, 'whoop', 'strain', 48, null)
  const other = await createUser(app)
  await add(other, 'oura', 'sleep', 1, 99)

  await t.test('are shown with everything that is known of them', async (t) => {
    const { body } = await getScores(app, user, { category: 'readiness' })
    t.same(body.data, [
      {
        id: body.data[0].id,
        category: 'readiness',
        value: 71,
        qualifier: 'good',
        recorded_at: '2026-02-24T00:00:00Z',
        zone_offset: '-03:30',
        components: {
          sleep_balance: { value: 80, qualifier: null },
          word: { value: null, qualifier: 'high' },
        },
        data_source_id: uid,
        provider: 'oura',
        event_record_id: null,
      },
    ])
    const [bare] = (await getScores(app, user, { category: 'strain' })).body.data
    t.match(bare, { value: null, qualifier: null, zone_offset: null, components: null, data_source_id: null })
  })

  await t.test('come the latest first, of this user only', async (t) => {
    t.strictSame(await found(), [null, 0.118, 73, 72, 71])
  })

  await t.test('by category and provider', async (t) => {
    t.strictSame(await found({ category: 'sleep' }), [73, 72])
    t.strictSame(await found({ provider: 'oura' }), [72, 71])
    t.strictSame(await found({ provider: 'internal' }), [0.118])
    t.strictSame(await found({ provider: 'oura', category: 'sleep' }), [72])
    t.strictSame(await found({ provider: 'unknown' }), [])
    t.strictSame(await found({ category: 'body_battery' }), [])
  })

  await t.test('by time: from the start on, before the end, all of a day', async (t) => {
    t.strictSame(await found({ start_date: '2026-02-25' }), [null, 0.118])
    t.strictSame(await found({ end_date: '2026-02-24' }), [73, 72, 71])
    t.strictSame(await found({ end_date: at(24) }), [73, 72, 71])
    t.strictSame(await found({ start_date: '2026-02-24', end_date: '2026-02-24' }), [73, 72, 71])
    t.strictSame(await found({ start_date: DAY / 1000 + 3600, end_date: DAY / 1000 + 3601 }), [72])
    t.strictSame(await found({ start_date: '2026-02-24T02:00:00+01:00', end_date: '2026-02-24T12:00:00' }), [72])
    t.strictSame(await found({ start_date: at(24), end_date: at(24) }), [], 'nothing lies in no time')
    t.strictSame(await found({ start_date: '2026-03-01', end_date: '2026-02-01' }), [], 'nor between later and earlier')
    const { metadata } = (await getScores(app, user, { start_date: '2026-02-24', end_date: '2026-02-24' })).body
    t.match(metadata, { start_time: '2026-02-24T00:00:00Z', end_time: '2026-02-25T00:00:00Z', sample_count: 3 })
  })

  await t.test('in pages by offset', async (t) => {
    const pages: unknown[] = []
    for (let offset = 0; ; offset += 2) {
      const { data, pagination, metadata } = (await getScores(app, user, { limit: 2, offset })).body
      pages.push(data.map((one: { value: number }) => one.value))
      t.strictSame(pagination, {
        next_cursor: null,
        previous_cursor: null,
        has_more: offset < 4,
        total_count: 5,
      })
      t.equal(metadata.sample_count, data.length)
      if (!pagination.has_more) break
    }
    t.strictSame(pages, [[null, 0.118], [73, 72], [71]])
    const beyond = (await getScores(app, user, { offset: 5 })).body
    t.match(beyond, { data: [], pagination: { has_more: false, total_count: 5 } })
    t.match((await getScores(app, user, { offset: Number.MAX_SAFE_INTEGER })).body.data, [])
    t.match((await getScores(app, user, { limit: 1, category: 'sleep' })).body.pagination, {
      has_more: true,
      total_count: 2,
    })
  })

  await t.test('of one instant are in one order', async (t) => {
    const many = await createUser(app)
    for (const provider of ['oura', 'polar', 'whoop', 'garmin']) await add(many, provider, 'sleep', 5, 50)
    const ids: string[] = []
    for (let offset = 0; offset < 4; offset += 1)
      ids.push((await getScores(app, many, { limit: 1, offset })).body.data[0].id)
    t.equal(new Set(ids).size, 4)
  })

  await t.test('the same again is answered with 304', async (t) => {
    const first = await getScores(app, user, { category: 'sleep' })
    const etag = first.headers.get('etag') ?? ''
    t.equal((await getScores(app, user, { category: 'sleep' }, { 'If-None-Match': etag })).status, 304)
    t.equal((await getScores(app, user, { category: 'strain' }, { 'If-None-Match': etag })).status, 200)
    t.equal((await getScores(app, other, { category: 'sleep' }, { 'If-None-Match': etag })).status, 200)
    await app.db.query('update app_user set revision = revision + 1 where id = $1', [user])
    t.equal((await getScores(app, user, { category: 'sleep' }, { 'If-None-Match': etag })).status, 200)
  })

  await t.test('refuses what it does not understand', async (t) => {
    const refused = async (query: Record<string, string>) => {
      const { status, body } = await getScores(app, user, query)
      const [first] = body.detail
      return [status, first.type, first.loc]
    }
    t.strictSame(await refused({ category: 'mood' }), [422, 'enum', ['query', 'category']])
    t.strictSame(await refused({ provider: 'acme' }), [422, 'enum', ['query', 'provider']])
    t.strictSame(await refused({ limit: '0' }), [422, 'greater_than_equal', ['query', 'limit']])
    t.strictSame(await refused({ limit: '1001' }), [422, 'less_than_equal', ['query', 'limit']])
    t.strictSame(await refused({ offset: '-1' }), [422, 'greater_than_equal', ['query', 'offset']])
    t.strictSame(await refused({ offset: 'x' }), [422, 'int_parsing', ['query', 'offset']])
    t.strictSame(await refused({ cursor: 'x' }), [422, 'extra_forbidden', ['query', 'cursor']])
    const { status, body } = await getScores(app, user, { start_date: 'yesterday' })
    t.equal(status, 400)
    t.equal(body.detail, "Invalid datetime format: 'yesterday'. Expected ISO 8601 format or Unix timestamp.")
  })

  await t.test('an unknown user, and nobody', async (t) => {
    const { status, body } = await getScores(app, NOBODY)
    t.strictSame([status, body], [404, { detail: `User with ID: ${NOBODY} not found.` }])
    t.equal((await getScores(app, 'x')).status, 422)
    const path = `/api/v1/users/${user}/health-scores`
    t.equal((await app.request('GET', path, { auth: 'none' })).status, 401)
    t.equal((await app.request('GET', path, { auth: { bearer: await app.sdkToken(user) } })).status, 401)
    t.equal((await app.request('GET', path, { auth: 'developer' })).status, 200)
  })
})
