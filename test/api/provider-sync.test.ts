// Asking a provider for the data of a user, at a developer's word (contract 7.1, 7.2, 7.4).
import t, { type Test } from 'tap'
import { closeSilentRuns } from '../../server/intake/uploads/silent-runs.ts'
import { cloudProviders } from '../../server/providers/index.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { authorize, callBack, startCloudApp } from '../support/clouds.ts'
import { startProvider } from '../support/oauth-provider.ts'
import { askedOf, connectPerson, type Simulated, startSimulated } from '../support/people.ts'
import { createUser, oneEngine } from '../support/sdk.ts'
import type { Engine } from '../support/servers.ts'
import { isOfOneProcess, REPLACES } from '../support/several.ts'

const NOBODY = '00000000-0000-4000-8000-000000000000'
const DAY_MS = 86_400_000

const sync = (app: TestApp, user: string, provider: string, query = '') =>
  app.request('POST', `/api/v1/providers/${provider}/users/${user}/sync${query}`)
const history = (app: TestApp, user: string, provider: string, query = '') =>
  app.request('POST', `/api/v1/providers/${provider}/users/${user}/sync/historical${query}`)
const backfill = (app: TestApp, user: string, provider: string) =>
  app.request('GET', `/api/v1/providers/${provider}/users/${user}/backfill/status`)
const workouts = (app: TestApp, user: string, provider: string, more = '') =>
  app.request('GET', `/api/v1/providers/${provider}/users/${user}/workouts${more}`)

interface Tasks {
  run_key: string
  kind: string
  stream: string
  lo: string
  hi: string
  options: Record<string, unknown>
}

const tasksOf = (app: TestApp) =>
  app.db.query<Tasks>('select run_key, kind, stream, lo, hi, options from sync_task order by id')

async function connected(t: Test, engine: Engine, settings = {}): Promise<Simulated & { user: string }> {
  const { app, simulator } = await startSimulated(t, engine, { world: { people: 2, days: 40 }, ...settings })
  const user = await createUser(app)
  for (const provider of ['oura', 'whoop']) await connectPerson(app, { user, provider, person: 'ana' })
  // What the consent itself has queued.
  await app.db.query('delete from sync_task')
  return { app, simulator, user }
}

