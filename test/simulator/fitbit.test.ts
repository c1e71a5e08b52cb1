import t, { type Test } from 'tap'
import { ask, askToken, basicOf, type Json, play, START, tokens, unlike } from '../support/simulator.ts'

const [FROM, TO] = ['2026-02-10', '2026-03-07']
const LOCAL = '2026-03-06T23:41:00.000'

/** Samples of the fact page: fields, their types, the forms of their times. */
const SAMPLES: Record<string, Json> = {
  workout: {
    ...{ logId: 0, activityTypeId: 0, activityName: '', startTime: '2026-03-07T07:30:00.000+05:45', duration: 0 },
    ...{ activeDuration: 0, calories: 0, logType: '', lastModified: '2026-03-07T07:20:11.000Z' },
  },
  sleep: {
    ...{ logId: 0, dateOfSleep: '', startTime: LOCAL, endTime: LOCAL, duration: 0, timeInBed: 0, minutesAsleep: 0 },
    ...{ efficiency: 0, isMainSleep: true, type: '', logType: '', infoCode: 0 },
    levels: { data: [{ dateTime: LOCAL, level: '', seconds: 0 }] },
  },
  weight: { logId: 0, date: '', time: '', weight: 0, bmi: 0, fat: 0, source: 'Aria' },
  user: { encodedId: '', displayName: '', timezone: '', offsetFromUTCMillis: 0, height: 0, weight: 0 },
}

/** A simulator, and the API as somebody who has given consent. */
async function fitbit(t: Test, person = 'bikash', own = {}) {
  const simulator = await play(t)
  await simulator.control('POST', 'settings', { provider: 'fitbit', limits: [1e6], own })
  const given = await tokens(simulator, 'fitbit', { auto: person })
  const get = (path: string) => simulator.get('fitbit', path, given.access_token)
  const truth = async () =>
    (await simulator.control('GET', `truth?person=${person}&from=${FROM}&to=${TO}&minutes=true`)).body
  return { simulator, given, get, truth }
}

/** Local time in Kathmandu, where the person of most tests lives. */
function wall(at: string): string {
  return new Date(Date.parse(at) + 345 * 60_000).toISOString().slice(0, 23)
}

t.test('tokens want a proof and the application in a header; each refresh token is good once', async (t) => {
  const { simulator, given, get } = await fitbit(t)
  t.match(given, { expires_in: 28_800, token_type: 'Bearer', user_id: /^[A-Z0-9]{6}$/ })
  const refresh = (token: string) =>
    askToken(simulator, 'fitbit', { grant_type: 'refresh_token', refresh_token: token })
  t.equal((await refresh(given.refresh_token)).status, 200)
  const again = await refresh(given.refresh_token)
  t.match(again, { status: 400, body: { errors: [{ errorType: 'invalid_grant' }], success: false } })
  t.match((await get('/1/user/-/profile.json')).body.user, { encodedId: given.user_id, timezone: 'Asia/Kathmandu' })
  t.match((await get('/1/user/-/devices.json')).body, [{ deviceVersion: 'Charge 5', type: 'TRACKER' }])
  const url = simulator.env.FITBIT_TOKEN_URL?.replace(/token$/, 'revoke') ?? ''
  const body = new URLSearchParams({ token: given.access_token })
  t.equal((await ask(url, { method: 'POST', body, headers: basicOf(simulator, 'fitbit') })).status, 200)
  t.match(await get('/1/user/-/profile.json'), { status: 401, body: { errors: [{ errorType: 'expired_token' }] } })
})

