import { createPublicKey, createSign, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { listen } from '../support/receiver.ts'
import {
  allow,
  ask,
  askToken,
  CALLBACK,
  type Json,
  type Playing,
  play,
  START,
  tokens,
  unlike,
} from '../support/simulator.ts'

const FROM = '2026-02-20'
const TO = '2026-03-07'
const SCOPE = 'https://www.googleapis.com/auth/googlehealth.'
const TIME = '2026-03-06T22:41:00Z'
const INTERVAL = { startTime: TIME, endTime: TIME, startUtcOffset: '3600s', endUtcOffset: '3600s' }

/** Samples of the fact page: fields, their types, the forms of their times. */
const SAMPLES: Record<string, Json> = {
  steps: { count: '', interval: INTERVAL },
  distance: { millimeters: '', interval: INTERVAL },
  'heart-rate': {
    ...{ beatsPerMinute: '', sampleTime: { physicalTime: TIME, utcOffset: '3600s' } },
    metadata: { motionContext: '', sensorLocation: '' },
  },
  'daily-resting-heart-rate': { beatsPerMinute: '', date: { year: 0, month: 0, day: 0 } },
  weight: { weightGrams: 0, sampleTime: { physicalTime: TIME } },
  'nutrition-log': {
    ...{ foodDisplayName: '', mealType: '', interval: INTERVAL, energy: { kcal: 0 }, totalFat: { grams: 0 } },
    nutrients: [{ nutrient: '', quantity: { grams: 0 } }],
  },
  sleep: {
    ...{ type: '', interval: INTERVAL, metadata: { externalId: '', mainSleep: true, nap: false, processed: true } },
    stages: [{ type: '', ...INTERVAL }],
    summary: { minutesInSleepPeriod: '', minutesAsleep: '', stagesSummary: [{ type: '', minutes: '', count: '' }] },
  },
  exercise: {
    ...{ exerciseType: '', displayName: '', activeDuration: '1830s', interval: INTERVAL },
    ...{ metricsSummary: { caloriesKcal: 0 }, exerciseMetadata: { hasGps: true } },
  },
}

/** A simulator, and the API as somebody who has given consent. */
async function google(t: Test, person = 'ana', own = {}) {
  const simulator = await play(t)
  await simulator.control('POST', 'settings', { provider: 'google_health', limits: [1e6, 1e6], own })
  const given = await tokens(simulator, 'google_health', { auto: person })
  const get = (path: string) => simulator.get('google_health', path, given.access_token)
  const truth = async (more = '') =>
    (await simulator.control('GET', `truth?person=${person}&from=${FROM}&minutes=true${more}`)).body
  /** All points of a type, oldest first. */
  const points = async (type: string, filter: string, operation = ':reconcile') => {
    const found: Json[] = []
    for (let token = ''; ; ) {
      const more = token && `&pageToken=${token}`
      const path = `/v4/users/me/dataTypes/${type}/dataPoints${operation}?pageSize=5000&filter=${encodeURIComponent(filter)}${more}`
      const { status, body } = await get(path)
      if (status !== 200) throw new Error(`${type}: ${JSON.stringify(body)}`)
      found.push(...body.dataPoints)
      token = body.nextPageToken ?? ''
      if (token === '') return found.reverse()
    }
  }
  const rollUp = (type: string, name: string, body: object) =>
    ask(`${simulator.env.GOOGLE_HEALTH_API_URL}/v4/users/me/dataTypes/${type}/dataPoints:${name}`, {
      ...{ method: 'POST', body: JSON.stringify(body), headers: { authorization: `Bearer ${given.access_token}` } },
    })
  return { simulator, given, get, truth, points, rollUp }
}

const span = (member: string, from = `${FROM}T00:00:00Z`, to = '2026-03-08T00:00:00Z') =>
  `${member} >= "${from}" AND ${member} < "${to}"`

t.test('a refresh token comes with the first code that asks for it, and stays good', async (t) => {
  const { simulator, given, get } = await google(t)
  t.match(given, { expires_in: 3599, refresh_token: String, id_token: String, token_type: 'Bearer', scope: /openid/ })
  const refresh = () =>
    askToken(simulator, 'google_health', { grant_type: 'refresh_token', refresh_token: given.refresh_token })
  const { body } = await refresh()
  t.notOk('refresh_token' in body)
  t.equal((await refresh()).status, 200)
  t.notOk('refresh_token' in (await tokens(simulator, 'google_health', { access_type: 'online' })))
  const online = await allow(simulator, 'google_health', { access_type: 'online' })
  const form = { grant_type: 'authorization_code', code: online.get('code') ?? '', redirect_uri: CALLBACK }
  t.equal((await askToken(simulator, 'google_health', form)).status, 400, 'the proof is missing')
  const person = (await simulator.control('GET', 'people')).body[0]
  t.match((await get('/v4/users/me/identity')).body, {
    healthUserId: person.accounts.google_health,
    legacyUserId: person.accounts.fitbit,
  })
  t.match((await get('/oauth2/v3/userinfo')).body, { email: 'ana@example.org' })
  t.match((await get('/v4/users/me/settings')).body, { timeZone: 'Europe/Berlin', utcOffset: '3600s' })
  const revoke = (token: string) =>
    ask(`${simulator.url}/google_health/revoke`, { method: 'POST', body: new URLSearchParams({ token }) })
  t.equal((await revoke(given.refresh_token)).status, 200)
  t.match(await get('/v4/users/me/identity'), { status: 401, body: { error: { status: 'UNAUTHENTICATED' } } })
  t.match(await refresh(), { status: 400, body: { error: 'invalid_grant' } })
  t.match(await revoke('nothing'), { status: 400, body: { error: 'invalid_token' } })
})

t.test('points are what is true, whole numbers as text, in the zone of the person', async (t) => {
  const { truth, points } = await google(t, 'bikash')
  const real = await truth()
  const minutes = real.minutes.flatMap(({ start, ...lists }: Json) =>
    lists.steps.map((steps: number, i: number) => ({
      ms: Date.parse(start) + i * 60_000,
      ...{ steps, beats: lists.heart_rate[i] },
    })),
  )
  const from = Date.parse(`${FROM}T00:00:00Z`)
  const wanted = (name: string, plus = 0) =>
    minutes.flatMap((one: Json) => (one.ms + plus >= from && one[name] > 0 ? [[one.ms + plus, one[name]]] : []))
  const steps = await points('steps', span('steps.interval.start_time'))
  t.strictSame(
    steps.map((one) => [Date.parse(one.steps.interval.startTime), Number(one.steps.count)]),
    wanted('steps'),
  )
  const beats = await points('heart-rate', span('heart_rate.sample_time.physical_time'))
  t.strictSame(
    beats.map((one) => [Date.parse(one.heartRate.sampleTime.physicalTime), Number(one.heartRate.beatsPerMinute)]),
    wanted('beats', 5000),
  )
  t.equal(steps[0].steps.interval.startUtcOffset, '20700s')
  const nights = await points('sleep', span('sleep.interval.end_time'))
  const slept = real.sleeps.filter(({ end }: Json) => Date.parse(end) >= from)
  t.strictSame(
    nights.map((one) => one.dataPointName),
    slept.map(({ ids }: Json) => ids.google_health),
  )
  const exercises = await points('exercise', span('exercise.interval.civil_start_time', FROM, TO))
  const trained = real.workouts.filter(({ date }: Json) => date < TO)
  t.strictSame(
    exercises.map((one) => one.dataPointName),
    trained.map(({ ids }: Json) => ids.google_health),
  )
  const wrong: string[] = []
  const same = (what: string, found: unknown, expected: unknown) => {
    if (found !== expected) wrong.push(`${what}: ${found}, really ${expected}`)
  }
  for (const [i, { sleep }] of nights.entries()) {
    const { key, seconds, stages, unscorable, nap } = slept[i]
    wrong.push(...unlike(key, SAMPLES.sleep, sleep))
    same(`${key} stages`, sleep.stages.length, stages.length)
    same(`${key} nap`, sleep.metadata.nap, nap)
    const deep = sleep.summary.stagesSummary.find(({ type }: Json) => type === 'DEEP')
    same(
      `${key} deep`,
      deep?.minutes,
      unscorable || seconds.deep === 0 ? undefined : String(Math.round(seconds.deep / 60)),
    )
  }
  for (const [i, { exercise }] of exercises.entries()) {
    const { key, distance_m, active_kcal } = trained[i]
    wrong.push(...unlike(key, SAMPLES.exercise, exercise))
    same(`${key} energy`, exercise.metricsSummary.caloriesKcal, Math.round(active_kcal * 10) / 10)
    const metres = distance_m === null ? undefined : Math.round(distance_m * 1000)
    same(`${key} distance`, exercise.metricsSummary.distanceMillimeters, metres)
  }
  for (const [type, found] of Object.entries({ steps, 'heart-rate': beats }))
    wrong.push(
      ...found
        .slice(0, 50)
        .flatMap((one) => unlike(type, SAMPLES[type], one[type === 'steps' ? 'steps' : 'heartRate'])),
    )
  t.strictSame(wrong, [])
})

t.test('what is weighed, measured, eaten and drunk; days have dates', async (t) => {
  const { simulator, points } = await google(t)
  const people = (await simulator.control('GET', 'people')).body.map(({ key }: Json) => key)
  const compared: Record<string, number> = {}
  for (const person of people) {
    const { access_token } = await tokens(simulator, 'google_health', { auto: person })
    const list = async (type: string, field: string) =>
      (
        await simulator.get('google_health', `/v4/users/me/dataTypes/${type}/dataPoints?pageSize=10000`, access_token)
      ).body.dataPoints
        .reverse()
        .map((one: Json) => one[field])
    const { body: real } = await simulator.control('GET', `truth?person=${person}`)
    const at = (one: Json) => Date.parse(one.sampleTime?.physicalTime ?? one.interval.startTime)
    const same = (what: string, found: Json[][], expected: Json[][]) => {
      t.strictSame(found, expected, `${person}: ${what}`)
      compared[what] = (compared[what] ?? 0) + expected.length
    }
    const moment = (list: Json[], ...names: string[]) =>
      list.map((one) => [Date.parse(one.at), ...names.map((name) => one[name])])
    same(
      'weight',
      (await list('weight', 'weight')).map((one: Json) => [at(one), one.weightGrams / 1000]),
      moment(real.weighings, 'kg'),
    )
    same(
      'fat',
      (await list('body-fat', 'bodyFat')).map((one: Json) => [at(one), one.percentage]),
      moment(real.weighings, 'fat_percent'),
    )
    same(
      'glucose',
      (await list('blood-glucose', 'bloodGlucose'))
        .slice(-500)
        .map((one: Json) => [at(one), one.bloodGlucoseMilligramsPerDeciliter]),
      moment(real.glucose.slice(-500), 'mg_per_dl'),
    )
    same(
      'meals',
      (await list('nutrition-log', 'nutritionLog')).map((one: Json) => [at(one), one.energy.kcal, one.totalFat.grams]),
      moment(real.meals, 'kcal', 'fat_g'),
    )
    same(
      'drinks',
      (await list('hydration-log', 'hydrationLog')).map((one: Json) => [at(one), one.amountConsumed.milliliters]),
      moment(real.drinks, 'millilitres'),
    )
    const resting = await list('daily-resting-heart-rate', 'dailyRestingHeartRate')
    const date = ({ year, month, day }: Json) => new Date(Date.UTC(year, month - 1, day)).toISOString().slice(0, 10)
    same(
      'resting',
      resting.map((one: Json) => [date(one.date), Number(one.beatsPerMinute)]),
      real.sleeps.flatMap((one: Json) => (one.nap ? [] : [[one.date, one.lowest_heart_rate]])),
    )
  }
  t.strictSame(
    Object.entries(compared).filter(([, count]) => count < 40),
    [],
  )
  const wrong = (await points('nutrition-log', '')).flatMap(({ nutritionLog }) =>
    unlike('meal', SAMPLES['nutrition-log'], nutritionLog),
  )
  t.strictSame(wrong, [])
})

t.test(
  'lists name their source, and count what two sources measured twice; pages and filters are strict',
  async (t) => {
    const { get, points, simulator } = await google(t)
    const filter = span('steps.interval.start_time', '2026-03-06T00:00:00Z', '2026-03-07T00:00:00Z')
    const listed = await points('steps', filter, '')
    const merged = await points('steps', filter)
    t.ok(listed.length > merged.length)
    t.strictSame([...new Set(listed.map(({ dataSource }) => dataSource.device.formFactor))].sort(), ['PHONE', 'WATCH'])
    t.notOk(merged.some(({ dataSource }) => dataSource))
    const path = '/v4/users/me/dataTypes/sleep/dataPoints'
    const { body: first } = await get(`${path}?pageSize=1000`)
    t.equal(first.dataPoints.length, 25, 'cut without an error')
    t.equal((await get(`${path}?pageSize=1000&pageToken=${first.nextPageToken}`)).status, 200)
    t.match(await get(`${path}?pageSize=10&pageToken=${first.nextPageToken}`), {
      status: 400,
      body: { error: { status: 'INVALID_ARGUMENT' } },
    })
    const { name } = first.dataPoints[0]
    t.equal((await get(`/v4/${name.replace(/^users\/[^/]+/, 'users/me')}`)).body.name, name)
    const statuses: Record<string, number> = {}
    for (const wrong of [
      `${path}?filter=${encodeURIComponent(span('sleep.interval.start_time'))}`,
      `/v4/users/me/dataTypes/exercise/dataPoints?filter=${encodeURIComponent(span('exercise.interval.start_time'))}`,
      '/v4/users/me/dataTypes/steps/dataPoints?filter=steps.interval.start_time > 1',
      '/v4/users/me/dataTypes/steps/dataPoints?until=now',
      '/v4/users/me/dataTypes/total-calories/dataPoints',
    ])
      statuses[wrong] = (await get(wrong)).status
    t.strictSame(
      Object.entries(statuses).filter(([, status]) => status !== 400),
      [],
    )
    t.equal((await get('/v4/users/me/dataTypes/dreams/dataPoints')).status, 404)
    const { access_token } = await tokens(simulator, 'google_health', { without: `${SCOPE}sleep.readonly` })
    t.match(await simulator.get('google_health', path, access_token), {
      status: 403,
      body: { error: { status: 'PERMISSION_DENIED' } },
    })
  },
)

t.test('rollups: hours by instants, days by the clock on the wall', async (t) => {
  const { truth, rollUp, points } = await google(t, 'bikash')
  const real = await truth()
  const date = (text: string) => {
    const [year, month, day] = text.split('-').map(Number)
    return { date: { year, month, day } }
  }
  const days = await rollUp('steps', 'dailyRollUp', { range: { start: date('2026-02-25'), end: date('2026-03-06') } })
  const complete = real.calendar_days.filter(({ date }: Json) => date >= '2026-02-25' && date < '2026-03-06')
  t.strictSame(
    days.body.rollupDataPoints.map((one: Json) => Number(one.steps.countSum)),
    complete.map(({ steps }: Json) => steps),
  )
  const energy = await rollUp('active-energy-burned', 'dailyRollUp', {
    range: { start: date('2026-02-25'), end: date('2026-03-06') },
  })
  const off = energy.body.rollupDataPoints.map((one: Json, i: number) =>
    Math.abs(one.activeEnergyBurned.kcalSum - complete[i].active_kcal),
  )
  t.ok(Math.max(...off) < 0.1, `kcal off by ${Math.max(...off)}`)
  const range = { startTime: '2026-03-05T00:00:00Z', endTime: '2026-03-06T00:00:00Z' }
  const hours = await rollUp('heart-rate', 'rollUp', { range, windowSize: '3600s' })
  const beats = await points('heart-rate', span('heart_rate.sample_time.physical_time', range.startTime, range.endTime))
  const own = beats
    .map(({ heartRate }) => heartRate)
    .filter(({ sampleTime }) => sampleTime.physicalTime < '2026-03-05T01')
  const mean = own.reduce((sum, one) => sum + Number(one.beatsPerMinute), 0) / own.length
  t.match(hours.body.rollupDataPoints[0], { startTime: range.startTime, endTime: '2026-03-05T01:00:00Z' })
  t.ok(Math.abs(hours.body.rollupDataPoints[0].heartRate.beatsPerMinuteAvg - mean) < 0.001)
  const long = { startTime: '2026-02-05T00:00:00Z', endTime: '2026-03-06T00:00:00Z' }
  t.equal((await rollUp('heart-rate', 'rollUp', { range: long, windowSize: '3600s' })).status, 400)
  t.equal((await rollUp('steps', 'rollUp', { range: long, windowSize: '3600s' })).status, 200)
  t.equal((await rollUp('steps', 'rollUp', { range: long, windowSize: '60s', pageSize: 10_000 })).status, 400)
  t.equal((await rollUp('sleep', 'rollUp', { range, windowSize: '3600s' })).status, 400)
})

/** A token of the service account. */
async function serviceToken({ env }: Playing, claims = {}): Promise<Json> {
  const { private_key, client_email } = JSON.parse(readFileSync(env.GOOGLE_HEALTH_SERVICE_ACCOUNT_FILE ?? '', 'utf8'))
  const seconds = START / 1000
  const body = {
    ...{ iss: client_email, scope: 'https://www.googleapis.com/auth/cloud-platform', aud: env.GOOGLE_HEALTH_TOKEN_URL },
    ...{ iat: seconds, exp: seconds + 3600, ...claims },
  }
  const text = [{ alg: 'RS256', typ: 'JWT' }, body]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  const assertion = `${text}.${createSign('RSA-SHA256').update(text).sign(private_key).toString('base64url')}`
  const form = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion }
  return ask(env.GOOGLE_HEALTH_TOKEN_URL ?? '', { method: 'POST', body: new URLSearchParams(form) })
}

