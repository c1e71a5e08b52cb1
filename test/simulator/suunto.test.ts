import { createHmac } from 'node:crypto'
import t, { type Test } from 'tap'
import { listen, type Received } from '../support/receiver.ts'
import { ask, askToken, basicOf, type Json, play, START, tokens, unlike } from '../support/simulator.ts'

const DAY_MS = 86_400_000
const DAY_S = 86_400
const AT = '2026-03-10T08:30:00.000+01:00'

/** Samples of the fact page: fields, their types, the forms of their times. */
const SAMPLES: Record<string, Json> = {
  workout: {
    ...{ workoutId: 0, workoutKey: '', activityId: 22, startTime: 0, totalTime: 0, timeOffsetInMinutes: 60 },
    ...{ totalDistance: 0, stepCount: 0, energyConsumption: 0, avgSpeed: 0, maxSpeed: 0, avgPace: 0, totalAscent: 0 },
    ...{ totalDescent: 0, recoveryTime: 0, tss: { calculationMethod: 'HR', trainingStressScore: 0 } },
    hrdata: { workoutAvgHR: 0, workoutMaxHR: 0, userMaxHR: 0, avg: 0, hrmax: 0, max: 0, min: 0 },
    ...{ isManuallyAdded: false, isEdited: false, extensionTypes: [] },
  },
  sleep: {
    timestamp: AT,
    entryData: {
      ...{ DateTime: AT, Duration: 0, DeepSleepDuration: 0, LightSleepDuration: 0, REMSleepDuration: 0 },
      ...{ SleepOnsetLatencyDuration: 0, WakeAfterSleepOnsetDuration: 0, WakeBeforeOffBedDuration: 0 },
      ...{ HRAvg: 0, HRMin: 0, IsNap: false, Feeling: 3 },
    },
  },
  recovery: { timestamp: AT, entryData: { Balance: 0.7, StressState: 3 } },
  activity: { timestamp: AT, entryData: { StepCount: 0, EnergyConsumption: 0 } },
}

/** A simulator, and the API as somebody who has given consent. */
async function suunto(t: Test, person = 'ana', own = {}) {
  const simulator = await play(t)
  await simulator.control('POST', 'settings', { provider: 'suunto', limits: [1e6, 1e6], own })
  const given = await tokens(simulator, 'suunto', { auto: person })
  const get = (path: string) => simulator.get('suunto', path, given.access_token)
  const truth = async (more = '') =>
    (await simulator.control('GET', `truth?person=${person}&from=2026-02-10&minutes=true${more}`)).body
  const days = (kind: string, from: number, to: number) =>
    get(`/247samples/${kind}?from=${START + from * DAY_MS}&to=${START + to * DAY_MS}`)
  return { simulator, given, get, truth, days }
}

t.test('tokens say whose they are; a refresh brings no other refresh token', async (t) => {
  const { simulator, given, get } = await suunto(t)
  const person = (await simulator.control('GET', 'people')).body[0]
  t.match(given, { token_type: 'bearer', expires_in: 86_399, refresh_token: String, user: person.accounts.suunto })
  const claims = JSON.parse(Buffer.from(given.access_token.split('.')[1], 'base64url').toString())
  t.match(claims, { user: given.user, sub: /^\d+$/, exp: Math.floor(START / 1000) + 86_399 })
  const refresh = () =>
    askToken(simulator, 'suunto', { grant_type: 'refresh_token', refresh_token: given.refresh_token })
  const { body: next } = await refresh()
  t.notOk('refresh_token' in next)
  t.equal((await refresh()).status, 200, 'it stays good')
  await simulator.control('POST', 'expire', { provider: 'suunto' })
  t.equal((await get('/v3/workouts')).status, 401)
  t.equal((await simulator.get('suunto', '/v3/workouts', (await refresh()).body.access_token)).status, 200)
  simulator.wait(181 * DAY_S)
  t.match(await refresh(), { status: 400, body: { error: 'invalid_grant' } })
  const other = await tokens(simulator, 'suunto')
  const leave = (query: string) =>
    ask(`${simulator.env.SUUNTO_TOKEN_URL?.replace('/token', '/deauthorize')}?${query}`, {
      headers: { authorization: `Bearer ${other.access_token}` },
    })
  t.equal((await leave('')).status, 400)
  t.equal((await leave('client_id=x')).status, 200)
  t.equal((await simulator.get('suunto', '/v3/workouts', other.access_token)).status, 401)
})

