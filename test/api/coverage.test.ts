// Why one day has data, and another has none.
import t from 'tap'
import { archive } from '../../server/rollups/archive.ts'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import {
  body,
  createUser,
  eachEngine,
  heartRate,
  importBody,
  oneEngine,
  PHONE,
  record,
  startImports,
  steps,
  storedSamples,
  upload,
} from '../support/sdk.ts'
import { sleepBody, stage } from '../support/sleep.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
/** A past day, so that no sample of it lies in the future. */
const MONDAY = Date.UTC(2026, 1, 23)
const TUESDAY = MONDAY + DAY_MS
const day = (ms: number) => new Date(ms).toISOString().slice(0, 10)
const today = () => day(Date.now())

interface Day {
  day: string
  provider: string
  type: string
  received: number
  stored: number
  rejected: number
  reasons: { reason: string; items: number }[]
  last_upload_at: string | null
}

const ask = (app: TestApp, user: string, query: string) => app.request('GET', `/api/v1/users/${user}/coverage?${query}`)
const daysOf = async (app: TestApp, user: string, first: number, last = first): Promise<Day[]> =>
  (await ask(app, user, `start_date=${day(first)}&end_date=${day(last)}`)).body.days
const short = (days: Day[]) => days.map((one) => `${one.day.slice(8)} ${one.type} ${one.received} ${one.stored}`)
/** The reasons why each day, by type, has stored less than it received. */
const why = (days: Day[]) =>
  days.map(({ reasons, ...one }) =>
    [one.day.slice(8), one.type, one.rejected, ...reasons.map(({ reason, items }) => `${reason}:${items}`)].join(' '),
  )
/** Received since yesterday, by the server's clock. */
const arrivalsOf = async (app: TestApp, user: string) =>
  (await ask(app, user, `start_date=${day(Date.now() - DAY_MS)}&end_date=${today()}`)).body.arrivals

