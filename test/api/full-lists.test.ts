// Lists that developers and phones fill are bounded, so that each fits into one answer.
import t from 'tap'
import { hashInvitationToken, newInvitationToken } from '../../server/api/invitations/invitation.ts'
import { signAccessToken } from '../../server/http/tokens.ts'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { startTestApp, type TestAnswer, type TestApp } from '../support/app.ts'
import { createUser } from '../support/sdk.ts'
import { engines } from '../support/servers.ts'

const [engine] = engines()
if (!engine) throw new Error('no engine')

const MOST = 1000

interface Entry {
  id: string
  app_id?: string
}

interface ListOf {
  path: string
  name: string
  /** Adds entries, one for each n; `$2` is the developer. */
  fill: string
  /** The body that creates the nth entry. */
  body(n: number): object
}

const token = newInvitationToken()

const LISTS: ListOf[] = [
  {
    path: '/developer/api-keys',
    name: 'API keys',
    fill: `insert into api_key (name, key_prefix, key_hash, created_by)
           select 'Key', 'sk-', sha256(n::text::bytea), $2 from generate_series(1, $1::int4) n`,
    body: () => ({}),
  },
  {
    path: '/applications',
    name: 'applications',
    fill: `insert into application (app_id, name, secret_hash, developer_id)
           select 'app_' || n, 'App', '', $2 from generate_series(1, $1::int4) n`,
    body: () => ({ name: 'Pulse' }),
  },
  {
    path: '/invitations',
    name: 'open invitations',
    fill: `insert into invitation (email, token_hash, invited_by_id)
           select n || '@example.org', sha256(n::text::bytea), $2 from generate_series(1, $1::int4) n`,
    body: (n) => ({ email: `one-more-${n}@example.org` }),
  },
  {
    path: '/webhooks/endpoints',
    name: 'endpoints',
    fill: `insert into endpoint (uid, url, secret)
           select 'ep_' || n, 'https://example.org/' || n, '' from generate_series(1, $1::int4) n where $2::uuid is not null`,
    body: () => ({ url: 'https://example.org/hook' }),
  },
]

const call = (app: TestApp, method: string, path: string, body?: object): Promise<TestAnswer> =>
  app.request(method, `/api/v1${path}`, { auth: 'developer', ...(body && { body }) })

t.test('lists that are full', async (t) => {
  const app = await startTestApp(t, engine, { outgoingWebhooksEnabled: true })
  const other = await app.another()
  for (const { path, name, fill, body } of LISTS) {
    const list = async (): Promise<Entry[]> => (await call(app, 'GET', path)).body
    await app.db.query(fill, [MOST - 1 - (await list()).length, app.developer.id])
    const answers = await Promise.all([0, 1, 2, 3].map((n) => call(n % 2 ? app : other, 'POST', path, body(n))))
    t.strictSame(answers.map(({ status }) => status).sort(), [201, 409, 409, 409], `${name}: one finds the last place`)
    t.strictSame(answers.find(({ status }) => status === 409)?.body, {
      detail: `There are 1000 ${name}; the limit is 1000. Delete one first.`,
    })
    const entries = await list()
    t.equal(entries.length, MOST, `all ${name} are listed`)
    const [last] = entries
    t.ok((await call(app, 'DELETE', `${path}/${last?.app_id ?? last?.id}`)).status < 300)
    t.equal((await call(app, 'POST', path, body(4))).status, 201, 'one goes, one may come')
  }
  const [grace] = await app.db.query<{ id: string }>(
    `insert into developer (email, password_hash) values ('grace@example.org', 'x') returning id`,
  )
  const bearer = await signAccessToken(app.deps.keys, 'developer', grace?.id ?? '')
  const hers = await app.request('POST', '/api/v1/applications', { auth: { bearer }, body: { name: 'Pulse' } })
  t.equal(hers.status, 201, 'each developer has applications of its own')
})

t.test('an instance that is full of developers takes no more', async (t) => {
  const app = await startTestApp(t, engine)
  await app.db.query(
    `insert into developer (email, password_hash) select n || '@example.org', 'x' from generate_series(1, $1::int4) n`,
    [MOST - 1],
  )
  await app.db.query('insert into invitation (email, token_hash, invited_by_id) values ($1, $2, $3)', [
    'grace@example.org',
    hashInvitationToken(token),
    app.developer.id,
  ])
  const accept = () => {
    const body = { token, first_name: 'Grace', last_name: 'Hopper', password: 'correct horse battery' }
    return app.request('POST', '/api/v1/invitations/accept', { auth: 'none', body })
  }
  t.equal((await accept()).status, 409)
  await app.db.query(`delete from developer where email = '1@example.org'`)
  t.equal((await accept()).status, 201, 'the invitation was not spent')
})