oneEngine(t, 'who cannot be asked, and why', async (t, engine) => {
  if (isOfOneProcess(t, REPLACES)) return
  const { app, user } = await connected(t, engine)
  // Nobody has registered there.
  ;(app.deps.oauth.clients as Map<string, unknown>).delete('withings')
  const stranger = await createUser(app)
  const set = (provider: string, to: string) =>
    app.db.query(`update connection set ${to} where user_id = $1 and provider = $2`, [user, provider])
  const ended = async (to: string) => {
    await set('oura', to)
    const { status, body } = await sync(app, user, 'oura')
    await set('oura', `status = 'active', status_reason = null`)
    return `${status} ${body.detail}`
  }
  const said = ({ status, body }: Awaited<ReturnType<typeof sync>>) =>
    `${status} ${typeof body.detail === 'string' ? body.detail : `${body.detail[0].loc.join('.')} ${body.detail[0].type}`}`
  const wrong: string[] = []
  const cases: [string, Promise<string>][] = []
  const expects = (expected: string, ...answers: (Promise<string> | ReturnType<typeof sync>)[]) => {
    for (const answer of answers)
      cases.push([expected, Promise.resolve(answer).then((one) => (typeof one === 'string' ? one : said(one)))])
  }
  expects('422 path.provider enum', sync(app, user, 'Oura'), history(app, user, 'unheard'))
  expects('422 path.user_id uuid_parsing', sync(app, 'ana', 'oura'))
  expects('422 query.data_type enum', sync(app, user, 'oura', '?data_type=sleep'))
  expects('422 query.limit less_than_equal', sync(app, user, 'oura', '?limit=101'))
  expects('422 query.days less_than_equal', history(app, user, 'oura', '?days=366'))
  expects('422 query.day extra_forbidden', history(app, user, 'oura', '?day=1'))
  expects(
    `404 User with ID: ${NOBODY} not found.`,
    ...[sync(app, NOBODY, 'oura'), sync(app, NOBODY, 'garmin'), history(app, NOBODY, 'apple')],
    workouts(app, NOBODY, 'samsung'),
  )
  expects(
    cloudProviders.has('garmin')
      ? `400 Provider 'garmin' does not support on-demand sync. Use /sync/historical.`
      : `400 Provider 'garmin' is not configured`,
    sync(app, user, 'garmin'),
    workouts(app, user, 'garmin'),
  )
  expects(`400 Provider 'internal' does not support OAuth`, sync(app, user, 'internal'))
  for (const sdk of ['apple', 'samsung', 'health_connect']) {
    expects(`501 Provider '${sdk}' does not support any requested data types`, sync(app, user, sdk))
    expects(
      `501 Provider '${sdk}' does not support workouts`,
      ...[sync(app, user, sdk, '?data_type=workouts'), workouts(app, user, sdk), workouts(app, user, sdk, '/1')],
    )
    expects(
      `501 Provider '${sdk}' does not support 247 data (sleep/recovery/activity)`,
      sync(app, user, sdk, '?data_type=247'),
    )
    expects(`400 Provider '${sdk}' does not support historical sync.`, history(app, user, sdk))
  }
  expects(
    `400 Provider 'withings' is not configured`,
    ...[sync(app, user, 'withings'), history(app, user, 'withings'), workouts(app, user, 'withings')],
  )
  expects('401 User not connected to garmin', history(app, user, 'garmin'), backfill(app, user, 'garmin'))
  expects(`400 Provider 'oura' does not send its past.`, backfill(app, user, 'oura'))
  expects(`400 Provider 'apple' does not send its past.`, backfill(app, user, 'apple'))
  expects(
    '401 User not connected to whoop',
    ...[sync(app, stranger, 'whoop'), history(app, stranger, 'whoop'), workouts(app, stranger, 'whoop')],
  )
  expects(
    '400 The range must end after it starts, and start in the past.',
    sync(app, user, 'oura', '?since=4102444800'),
    workouts(app, user, 'oura', '?summary_start_time=2026-02-02&summary_end_time=2026-02-01'),
  )
  expects(
    `400 Invalid datetime format: 'soon'. Expected ISO 8601 format or Unix timestamp.`,
    sync(app, user, 'oura', '?summary_start_time=soon'),
  )
  for (const [expected, answer] of cases) {
    const found = await answer
    if (found !== expected) wrong.push(`${found} instead of ${expected}`)
  }
  for (const [to, expected] of [
    [
      `status = 'expired', status_reason = 'refresh_failed'`,
      '401 Token expired and no refresh token available for oura',
    ],
    [`status = 'revoked', status_reason = 'refresh_failed'`, '401 Oura authorization expired. Please re-authorize.'],
    [`status = 'revoked', status_reason = 'user_disconnected'`, '401 User not connected to oura'],
  ] as const) {
    const found = await ended(to)
    if (found !== expected) wrong.push(`${found} instead of ${expected}`)
  }
  await app.request('PUT', '/api/v1/oauth/providers/oura', { auth: 'developer', body: { is_enabled: false } })
  const disabled = said(await sync(app, user, 'oura'))
  if (disabled !== `400 Provider 'oura' is disabled`) wrong.push(disabled)
  t.strictSame(wrong, [])
  t.strictSame(await tasksOf(app), [], 'nothing was queued')
})

oneEngine(t, 'a connector without streams, and a person who granted too little', async (t, engine) => {
  const provider = await startProvider(t, 'polar')
  const app = await startCloudApp(t, engine, [provider])
  const user = await createUser(app)
  const { body } = await authorize(app, provider, user)
  await callBack(app, provider.consent(body.authorization_url))
  const said = async (answer: ReturnType<typeof sync>) => `${(await answer).status} ${(await answer).body.detail}`
  t.equal(await said(sync(app, user, 'polar')), `501 Provider 'polar' does not support any requested data types`)
  t.equal(await said(history(app, user, 'polar')), `400 Provider 'polar' does not support historical sync.`)
  t.equal(await said(workouts(app, user, 'polar')), `501 Provider 'polar' does not support workouts`)

  const { app: other } = await startSimulated(t, engine, { world: { people: 1, days: 10 } })
  const ana = await createUser(other)
  await connectPerson(other, { user: ana, provider: 'oura', person: 'ana', more: { without: 'workout' } })
  t.equal(
    await said(sync(other, ana, 'oura', '?data_type=workouts')),
    '403 User has not granted access to this data of oura',
  )
})