t.test('subscribers belong to the project; the address proves that it knows the secret', async (t) => {
  const { simulator, given } = await google(t)
  t.match(await serviceToken(simulator, { iss: 'somebody' }), { status: 400, body: { error: 'invalid_grant' } })
  t.equal((await serviceToken(simulator, { exp: START / 1000 - 1 })).status, 400)
  t.equal((await serviceToken(simulator, { aud: 'https://oauth2.googleapis.com/token' })).status, 200)
  const { access_token } = (await serviceToken(simulator)).body
  const base = `${simulator.env.GOOGLE_HEALTH_API_URL}/v4/projects/${simulator.env.GOOGLE_HEALTH_PROJECT_ID}/subscribers`
  const send = (method: string, path: string, body?: object, token = access_token) =>
    ask(base + path, {
      method,
      headers: { authorization: `Bearer ${token}` },
      ...(body && { body: JSON.stringify(body) }),
    })
  const there = await listen(t)
  const secret = 'Bearer a-secret'
  const wanted = {
    endpointUri: there.url,
    subscriberConfigs: [{ dataTypes: ['steps', 'sleep', 'weight'], subscriptionCreatePolicy: 'AUTOMATIC' }],
    endpointAuthorization: { secret },
  }
  const create = (body: object) => send('POST', '?subscriberId=pulsebase', body)
  t.equal((await send('GET', '', undefined, given.access_token)).status, 401, 'a token of a person')
  t.match(await create(wanted), { status: 400, body: { error: { status: 'FAILED_PRECONDITION' } } })
  t.strictSame(
    there.notices.map(({ body }) => body),
    [{ type: 'verification' }, { type: 'verification' }],
  )
  there.judge = ({ headers, body }) =>
    headers.authorization !== secret ? 401 : body.type === 'verification' ? 201 : 204
  t.match(await create({ ...wanted, subscriberConfigs: [{ dataTypes: ['oxygen-saturation'] }] }), { status: 400 })
  t.match(await create(wanted), { status: 200, body: { done: true } })
  t.equal((await create(wanted)).status, 409)
  t.match((await send('GET', '')).body.subscribers, [
    { endpointUri: there.url, state: 'ACTIVE', endpointAuthorization: { secretSet: true } },
  ])
  there.notices.length = 0
  await simulator.control('POST', 'clock', { advance_days: 2 })
  await simulator.control('POST', 'notices')
  const told = there.notices.flatMap(({ body }) => body).map(({ data }) => data)
  t.strictSame(
    [...new Set(told.map(({ dataType }) => dataType))].filter((type) => !['steps', 'sleep', 'weight'].includes(type)),
    [],
  )
  const { body: real } = await simulator.control('GET', `truth?person=ana&from=${TO}`)
  const ends = told
    .filter(({ dataType }) => dataType === 'sleep')
    .map(({ intervals }) => intervals[0].physicalTimeInterval.endTime)
  const slept = real.sleeps.filter(({ updated_at }: Json) => Date.parse(updated_at) > START)
  t.strictSame(
    slept.filter(({ end }: Json) => !ends.includes(end.replace('.000', ''))),
    [],
  )
  t.ok(slept.length > 1)
  t.ok(there.notices.some(({ body }) => Array.isArray(body)) && there.notices.some(({ body }) => !Array.isArray(body)))
  const keys = (await ask(`${simulator.env.GOOGLE_HEALTH_API_URL}/webhooks/webhooks_public_keyset.json`)).body
  t.ok(isSigned(there.notices[0], keys.key[0]))
  const changed = await send('PATCH', '/pulsebase?updateMask=endpointAuthorization', {
    endpointAuthorization: { secret: 'Bearer other' },
  })
  t.equal(changed.status, 400, 'the address does not know the new one')
  const fewer = { subscriberConfigs: [{ dataTypes: ['weight'], subscriptionCreatePolicy: 'AUTOMATIC' }] }
  const patched = await send('PATCH', '/pulsebase?updateMask=subscriberConfigs', fewer)
  t.strictSame(
    patched.body.response.subscriberConfigs[0].dataTypes,
    ['weight'],
    'the list takes the place of the one before',
  )
  for (const body of [[], [null], { subscriberConfigs: [null] }, { endpointUri: 'nowhere' }])
    t.equal((await send('PATCH', '/pulsebase?updateMask=endpointUri', body)).status, 400, JSON.stringify(body))
  await send('PATCH', '/pulsebase?updateMask=subscriberConfigs', { ...wanted, endpointUri: undefined })
  there.judge = () => 200
  await simulator.control('POST', 'clock', { advance_days: 1 })
  await simulator.control('POST', 'notices')
  const last = (await simulator.control('GET', 'notices?provider=google_health')).body.at(-1)
  t.equal(last.state, 'waiting', '200 is not 204')
  t.equal((await send('DELETE', '/pulsebase?force=true')).status, 200)
  t.strictSame((await send('GET', '')).body.subscribers, [])
})

