// The behaviour checklist (contract 18) on users, priorities, summaries and events, point by point. Details of each
// point are in the test of its resource.
import t, { type Test } from 'tap'
import { startTestApp, type TestApp } from '../support/app.ts'
import { getEvents, statistic, workout, workoutBody } from '../support/event-lists.ts'
import {
  body,
  createUser,
  heartRate,
  importBody,
  oneEngine,
  PHONE,
  record,
  startImports,
  steps,
} from '../support/sdk.ts'
import { sleepBody, stage } from '../support/sleep.ts'
import { addSources, DAY_MS, MINUTE_MS, summary, walk, write } from '../support/summaries.ts'

const HOUR_MS = 60 * MINUTE_MS
const NOON = Date.UTC(2026, 4, 4, 12)
const at = (text: string) => Date.parse(text)
const NOBODY = '00000000-0000-4000-8000-000000000000'

/** Rows of a summary between two dates. */
const rows = async (app: TestApp, user: string, name: string, from: string, to = from, query = {}) =>
  (await summary(app, user, name, { start_date: from, end_date: to, ...query })).body.data

type Point = (name: string, test: (t: Test, user: string) => Promise<void>) => Promise<void>
type Points = (app: TestApp, point: Point) => Promise<void>

const lists: [name: string, points: Points][] = []
const points = (list: string, test: Points) => lists.push([list, test])

points('Users', async (app, point) => {
  const create = (fields: object) => app.request('POST', '/api/v1/users', { body: fields })
  const list = async (query: string) => (await app.request('GET', `/api/v1/users?${query}`)).body

  await point('create {} → 201', async (t) => {
    const { status, body } = await create({})
    t.match([status, body], [201, { id: /^[0-9a-f-]{36}$/, email: null, has_active_connection: false }])
  })
  await point('duplicate email → 409', async (t) => {
    t.equal((await create({ email: 'ada@example.org' })).status, 201)
    const { status, body } = await create({ email: 'ada@example.org' })
    t.strictSame([status, body], [409, { detail: 'User with this email already exists.' }])
  })
  await point('list default newest first', async (t) => {
    const ids = [(await create({})).body.id, (await create({})).body.id]
    t.strictSame(
      (await list('limit=2')).items.map(({ id }: { id: string }) => id),
      ids.reverse(),
    )
  })
  await point('limit 101 → 422', async (t) => {
    const { status, body } = await app.request('GET', '/api/v1/users?limit=101')
    t.match([status, body], [422, { detail: [{ loc: ['query', 'limit'], type: 'less_than_equal' }] }])
  })
  await point('search is case-insensitive and escapes %', async (t) => {
    await create({ first_name: 'Grace', last_name: '100% Hopper' })
    await create({ first_name: 'GRACE' })
    t.equal((await list('search=grace')).total, 2)
    t.equal((await list(`search=${encodeURIComponent('100%')}`)).total, 1)
    t.equal((await list(`search=${encodeURIComponent('r%e')}`)).total, 0)
  })
  await point('unknown id → 404 text', async (t) => {
    const { status, body } = await app.request('GET', `/api/v1/users/${NOBODY}`)
    t.strictSame([status, body], [404, { detail: `User with ID: ${NOBODY} not found.` }])
  })
  await point('delete with key only → 401', async (t, user) => {
    const { status, body } = await app.request('DELETE', `/api/v1/users/${user}`)
    t.match([status, body], [401, { detail: 'Could not validate credentials' }])
    t.equal((await app.request('GET', `/api/v1/users/${user}`)).status, 200)
  })
  await point('delete with JWT → 200 and later get → 404', async (t, user) => {
    const gone = await app.request('DELETE', `/api/v1/users/${user}`, { auth: 'developer' })
    t.match([gone.status, gone.body], [200, { id: user }])
    t.equal((await app.request('GET', `/api/v1/users/${user}`)).status, 404)
  })
})

