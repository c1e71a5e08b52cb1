// One workout or night with everything that is stored of it.
import t from 'tap'
import { allEvents, statistic, workout, workoutBody } from '../support/event-lists.ts'
import { body, createUser, heartRate, importBody, iso, oneEngine, sharedApp } from '../support/sdk.ts'
import { sleepBody, stage } from '../support/sleep.ts'

const NOON = Date.UTC(2026, 1, 24, 12)
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const NOBODY = '00000000-0000-4000-8000-000000000000'

oneEngine(t, 'one event', async (t, engine) => {
  const app = await sharedApp(engine)
  const [ada, ben] = [await createUser(app), await createUser(app)]
  const ask = (user: string, path: string, options = {}) =>
    app.request('GET', `/api/v1/users/${user}/events/${path}`, options)
  const point = (second: number, fields = {}) => ({
    timestamp: iso(NOON + second * 1000),
    latitude: 52.5 + second / 1e4,
    longitude: 13.4,
    ...fields,
  })
  const lap = { startDate: iso(NOON), endDate: iso(NOON + 5 * MINUTE_MS), type: 'lap', duration: 290, distanceM: 1000 }
  const segment = { startDate: iso(NOON), endDate: iso(NOON + MINUTE_MS), type: 'running', repetitions: null }
  const run = workout('running', NOON, 30, {
    values: [statistic('distance', 5000, 'm')],
    ...{ laps: [lap], segments: [segment] },
    route: [point(0, { altitudeM: 34, horizontalAccuracyM: 4.5 }), point(1)],
  })
  const beats = [heartRate(NOON + MINUTE_MS, 140), heartRate(NOON + 2 * MINUTE_MS, 150)]
  await importBody(app, ada, workoutBody([run, workout('walking', NOON + HOUR_MS, 10)], beats))
  await importBody(app, ada, sleepBody([stage('light', NOON - 9 * HOUR_MS, NOON - 4 * HOUR_MS)]))
  await importBody(app, ben, body([heartRate(NOON, 60)]))

  await t.test('a workout is that of the list, with its laps and its route', async (t) => {
    const [walk, listed] = await allEvents(app, ada, 'workouts', { include: 'zones,segments' })
    const { status, body: found, headers } = await ask(ada, `workouts/${listed.id}`)
    t.equal(status, 200)
    const { laps, route, ...rest } = found
    t.strictSame(rest, listed)
    t.equal(rest.avg_heart_rate_bpm, 145)
    t.match(rest.segments, [{ type: 'running' }])
    t.strictSame(laps, [
      {
        ...{ start_time: iso(NOON), end_time: iso(NOON + 5 * MINUTE_MS) },
        ...{ type: 'lap', duration_seconds: 290, distance_meters: 1000 },
      },
    ])
    t.strictSame(route, [
      {
        ...{ timestamp: iso(NOON), latitude: 52.5, longitude: 13.4, altitude_meters: 34 },
        ...{ horizontal_accuracy_meters: 4.5, vertical_accuracy_meters: null },
      },
      {
        ...{ timestamp: iso(NOON + 1000), latitude: 52.5001, longitude: 13.4, altitude_meters: null },
        ...{ horizontal_accuracy_meters: null, vertical_accuracy_meters: null },
      },
    ])
    t.match((await ask(ada, `workouts/${walk.id}`)).body, { type: 'walking', laps: null, route: null, segments: null })

    const held = { headers: { 'If-None-Match': headers.get('etag') ?? '' } }
    t.strictSame(
      [(await ask(ada, `workouts/${listed.id}`, held)).status, headers.get('cache-control')],
      [304, 'private, no-cache'],
    )
    await importBody(app, ada, body([heartRate(NOON + 3 * MINUTE_MS, 160)]))
    t.equal((await ask(ada, `workouts/${listed.id}`, held)).body.avg_heart_rate_bpm, 150)
  })

  await t.test('a night is that of the list', async (t) => {
    const [listed] = await allEvents(app, ada, 'sleep', { include: 'stages' })
    t.equal(listed.sleep_stage_intervals.length, 1)
    t.strictSame((await ask(ada, `sleep/${listed.id}`)).body, listed)
  })

  await t.test('a route of six hours fits', async (t) => {
    const user = await createUser(app)
    const route = Array.from({ length: 25_000 }, (_, second) => point(second, { altitudeM: 34.123456789012 }))
    await importBody(app, user, workoutBody([workout('hiking', NOON, 600, { route })]))
    const [{ id }] = await allEvents(app, user, 'workouts')
    const { body: found } = await ask(user, `workouts/${id}`)
    t.equal(found.route.length, 12_500)
    t.ok(Buffer.byteLength(JSON.stringify(found)) < 8 * 2 ** 20)
  })

  await t.test('nobody else has it', async (t) => {
    const [{ id: runId }] = await allEvents(app, ada, 'workouts')
    const [{ id: nightId }] = await allEvents(app, ada, 'sleep')
    for (const [path, detail] of [
      [`workouts/${runId}`, 'Workout not found'],
      [`sleep/${nightId}`, 'Sleep session not found'],
    ] as const) {
      const list = path.split('/')[0]
      t.match(await ask(ben, path), { status: 404, body: { detail } })
      t.match(await ask(ada, `${list}/${NOBODY}`), { status: 404, body: { detail } })
      t.match(await ask(NOBODY, path), { status: 404, body: { detail: `User with ID: ${NOBODY} not found.` } })
      t.equal((await ask(ada, path, { auth: 'none' })).status, 401)
      t.equal((await ask(ada, path, { auth: { bearer: await app.sdkToken(ada) } })).status, 401, 'as the lists')
      for (const bad of ['%00', 'x', `${runId}%00`]) t.equal((await ask(ada, `${list}/${bad}`)).status, 422, bad)
    }
    t.equal((await ask(ada, `sleep/${runId}`)).status, 404)
    t.equal((await ask(ada, 'workouts/types')).status, 200, 'a literal path is no id')
  })
})
