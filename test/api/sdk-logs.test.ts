// Phones' reports about their exports, and the resulting sync history (contract 9.2, sdk-payload 11).
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { closeSilentRuns } from '../../server/intake/uploads/silent-runs.ts'
import { startTestApp, type TestApp, type TestRequest } from '../support/app.ts'
import {
  body,
  createUser,
  heartRate,
  importBody,
  oneEngine,
  record,
  startImports,
  upload,
  waitForAll,
} from '../support/sdk.ts'

const NOON = Date.UTC(2026, 1, 24, 12)
const HEART_RATE = 'HKQuantityTypeIdentifierHeartRate'
const SLEEP = 'HKCategoryTypeIdentifierSleepAnalysis'
const WORKOUT = 'HKWorkoutTypeIdentifier'
const UNKNOWN = '00000000-0000-4000-8000-000000000000'
const sample = JSON.parse(await readFile(new URL('../samples/sdk-logs-request.json', import.meta.url), 'utf8'))

const sendLog = (app: TestApp, user: string, log: unknown, options: TestRequest = {}) =>
  app.request('POST', `/api/v1/sdk/users/${user}/logs`, { body: log, ...options })
/** The session of the only export of a user. */
const session = (user: string) => `of ${user}`
const log = (user: string, events: unknown, fields: object = {}) => ({
  sdkVersion: '0.15.0',
  provider: 'apple',
  syncSessionId: session(user),
  events,
  ...fields,
})
const at = (second: number) => `2026-02-24T12:00:${String(second).padStart(2, '0')}Z`
const start = (second: number, types: Record<string, number | undefined>, fields: object = {}) => ({
  eventType: 'historical_data_sync_start',
  timestamp: at(second),
  dataTypeCounts: Object.entries(types).map(([type, count]) => ({ type, count })),
  ...fields,
})
const end = (second: number, dataType: string, success: boolean, fields: object = {}) => ({
  eventType: 'historical_data_type_sync_end',
  timestamp: at(second),
  dataType,
  success,
  ...fields,
})
const historical = (user: string) => ({ syncSessionId: session(user), syncType: 'historical' })

const summary = async (app: TestApp, user: string) => (await app.request('GET', `/api/v1/users/${user}/sync/runs`)).body
const detail = async (app: TestApp, user: string, run = `sdk_${session(user)}_${user}`) =>
  (await app.request('GET', `/api/v1/sync/history/${encodeURIComponent(run)}`)).body
const recent = async (app: TestApp, user: string) =>
  (await app.request('GET', `/api/v1/users/${user}/sync/recent?limit=200`)).body