points('Summaries', async (app, point) => {
  const ofBoth = async (user: string, ms: number) => {
    const [watch, phone] = [{ name: 'Samsung Health', deviceModel: 'SM-L310' }, PHONE]
    await importBody(app, user, body([record('STEP_COUNT', ms, 900, { source: watch })], { provider: 'samsung' }))
    await importBody(app, user, body([steps(ms, 50, { source: phone })]))
  }

  await point('two sources on one day → one row, higher-ranked provider', async (t, user) => {
    await ofBoth(user, NOON)
    t.match(await rows(app, user, 'activity', '2026-05-04'), [{ source: { provider: 'apple' }, steps: 50 }])
  })
  await point('a change of priorities counts from the next request on', async (t, user) => {
    await ofBoth(user, NOON)
    const set = (priority: number) =>
      app.request('PUT', '/api/v1/priorities/providers/apple', { auth: 'developer', body: { priority } })
    t.equal((await set(50)).status, 200)
    t.match(await rows(app, user, 'activity', '2026-05-04'), [{ source: { provider: 'samsung' }, steps: 900 }])
    await set(1)
    t.match(await rows(app, user, 'activity', '2026-05-04'), [{ source: { provider: 'apple' }, steps: 50 }])
  })
  await point('same provider watch beats phone', async (t, user) => {
    await importBody(app, user, body([steps(NOON, 40), steps(NOON, 5000, { source: PHONE })]))
    const found = await rows(app, user, 'activity', '2026-05-04')
    t.match(found, [{ source: { device_type: 'watch' }, steps: 40 }])
    t.equal(found.length, 1)
  })
  await point('daily total beats intraday sum (Garmin double count)', async (t, user) => {
    const [sourceId = 0] = await addSources(app.db, user, [
      { provider: 'garmin', device: 'Forerunner 255', source: 'garmin_connect_api', type: 'watch' },
    ])
    const sample = (seriesId: number, ms: number, value: number) => ({ sourceId, seriesId, ms, value, zone: 0 })
    const midnight = NOON - 12 * HOUR_MS
    await write(app.db, user, [sample(80, midnight, 300), sample(80, NOON, 700), sample(10_080, midnight, 8432)])
    t.match(await rows(app, user, 'activity', '2026-05-04'), [{ steps: 8432, sedentary_minutes: 0, active_minutes: 2 }])
  })
  await point('null flag counts as intraday', async (t, user) => {
    await importBody(app, user, body([steps(NOON, 300, { is_daily_total: null }), steps(NOON + MINUTE_MS, 700)]))
    t.match(await rows(app, user, 'activity', '2026-05-04'), [{ steps: 1000, active_minutes: 2 }])
  })
  await point(
    'sample at 21:30Z with +10:00 lands on the next local date and is absent from the UTC date',
    async (t, user) => {
      await importBody(app, user, body([steps(at('2026-05-03T21:30:00Z'), 70, { zoneOffset: '+10:00' })]))
      t.match(await rows(app, user, 'activity', '2026-05-04'), [{ date: '2026-05-04', steps: 70 }])
      t.strictSame(await rows(app, user, 'activity', '2026-05-03'), [])
    },
  )
  await point('sleep ending 20:11Z with +10:00 belongs to the next date', async (t, user) => {
    const night = stage('light', at('2026-05-03T13:00:00Z'), at('2026-05-03T20:11:00Z'), { zoneOffset: '+10:00' })
    await importBody(app, user, sleepBody([night]))
    t.match(await rows(app, user, 'sleep', '2026-05-04'), [{ date: '2026-05-04', duration_minutes: 431 }])
    t.strictSame(await rows(app, user, 'sleep', '2026-05-03'), [])
  })
  await point('offset +00:00 beats any default', async (t, user) => {
    // Of a user who is otherwise elsewhere.
    const late = steps(at('2026-05-03T23:30:00Z'), 70, { zoneOffset: '+00:00' })
    await importBody(app, user, body([steps(at('2026-05-03T10:00:00Z'), 5, { zoneOffset: '+10:00' }), late]))
    t.match(await rows(app, user, 'activity', '2026-05-03', '2026-05-04'), [{ date: '2026-05-03', steps: 75 }])
    const night = stage('light', at('2026-05-03T16:00:00Z'), at('2026-05-03T23:30:00Z'), { zoneOffset: '+00:00' })
    await importBody(app, user, sleepBody([night]))
    t.match(await rows(app, user, 'sleep', '2026-05-03', '2026-05-04'), [{ date: '2026-05-03', zone_offset: '+00:00' }])
  })
  await point('two main sessions add up, naps separate', async (t, user) => {
    const [night, morning, noon] = [at('2026-05-03T23:00:00Z'), at('2026-05-04T05:00:00Z'), NOON + HOUR_MS]
    const nights = [stage('light', night, night + 3 * HOUR_MS), stage('light', morning, morning + 4 * HOUR_MS)]
    await importBody(app, user, sleepBody([...nights, stage('light', noon, noon + 30 * MINUTE_MS)]))
    t.match(await rows(app, user, 'sleep', '2026-05-04'), [
      { duration_minutes: 420, nap_count: 1, nap_duration_minutes: 30, total_duration_minutes: 450 },
    ])
  })
  await point('sort_order=desc reverses and pages consistently', async (t, user) => {
    const days = Array.from({ length: 17 }, (_, n) => steps(NOON + n * DAY_MS, 1 + n))
    await importBody(app, user, body(days))
    const range = { start_date: '2026-05-01', end_date: '2026-05-31' }
    const whole = await rows(app, user, 'activity', range.start_date, range.end_date)
    t.equal(whole.length, 17)
    for (const limit of [5, 16, 17]) {
      // Walks to the end and back to the start, and throws unless the pages are the same both ways.
      t.strictSame((await walk(app, user, 'activity', { ...range, limit })).rows, whole)
      const { rows: reversed } = await walk(app, user, 'activity', { ...range, limit, sort_order: 'desc' })
      t.strictSame(reversed.reverse(), whole)
    }
  })
  await point('limit 1001 → 422', async (t, user) => {
    for (const name of ['activity', 'sleep', 'recovery']) {
      const query = { start_date: '2026-05-01', end_date: '2026-05-02', limit: 1001 }
      const { status, body } = await summary(app, user, name, query)
      t.match([status, body], [422, { detail: [{ loc: ['query', 'limit'], type: 'less_than_equal' }] }], name)
      t.equal((await summary(app, user, name, { ...query, limit: 1000 })).status, 200)
    }
  })
  await point('average_period 0 or 8 → 422', async (t, user) => {
    const type = async (average_period: number) =>
      (await summary(app, user, 'body', { average_period })).body.detail[0].type
    t.strictSame([await type(0), await type(8)], ['greater_than_equal', 'less_than_equal'])
  })
  await point('no body data → null', async (t, user) => {
    await importBody(app, user, body([heartRate(NOON, 60)]))
    const { status, body: answer } = await summary(app, user, 'body', {})
    t.strictSame([status, answer], [200, null])
  })
})