/** Whether the signature of a notice is that of a key of the set. */
function isSigned({ headers, text }: Json, { keyId, keyData }: Json): boolean {
  const bytes = Buffer.from(headers['google-health-api-signature'], 'base64')
  const value = Buffer.from(keyData.value, 'base64')
  // Parameters of eight bytes, then both numbers, each with its length and a zero before it.
  const number = (from: number) => value.subarray(from, from + 32).toString('base64url')
  const [x, y] = [number(11), number(46)]
  const key = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' })
  return (
    bytes[0] === 1 && bytes.readUInt32BE(1) === keyId && verify('sha256', Buffer.from(text), key, bytes.subarray(5))
  )
}

t.test('what ranges that touch have is what one range over both has, wherever they touch', async (t) => {
  const { points } = await google(t)
  const [from, until] = ['2026-03-05T08:00:00Z', '2026-03-05T14:00:00Z']
  const fields = [
    ['heart-rate', 'heart_rate.sample_time.physical_time'],
    ['steps', 'steps.interval.start_time'],
    ['basal-energy-burned', 'basal_energy_burned.interval.start_time'],
  ] as const
  const wrong: string[] = []
  for (const [type, field] of fields) {
    const between = (lo: string, hi: string) => points(type, `${field} >= "${lo}" AND ${field} < "${hi}"`)
    const all = await between(from, until)
    if (all.length < 3) wrong.push(`${type}: ${all.length} points`)
    for (const cut of ['2026-03-05T10:20:04.500Z', '2026-03-05T10:21:05.500Z', '2026-03-05T12:30:59.999Z']) {
      const parts = [...(await between(from, cut)), ...(await between(cut, until))]
      if (parts.length !== all.length) wrong.push(`${type} cut at ${cut}: ${parts.length} of ${all.length}`)
    }
  }
  t.strictSame(wrong, [])
})