t.test('series of dates are text; nights and weighings are what is true', async (t) => {
  const { get, truth } = await fitbit(t)
  const real = await truth()
  const list = async (path: string) => (await get(`/1/user/-/${path}/date/${FROM}/${TO}.json`)).body
  const numbers: [string, (day: Json) => number][] = [
    ['steps', ({ steps }) => steps],
    ['floors', ({ floors }) => floors],
    ['distance', ({ distance_m }) => Math.round(distance_m * 100) / 100_000],
    ['caloriesBMR', ({ basal_kcal }) => Math.round(basal_kcal)],
    ['calories', ({ basal_kcal, active_kcal }) => Math.round(basal_kcal) + Math.round(active_kcal)],
    ['minutesFairlyActive', ({ medium_seconds }) => medium_seconds / 60],
  ]
  const wrong: string[] = []
  for (const [name, of] of numbers) {
    const found = (await list(`activities/${name}`))[`activities-${name}`]
    const expected = real.calendar_days.map((day: Json) => ({ dateTime: day.date, value: String(of(day)) }))
    if (JSON.stringify(found) !== JSON.stringify(expected)) wrong.push(`${name}: ${JSON.stringify(found)}`)
  }
  t.strictSame(wrong, [])
  const nights = real.sleeps.filter(({ nap }: Json) => !nap)
  const of = (rows: Json[], value: (one: Json) => unknown) => rows.map((one) => [one.dateTime, value(one.value)])
  const expected = (value: (one: Json) => unknown, list = nights) => list.map((one: Json) => [one.date, value(one)])
  const heart = (await list('activities/heart'))['activities-heart'].filter(({ value }: Json) => value.restingHeartRate)
  t.strictSame(
    of(heart, (one) => one.restingHeartRate),
    expected((one) => one.lowest_heart_rate),
  )
  t.strictSame(
    of((await list('br')).br, (one) => one.breathingRate),
    expected((one) => Math.round(one.respiratory_rate * 10) / 10),
  )
  t.strictSame(
    of((await list('temp/skin')).tempSkin, (one) => one.nightlyRelative),
    expected((one) => one.temperature_deviation_celsius),
  )
  const measured = nights.filter(({ spo2_percent }: Json) => spo2_percent !== null)
  t.strictSame(
    of(await list('spo2'), (one) => one.avg),
    expected((one) => Math.round(one.spo2_percent * 10) / 10, measured),
    'a list alone',
  )
  t.match(
    (await get(`/1/user/-/spo2/date/${measured[0].date}.json`)).body,
    { dateTime: measured[0].date },
    'a date alone is no list',
  )
  const { weight } = await list('body/log/weight')
  t.strictSame(
    weight.flatMap((one: Json) => unlike('weight', SAMPLES.weight, one)),
    [],
  )
  t.strictSame(
    weight.map((one: Json) => [`${one.date}T${one.time}`, one.weight, one.fat]),
    real.weighings.map((one: Json) => [wall(one.at).slice(0, 19), one.kg, one.fat_percent]),
  )
  t.match((await list('cardioscore')).cardioScore[0].value.vo2Max, /^\d+(-\d+)?$/)
})

t.test('sleep logs: local times by the offset of the start, short wakes beside the stages', async (t) => {
  const { get, truth } = await fitbit(t)
  const real = await truth()
  const { sleep } = (await get(`/1.2/user/-/sleep/date/${FROM}/${TO}.json`)).body
  t.strictSame(
    sleep.map(({ logId }: Json) => String(logId)).reverse(),
    real.sleeps.map(({ ids }: Json) => ids.fitbit),
  )
  const wrong: string[] = []
  for (const one of sleep) {
    const truth = real.sleeps.find(({ ids }: Json) => ids.fitbit === String(one.logId))
    wrong.push(...unlike(truth.key, SAMPLES.sleep, one))
    if (one.startTime !== wall(truth.start) || one.endTime !== wall(truth.end)) wrong.push(`${truth.key}: times`)
    if (one.isMainSleep === truth.nap || one.type !== (truth.unscorable ? 'classic' : 'stages'))
      wrong.push(`${truth.key}: kind`)
    const { data, shortData = [] } = one.levels
    const seconds = (rows: Json[], level: string) =>
      rows.reduce((sum, row) => sum + (row.level === level ? row.seconds : 0), 0)
    const total = data.reduce((sum: number, row: Json) => sum + row.seconds, 0)
    if (total * 1000 !== one.duration) wrong.push(`${truth.key}: ${total} s`)
    if (one.type === 'stages' && seconds(data, 'wake') + seconds(shortData, 'wake') !== truth.seconds.awake)
      wrong.push(`${truth.key}: awake`)
    if (shortData.some((row: Json) => row.seconds > 180)) wrong.push(`${truth.key}: a long short wake`)
  }
  t.strictSame(wrong, [])
  t.ok(sleep.some(({ levels }: Json) => levels.shortData?.length > 0))
})