oneEngine(t, 'coverage', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)

  await t.test('each day tells what came and what is stored', async (t) => {
    const user = await createUser(app)
    t.strictSame((await ask(app, user, `start_date=${day(MONDAY)}&end_date=${day(TUESDAY)}`)).body, {
      days: [],
      arrivals: [],
    })
    const rates = [MONDAY, MONDAY + HOUR_MS, TUESDAY - 1000, TUESDAY, TUESDAY + 1000].map((ms, n) =>
      heartRate(ms, 60 + n),
    )
    await importBody(app, user, body([...rates, steps(TUESDAY, 10), steps(TUESDAY, 12, { source: PHONE })]))
    const both = await daysOf(app, user, MONDAY, TUESDAY)
    t.strictSame(short(both), ['23 heart_rate 3 3', '24 heart_rate 2 2', '24 steps 2 2'])
    const { body: batches } = await app.request('GET', `/api/v1/sdk/users/${user}/sync/batches`)
    for (const one of both) t.match(one, { provider: 'apple', last_upload_at: batches[0].received_at })

    // The same upload again, with one changed value, and something new on one day.
    await importBody(app, user, body([...rates.slice(1), heartRate(MONDAY, 70), heartRate(MONDAY + 1000, 71)]))
    t.strictSame(short(await daysOf(app, user, MONDAY)), ['23 heart_rate 7 4'])
    await refreshRollups(app.db)
    t.strictSame(short(await daysOf(app, user, MONDAY, TUESDAY)), [
      '23 heart_rate 7 4',
      '24 heart_rate 4 2',
      '24 steps 2 2',
    ])
    const [monday] = await daysOf(app, user, MONDAY)
    t.ok(String(monday?.last_upload_at) > String(both[0]?.last_upload_at))

    const other = await createUser(app)
    t.strictSame(await daysOf(app, other, MONDAY), [], 'of another user, nothing')
    await importBody(
      app,
      user,
      body([heartRate(MONDAY, 60, { type: 'HEART_RATE' })], { provider: 'samsung', syncSessionId: 'x' }),
    )
    t.strictSame(
      (await daysOf(app, user, MONDAY)).map(({ provider, received }) => `${provider} ${received}`),
      ['apple 7', 'samsung 1'],
    )
    await app.request('DELETE', `/api/v1/users/${user}/connections/samsung/data`)
    t.equal((await daysOf(app, user, MONDAY)).length, 1, 'what is purged is gone from here as well')
  })

  await t.test('sleep counts as well', async (t) => {
    const user = await createUser(app)
    const night = MONDAY + 22 * HOUR_MS
    const stages = [
      stage('light', night, night + HOUR_MS),
      stage('deep', night + HOUR_MS, night + 2 * HOUR_MS),
      stage('rem', night + 2 * HOUR_MS, night + 4 * HOUR_MS),
    ]
    await importBody(app, user, sleepBody([...stages, stage('unknown', night, night + HOUR_MS)]))
    t.strictSame(short(await daysOf(app, user, MONDAY, TUESDAY)), ['23 sleep 2 1', '24 sleep 1 0'])
    const [arrived] = await arrivalsOf(app, user)
    t.strictSame(arrived.unstored, [{ collection: 'sleep', type: 'unknown', reason: 'ignored_type', items: 1 }])
  })

  await t.test('what is not stored is told by the day it came, with its type and reason', async (t) => {
    const user = await createUser(app)
    const RATE = 'HKQuantityTypeIdentifierHeartRate'
    await importBody(
      app,
      user,
      body([
        heartRate(MONDAY, 60),
        heartRate(MONDAY, null),
        heartRate(MONDAY, undefined),
        heartRate(MONDAY, 'x'),
        record('HKCategoryTypeIdentifierNew', MONDAY, 1),
        record('HKCategoryTypeIdentifierNew', TUESDAY, 1),
        { type: 7 },
        'no record',
        heartRate(0, 60, { startDate: '1970-01-01T00:00:00Z' }),
      ]),
    )
    await importBody(app, user, body([heartRate(MONDAY, null)]))
    await importBody(app, user, body([], { data: { records: {} } }))
    const [arrived, ...more] = await arrivalsOf(app, user)
    t.strictSame(more, [])
    t.match(arrived, {
      day: today(),
      provider: 'apple',
      uploads: 3,
      queued: 0,
      failed: 2,
      received: 11,
      ignored: 3,
      rejected: 7,
      deleted: 0,
    })
    t.strictSame(arrived.unstored, [
      { collection: 'records', type: RATE, reason: 'missing', items: 3 },
      { collection: 'records', type: 'HKCategoryTypeIdentifierNew', reason: 'ignored_type', items: 2 },
      { collection: 'records', type: RATE, reason: 'float_parsing', items: 1 },
      { collection: 'records', type: RATE, reason: 'implausible_timestamp', items: 1 },
      { collection: 'records', type: null, reason: 'dict_type', items: 1 },
      { collection: 'records', type: null, reason: 'ignored_type', items: 1 },
      { collection: 'records', type: null, reason: 'list_type', items: 1 },
    ])
    const days = await daysOf(app, user, MONDAY, TUESDAY)
    t.strictSame(short(days), ['23 heart_rate 5 1'])
    t.strictSame(
      why(days),
      ['23 heart_rate 4 missing:3 float_parsing:1'],
      'and by the day it was of, where that is known',
    )

    const many = await createUser(app)
    await importBody(app, many, body(Array.from({ length: 500 }, (_, n) => record(`type ${n}`, MONDAY, 1))))
    const further = Array.from({ length: 60 }, (_, n) => record(`type ${500 + (n % 50)}`, MONDAY, 1))
    await importBody(app, many, body(further))
    const [counted] = await arrivalsOf(app, many)
    const twice = Array.from({ length: 10 }, (_, n) => [`type ${500 + n}`, 2])
    t.strictSame(
      counted.unstored.slice(0, 11).map(({ type, items }: Record<string, unknown>) => [type, items]),
      [[null, 530], ...twice],
      'the most frequent types of the day are listed',
    )
    t.equal(counted.unstored.length, 21, 'and no more than twenty')
  })

  await t.test('a day of which nothing could be stored says why', async (t) => {
    const user = await createUser(app)
    const at = (ms: number) => new Date(ms).toISOString()
    const span = { startDate: at(MONDAY + HOUR_MS), endDate: at(MONDAY + 2 * HOUR_MS) }
    await importBody(
      app,
      user,
      body([], {
        data: {
          records: [
            steps(MONDAY, 'many'),
            steps(MONDAY, 10, { endDate: 'later' }),
            steps(MONDAY, '', { zoneOffset: '+99:00' }),
            steps(TUESDAY, null),
            record('HKQuantityTypeIdentifierDietaryProtein', MONDAY, 'x', { parentId: 'lunch' }),
            record('HKCategoryTypeIdentifierMenstrualFlow', MONDAY, 77),
            // The day or the type of these is unknown.
            steps(MONDAY, 10, { startDate: 'today' }),
            steps(Date.UTC(1970, 0, 1), 10),
            record('HKQuantityTypeIdentifierX', MONDAY, 'x'),
            'no record',
          ],
          sleep: [{ ...stage('deep', MONDAY, MONDAY + HOUR_MS), endDate: at(MONDAY - HOUR_MS) }],
          workouts: [{ id: 'w', type: 'running', startDate: span.endDate, endDate: span.startDate }],
          deleted: [{ startDate: span.startDate }],
        },
      }),
    )
    const days = await daysOf(app, user, MONDAY, TUESDAY)
    t.strictSame(why(days), [
      '23 meal_nutrient 1 float_parsing:1',
      '23 menstrual_cycle 1 enum:1',
      '23 sleep 1 end_before_start:1',
      '23 steps 3 float_parsing:2 datetime_parsing:1',
      '23 workout 1 end_before_start:1',
      '24 steps 1 missing:1',
    ])
    for (const one of days) t.match(one, { received: one.rejected, stored: 0, last_upload_at: /^20/ })
    t.match(await arrivalsOf(app, user), [{ received: 13, ignored: 1, rejected: 12 }])

    await importBody(app, user, body([steps(MONDAY, 'many'), steps(MONDAY, 10)]))
    const [later] = (await daysOf(app, user, MONDAY)).filter(({ type }) => type === 'steps')
    t.match(later, { received: 5, stored: 1, rejected: 4 })
    t.strictSame(later?.reasons[0], { reason: 'float_parsing', items: 3 }, 'the most frequent first')
  })

  await t.test('the range is by whole days of UTC', async (t) => {
    const user = await createUser(app)
    await importBody(app, user, body([heartRate(MONDAY + HOUR_MS, 60), heartRate(TUESDAY + HOUR_MS, 60)]))
    const found = async (start: string, end: string) =>
      (await ask(app, user, new URLSearchParams({ start_date: start, end_date: end }).toString())).body.days.length
    t.equal(await found('2026-02-23T23:00:00Z', '2026-02-24T00:00:00Z'), 1)
    t.equal(await found('2026-02-23T23:00:00Z', '2026-02-24T00:00:01Z'), 2)
    t.equal(await found('2026-02-24', '2026-02-24'), 1)
    t.equal(await found('2026-02-24', '2026-02-23'), 0)
    t.equal(await found('2025-02-24', '2026-02-24'), 2, '366 days')
    const long = await ask(app, user, 'start_date=2025-02-23&end_date=2026-02-24')
    t.equal(long.status, 400)
    t.strictSame(long.body, { detail: 'The range may have at most 366 days.' })
    t.equal((await ask(app, user, 'start_date=9999-12-01&end_date=9999-12-31')).status, 200)
    t.equal((await ask(app, user, 'start_date=0001-01-01&end_date=0001-02-01')).status, 200)
    const bad = await ask(app, user, 'start_date=yesterday&end_date=2026-02-24')
    t.equal(bad.status, 400)
    t.match(bad.body.detail, /^Invalid datetime format: 'yesterday'/)
    t.equal((await ask(app, user, 'start_date=2026-02-24')).body.detail[0].msg, 'Field required')
    t.equal((await ask(app, user, 'start_date=2026-02-24&end_date=2026-02-24&type=steps')).status, 422)
    const nobody = '00000000-0000-4000-8000-000000000000'
    for (const query of ['start_date=2026-02-24&end_date=2026-02-24', 'start_date=2026-02-24&end_date=2026-02-01']) {
      const unknown = await ask(app, nobody, query)
      t.equal(unknown.status, 404)
      t.strictSame(unknown.body, { detail: `User with ID: ${nobody} not found.` })
    }
    const path = `/api/v1/users/${user}/coverage?start_date=2026-02-24&end_date=2026-02-24`
    t.equal((await app.request('GET', path, { auth: 'developer' })).status, 200)
    t.equal((await app.request('GET', path, { auth: 'none' })).status, 401)
  })
})