t.test('endpoints are paged', async (t) => {
  const app = await startTestApp(t, engine, { outgoingWebhooksEnabled: true })
  const fill = LISTS.find(({ name }) => name === 'endpoints')?.fill ?? ''
  await app.db.query(fill, [7, app.developer.id])
  const page = (query: string) => call(app, 'GET', `/webhooks/endpoints${query}`)
  const all = await page('')
  t.strictSame(
    all.body.map(({ id }: Entry) => id),
    ['ep_7', 'ep_6', 'ep_5', 'ep_4', 'ep_3', 'ep_2', 'ep_1'],
  )
  t.equal(all.headers.get('x-next-cursor'), null)
  const pages: Entry[][] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const answer = await page(`?limit=3${cursor && `&cursor=${cursor}`}`)
    pages.push(answer.body)
    cursor = answer.headers.get('x-next-cursor')
    // Entries created in the meantime are newer than all that follow.
    await call(app, 'POST', '/webhooks/endpoints', { url: 'https://example.org/new' })
  }
  t.strictSame(
    pages.map(({ length }) => length),
    [3, 3, 1],
  )
  t.strictSame(pages.flat(), all.body)
  for (const query of ['?limit=0', '?limit=1001', '?page=2']) t.equal((await page(query)).status, 422, query)
  for (const query of ['?cursor=', '?cursor=x', '?cursor=MQ==']) t.equal((await page(query)).status, 400, query)
})

const MIB = 2 ** 20
/** Of any answer, whatever phones have sent. */
const LARGEST_BYTES = 8 * MIB
/** As long as names are kept, and each character as long as it gets. */
const NAME = "repeat('€', 90) || n"

/** What phones fill, as rows that they can make; each belongs to the user $1. */
const FILLED_BY_PHONES = [
  `insert into data_source (user_id, provider, device_model, source, software_version)
   select $1, 'apple', ${NAME}, ${NAME}, repeat('€', 50) from generate_series(1, 200) n`,
  `insert into source_series (source_id, series_id) select id, 80 from data_source where user_id = $1`,
  `insert into sample (ts, value, source_id, series_id)
   select '2026-02-01'::timestamptz + day * interval '1 day', 5, id, 80
   from generate_series(0, 1) day, data_source where user_id = $1`,
  `insert into rollup_dirty (source_id, series_id, lo, hi)
   select id, 80, '2026-02-01', '2026-02-03' from data_source where user_id = $1`,
  `insert into sync_run (user_id, run_key, provider, source, status)
   select $1, case n when 0 then 'full' else repeat('€', 90) || n end, 'apple', 'sdk', 'success' from generate_series(0, 300) n`,
  `insert into sync_run_report (user_id, run_key, native_type, data_type, kind, status, error_code, error, reported_at)
   select $1, 'full', repeat('€', 190) || n, repeat('€', 190) || n, 'native', 'failed', repeat('€', 100), repeat('€', 500), now()
   from generate_series(1, 300) n`,
  `insert into upload (user_id, provider, run_key, status, received_at, rejections, unknown_fields, implausible, unstored)
   select $1, p.name, 'full', 'failed', '2025-03-01'::timestamptz + day * interval '1 day',
          case when day > 300 then l.rejections else '[]' end, case when day > 300 then l.fields else '[]' end,
          case when day > 300 then l.implausible else '[]' end, l.unstored
   from generate_series(0, 365) day
   cross join unnest('{apple,samsung,health_connect}'::text[]) p (name)
   cross join (
     select (select jsonb_agg(jsonb_build_object('collection', 'records', 'index', n, 'id', ${NAME}, 'loc', '["data"]'::jsonb,
                                                 'type', 'missing', 'msg', repeat('x', 80)))
             from generate_series(1, 100) n) as rejections,
            (select jsonb_agg(jsonb_build_object('field', ${NAME}, 'items', n, 'likely', null))
             from generate_series(1, 20) n) as fields,
            (select jsonb_agg(jsonb_build_object('type', repeat('x', 30), 'unit', 'bpm', 'lowest', 0, 'highest', 1, 'items', n))
             from generate_series(1, 150) n) as implausible,
            (select jsonb_agg(jsonb_build_object('collection', 'records', 'type', ${NAME}, 'reason', 'ignored_type', 'items', n))
             from generate_series(1, 25) n) as unstored
   ) l`,
  `insert into sync_event (user_id, run_key, stage, status, message, error, metadata)
   select $1, 'full', 'fetching', 'in_progress', repeat('€', 300), repeat('€', 500), jsonb_build_object('type', repeat('€', 200))
   from generate_series(1, 300) n`,
  `insert into sleep (user_id, source_id, start_at, end_at, stages, asleep_s, is_nap)
   select $1, (select min(id) from data_source where user_id = $1), '2026-02-01'::timestamptz + n * interval '10 minutes',
          '2026-02-01'::timestamptz + n * interval '10 minutes' + interval '9 minutes', s.stages, 500, true
   from generate_series(1, 120) n
   cross join (select jsonb_agg(jsonb_build_array('light', 1770000000 + k, 1770000001 + k)) as stages from generate_series(1, 500) k) s`,
  `insert into workout (user_id, source_id, type, start_at, end_at, duration_s, segments)
   select $1, (select min(id) from data_source where user_id = $1), 'running', '2026-02-01'::timestamptz + n * interval '10 minutes',
          '2026-02-01'::timestamptz + n * interval '10 minutes' + interval '9 minutes', 540, s.segments
   from generate_series(1, 60) n
   cross join (select jsonb_agg(jsonb_build_object('start_time', '2026-02-01T00:00:00Z', 'end_time', '2026-02-01T00:00:01Z',
                                                   'type', repeat('€', 64), 'repetitions', k)) as segments
               from generate_series(1, 500) k) s`,
]

