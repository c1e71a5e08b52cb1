// What the connectors of single providers do about answers that cannot be used, and how finely they ask.
import t from 'tap'
import {
  askedOf,
  askedOnce,
  connectPerson,
  reportsOf,
  type Simulated,
  settled,
  startPulling,
  startSimulated,
  timePasses,
} from '../../support/people.ts'
import { createUser, oneEngine, storedSamples } from '../../support/sdk.ts'

const outcomes = async ({ app }: Simulated) =>
  Object.fromEntries(
    (await reportsOf(app)).map(({ native_type: stream, status, error_code: code, error }) => [
      stream,
      status === 'success' ? status : `${code}: ${error?.slice(0, 9)}`,
    ]),
  )

oneEngine(t, 'a day that Sensor Bio cannot give keeps no other one back', async (t, engine) => {
  const simulated = await startSimulated(t, engine, {
    world: { people: 1, days: 12 },
    historicalSyncOnConnect: false,
  })
  const { app, simulator } = simulated
  const user = await createUser(app)
  await connectPerson(app, { user, provider: 'sensorbio', person: 'ana' })
  const pulling = await startPulling(t, app)
  await settled(app)
  await app.db.query(`update stream_cursor set covered_until = covered_until - interval '3 days'`)
  const covered = () =>
    app.db.query<{ stream: string; until: string }>(
      'select stream, covered_until as until from stream_cursor order by stream',
    )
  const datesOf = async (type: string) =>
    (await storedSamples(app.db, user)).flatMap((one) => (one.type === type ? [one.ts.slice(0, 10)] : []))
  const before = await covered()
  const ask = { provider: 'sensorbio', skip: 1 }
  await simulator.control('POST', 'faults', { ...ask, kind: '422', path: '/v1/step/details', times: 1 })
  await simulator.control('POST', 'faults', { ...ask, kind: '500', path: '/v1/scores', times: 4 })
  await simulator.control('DELETE', 'log')
  await pulling.pullNow()
  for (let times = 0; times < 6; times += 1) {
    await askedOnce(app)
    await timePasses(app)
  }
  await settled(app)
  t.strictSame(await outcomes(simulated), {
    ...{ activities: 'success', biometrics: 'success', sleep: 'success' },
    ...{ scores: 'wrong: HTTP 500:', steps: 'wrong: HTTP 422:' },
  })
  const asked = await simulator.control('GET', 'log?provider=sensorbio')
  const log: { query: { date?: string }; status: number }[] = asked.body
  const bad = log.find(({ status }) => status === 422)?.query.date ?? ''
  const dates = await datesOf('steps')
  t.notOk(dates.includes(bad), bad)
  t.ok(dates.some((date) => date < bad) && dates.some((date) => date > bad), `${dates}`)
  const stays = (await covered()).filter(({ stream, until }) =>
    before.some((one) => one.stream === stream && one.until === until),
  )
  t.strictSame(stays.map(({ stream }) => stream).sort(), ['scores', 'steps'])

  await pulling.pullNow()
  await settled(app)
  t.strictSame(new Set(Object.values(await outcomes(simulated))), new Set(['success']))
  t.ok((await datesOf('steps')).includes(bad), 'the next pull begins before it')
})

oneEngine(t, 'nobody is asked at a provider that has ended its API', async (t, engine) => {
  const simulated = await startSimulated(t, engine, {
    world: { people: 2, days: 3 },
    historicalSyncOnConnect: false,
  })
  const { app, simulator } = simulated
  const link = async (user: string) => app.request('GET', `/api/v1/oauth/fitbit/authorize?user_id=${user}`)
  const users = [await createUser(app), await createUser(app)]
  const { status, body } = await link(users[0] as string)
  t.match([status, body], [400, { detail: "Provider 'fitbit' is disabled", hint: /google_health/ }])
  await app.request('PUT', '/api/v1/oauth/providers/fitbit', { auth: 'developer', body: { is_enabled: true } })
  for (const [place, person] of ['ana', 'bikash'].entries())
    await connectPerson(app, { user: users[place] as string, provider: 'fitbit', person })
  const pulling = await startPulling(t, app)
  await settled(app)
  await simulator.control('POST', 'settings', { provider: 'fitbit', own: { retired: true } })
  const said = async () => {
    await simulator.control('DELETE', 'log')
    await pulling.pullNow()
    await settled(app)
    const reports = await app.db.query<{ streams: number; code: string; error: string }>(
      `select count(*) as streams, p.error_code as code, min(p.error) as error
       from sync_run_report p
       where p.run_key in (select distinct on (user_id) run_key from sync_run order by user_id, started_at desc)
       group by p.user_id, p.error_code`,
    )
    return { reports, asked: (await askedOf(simulator, 'fitbit')).length }
  }
  // All but the profile, which is asked for once a day.
  const report = { streams: 12, code: 'retired', error: /^Fitbit has ended this API\. Connect Google Health instead\./ }
  const first = await said()
  t.match(first.reports, [report, report])
  t.equal(first.reports.length, 2)
  // Streams are asked side by side until the first answer.
  t.ok(first.asked > 0 && first.asked < 12, `${first.asked} requests`)
  const again = await said()
  t.match([again.reports, again.asked], [[report, report], 0], 'for a day')
  const active = await app.db.query(`select from connection where status = 'active'`)
  t.equal(active.length, 2, 'the connections stay')
})

oneEngine(t, 'Google is asked as finely as the operator wants', async (t, engine) => {
  const simulated = await startSimulated(t, engine, {
    world: { people: 1, days: 5 },
    historicalSyncOnConnect: false,
  })
  const { app, simulator } = simulated
  const user = await createUser(app)
  await connectPerson(app, { user, provider: 'google_health', person: 'ana' })
  const pulling = await startPulling(t, app)
  const operations = async (type: string) => {
    await settled(app)
    const asked = (await askedOf(simulator, 'google_health')).filter((line) => line.includes(`/${type}/`))
    await simulator.control('DELETE', 'log')
    return [...new Set(asked.map((line) => line.split(':').at(-1)))]
  }
  t.strictSame(await operations('heart-rate'), ['reconcile'])
  const found: unknown[] = []
  for (const granularity of ['hourly', 'daily', 'raw']) {
    const body = { data_granularity: granularity }
    await app.request('PUT', '/api/v1/oauth/providers/google_health', { auth: 'developer', body })
    await pulling.pullNow()
    found.push([granularity, await operations('heart-rate')])
  }
  t.strictSame(found, [
    ['hourly', ['rollUp']],
    ['daily', ['dailyRollUp']],
    ['raw', ['reconcile']],
  ])
})