eachEngine(t, 'a day whose samples went says that they came', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const user = await createUser(app)
  await importBody(app, user, body([heartRate(MONDAY, 60, { id: 'a' }), heartRate(MONDAY + 1000, 61, { id: 'b' })]))
  await importBody(app, user, body([], { data: { deleted: [{ id: 'a', type: 'HKQuantityTypeIdentifierHeartRate' }] } }))
  t.equal((await storedSamples(app.db, user)).length, 1)
  t.strictSame(short(await daysOf(app, user, MONDAY)), ['23 heart_rate 2 1'])
  t.match(await arrivalsOf(app, user), [{ uploads: 2, deleted: 1 }])

  // Archived data counts as stored; data that arrives too late for that does not.
  const old = Date.now() - 200 * DAY_MS
  await importBody(app, user, body([heartRate(old, 60)]))
  await app.request('PUT', '/api/v1/settings/archival', { auth: 'developer', body: { archive_after_days: 60 } })
  while (await archive(app.db, Date.now(), () => {}));
  t.strictSame(
    (await daysOf(app, user, old)).map(({ received, stored }) => [received, stored]),
    [[1, 1]],
  )
  await importBody(app, user, body([heartRate(old + 1, 61)]))
  t.match(await daysOf(app, user, old), [
    { received: 2, stored: 1, rejected: 1, reasons: [{ reason: 'archived', items: 1 }] },
  ])
  const [arrived] = await arrivalsOf(app, user)
  t.strictSame(arrived.unstored, [{ collection: 'records', type: null, reason: 'archived', items: 1 }])
})