t.test('the gateway wants its key; limits and quotas are told in its words', async (t) => {
  const { simulator, given, get } = await suunto(t)
  const url = `${simulator.env.SUUNTO_API_URL}/v3/workouts`
  const authorization = `Bearer ${given.access_token}`
  t.match(await ask(url, { headers: { authorization } }), {
    status: 401,
    body: { message: /missing subscription key/ },
  })
  const wrong = await ask(url, { headers: { authorization, 'ocp-apim-subscription-key': 'x' } })
  t.match(wrong, { status: 401, body: { statusCode: 401, message: /invalid subscription key/ } })
  await simulator.control('POST', 'settings', { provider: 'suunto', limits: [5, 1e6] })
  for (let i = 0; i < 5; i++) await get('/v3/workouts')
  const limited = await get('/v3/workouts')
  t.match(limited, { status: 429, body: { message: 'Rate limit is exceeded. Try again in 60 seconds.' } })
  t.equal(limited.headers.get('retry-after'), '60')
  await simulator.control('POST', 'settings', { provider: 'suunto', limits: [1e6, 5] })
  const used = await get('/v3/workouts')
  t.match(used, { status: 403, body: { message: /^Out of call volume quota\. .* replenished in 168:00:00/ } })
})

t.test('workouts: pages, by change or by start, edits and deletions', async (t) => {
  const { get, truth, simulator } = await suunto(t, 'edda')
  const list = async (query: string) => (await get(`/v3/workouts?${query}`)).body.payload as Json[]
  const all = await list('limit=100')
  const real = (await simulator.control('GET', 'truth?person=edda')).body.workouts
  t.strictSame(all.map((one) => one.workoutKey).sort(), real.map(({ ids }: Json) => ids.suunto).sort())
  const wrong = all.flatMap((one) => unlike('workout', SAMPLES.workout, one))
  for (const one of all) {
    const workout = real.find(({ ids }: Json) => ids.suunto === one.workoutKey)
    const same = (name: string, found: unknown, expected: unknown) => {
      if (found !== expected) wrong.push(`${workout.key} ${name}: ${found}, really ${expected}`)
    }
    same('start', one.startTime, Date.parse(workout.start))
    same('end', one.stopTime ?? one.startTime + one.totalTime * 1000, Date.parse(workout.end))
    same('energy', one.energyConsumption, Math.round(workout.active_kcal))
    same('distance', one.totalDistance, Math.round((workout.distance_m ?? 0) * 10) / 10)
    same('highest', one.hrdata.hrmax, workout.manual ? 0 : workout.max_heart_rate)
    same('gear', one.gear === undefined, workout.manual)
  }
  t.strictSame(wrong, [])
  t.ok(all.length > 15, `${all.length} workouts`)
  const pages = [...(await list('limit=4')), ...(await list('limit=4&offset=4'))]
  t.strictSame(pages, all.slice(0, 8))
  t.equal((await list('limit=1000000')).length, all.length, 'as many as there are, up to a hundred')
  const since = START - 20 * DAY_MS
  const started = await list(`since=${since}&filter-by-modification-time=false`)
  t.strictSame(
    started.map((one) => one.startTime),
    all
      .map((one) => one.startTime)
      .filter((ms) => ms >= since)
      .sort((a, b) => b - a),
  )
  const renamed = real.find((one: Json) => Date.parse(one.updated_at) - Date.parse(one.end) > 5 * 3_600_000)
  const [from, until] = [Date.parse(renamed.end) + 4 * 3_600_000, Date.parse(renamed.updated_at)]
  const changed = await list(`since=${from}&until=${until}`)
  t.ok(
    changed.some((one) => one.workoutKey === renamed.ids.suunto && one.isEdited),
    'by its change',
  )
  t.notOk(
    (await list(`since=${from}&until=${until}&filter-by-modification-time=false`)).some(
      (one) => one.workoutKey === renamed.ids.suunto,
    ),
  )
  const [first] = all
  t.strictSame((await get(`/v3/workouts/${first.workoutKey}`)).body.payload, first)
  t.match(await get('/v3/workouts/000'), { status: 404, body: { error: { code: 'NOT_FOUND' }, payload: null } })
  t.equal((await get(`/v3/workouts/${first.workoutKey}/fit`)).status, 404)
  t.equal((await get('/v3/workouts?since=then')).status, 400)
  t.equal((await get('/v3/workouts/')).status, 200)
  await simulator.control('POST', 'settings', { provider: 'suunto', own: { errors_as_success: true } })
  t.match(await get('/v3/workouts'), { status: 200, body: { error: { code: String }, payload: null } })
  t.ok((await truth()).workouts.length > 0)
})