points('Events', async (app, point) => {
  const first = async (user: string, list: string) => (await getEvents(app, user, list)).body.data[0]
  const remove = (user: string, list: string, id: string) =>
    app.request('DELETE', `/api/v1/users/${user}/events/${list}/${id}`)
  const night = (startMs: number, fields = {}) => [
    stage('light', startMs, startMs + 3 * HOUR_MS, fields),
    stage('awake', startMs + 3 * HOUR_MS, startMs + 3 * HOUR_MS + 10 * MINUTE_MS, fields),
    stage('deep', startMs + 3 * HOUR_MS + 10 * MINUTE_MS, startMs + 7 * HOUR_MS, fields),
  ]
  const nap = (startMs: number, fields = {}) => stage('light', startMs, startMs + 20 * MINUTE_MS, fields)

  await point("delete other user's workout → 404", async (t, user) => {
    const other = await createUser(app)
    await importBody(app, other, workoutBody([workout('running', NOON, 30)]))
    const { id } = await first(other, 'workouts')
    const { status, body } = await remove(user, 'workouts', id)
    t.strictSame([status, body], [404, { detail: 'Workout not found' }])
    t.equal((await first(other, 'workouts')).id, id)
  })
  await point('delete a sleep through the workout path → 404', async (t, user) => {
    await importBody(app, user, sleepBody(night(NOON - 14 * HOUR_MS)))
    const { id } = await first(user, 'sleep')
    const { status, body } = await remove(user, 'workouts', id)
    t.strictSame([status, body], [404, { detail: 'Workout not found' }])
    t.equal((await first(user, 'sleep')).id, id)
  })
  await point('is_nap three-way', async (t, user) => {
    await importBody(app, user, sleepBody([...night(NOON - 14 * HOUR_MS), nap(NOON + HOUR_MS)]))
    const naps = async (query: object) =>
      (await getEvents(app, user, 'sleep', { ...query })).body.data.map(({ is_nap }: { is_nap: boolean }) => is_nap)
    t.strictSame((await naps({})).sort(), [false, true])
    t.strictSame(await naps({ is_nap: true }), [true])
    t.strictSame(await naps({ is_nap: false }), [false])
  })
  await point('filter_by_priority keeps all sessions of the winner', async (t, user) => {
    const start = NOON - 14 * HOUR_MS
    await importBody(
      app,
      user,
      sleepBody([...night(start), nap(NOON + HOUR_MS), ...night(start - HOUR_MS, { source: PHONE })]),
    )
    const types = async (query: object) =>
      (await getEvents(app, user, 'sleep', { ...query })).body.data.map(
        ({ source }: { source: { device_type: string } }) => source.device_type,
      )
    t.strictSame((await types({})).sort(), ['phone', 'watch', 'watch'])
    t.strictSame(await types({ filter_by_priority: true }), ['watch', 'watch'])
  })
  await point('include=stages toggles intervals', async (t, user) => {
    await importBody(app, user, sleepBody(night(NOON - 14 * HOUR_MS)))
    t.equal((await first(user, 'sleep')).sleep_stage_intervals, null)
    const { body } = await getEvents(app, user, 'sleep', { include: 'stages' })
    t.strictSame(
      body.data[0].sleep_stage_intervals.map((one: { stage: string }) => one.stage),
      ['light', 'awake', 'deep'],
    )
  })
  await point('totals equal the sum of the list', async (t, user) => {
    const runs = Array.from({ length: 23 }, (_, n) =>
      workout(n % 3 === 0 ? 'walking' : 'running', NOON + n * 5 * HOUR_MS, 20 + n, {
        values:
          n % 4 === 0 ? null : [statistic('activeEnergyBurned', 100 + n, 'kcal'), statistic('distance', 500 * n, 'm')],
      }),
    )
    const nights = Array.from({ length: 5 }, (_, n) => [
      ...night(NOON + n * DAY_MS - 14 * HOUR_MS),
      nap(NOON + n * DAY_MS + HOUR_MS),
    ])
    await importBody(app, user, body([], { data: { records: [], sleep: nights.flat(), workouts: runs } }))
    for (const type of [undefined, 'running']) {
      const { data } = (await getEvents(app, user, 'workouts', { type, limit: 1000 })).body
      const sum = (field: string) =>
        data.reduce((all: number, one: Record<string, number>) => all + (one[field] ?? 0), 0)
      t.ok(data.length > 10)
      t.strictSame((await getEvents(app, user, 'workouts/totals', { type })).body, {
        count: data.length,
        duration_seconds: sum('duration_seconds'),
        calories_kcal: sum('calories_kcal'),
        distance_meters: sum('distance_meters'),
      })
    }
    for (const is_nap of [undefined, true, false]) {
      const { data } = (await getEvents(app, user, 'sleep', { is_nap, limit: 1000 })).body
      const totals = (await getEvents(app, user, 'sleep/totals', { is_nap })).body
      const sum = (field: string) =>
        data.reduce((all: number, one: Record<string, number>) => all + (one[field] ?? 0), 0)
      t.equal(totals.count, data.length)
      t.equal(totals.sleep_duration_seconds, sum('sleep_duration_seconds'))
    }
  })
})

oneEngine(t, 'the checklist', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  for (const [list, test] of lists) {
    await t.test(list, async (t) => {
      await test(app, async (name, check) => {
        await t.test(name, async (t) => check(t, await createUser(app)))
      })
    })
  }
})