oneEngine(t, 'an upload that waits is told, and one that is imported again counts once', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const user = await createUser(app)
  const answer = await upload(app, user, body([heartRate(MONDAY, 60), heartRate(MONDAY, null)]))
  t.match(await arrivalsOf(app, user), [{ uploads: 1, queued: 1, received: 2, rejected: 0 }])
  t.strictSame(await daysOf(app, user, MONDAY), [])
  const jobs = await startImports(t, app)
  await importBody(app, user, body([steps(MONDAY, 10)]))
  const before = await ask(app, user, `start_date=${day(MONDAY)}&end_date=${today()}`)
  t.strictSame(short(before.body.days), ['23 heart_rate 2 1', '23 steps 1 1'])
  t.match(before.body.arrivals, [{ uploads: 2, queued: 0, received: 3, rejected: 1 }])

  await jobs.stop()
  const { batch_id: again } = await app.db.one<{ batch_id: string }>('select batch_id from replay_upload($1)', [
    answer.body.batch_id,
  ])
  t.strictSame((await ask(app, user, `start_date=${day(MONDAY)}&end_date=${today()}`)).body, before.body)
  await startImports(t, app)
  await importBody(app, user, body([steps(TUESDAY, 10)]))
  t.equal((await app.request('GET', `/api/v1/sdk/users/${user}/sync/batches/${again}`)).body.status, 'partial')
  t.strictSame(await daysOf(app, user, MONDAY), before.body.days)
  t.match(await arrivalsOf(app, user), [{ uploads: 3, queued: 0, received: 4, rejected: 1 }])
})