/** The record of each sleep that is longest. */
function longest(rows: Json[]): Map<string, Json> {
  const found = new Map<string, Json>()
  for (const { entryData } of rows) {
    const id = String(entryData.SleepId)
    if ((found.get(id)?.Duration ?? 0) < entryData.Duration) found.set(id, entryData)
  }
  return found
}

t.test('sleep, recovery and activity are the truth of each minute', async (t) => {
  const wrong: string[] = []
  let [interim, count] = [0, 0]
  for (const person of ['ana', 'bikash', 'clara', 'dario']) {
    const { days, truth } = await suunto(t, person)
    const real = await truth()
    const same = (name: string, found: unknown, expected: unknown) => {
      count++
      if (JSON.stringify(found) !== JSON.stringify(expected))
        wrong.push(`${person} ${name}: ${found}, really ${expected}`)
    }
    const { body: nights } = await days('sleep', -24, 1)
    wrong.push(...nights.flatMap((one: Json) => unlike('sleep', SAMPLES.sleep, one)))
    const found = longest(nights)
    interim += nights.length - found.size
    for (const sleep of real.sleeps.filter(({ start }: Json) => Date.parse(start) > START - 24 * DAY_MS)) {
      const row = found.get(sleep.ids.suunto)
      // An edited night is shorter than what was there at first.
      if (sleep.edited) continue
      same(`${sleep.key} start`, row && Date.parse(row.BedtimeStart ?? row.DateTime), Date.parse(sleep.start))
      same(`${sleep.key} length`, row?.Duration * 1000, Date.parse(sleep.end) - Date.parse(sleep.start))
      const awake = row?.SleepOnsetLatencyDuration + row?.WakeAfterSleepOnsetDuration + row?.WakeBeforeOffBedDuration
      const { deep, light, rem } = sleep.seconds
      same(
        `${sleep.key} stages`,
        [row?.DeepSleepDuration, row?.LightSleepDuration, row?.REMSleepDuration],
        [deep, light, rem],
      )
      same(`${sleep.key} awake`, awake, sleep.seconds.awake)
      same(`${sleep.key} nap`, row?.IsNap, sleep.nap)
    }
    const { body: rows } = await days('activity', -6, 1)
    const { body: states } = await days('recovery', -6, 1)
    wrong.push(...rows.flatMap((one: Json) => unlike('activity', SAMPLES.activity, one)))
    wrong.push(...states.flatMap((one: Json) => unlike('recovery', SAMPLES.recovery, one)))
    const all = new Map<number, { steps: number; heart_rate: number; battery: number }>()
    for (const { start, steps, heart_rate, body_battery_3_min: battery } of real.minutes)
      steps.forEach((value: number, i: number) => {
        const one = { steps: value, heart_rate: heart_rate[i], battery: battery[Math.floor(i / 3)] }
        all.set(Date.parse(start) + i * 60_000, one)
      })
    const every = real.person.ring === 'gen3' ? 10 : 5
    for (const { timestamp, entryData } of rows) {
      const minutes = Array.from({ length: every }, (_, i) => all.get(Date.parse(timestamp) + i * 60_000))
      same(
        `${timestamp} steps`,
        entryData.StepCount,
        minutes.reduce((sum, one) => sum + (one?.steps ?? 0), 0),
      )
      const beats = minutes.map((one) => one?.heart_rate ?? 0).filter((value) => value > 0)
      if (beats.length > 0) same(`${timestamp} highest`, entryData.HRExt.Max, Math.max(...beats))
    }
    for (const { timestamp, entryData } of states)
      same(`${timestamp} balance`, Math.round(entryData.Balance * 100), all.get(Date.parse(timestamp))?.battery)
  }
  t.strictSame(wrong.slice(0, 10), [], `${wrong.length} of ${count}`)
  t.ok(count > 5000 && interim > 0, `${count} values, ${interim} interim records`)
})