t.test('workouts come page by page, by addresses of the provider', async (t) => {
  const { simulator, get, truth } = await fitbit(t, 'edda')
  const real = await truth()
  const found: Json[] = []
  const limit = 4
  for (let next = `/1/user/-/activities/list.json?afterDate=${FROM}&sort=asc&limit=${limit}&offset=0`; next !== ''; ) {
    const { body } = await get(next)
    found.push(...body.activities)
    next = body.pagination.next.replace(simulator.env.FITBIT_API_URL, '')
    t.ok(body.activities.length <= limit)
  }
  t.strictSame(
    found.map(({ logId }) => String(logId)),
    real.workouts.map(({ ids }: Json) => ids.fitbit),
  )
  const wrong = found.flatMap((one) => unlike('workout', SAMPLES.workout, one))
  for (const [i, one] of found.entries()) {
    const { key, start, manual, distance_m } = real.workouts[i]
    if (Date.parse(one.startTime) !== Date.parse(start)) wrong.push(`${key}: start`)
    const km = manual || distance_m === null ? undefined : Math.round(distance_m * 100) / 100_000
    if (one.distance !== km || (one.source === undefined) !== manual) wrong.push(`${key}: ${one.distance}`)
  }
  t.strictSame(wrong, [])
  for (const query of [
    ...[
      'afterDate=2026-03-01&beforeDate=2026-03-02&sort=asc&limit=5&offset=0',
      'afterDate=2026-03-01&sort=desc&limit=5&offset=0',
    ],
    ...['afterDate=2026-03-01&sort=asc&limit=5&offset=5', 'afterDate=2026-03-01&sort=asc&limit=101&offset=0'],
  ])
    t.equal((await get(`/1/user/-/activities/list.json?${query}`)).status, 400, query)
  const list = (await get('/1.2/user/-/sleep/list.json?beforeDate=2026-03-05&sort=desc&limit=3&offset=0')).body
  t.strictSame([list.sleep.length, list.sleep.some(({ startTime }: Json) => startTime >= '2026-03-05')], [3, false])
})

t.test('ranges, scopes, permissions and the hour of the limit', async (t) => {
  const { simulator, get } = await fitbit(t)
  for (const path of [
    'hrv/date/2026-01-01/2026-01-31',
    'body/log/weight/date/2026-01-01/2026-02-01',
    'hrv/date/today/soon',
  ])
    t.equal((await get(`/1/user/-/${path}.json`)).status, 400, path)
  t.match(await get('/1/user/-/activities/heart/date/2026-03-05/1d/1min.json'), {
    ...{ status: 403, body: { errors: [{ errorType: 'insufficient_permissions' }] } },
  })
  await simulator.control('POST', 'settings', { provider: 'fitbit', own: { intraday: true } })
  const { body } = await get('/1/user/-/activities/heart/date/2026-03-05/1d/1min.json')
  t.ok(body['activities-heart-intraday'].dataset.length > 500)
  const { access_token } = await tokens(simulator, 'fitbit', { without: 'weight' })
  const refused = await simulator.get('fitbit', '/1/user/-/body/log/fat/date/2026-03-01/2026-03-02.json', access_token)
  t.match(refused, { status: 403, body: { errors: [{ errorType: 'insufficient_scope' }] } })
  await simulator.control('POST', 'settings', { provider: 'fitbit', limits: [2] })
  const left = []
  const other = await tokens(simulator, 'fitbit', { auto: 'clara' })
  for (let i = 0; i < 3; i++) {
    const { status, headers } = await simulator.get('fitbit', '/1/user/-/profile.json', other.access_token)
    left.push([status, headers.get('fitbit-rate-limit-remaining'), headers.get('fitbit-rate-limit-reset')])
  }
  const reset = String(Math.ceil(3600 - ((START / 1000) % 3600)))
  t.strictSame(left, [
    [200, '1', reset],
    [200, '0', reset],
    [429, '0', reset],
  ])
})

t.test('retired, everything answers 410, sign-in too', async (t) => {
  const { simulator, given, get } = await fitbit(t)
  await simulator.control('POST', 'settings', { provider: 'fitbit', own: { retired: true } })
  t.match(await get('/1/user/-/profile.json'), { status: 410, body: { success: false } })
  const refresh = { grant_type: 'refresh_token', refresh_token: given.refresh_token }
  t.equal((await askToken(simulator, 'fitbit', refresh)).status, 410)
  t.equal((await ask(simulator.env.FITBIT_AUTHORIZE_URL ?? '')).status, 410)
})
