import t, { type Test } from 'tap'
import { askToken, type Json, play, tokens, unlike } from '../support/simulator.ts'

const FROM = '2026-02-15'

/** Samples of the fact page: fields and their types. */
const SAMPLES: Record<string, Json> = {
  workout: {
    ...{ timestamp: 0, name: 'Run' },
    activities: [
      { start_time: 0, end_time: 0, likely_name: '', calories: 0, active_time: 0, duration: 0, cardio_metrics: {} },
    ],
  },
  biometric: { timestamp: 0, bpm: 0 },
  sleep: {
    ...{ id: '', start_timestamp: 0, end_timestamp: 0, total_sleep_mins: 0, deep_sleep_mins: 0, light_sleep_mins: 0 },
    ...{ rem_sleep_mins: 0, awake_time_mins: 0, avg_heart_rate: 0, biometrics: {}, score: {} },
  },
  scores: { recovery: {}, sleep: {}, activity: {} },
  steps: {
    ...{ date: '', granularity: 'day', daily_steps_goal: 0, steps_goal_achieved_percentage: 0 },
    metrics: [{ name: '', value: 0, unit: '', value_is_an_avg: false }],
  },
}

/** A simulator, and the API as somebody who has given consent. */
async function sensorbio(t: Test, person = 'edda', own = {}) {
  const simulator = await play(t)
  await simulator.control('POST', 'settings', { provider: 'sensorbio', limits: [1e6], own })
  const given = await tokens(simulator, 'sensorbio', { auto: person })
  const get = (path: string) => simulator.get('sensorbio', path, given.access_token)
  const truth = async () => (await simulator.control('GET', `truth?person=${person}&from=${FROM}&minutes=true`)).body
  /** All records after an instant, by the addresses of the pages. */
  const records = async (path: string, after: number) => {
    const found: Json[] = []
    for (let next: string | undefined = `${path}?last-timestamp=${after}&limit=50`; next !== undefined; ) {
      const { body } = await get(next)
      found.push(...body.data)
      next = body.links.next?.replace(simulator.env.SENSORBIO_API_URL, '')
    }
    return found
  }
  return { simulator, given, get, truth, records }
}

t.test('workouts and biometrics come after a cursor, fifty at a time', async (t) => {
  const { get, truth, records, simulator } = await sensorbio(t)
  const real = await truth()
  const from = Date.parse(real.minutes[0].start)
  const workouts = await records('/v1/activities', from)
  const wrong = workouts.flatMap((one) => unlike('workout', SAMPLES.workout, one))
  t.strictSame(
    workouts.map(({ activities: [one] }) => [one.start_time, one.end_time, one.id ?? null]),
    real.workouts.map(({ start, end, ids }: Json) => [Date.parse(start), Date.parse(end), ids.sensorbio]),
  )
  t.ok(
    real.workouts.some(({ ids }: Json) => ids.sensorbio === null),
    'some have no id',
  )
  for (const [i, { activities }] of workouts.entries()) {
    const { key, distance_m, active_kcal, max_heart_rate, manual } = real.workouts[i]
    const [one] = activities
    if (one.distance !== (distance_m === null ? undefined : Math.round(distance_m * 10) / 10))
      wrong.push(`${key} distance`)
    if (one.calories !== Math.round(active_kcal * 10) / 10) wrong.push(`${key} energy`)
    if (one.cardio_metrics.max_bpm !== (manual ? undefined : max_heart_rate)) wrong.push(`${key} heart rate`)
  }
  const biometrics = await records('/v1/biometrics', from - 1)
  wrong.push(...biometrics.flatMap((one) => unlike('biometric', SAMPLES.biometric, one)))
  t.strictSame(wrong, [])
  const beats = real.minutes.flatMap(({ start, heart_rate }: Json) =>
    heart_rate.flatMap((bpm: number, i: number) => {
      const ms = Date.parse(start) + i * 60_000
      return bpm > 0 && (ms / 60_000) % 10 === 0 ? [[ms, bpm]] : []
    }),
  )
  t.strictSame(
    biometrics.map(({ timestamp, bpm }) => [timestamp, bpm]),
    beats,
  )
  t.ok(biometrics.some(({ hrv, spo2, brpm }) => hrv && spo2 && brpm))
  await simulator.control('POST', 'settings', { provider: 'sensorbio', own: { biometric_minutes: 1 } })
  const { body } = await get(`/v1/biometrics?last-timestamp=${from}&limit=50`)
  t.equal(body.data[1].timestamp - body.data[0].timestamp, 60_000)
  t.equal(
    body.links.next,
    `${simulator.env.SENSORBIO_API_URL}/v1/biometrics?last-timestamp=${body.data[49].timestamp}&limit=50`,
  )
  t.strictSame((await get(`/v1/activities?last-timestamp=${Date.parse('2027-01-01')}`)).body, { data: [], links: {} })
})