oneEngine(t, 'a sync that is asked for', async (t, engine) => {
  const { app, user } = await connected(t, engine)
  const runOf = async (key: string) => (await app.request('GET', `/api/v1/sync/history/${key}`)).body

  await t.test('is a run with a report of each stream, which a second call returns', async (t) => {
    const before = Date.now()
    const { status, body } = await sync(app, user, 'whoop')
    t.strictSame(
      [status, body],
      [
        200,
        {
          ...{ success: true, async: true, task_id: body.task_id },
          message: 'Sync task queued for whoop. Check task status for results.',
        },
      ],
    )
    t.equal((await sync(app, user, 'whoop')).body.task_id, body.task_id)
    t.equal((await sync(app, user, 'whoop', '?data_type=workouts')).body.task_id, body.task_id, 'part of it')
    const others = ['?summary_start_time=2026-01-01&summary_end_time=2026-02-01', '?since=0', '?samples=true']
    // One after the other: the second goes back a year, and the first would be a part of it.
    const ids: string[] = []
    for (const query of others) ids.push((await sync(app, user, 'whoop', query)).body.task_id)
    t.equal(new Set([body.task_id, ...ids]).size, 4, 'another range, or other options, are another run')
    t.equal((await sync(app, user, 'whoop', others[0])).body.task_id, ids[0])
    await app.db.query('delete from sync_task where run_key = any ($1)', [ids])
    await app.db.query('delete from sync_run where run_key = any ($1)', [ids])
    const run = await runOf(body.task_id)
    t.match(run, { user_id: user, provider: 'whoop', source: 'pull', scope: 'live', status: 'in_progress' })
    t.ok(Math.abs(Date.parse(run.window_end) - before) < 60_000)
    t.equal(Date.parse(run.window_end) - Date.parse(run.window_start), 30 * DAY_MS)
    t.match(run.trace_id, /^[0-9a-f-]{36}$/, 'the id of the request')
    const streams = ['body', 'cycle', 'recovery', 'sleep', 'workout']
    t.strictSame(
      run.data_types.map(({ data_type, kind, status }: Record<string, string>) => `${kind} ${data_type} ${status}`),
      streams.map((stream) => `task ${stream} in_progress`),
    )
    const [summary] = (await app.request('GET', `/api/v1/users/${user}/sync/runs`)).body
    t.match(summary, { run_id: body.task_id, stage: 'queued', status: 'in_progress', progress: null, ended_at: null })
    const [event] = (await app.request('GET', `/api/v1/users/${user}/sync/recent`)).body
    t.match(event, { run_id: body.task_id, stage: 'queued', status: 'in_progress', primary_user_id: null })
  })

  await t.test('asks for what its parameters say', async (t) => {
    const asked = async (query: string) => {
      await app.db.query('delete from sync_task')
      await app.db.query('update sync_run set trace_id = null')
      const { status } = await sync(app, user, 'oura', query)
      if (status !== 200) return `${status}`
      const tasks = await tasksOf(app)
      const days = (at: string | undefined) => Math.round((Date.now() - Date.parse(at ?? '')) / DAY_MS)
      const spans = new Set(tasks.map(({ lo, hi }) => `${days(lo)} to ${days(hi)}`))
      return `${[...spans].join()}: ${tasks.map(({ stream }) => stream).join(' ')}`
    }
    const daily =
      'sleep daily_sleep daily_readiness daily_activity daily_stress daily_resilience daily_spo2 daily_cardiovascular_age vo2_max heartrate personal_info'
    const ago = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString()
    const since = (days: number) => Math.floor(Date.now() / 1000) - days * 86_400
    const wrong: string[] = []
    for (const [query, expected] of [
      ['', `30 to 0: workout ${daily}`],
      ['?data_type=all', `30 to 0: workout ${daily}`],
      ['?data_type=workouts', '30 to 0: workout'],
      ['?data_type=247', `30 to 0: ${daily}`],
      ['?data_type=workouts&since=0', '365 to 0: workout'],
      [`?data_type=workouts&since=${since(50)}`, '50 to 0: workout'],
      [`?data_type=workouts&summary_start_time=${ago(20)}&summary_end_time=${ago(10)}`, '20 to 10: workout'],
      [`?data_type=workouts&summary_end_time=${ago(10)}`, '40 to 10: workout'],
      [`?data_type=workouts&summary_start_time=${ago(3)}&summary_end_time=${ago(-3)}`, '3 to 0: workout'],
    ] as const) {
      const found = await asked(query)
      if (found !== expected) wrong.push(`${query}: ${found} instead of ${expected}`)
    }
    t.strictSame(wrong, [])
    await asked('?data_type=workouts&samples=true&route=true&limit=10&offset=20&filter_by_modification_time=false')
    t.strictSame((await tasksOf(app))[0]?.options, {
      ...{ limit: 10, offset: 20, filter_by_modification_time: false, samples: true, zones: false, route: true },
    })
  })

  await t.test('of the past is one at a time, and answers its range', async (t) => {
    await app.db.query('delete from sync_task')
    await app.db.query('update sync_run set trace_id = null')
    const { status, body } = await history(app, user, 'whoop', '?days=60')
    t.match([status, body], [200, { success: true, provider: 'whoop', user_id: user, method: 'pull_api', days: 60 }])
    t.equal(body.message, 'Historical sync queued for whoop.')
    t.equal(Date.parse(body.end_date) - Date.parse(body.start_date), 60 * DAY_MS)
    const again = (await history(app, user, 'whoop', '?days=10')).body
    t.strictSame(again, body, 'the running one')
    const wider = (await history(app, user, 'whoop', '?days=200')).body
    t.match(wider, { task_id: body.task_id, end_date: body.end_date, days: 200 }, 'which goes further back')
    t.strictSame(
      [
        ...new Set(
          (await tasksOf(app)).map(({ kind, lo }) => `${kind} ${Date.parse(lo) - Date.parse(wider.start_date)}`),
        ),
      ],
      ['history 0'],
    )
    // One that has ended goes on from where it did.
    await app.db.query(`update sync_run_report set status = 'success' where native_type = 'cycle' and run_key = $1`, [
      body.task_id,
    ])
    await app.db.query(`delete from sync_task where kind = 'history' and stream = 'cycle'`)
    const widest = (await history(app, user, 'whoop', '?days=300')).body
    const [cycle] = (await tasksOf(app)).filter(({ stream }) => stream === 'cycle')
    t.strictSame(
      [cycle?.lo, cycle?.hi].map((at) => Date.parse(at ?? '')),
      [widest, wider].map((one) => Date.parse(one.start_date)),
    )
    t.match((await runOf(body.task_id)).data_types, [{ data_type: 'cycle', status: 'in_progress' }])
    t.match(await runOf(body.task_id), {
      scope: 'historical',
      window_start: widest.start_date,
      window_end: body.end_date,
    })
    t.strictSame(
      new Set((await tasksOf(app)).map(({ kind, stream }) => `${kind} ${stream}`)),
      new Set([...['history workout', 'history sleep', 'history recovery', 'history cycle']]),
    )
    t.equal((await history(app, user, 'oura')).body.days, 90)
  })

  await t.test('more often than 8 times an hour is refused', async (t) => {
    await app.db.query('delete from sync_task')
    await app.db.query('update sync_run set trace_id = null')
    for (let asked = 0; asked < 8; asked += 1) {
      t.equal((await sync(app, user, asked % 2 ? 'oura' : 'whoop')).status, 200)
      t.equal((await sync(app, user, asked % 2 ? 'oura' : 'whoop')).status, 200, 'a running one does not count')
      await app.db.query('delete from sync_task')
    }
    await app.db.query(`update sync_run set started_at = started_at - interval '20 minutes' where trace_id is not null`)
    const refused = await Promise.all([sync(app, user, 'oura'), history(app, user, 'whoop')])
    for (const { status, body, headers } of refused) {
      t.equal(status, 429)
      t.match(body.detail, /^Too many attempts. Try again in \d+ seconds.$/)
      const after = Number(headers.get('retry-after'))
      t.ok(after > 39 * 60 && after <= 40 * 60, `${after}`)
    }
    t.strictSame(await tasksOf(app), [], 'and queues nothing')
    const other = await createUser(app)
    await connectPerson(app, { user: other, provider: 'oura', person: 'bikash' })
    t.equal((await sync(app, other, 'oura')).status, 200, 'of each user')
    await app.db.query(`update sync_run set started_at = started_at - interval '40 minutes' where trace_id is not null`)
    t.equal((await sync(app, user, 'oura')).status, 200, 'an hour later')
  })
})