oneEngine(t, 'logs of phones', async (t, engine) => {
  const app = await startTestApp(t, engine)

  await t.test('the log of a real phone is stored, with a count missing and a battery of -1', async (t) => {
    const user = await createUser(app)
    const answer = await sendLog(app, user, sample)
    const runKey = `sdk_${sample.syncSessionId}_${user}`
    t.equal(answer.status, 202)
    t.strictSame(answer.body, {
      status_code: 202,
      response: 'Log events stored successfully',
      user_id: user,
      dropped_count: 0,
      records_saved: 0,
      records_inserted: 0,
      records_updated: 0,
      types: [],
      workouts_saved: 0,
      meals_saved: 0,
      sleep_saved: 0,
      run_id: runKey,
    })
    const run = await detail(app, user, runKey)
    t.match(run, { user_id: user, provider: 'apple', source: 'sdk', scope: 'historical', status: 'in_progress' })
    t.equal(run.ended_at, null, 'the workouts have not ended')
    const type = { items_inserted: 0, items_updated: 0, covered_start: null, covered_end: null, attempt: 1 }
    t.strictSame(run.data_types, [
      {
        ...type,
        data_type: 'heart_rate',
        kind: 'series',
        status: 'success',
        native_type: HEART_RATE,
        reported_records: 412_331,
        error_code: null,
        error: null,
      },
      {
        ...type,
        data_type: 'sleep',
        kind: 'event',
        status: 'failed',
        native_type: SLEEP,
        reported_records: 2000,
        error_code: 'network',
        error: 'timeout',
      },
      {
        ...type,
        data_type: 'workout',
        kind: 'event',
        status: 'in_progress',
        native_type: WORKOUT,
        reported_records: null,
        error_code: null,
        error: null,
      },
    ])
    const events = (await recent(app, user)).reverse()
    t.match(events, [
      { run_id: runKey, stage: 'started', status: 'in_progress', message: 'Export of 3 data types announced' },
      { metadata: { event_type: 'device_state', battery_level: null, thermal_state: 'nominal' } },
      { stage: 'fetching', message: `${HEART_RATE}: sent, 412331 records`, metadata: { duration_ms: 1_991_000 } },
      { stage: 'fetching', status: 'in_progress', error: 'timeout', metadata: { error_code: 'network' } },
    ])
    t.equal(events[0].metadata.logged_at, '2025-05-06T14:58:00Z')
    t.match(await summary(app, user), [{ run_id: runKey, stage: 'fetching', status: 'in_progress', progress: null }])
  })

  await t.test('a log that is sent again, even at the same time, changes nothing', async (t) => {
    const user = await createUser(app)
    const shown = async () =>
      JSON.stringify([await recent(app, user), await summary(app, user), await detail(app, user)])
    const whole = log(user, [start(0, { [HEART_RATE]: 5 }), end(1, HEART_RATE, true)])
    const answers = await Promise.all(Array.from({ length: 4 }, () => sendLog(app, user, whole)))
    t.ok(answers.every(({ status }) => status === 202))
    t.equal((await recent(app, user)).length, 2)
    const before = await shown()
    t.equal((await sendLog(app, user, whole)).status, 202)
    t.equal((await sendLog(app, user, log(user, [start(0, { [HEART_RATE]: 5 })]))).status, 202)
    t.equal(await shown(), before, 'a finished run is not opened again by its own start')
  })

  await t.test('an order other than that of the events does no harm', async (t) => {
    const user = await createUser(app)
    await sendLog(app, user, log(user, [end(5, HEART_RATE, true, { recordCount: 7 })]))
    await sendLog(app, user, log(user, [start(0, { [HEART_RATE]: 5 })]))
    const run = await detail(app, user)
    t.match(run, { status: 'success', data_types: [{ status: 'success', reported_records: 7, attempt: 1 }] })
    await sendLog(app, user, log(user, [start(9, { [HEART_RATE]: 3 })]))
    const again = await detail(app, user)
    t.match(again, { status: 'in_progress', ended_at: null })
    t.match(again.data_types, [{ status: 'in_progress', reported_records: 3, attempt: 2 }], 'a new attempt')
  })

  await t.test('one bad event does not cost the others', async (t) => {
    const user = await createUser(app)
    const events = [
      null,
      'text',
      [],
      {},
      { eventType: 'toString' },
      { eventType: 'something_new', timestamp: at(0) },
      { eventType: 'historical_data_type_sync_end', success: true },
      { eventType: 'historical_data_type_sync_end', dataType: SLEEP },
      { eventType: 'device_state', timestamp: 'yesterday', batteryLevel: 'full', totalRamBytes: 1e300 },
      start(0, {}, { dataTypeCounts: [null, 7, { type: 5 }, { type: HEART_RATE, count: -1 }, { type: '__proto__' }] }),
      end(1, HEART_RATE, true, { recordCount: 'many', timeRange: 'all', heartRate: 4711 }),
    ]
    const answer = await sendLog(app, user, log(user, events))
    t.match(answer, { status: 202, body: { dropped_count: 8 } })
    const stored = await recent(app, user)
    t.equal(stored.length, 3)
    t.notMatch(JSON.stringify(stored), '4711', 'only known fields are kept')
    t.match((await detail(app, user)).data_types, [
      { native_type: '__proto__', status: 'in_progress' },
      { native_type: HEART_RATE, reported_records: null, status: 'success' },
    ])

    const nothing = await createUser(app)
    t.match(await sendLog(app, nothing, log(nothing, [{}])), { status: 202, body: { dropped_count: 1, run_id: null } })
    t.strictSame(await summary(app, nothing), [])
  })

  await t.test('long texts are cut, and NUL and lone surrogates are harmless', async (t) => {
    const user = await createUser(app)
    const long = `a\0\ud800${'b'.repeat(5000)}`
    const sent = await sendLog(app, user, log(user, [end(0, long, false, { errorCode: long, errorMessage: long })]))
    t.equal(sent.status, 202)
    const [type] = (await detail(app, user)).data_types
    t.strictSame([type.native_type.length, type.error_code.length, type.error.length], [200, 100, 500])
  })

  await t.test('what is no log at all is refused', async (t) => {
    const user = await createUser(app)
    const one = start(0, {})
    const refused = async (body: unknown, loc: unknown[], type: string) => {
      const answer = await sendLog(app, user, body)
      t.equal(answer.status, 422)
      t.match(answer.body.detail, [{ loc, type }])
    }
    await refused(log(user, []), ['body', 'events'], 'too_short')
    await refused(log(user, Array(101).fill(one)), ['body', 'events'], 'too_long')
    await refused({ sdkVersion: '1' }, ['body', 'events'], 'missing')
    await refused({ events: [one] }, ['body', 'sdkVersion'], 'missing')
    await refused(log(user, 'x'), ['body', 'events'], 'list_type')
    const detail = 'Unsupported provider: fitbit. Supported: apple, health_connect, samsung'
    t.match(await sendLog(app, user, log(user, [one], { provider: 'fitbit' })), { status: 400, body: { detail } })
    t.equal((await sendLog(app, user, log(user, [one], { pad: 'x'.repeat(1024 * 1024) }))).status, 413)
    t.equal((await sendLog(app, UNKNOWN, log(user, [one]))).body.detail, `User with ID: ${UNKNOWN} not found.`)
    t.equal((await sendLog(app, user, log(user, [one]), { auth: 'none' })).status, 401)
    const other = { bearer: await app.sdkToken(await createUser(app)) }
    t.match(await sendLog(app, user, log(user, [one]), { auth: other }), { status: 403 })
    t.strictSame(await summary(app, user), [])
    const own = { bearer: await app.sdkToken(user) }
    t.equal((await sendLog(app, user, log(user, Array(100).fill(one)), { auth: own })).status, 202)
  })

  await t.test('without a session, the logs of a day are a run', async (t) => {
    const user = await createUser(app)
    const without = { syncSessionId: null, provider: null }
    t.match(await sendLog(app, user, log(user, [start(0, { [HEART_RATE]: 1 })], without)), {
      body: { run_id: `sdk_log_unknown_2026-02-24_${user}` },
    })
    await sendLog(app, user, log(user, [end(1, HEART_RATE, true)], without))
    const run = await detail(app, user, `sdk_log_unknown_2026-02-24_${user}`)
    t.match(run, { status: 'success', provider: 'unknown', data_types: [{ data_type: HEART_RATE, kind: 'native' }] })
    const state = { eventType: 'device_state', timestamp: '2026-02-25T12:00:00Z', batteryLevel: 0.5 }
    await sendLog(app, user, log(user, [state], { syncSessionId: '', provider: 'GOOGLE' }))
    t.match(await summary(app, user), [
      { run_id: `sdk_log_health_connect_2026-02-25_${user}`, status: 'success', stage: 'completed' },
      { run_id: `sdk_log_unknown_2026-02-24_${user}` },
    ])
  })

  await t.test('a silent run does not stay open for ever', async (t) => {
    const user = await createUser(app)
    await sendLog(app, user, log(user, [start(0, { [HEART_RATE]: 1 })]))
    const makeSilent = () =>
      app.db.query(`update sync_run set updated_at = now() - interval '25 hours' where user_id = $1`, [user])
    await closeSilentRuns(app.db)
    t.match(await summary(app, user), [{ status: 'in_progress' }], 'not before 24 hours')
    await makeSilent()
    await closeSilentRuns(app.db)
    t.match(await summary(app, user), [{ status: 'stale', stage: 'cancelled', ended_at: /Z$/ }])
    const [event] = await recent(app, user)
    t.match(event, { status: 'stale', message: 'Nothing was heard for 24 hours' })
    await sendLog(app, user, log(user, [end(1, HEART_RATE, true)]))
    t.match(await summary(app, user), [{ status: 'success', stage: 'completed' }], 'what comes later counts')
    await upload(app, user, body([heartRate(NOON, 60)], historical(user)))
    await makeSilent()
    await closeSilentRuns(app.db)
    t.match(await summary(app, user), [{ status: 'in_progress', stage: 'queued' }], 'an upload waits')
  })

  await startImports(t, app)

  await t.test('an export of which all that came is imported is not at its end', async (t) => {
    const user = await createUser(app)
    await sendLog(app, user, log(user, [start(0, { [HEART_RATE]: undefined })]))
    await importBody(app, user, body([heartRate(NOON, 60)], historical(user)))
    const [event] = await recent(app, user)
    t.match(event, { status: 'in_progress', items_processed: 1, items_total: 1, progress: null })
    t.match(await summary(app, user), [{ status: 'in_progress', progress: null }])
    await sendLog(app, user, log(user, [end(1, HEART_RATE, true, { recordCount: 1 })]))
    t.match(await summary(app, user), [{ status: 'success', progress: 1 }])
  })

  await t.test('an export is in progress from its first log until all types and all uploads are done', async (t) => {
    const user = await createUser(app)
    const state = async () => {
      const [run, ...others] = await summary(app, user)
      t.equal(others.length, 0, 'one run')
      return [run.stage, run.status, run.ended_at === null]
    }
    const range = { timeRange: { startDate: '2026-01-01T00:00:00Z', endDate: '2026-02-24T00:00:00Z' } }
    // The log may lack a provider: the first upload names it.
    await sendLog(app, user, log(user, [start(0, { [HEART_RATE]: 2, [SLEEP]: 9 }, range)], { provider: null }))
    t.strictSame(await state(), ['fetching', 'in_progress', true])
    const records = [heartRate(NOON, 60), heartRate(NOON + 1000, 61)]
    t.match(await importBody(app, user, body(records, historical(user))), {
      status: 'success',
      run_id: `sdk_${session(user)}_${user}`,
    })
    t.strictSame(await state(), ['fetching', 'in_progress', true], 'imported, but the phone has more')
    await sendLog(app, user, log(user, [end(1, HEART_RATE, true, { recordCount: 2 })]))
    t.strictSame(await state(), ['fetching', 'in_progress', true])
    await sendLog(app, user, log(user, [end(2, SLEEP, false)]))
    t.strictSame(await state(), ['completed', 'unfinished', false], 'false without a code: it goes on later')
    await sendLog(app, user, log(user, [end(3, SLEEP, true, { recordCount: 9 })]))
    t.strictSame(await state(), ['completed', 'success', false])
    const run = await detail(app, user)
    t.match(run, { provider: 'apple', items_inserted: 2, window_start: '2026-01-01T00:00:00Z' })
    t.match(run.data_types, [
      { data_type: 'heart_rate', native_type: HEART_RATE, reported_records: 2, items_inserted: 2 },
      { data_type: 'sleep', native_type: SLEEP, reported_records: 9, items_inserted: 0 },
    ])
    await importBody(app, user, body([record('x', NOON, 1)], historical(user)))
    t.strictSame(await state(), ['completed', 'success', false])
  })

  await t.test('types that ended do not finish a run whose uploads wait', async (t) => {
    const user = await createUser(app)
    const held = await app.db.pool.connect()
    try {
      await held.query(`select pg_advisory_lock(hashtextextended('ingest:' || $1::text, 0))`, [user])
      await upload(app, user, body([heartRate(NOON, 60)], historical(user)))
      await sendLog(app, user, log(user, [start(0, { [HEART_RATE]: 1 }), end(1, HEART_RATE, true, { recordCount: 1 })]))
      t.match(await summary(app, user), [{ status: 'in_progress', stage: 'processing', ended_at: null }])
    } finally {
      held.release(true)
    }
    await waitForAll(app, user)
    t.match(await summary(app, user), [{ status: 'success', stage: 'completed', progress: 1 }])
    t.match((await detail(app, user)).data_types, [
      { data_type: 'heart_rate', native_type: HEART_RATE, reported_records: 1, items_inserted: 1, status: 'success' },
    ])
  })

  await t.test('platform types that become one series are shown as one', async (t) => {
    const user = await createUser(app)
    const samsung = { provider: 'samsung' }
    const types: [string, string] = ['BODY_TEMPERATURE', 'BASAL_BODY_TEMPERATURE']
    await sendLog(app, user, log(user, [start(0, { [types[0]]: 3, [types[1]]: 4 }), end(1, types[0], true)], samsung))
    const run = await detail(app, user)
    t.match(run.data_types, [
      { kind: 'series', native_type: [...types].sort().join(', '), reported_records: 7, status: 'in_progress' },
    ])
  })
})