t.test('ranges have 28 days; sums are those of days from the start of the range', async (t) => {
  const { get, days, simulator, truth } = await suunto(t, 'bikash')
  t.equal((await days('sleep', -28, 0)).status, 200)
  t.equal((await days('sleep', -28.001, 0)).status, 400)
  t.equal((await days('activity', 0, -1)).status, 400)
  t.equal((await get('/247samples/sleep')).status, 400)
  t.equal((await get('/247samples/other?from=1&to=2')).status, 404)
  const { calendar_days: real } = await truth()
  const midnight = real[10].start.slice(0, 19)
  const end = new Date(Date.parse(real[10].start) + 9 * DAY_MS).toISOString().slice(0, 19)
  const daily = (from: string, to: string) =>
    get(`/247samples/daily-activity-statistics?startdate=${from}&enddate=${to}`)
  const { body: sums } = await daily(midnight, end)
  const of = (name: string, source: number) => {
    const { Sources } = sums.find(({ Name, Aggregation }: Json) => Name === name && Aggregation === 'sum')
    return new Map<string, number>(
      (Sources[source]?.Samples ?? [])
        .filter(({ Value }: Json) => Value !== null)
        .map((one: Json) => [one.TimeISO8601, Number(one.Value)]),
    )
  }
  const wrong = real.slice(10, 20).flatMap((day: Json) => {
    const time = day.start.slice(0, 23)
    const told = [of('stepcount', 0).get(time), of('energyconsumption', 0).get(time)]
    const expected = [day.steps, Math.round(day.active_kcal * 4184)]
    return String(told) === String(expected) ? [] : [`${day.date}: ${told}, really ${expected}`]
  })
  t.strictSame(wrong, [])
  t.ok(of('stepcount', 1).size > 0, 'a second watch')
  t.equal((await daily(midnight, '2026-06-01T00:00:00')).status, 400)
  t.equal((await daily('then', end)).status, 400)
  await simulator.control('POST', 'settings', { provider: 'suunto', own: { old_product: true } })
  t.strictSame([(await days('sleep', -1, 0)).status, (await get('/247/sleep?from=1&to=2')).status], [404, 200])
})

/** A simulator and an application whose address was entered at Suunto. */
async function subscribed(t: Test, person: string, own = {}) {
  const { simulator } = await suunto(t, person, own)
  const receiver = await listen(t)
  await simulator.control('POST', 'subscriptions', { provider: 'suunto', url: receiver.url })
  const pass = async (seconds: number) => {
    await simulator.control('POST', 'clock', { advance_seconds: seconds })
    await simulator.control('POST', 'notices')
  }
  return { simulator, receiver, pass }
}

const isSigned = (key: string | undefined, { headers, text }: Received) =>
  headers['x-hmac-sha256-signature'] ===
  createHmac('sha256', key ?? '')
    .update(text)
    .digest('hex')