oneEngine(t, 'workouts as the provider lists them', async (t, engine) => {
  const { app, simulator, user } = await connected(t, engine)
  const fault = (kind: string, more: object = {}) => simulator.control('POST', 'faults', { kind, times: 1, ...more })
  const said = ({ status, body }: Awaited<ReturnType<typeof workouts>>) => `${status} ${body.detail}`

  await t.test('are what the provider says, unchanged, and are not stored', async (t) => {
    for (const [provider, list] of [
      ['oura', 'data'],
      ['whoop', 'records'],
    ] as const) {
      const answer = await workouts(app, user, provider)
      t.equal(answer.status, 200)
      const [first] = answer.body[list]
      t.ok(first.id && answer.body[list].length > 3)
      const one = await workouts(app, user, provider, `/${first.id}`)
      t.strictSame([one.status, one.body], [200, first])
      const none = await workouts(app, user, provider, '?since=0&summary_end_time=2020-01-01')
      t.strictSame([none.status, none.body[list]], [200, []])
    }
    const { body } = await workouts(app, user, 'whoop', '?limit=2')
    t.equal(body.records.length, 2)
    const stored = await app.request(
      'GET',
      `/api/v1/users/${user}/events/workouts?start_date=2020-01-01&end_date=2030-01-01`,
    )
    t.strictSame(stored.body.data, [])
  })

  await t.test('or the error of the provider, with its status', async (t) => {
    const id = '/00000000-0000-4000-8000-000000000000'
    t.match(said(await workouts(app, user, 'oura', id)), /^404 Oura API error: .*not found/i)
    const wrong: string[] = []
    for (const [kind, more, expected] of [
      ['503', {}, /^503 Oura API error: .*Simulated 503/],
      ['400', {}, /^400 Oura API error: .*Simulated 400/],
      ['html', {}, /^500 Failed to fetch data from Oura: its answer is not JSON \(status 200\)$/],
      ['half', {}, /^500 Failed to fetch data from Oura: the connection ended in the middle of the answer$/],
      ['reset', {}, /^500 Failed to fetch data from Oura: the connection ended before the answer$/],
    ] as const) {
      await fault(kind, { provider: 'oura', path: 'workout', ...more })
      const found = said(await workouts(app, user, 'oura'))
      if (!expected.test(found)) wrong.push(`${kind}: ${found}`)
    }
    t.strictSame(wrong, [])
  })

  await t.test('and never of another path of the provider', async (t) => {
    for (const id of ['..', '%2e%2e', '..%2f..%2fv2%2fuser', '%2e%2e%2fsleep', '%3fnext']) {
      const { status } = await workouts(app, user, 'oura', `/${id}`)
      t.ok(status === 422 || status === 404, `${id} ${status}`)
    }
    const asked = await askedOf(simulator, 'oura')
    const elsewhere = asked.filter(
      (one) => !/(workout(\/[\w-]+)?|personal_info|oauth-token|oauth-authorize)$/.test(one),
    )
    t.strictSame(elsewhere, [])
  })

  await t.test('with a token that is replaced once when it is refused, and a refresh at most an hour', async (t) => {
    await simulator.control('POST', 'expire', { provider: 'oura' })
    t.equal((await workouts(app, user, 'oura')).status, 200)
    await simulator.control('POST', 'expire', { provider: 'oura' })
    t.equal(
      said(await workouts(app, user, 'oura')),
      '502 The access token of this connection was refused by Oura. The connection is active; a new token is tried within an hour.',
    )
    const refreshes = (await simulator.control('GET', 'log?provider=oura')).body
    const of = ({ grant_type }: { grant_type: string | null }) => grant_type === 'refresh_token'
    t.equal(refreshes.filter(of).length, 1)
  })

  await t.test('or 429 with the time to wait, when the provider takes no more requests', async (t) => {
    await fault('429', { provider: 'whoop', seconds: 17 })
    const refused = await workouts(app, user, 'whoop')
    t.match([refused.status, refused.headers.get('retry-after')], [429, '17'])
    const next = await workouts(app, user, 'whoop')
    t.equal(next.status, 429)
    const after = Number(next.headers.get('retry-after'))
    t.ok(after > 0 && after <= 17, `${after}`)
  })
})