t.test('sleeps, scores and steps of a date', async (t) => {
  const { get, truth, simulator } = await sensorbio(t)
  const real = await truth()
  const wrong: string[] = []
  const same = (what: string, found: unknown, expected: unknown) => {
    if (JSON.stringify(found) !== JSON.stringify(expected)) wrong.push(`${what}: ${found}, really ${expected}`)
  }
  for (const { date, steps, distance_m, active_kcal } of real.calendar_days) {
    const { body: slept } = await get(`/v1/sleep?date=${date}`)
    const own = real.sleeps.filter((one: Json) => one.date === date)
    same(
      `${date} sleeps`,
      slept.data.map(({ id }: Json) => id),
      own.map(({ ids }: Json) => ids.sensorbio),
    )
    for (const [i, one] of slept.data.entries()) {
      wrong.push(...unlike(`${date} sleep`, SAMPLES.sleep, one))
      same(`${date} start`, one.start_timestamp, Date.parse(own[i].start) / 1000)
      same(`${date} deep`, one.deep_sleep_mins, Math.round(own[i].seconds.deep / 60))
      same(`${date} score`, one.score.value, own[i].unscorable ? undefined : own[i].quality)
    }
    const { body: scores } = await get(`/v1/scores?date=${date}`)
    wrong.push(...unlike(`${date} scores`, SAMPLES.scores, scores.data))
    const night = own.find(({ nap, unscorable }: Json) => !nap && !unscorable)
    same(`${date} recovery`, scores.data.recovery.value, night?.recovery)
    same(`${date} resting`, scores.data.sleep.biometrics?.resting_bpm, night?.lowest_heart_rate)
    const { body: walked } = await get(`/v1/step/details?date=${date}&granularity=day`)
    wrong.push(...unlike(`${date} steps`, SAMPLES.steps, walked))
    const metric = (name: string) => walked.metrics.find((one: Json) => one.name === name).value
    same(`${date} steps`, metric('Steps'), steps)
    same(`${date} distance`, metric('Distance'), Math.round(distance_m / 10) / 100)
    same(`${date} energy`, metric('Calories'), Math.round(active_kcal * 10) / 10)
  }
  t.strictSame(wrong, [])
  t.strictSame((await get('/v1/sleep?date=2020-01-01')).body, { data: [] })
  await simulator.control('POST', 'settings', { provider: 'sensorbio', own: { times_in_ms: true } })
  const night = real.sleeps.at(-1)
  const { body } = await get(`/v1/sleep?date=${night.date}`)
  t.equal(body.data.at(-1).start_timestamp, Date.parse(night.start))
})

t.test('tokens may come without another; errors name what is wrong', async (t) => {
  const { simulator, given, get } = await sensorbio(t)
  t.match(given, { expires_in: 3600, token_type: 'Bearer', refresh_token: String, scope: '' })
  const person = (await simulator.control('GET', 'people')).body.find(({ key }: Json) => key === 'edda')
  t.strictSame((await get('/v1/user')).body, { data: { id: person.accounts.sensorbio, name: 'Edda' } })
  for (const path of [
    ...['/v1/activities', '/v1/activities?last-timestamp=0&limit=51', '/v1/sleep', '/v1/sleep?date=2026-02-30'],
    ...['/v1/activities?last-timestamp=0&end-timestamp=1', '/v1/step/details?date=2026-03-01'],
  ])
    t.match(await get(path), { status: 400, body: { errors: [{ title: 'Bad Request', detail: String }] } }, path)
  t.equal((await get('/v1/vitals')).status, 404)
  const fault = (kind: string) =>
    simulator.control('POST', 'faults', { provider: 'sensorbio', kind, path: 'biometrics', times: 1 })
  await fault('next_elsewhere')
  t.match((await get('/v1/biometrics?last-timestamp=0')).body.links.next, /^https:\/\/elsewhere\.example/)
  await fault('next_itself')
  t.match((await get('/v1/biometrics?last-timestamp=5')).body.links.next, /last-timestamp=5&/)
  await simulator.control('POST', 'settings', { provider: 'sensorbio', own: { no_refresh: true } })
  t.notOk('refresh_token' in (await tokens(simulator, 'sensorbio')))
  const wrong = await askToken(simulator, 'sensorbio', { grant_type: 'refresh_token', refresh_token: 'x' })
  t.match(wrong, { status: 400, body: { error: 'invalid_grant' } })
  simulator.wait(3601)
  t.match(await get('/v1/user'), { status: 401, body: { errors: [{ title: 'Unauthorized' }] } })
})