eachEngine(t, 'a day of the person begins at their own midnight', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const user = await createUser(app)
  const local = async (first: number, last = first) =>
    (await ask(app, user, `start_date=${day(first)}&end_date=${day(last)}&days=local`)).body
  const NEW_YORK = { zoneOffset: '-05:00' }
  const BERLIN = { zoneOffset: '+01:00' }
  // Monday, 22:00 in New York is Tuesday in UTC; 00:30 in Berlin is the day before in UTC.
  const evening = MONDAY + 27 * HOUR_MS
  const midnight = MONDAY + 23.5 * HOUR_MS
  const records = [
    heartRate(evening, 60, NEW_YORK),
    heartRate(evening + 1000, 61, NEW_YORK),
    heartRate(evening, 'x', NEW_YORK),
    heartRate(midnight + 5 * DAY_MS, 62, BERLIN),
    // It takes the zone of its neighbour, also if it cannot be stored.
    steps(evening + 60_000, 5),
    steps(evening + 60_000, 'many'),
  ]
  // Stages arrive on their own days, a night is there on the day of waking: here Tuesday.
  const sleep = [
    stage('deep', evening + HOUR_MS, evening + 1.5 * HOUR_MS, NEW_YORK),
    stage('light', evening + 1.5 * HOUR_MS, evening + 9 * HOUR_MS, NEW_YORK),
  ]
  await importBody(app, user, body(records, { data: { records, sleep } }))
  for (const refreshed of [false, true]) {
    if (refreshed) await refreshRollups(app.db)
    t.strictSame(short((await local(MONDAY, MONDAY + 7 * DAY_MS)).days), [
      '23 heart_rate 3 2',
      '23 sleep 2 0',
      '23 steps 2 1',
      '24 sleep 0 1',
      '01 heart_rate 1 1',
    ])
    t.strictSame(why((await local(MONDAY)).days), [
      '23 heart_rate 1 float_parsing:1',
      '23 sleep 0',
      '23 steps 1 float_parsing:1',
    ])
    t.strictSame(short(await daysOf(app, user, MONDAY, MONDAY + 7 * DAY_MS)), [
      '24 heart_rate 3 2',
      '24 sleep 2 1',
      '24 steps 2 1',
      '28 heart_rate 1 1',
    ])
  }
  const { providers, ...kept } = await local(TUESDAY)
  t.match(providers, [{ provider: 'apple', first_day: '2026-02-23', last_day: '2026-03-01' }])
  t.equal(providers[0].first_upload_at, providers[0].last_upload_at)
  t.match(kept, { samples_kept_from: null, data_kept_from: null })
  t.notOk('providers' in (await ask(app, user, `start_date=${day(MONDAY)}&end_date=${day(MONDAY)}`)).body)

  // What was imported before local days were counted has those of UTC.
  await app.db.query('update upload set local_days = null, local_rejected_days = null')
  t.strictSame(short((await local(MONDAY, TUESDAY)).days), [
    '23 heart_rate 0 2',
    '23 steps 0 1',
    '24 heart_rate 3 0',
    '24 sleep 2 1',
    '24 steps 2 0',
  ])
})

eachEngine(t, 'a rejected record has the day of its own zone', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const local = async (user: string) =>
    (await ask(app, user, `start_date=${day(MONDAY - DAY_MS)}&end_date=${day(MONDAY + 7 * DAY_MS)}&days=local`)).body
  const evening = MONDAY + 19 * HOUR_MS
  const wrong = { unit: 'kg' }

  const alone = await createUser(app)
  await importBody(app, alone, body([heartRate(evening, 60, { ...wrong, zoneOffset: '+13:00' })]))
  const { days, providers } = await local(alone)
  t.strictSame(why(days), ['24 heart_rate 1 unit:1'])
  t.match(providers, [{ first_day: '2026-02-24', last_day: '2026-02-24' }])

  // One upload, of which each collection and part has rejected items beside a stored one of another zone.
  const user = await createUser(app)
  const rejected = { ...wrong, zoneOffset: '+14:00' }
  const iso = (ms: number) => new Date(ms).toISOString()
  const workout = {
    ...{ id: 'w', type: 'running', source: PHONE, zoneOffset: '+14:00' },
    ...{ startDate: iso(evening), endDate: iso(evening + HOUR_MS) },
  }
  const records = [
    heartRate(evening, 60, { zoneOffset: '+01:00' }),
    heartRate(evening, 61, rejected),
    heartRate(evening + 60_000, 61, { ...wrong, zoneOffset: '-20:00' }),
    heartRate(MONDAY + HOUR_MS, 62, { ...wrong, zoneOffset: '-12:00', metadata: { HKTimeZone: 'Asia/Tokyo' } }),
    steps(evening, 5, { ...wrong, metadata: { HKTimeZone: 'Asia/Tokyo' } }),
    record('HKQuantityTypeIdentifierDietaryProtein', evening, 9, { ...rejected, unit: 'bpm', parentId: 'meal' }),
  ]
  const workouts = [
    {
      ...workout,
      values: [{ type: 'averageRunningStrideLength', value: 1.1, unit: 'kg' }],
      samples: [{ type: 'heartRate', timestamp: iso(evening), value: 99, unit: 'kg' }],
    },
    { ...workout, id: 'w2', endDate: 'later' },
  ]
  const sleep = [stage('deep', evening, evening - HOUR_MS, { zoneOffset: '+14:00' })]
  await importBody(app, user, body(records, { data: { records, workouts, sleep } }))
  const counted = (await local(user)).days.filter((one: Day) => one.rejected > 0)
  t.strictSame(why(counted), [
    '22 heart_rate 1 unit:1',
    '23 heart_rate 1 unit:1',
    '24 heart_rate 2 unit:2',
    '24 meal_nutrient 1 unit:1',
    '24 running_stride_length 1 unit:1',
    '24 sleep 1 end_before_start:1',
    '24 steps 1 unit:1',
    '24 workout 1 datetime_parsing:1',
  ])
})