oneEngine(t, 'a run of a provider is as its streams and uploads are', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const user = await createUser(app)
  const wrong: string[] = []
  const table: [reports: string[], run: object, uploads: string[], expected: string][] = [
    [['in_progress', 'in_progress'], {}, [], 'queued in_progress'],
    [['in_progress', 'success'], {}, [], 'fetching in_progress'],
    [['in_progress', 'in_progress'], { stage: 'fetching' }, [], 'fetching in_progress'],
    [['in_progress', 'in_progress'], { pending: 1 }, ['queued'], 'fetching in_progress'],
    [['success', 'success'], { pending: 1 }, ['queued'], 'processing in_progress'],
    [['success', 'success'], {}, [], 'completed success'],
    [['success', 'success'], { items_unchanged: 4 }, ['success'], 'completed success'],
    [['success', 'success'], { items_inserted: 4, items_rejected: 1 }, ['partial'], 'completed partial'],
    [['success', 'success'], {}, ['skipped'], 'completed skipped'],
    [['success', 'failed'], {}, [], 'completed partial b: not_permitted'],
    [['failed', 'failed'], {}, [], 'failed failed a: not_permitted; b: not_permitted'],
    [['failed', 'failed'], { items_updated: 1 }, ['success'], 'completed partial a: not_permitted; b: not_permitted'],
    [['success', 'success'], { failures: 1 }, ['failed'], 'failed failed'],
    [
      ['failed', 'failed'],
      { stage: 'cancelled', status: 'cancelled', items_inserted: 1 },
      ['success'],
      'cancelled cancelled a: not_permitted; b: not_permitted',
    ],
  ]
  for (const [index, [reports, run, uploads, expected]] of table.entries()) {
    const key = `pull_${index}`
    const columns = { run_key: key, user_id: user, provider: 'oura', source: 'pull', ...run }
    await app.db.query(
      `insert into sync_run (${Object.keys(columns)}) values (${Object.keys(columns).map((_, at) => `$${at + 1}`)})`,
      Object.values(columns),
    )
    for (const [at, status] of reports.entries())
      await app.db.query(
        `insert into sync_run_report (user_id, run_key, native_type, data_type, kind, status, error_code, reported_at)
         values ($1, $2, $3, $3, 'task', $4, $5, now())`,
        [user, key, 'ab'[at] ?? '', status, status === 'failed' ? 'not_permitted' : null],
      )
    for (const [at, status] of uploads.entries()) {
      const sha256 = Buffer.from(`${key} ${at}`)
      await app.db.query(`insert into upload_body values ($1, $2, '', 0)`, [user, sha256])
      await app.db.query(
        `insert into upload (user_id, provider, sha256, run_key, status) values ($1, 'oura', $2, $3, $4)`,
        [user, sha256, key, status],
      )
    }
    const { found } = await app.db.one<{ found: string }>(
      `select concat_ws(' ', stage, status, error) as found from settle_run($1, $2, null)`,
      [user, key],
    )
    if (found !== expected) wrong.push(`${index}: ${found} instead of ${expected}`)
  }
  t.strictSame(wrong, [])
  await app.db.query(`update sync_run set updated_at = now() - interval '25 hours'`)
  await closeSilentRuns(app.db)
  const open = await app.db.query<{ run_key: string }>(
    `select run_key from sync_run where status = 'in_progress' order by 1`,
  )
  t.strictSame(
    open.map(({ run_key }) => run_key),
    ['pull_0', 'pull_1', 'pull_2', 'pull_3', 'pull_4'],
    'and stays open while something is to be asked or imported',
  )
})