t.test('what is new is told, signed; who listens has every row', async (t) => {
  const { simulator, receiver, pass } = await subscribed(t, 'dario')
  await pass(14 * DAY_S)
  const { notices } = receiver
  const key = simulator.env.SUUNTO_WEBHOOK_SECRET
  const account = (await simulator.control('GET', 'people')).body.find((one: Json) => one.key === 'dario').accounts
    .suunto
  t.strictSame(
    notices.filter((one) => !isSigned(key, one) || one.body.username !== account),
    [],
  )
  t.strictSame([...new Set(notices.map(({ body }) => body.type))].sort(), [
    ...['SUUNTO_247_ACTIVITY_CREATED', 'SUUNTO_247_RECOVERY_CREATED', 'SUUNTO_247_SLEEP_CREATED', 'WORKOUT_CREATED'],
  ])
  t.ok(notices.every(({ body }) => (body.samples?.length ?? 0) <= 500))
  const { access_token: token } = await tokens(simulator, 'suunto', { auto: 'dario' })
  const [from, to] = [START + DAY_MS, START + 13 * DAY_MS]
  for (const kind of ['activity', 'recovery']) {
    const { body: rows } = await simulator.get('suunto', `/247samples/${kind}?from=${from}&to=${to}`, token)
    const told = new Set(
      notices.flatMap(({ body }) =>
        body.type.includes(kind.toUpperCase()) ? body.samples.map((one: Json) => JSON.stringify(one)) : [],
      ),
    )
    const untold = rows.filter((one: Json) => !told.has(JSON.stringify(one)))
    const { known_until: until } = (await simulator.control('GET', 'truth?person=dario')).body
    const late = untold.filter((one: Json) => Date.parse(one.timestamp) < Date.parse(until) - 4 * 3_600_000)
    t.strictSame([late, rows.length > 200], [[], true], kind)
  }
  for (const { body } of notices.filter((one) => one.body.type === 'WORKOUT_CREATED')) {
    const { status, body: found } = await simulator.get('suunto', `/v3/workouts/${body.workout.workoutKey}`, token)
    t.ok(status === 404 || found.payload.startTime === body.workout.startTime)
  }
  const { workouts } = (await simulator.control('GET', 'truth?person=dario&from=2026-03-08')).body
  const keys = notices.flatMap(({ body }) => body.workout?.workoutKey ?? [])
  t.strictSame(
    workouts.filter(({ ids }: Json) => !keys.includes(ids.suunto)),
    [],
  )
})

t.test('twenty failures one after the other stop everything for a quarter of an hour', async (t) => {
  const { receiver, pass, simulator } = await subscribed(t, 'ana')
  receiver.status = 500
  await pass(2 * DAY_S)
  t.equal(receiver.notices.length, 20)
  await pass(60)
  t.equal(receiver.notices.length, 20, 'paused')
  receiver.status = 202
  await pass(15 * 60)
  const { body: list } = await simulator.control('GET', 'notices?provider=suunto')
  t.ok(list.length > 20 && list.filter(({ state }: Json) => state !== 'taken').length <= 20)
  await pass(4000)
  const { body: later } = await simulator.control('GET', 'notices?provider=suunto')
  t.ok(
    later.every(({ state }: Json) => state === 'taken'),
    'all in the end',
  )
})

t.test('the old form of notices has a client instead of a signature', async (t) => {
  const { simulator, receiver, pass } = await subscribed(t, 'edda', { legacy_notices: true })
  await pass(10 * DAY_S)
  const forms = receiver.notices.filter(
    ({ headers }) => headers['content-type'] === 'application/x-www-form-urlencoded',
  )
  t.ok(forms.length > 0)
  for (const { headers, text } of forms) {
    t.equal(headers.authorization, basicOf(simulator, 'suunto').authorization)
    t.match(Object.fromEntries(new URLSearchParams(text)), { username: /^edda\d+$/, workoutid: /^[0-9a-f]{24}$/ })
  }
  const others = receiver.notices.filter((one) => !forms.includes(one))
  t.ok(others.length > 20 && others.every((one) => isSigned(simulator.env.SUUNTO_WEBHOOK_SECRET, one)))
})