eachEngine(t, 'why a day is empty can be told from one answer', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const user = await createUser(app)
  const now = Date.now()
  const ago = (days: number) => now - days * DAY_MS
  const BERLIN = { zoneOffset: '+01:00' }
  const localDay = (ms: number) => day(ms + HOUR_MS)
  await importBody(app, user, body([heartRate(ago(200), 60, BERLIN), steps(ago(9), 10, { ...BERLIN, id: 's' })]))
  await importBody(
    app,
    user,
    body([
      heartRate(ago(8), null, BERLIN),
      heartRate(ago(7), 61, { ...BERLIN, id: 'gone' }),
      record('heart_rate', ago(6), 62, BERLIN),
    ]),
  )
  await importBody(
    app,
    user,
    body([], { data: { deleted: [{ id: 'gone', type: 'HKQuantityTypeIdentifierHeartRate' }] } }),
  )
  await app.request('PUT', '/api/v1/settings/archival', { auth: 'developer', body: { archive_after_days: 60 } })
  while (await archive(app.db, now, () => {}));
  const range = `start_date=${day(ago(220))}&end_date=${localDay(now)}&days=local`
  const { days, arrivals, providers, samples_kept_from, data_kept_from } = (await ask(app, user, range)).body
  const of = (ms: number) => days.filter((one: Day) => one.day === localDay(ms))
  t.match(providers, [{ provider: 'apple', first_day: localDay(ago(200)), last_day: localDay(ago(7)) }])
  t.ok(providers[0].last_upload_at > providers[0].first_upload_at)
  t.match(of(ago(200)), [{ type: 'heart_rate', received: 1, stored: 1 }], 'archived')
  t.ok(Date.parse(samples_kept_from) > ago(91) && Date.parse(samples_kept_from) <= ago(60))
  t.equal(data_kept_from, null)
  t.match(of(ago(9)), [{ type: 'steps', received: 1, stored: 1 }], 'other types have the day')
  t.match(of(ago(8)), [{ received: 1, stored: 0, rejected: 1, reasons: [{ reason: 'missing', items: 1 }] }])
  t.match(of(ago(7)), [{ received: 1, stored: 0, rejected: 0 }], 'it came, and was deleted')
  t.strictSame(of(ago(6)), [], 'nothing of a stored type')
  t.match(arrivals, [{ day: localDay(now), uploads: 3, deleted: 1, ignored: 1, rejected: 1 }], 'the phone was in touch')
  t.strictSame(
    arrivals[0].unstored.find(({ reason }: { reason: string }) => reason === 'ignored_type'),
    {
      ...{ collection: 'records', type: 'heart_rate', reason: 'ignored_type', items: 1 },
      likely: 'HKQuantityTypeIdentifierHeartRate',
    },
  )

  // An upload belongs to the day of the zone the person was in.
  await app.db.query(`update upload set received_at = '2026-02-24T02:00:00Z' where user_id = $1`, [user])
  await app.db.query(`insert into zone_run values ($1, 'apple', '2026-02-20', '2026-02-21', -300)`, [user])
  const moved = async (mode: string) =>
    (await ask(app, user, `start_date=2026-02-20&end_date=2026-02-27&days=${mode}`)).body.arrivals
  t.match(await moved('utc'), [{ day: '2026-02-24', uploads: 3 }])
  t.match(await moved('local'), [{ day: '2026-02-23', uploads: 3 }])
  const empty = await ask(app, user, 'start_date=2026-02-24&end_date=2026-02-20&days=local')
  t.strictSame(empty.body, { days: [], arrivals: [] })
  t.equal((await ask(app, user, 'start_date=0001-01-01&end_date=0001-01-01&days=local')).status, 200)
  t.equal((await ask(app, user, 'start_date=9999-12-01&end_date=9999-12-31&days=local')).status, 200)
  t.equal((await ask(app, user, 'start_date=2026-02-24&end_date=2026-02-24&days=mine')).status, 422)
})