t.test('what phones make is bounded in every answer', async (t) => {
  const app = await startTestApp(t, engine)
  const user = await createUser(app)
  for (const fill of FILLED_BY_PHONES) await app.db.query(fill, [user])
  await refreshRollups(app.db)
  const of = `/users/${user}`
  const range = 'start_date=2026-02-01&end_date=2026-03-01&limit=1000'
  const ask = async (path: string) =>
    app.request('GET', `/api/v1${path}`, { auth: path.startsWith('/sync/batches') ? 'developer' : 'key' })
  const sizes: Record<string, number> = {}
  const bodies: Record<string, TestAnswer['body']> = {}
  for (const path of [
    `${of}/data-sources?include=data`,
    `${of}/data-sources`,
    `/sync/history/full`,
    `${of}/sync/history?limit=200`,
    `${of}/sync/runs?limit=200`,
    `${of}/sync/recent?limit=200`,
    `/sdk${of}/sync/batches?limit=200`,
    `/sync/batches?limit=200`,
    `${of}/coverage?start_date=2025-03-01&end_date=2026-03-01&days=local`,
    `${of}/coverage?start_date=2025-03-01&end_date=2026-03-01`,
    `${of}/events/sleep?${range}&include=stages`,
    `${of}/events/workouts?${range}&include=segments`,
    `${of}/summaries/sleep?${range}`,
    // Few days: what merging them costs grows with the sources.
    `${of}/summaries/activity?start_date=2026-02-01&end_date=2026-02-04&explain=true&merge=segments`,
    `${of}/summaries/data`,
    `${of}/timeseries?start_time=2026-02-01&end_time=2026-03-01&limit=1000`,
  ]) {
    const { status, body } = await ask(path)
    sizes[path] = status === 200 ? Buffer.byteLength(JSON.stringify(body)) : Number.POSITIVE_INFINITY
    bodies[path.replace(/\?.*/, '').replace(user, '')] = body
  }
  t.strictSame(
    Object.entries(sizes).filter(([, bytes]) => bytes > LARGEST_BYTES),
    [],
  )
  t.strictSame(
    [
      bodies['/users//data-sources'].total,
      bodies['/sync/history/full'].data_types.length,
      bodies['/sync/history/full'].batches[0].dropped.length,
      bodies['/users//coverage'].arrivals[0].unstored.length,
      bodies['/users//summaries/sleep'].data[0].sessions.length,
      bodies['/users//summaries/activity'].data[0].sources.length,
    ],
    [200, 300, 10, 21, 24, 20],
  )

  const { data, pagination } = bodies['/users//events/sleep']
  t.strictSame([data.length, pagination.has_more, pagination.total_count], [40, true, 120], 'a page ends early')
  const next = (await ask(`${of}/events/sleep?${range}&include=stages&cursor=${pagination.next_cursor}`)).body
  t.equal(next.data.length, 40)
  t.ok(next.data[0].start_time < data.at(-1).start_time)
  const back = await ask(`${of}/events/sleep?${range}&include=stages&cursor=${next.pagination.previous_cursor}`)
  t.strictSame(back.body.data, data, 'and the way back is the same')
  t.equal(data[0].sleep_stage_intervals.length, 500)
})

t.test('a run names as many types as an export has, and counts the reports about others', async (t) => {
  const app = await startTestApp(t, engine)
  const user = await createUser(app)
  const log = async (first: number, eventType: string) => {
    const types = Array.from({ length: 200 }, (_, n) => `Type${first + n}`)
    const counts = types.map((type) => ({ type, count: 1 }))
    const timestamp = new Date(Date.UTC(2026, 1, 24, 0, 0, first)).toISOString()
    const events =
      eventType === 'start'
        ? [{ eventType: 'historical_data_sync_start', timestamp, dataTypeCounts: counts }]
        : types
            .slice(0, 100)
            .map((dataType) => ({ eventType: 'historical_data_type_sync_end', timestamp, dataType, success: true }))
    const body = { sdkVersion: '1', provider: 'apple', syncSessionId: 'one', events }
    return (await app.request('POST', `/api/v1/sdk/users/${user}/logs`, { body })).body.run_id
  }
  const run = async () => (await app.request('GET', `/api/v1/sync/history/sdk_one_${user}`)).body
  await log(0, 'start')
  await log(200, 'start')
  const full = await run()
  t.strictSame([full.status, full.data_types.length, full.data_types_left_out], ['in_progress', 300, 100])
  for (const first of [0, 100, 200, 300]) await log(first, 'end')
  const { status, data_types, data_types_left_out } = await run()
  t.strictSame([status, data_types.length, data_types_left_out], ['success', 300, 200], 'and ends without them')
})
