import t, { type Test } from 'tap'
import { listen, type Received } from '../support/receiver.ts'
import { allow, ask, askToken, consentUrl, type Json, play, START, tokens, unlike } from '../support/simulator.ts'
import { runs, THOROUGH } from '../support/thorough.ts'

const DAY_S = 86_400
const NOW = START / 1000
const REST = '/wellness-api/rest'

/** A sample of each type, as the fact page has it. */
const SAMPLES: Record<string, Json> = {
  dailies: {
    ...{ userId: '', summaryId: '', calendarDate: '', startTimeInSeconds: 0, startTimeOffsetInSeconds: 0 },
    ...{ durationInSeconds: 0, activityType: '', steps: 0, pushes: 0, distanceInMeters: 0, activeTimeInSeconds: 0 },
    ...{ activeKilocalories: 0, bmrKilocalories: 0, moderateIntensityDurationInSeconds: 0, floorsClimbed: 0 },
    ...{ vigorousIntensityDurationInSeconds: 0, averageStressLevel: 0, maxStressLevel: 0, stressDurationInSeconds: 0 },
    ...{ bodyBatteryChargedValue: 0, bodyBatteryDrainedValue: 0, stepsGoal: 0 },
  },
  epochs: {
    ...{ userId: '', summaryId: '', activityType: '', startTimeInSeconds: 0, startTimeOffsetInSeconds: 0, steps: 0 },
    ...{ durationInSeconds: 0, activeTimeInSeconds: 0, distanceInMeters: 0, activeKilocalories: 0, met: 0 },
    ...{ intensity: '', meanMotionIntensity: 0, maxMotionIntensity: 0 },
  },
  sleeps: {
    ...{ userId: '', summaryId: '', calendarDate: '', startTimeInSeconds: 0, startTimeOffsetInSeconds: 0 },
    ...{ durationInSeconds: 0, deepSleepDurationInSeconds: 0, lightSleepDurationInSeconds: 0, remSleepInSeconds: 0 },
    ...{ awakeDurationInSeconds: 0, validation: '', timeOffsetSleepRespiration: {} },
    sleepLevelsMap: { light: [{ startTimeInSeconds: 0, endTimeInSeconds: 0 }], deep: [], rem: [], awake: [] },
  },
  bodyComps: {
    ...{ userId: '', summaryId: '', measurementTimeInSeconds: 0, measurementTimeOffsetInSeconds: 0, weightInGrams: 0 },
    ...{ muscleMassInGrams: 0, boneMassInGrams: 0, bodyWaterInPercent: 0, bodyFatInPercent: 0, bodyMassIndex: 0 },
  },
  hrv: {
    ...{ userId: '', summaryId: '', calendarDate: '', startTimeInSeconds: 0, startTimeOffsetInSeconds: 0 },
    ...{ durationInSeconds: 0, lastNightAvg: 0, lastNight5MinHigh: 0, hrvValues: {} },
  },
  stressDetails: {
    ...{ userId: '', summaryId: '', calendarDate: '', startTimeInSeconds: 0, startTimeOffsetInSeconds: 0 },
    ...{ durationInSeconds: 0, timeOffsetStressLevelValues: { 0: 0 }, timeOffsetBodyBatteryValues: {} },
  },
  allDayRespiration: {
    ...{ userId: '', summaryId: '', startTimeInSeconds: 0, startTimeOffsetInSeconds: 0, durationInSeconds: 0 },
    timeOffsetEpochToBreaths: { 0: 0 },
  },
  pulseox: {
    ...{ userId: '', summaryId: '', calendarDate: '', startTimeInSeconds: 0, startTimeOffsetInSeconds: 0 },
    ...{ durationInSeconds: 0, timeOffsetSpo2Values: {}, onDemand: true },
  },
  userMetrics: { userId: '', summaryId: '', calendarDate: '', vo2Max: 0, enhanced: true, fitnessAge: 0 },
  bloodPressures: {
    ...{ userId: '', summaryId: '', measurementTimeInSeconds: 0, measurementTimeOffsetInSeconds: 0, systolic: 0 },
    ...{ diastolic: 0, pulse: 0, sourceType: '' },
  },
  skinTemp: { userId: '', summaryId: '', calendarDate: '', startTimeInSeconds: 0, avgDeviationCelsius: 0 },
  healthSnapshot: {
    ...{ userId: '', summaryId: '', calendarDate: '', startTimeInSeconds: 0, durationInSeconds: 0 },
    summaries: [{ summaryType: '', minValue: 0, maxValue: 0, avgValue: 0, epochSummaries: { 0: 0 } }],
  },
  activities: {
    ...{ userId: '', summaryId: '', activityId: 0, activityName: '', activityType: '', deviceName: '' },
    ...{ startTimeInSeconds: 0, startTimeOffsetInSeconds: 0, durationInSeconds: 0, activeKilocalories: 0 },
    ...{ isParent: false, manual: false, isWebUpload: false },
  },
  activityDetails: {
    ...{
      userId: '',
      summaryId: '',
      activityId: 0,
      summary: { activityType: '', durationInSeconds: 0, deviceName: '' },
    },
    samples: [{ startTimeInSeconds: 0, airTemperatureCelcius: 0, timerDurationInSeconds: 0 }],
    laps: [{ startTimeInSeconds: 0 }],
  },
  activityFiles: {
    ...{
      userId: '',
      summaryId: '',
      activityId: 0,
      fileType: '',
      callbackURL: '',
      startTimeInSeconds: 0,
      manual: false,
    },
  },
  moveIQActivities: {
    ...{ userId: '', summaryId: '', calendarDate: '', startTimeInSeconds: 0, startTimeOffsetInSeconds: 0 },
    ...{ durationInSeconds: 0, activityType: '', activitySubType: '' },
  },
  mct: {
    ...{ userId: '', summaryId: '', periodStartDate: '', dayInCycle: 0, currentPhase: 0, currentPhaseType: '' },
    ...{ lengthOfCurrentPhase: 0, daysUntilNextPhase: 0, cycleLength: 0, predictedCycleLength: 0 },
    ...{ isPredictedCycle: false, periodLength: 0, fertileWindowStart: 0, lengthOfFertileWindow: 0 },
    ...{ hasSpecifiedCycleLength: true, lastUpdatedTimeInSeconds: 0, pregnancySnapshot: null },
  },
}

/** Keys of bodies, with the names under which their past can be asked for. */
const BACKFILLS: Record<string, string> = {
  ...{ dailies: 'dailies', epochs: 'epochs', sleeps: 'sleeps', hrv: 'hrv', stressDetails: 'stressDetails' },
  ...{ bodyComps: 'bodyComps', activities: 'activities', activityDetails: 'activityDetails', pulseox: 'pulseOx' },
  ...{ allDayRespiration: 'respiration', userMetrics: 'userMetrics', bloodPressures: 'bloodPressures' },
  ...{ skinTemp: 'skinTemp', healthSnapshot: 'healthSnapshot', moveIQActivities: 'moveiq', mct: 'mct' },
}

interface Options {
  readonly people?: readonly string[]
  readonly own?: Record<string, unknown>
  readonly topics?: readonly string[]
  readonly ping?: boolean
}

/** A simulator, people who have given consent, and an application whose address was entered at Garmin. */
async function connected(t: Test, { people = ['ana'], own = {}, topics, ping }: Options = {}) {
  const simulator = await play(t)
  await simulator.control('POST', 'settings', { provider: 'garmin', limits: [1e6], own })
  const receiver = await listen(t)
  const given = { provider: 'garmin', url: receiver.url, ...(topics && { topics }), ...(ping && { ping }) }
  await simulator.control('POST', 'subscriptions', given)
  const all = await Promise.all(people.map((auto) => tokens(simulator, 'garmin', { auto })))
  const token = new Map(people.map((person, i) => [person, all[i].access_token as string]))
  const account = new Map<string, string>()
  for (const { key, accounts } of (await simulator.control('GET', 'people')).body) account.set(accounts.garmin, key)
  const pass = async (seconds: number) => {
    await simulator.control('POST', 'clock', { advance_seconds: seconds })
    await simulator.control('POST', 'notices')
  }
  const backfill = (type: string, from: number, to: number, person = people[0] ?? '') =>
    ask(`${simulator.env.GARMIN_API_URL}${REST}/backfill/${type}?${span(from, to)}`, bearer(token.get(person) ?? ''))
  const truth = async (person: string) =>
    (await simulator.control('GET', `truth?person=${person}&from=2026-02-01&minutes=true`)).body
  return { simulator, receiver, token, account, pass, backfill, truth }
}

function span(from: number, to: number): string {
  return String(new URLSearchParams({ summaryStartTimeInSeconds: `${from}`, summaryEndTimeInSeconds: `${to}` }))
}

const bearer = (token: string, method = 'GET') => ({ method, headers: { authorization: `Bearer ${token}` } })

/** Entries of all bodies, in the order in which they came. */
function entries(notices: readonly Received[], key: string): Json[] {
  return notices.flatMap(({ body }) => body[key] ?? [])
}

/** The last record of each id. */
function latest(notices: readonly Received[], key: string): Json[] {
  return [...new Map(entries(notices, key).map((one) => [`${one.userId} ${one.summaryId}`, one])).values()]
}

t.test('signing in takes a challenge; the past has to be ticked; the permissions are asked for', async (t) => {
  const simulator = await play(t)
  await simulator.control('POST', 'settings', { provider: 'garmin', limits: [1e6] })
  const bare = new URL(consentUrl(simulator, 'garmin', { auto: 'ana' }))
  bare.searchParams.delete('code_challenge')
  const refused = await ask(bare.href)
  t.equal(new URL(refused.headers.get('location') ?? '').searchParams.get('error'), 'invalid_request')
  const { body: page } = await ask(consentUrl(simulator, 'garmin'))
  t.match(page, /value="HEALTH_EXPORT" checked>[\s\S]*value="HISTORICAL_DATA_EXPORT">/)
  const code = (await allow(simulator, 'garmin')).get('code') ?? ''
  const wrong = await askToken(simulator, 'garmin', { grant_type: 'authorization_code', code, code_verifier: 'x' })
  t.match(wrong, { status: 400, body: { error: 'invalid_grant' } })
  const given = await tokens(simulator, 'garmin', { without: 'MCT_EXPORT' })
  const fields = { token_type: 'bearer', expires_in: 86_400, refresh_token_expires_in: 7_775_998, jti: String }
  t.match(given, { ...fields, scope: 'PARTNER_READ CONNECT_READ', access_token: String, refresh_token: String })
  const api = (path: string, method = 'GET', token = given.access_token) =>
    ask(`${simulator.env.GARMIN_API_URL}${path}`, bearer(token, method))
  const id = (await api(`${REST}/user/id`)).body.userId
  t.equal((await simulator.control('GET', 'people')).body[0].accounts.garmin, id)
  const { permissions } = (await api(`${REST}/user/permissions`)).body
  t.ok(permissions.includes('HISTORICAL_DATA_EXPORT') && !permissions.includes('MCT_EXPORT'), String(permissions))
  const own = { gateway_only: true, bare_permissions: true }
  await simulator.control('POST', 'settings', { provider: 'garmin', own })
  t.equal((await api(`${REST}/user/id`)).status, 404)
  t.equal((await api('/partner-gateway/rest/user/id')).body.userId, id)
  t.strictSame((await api('/partner-gateway/rest/user/permissions')).body, permissions, 'a list')
  t.equal((await api(`${REST}/user/id`, 'GET', 'none')).status, 401)
  const refresh = (token: string) =>
    askToken(simulator, 'garmin', { grant_type: 'refresh_token', refresh_token: token })
  const { body: next } = await refresh(given.refresh_token)
  t.match(await refresh(given.refresh_token), { status: 400, body: { error: 'invalid_grant' } }, 'each works once')
  simulator.wait(90 * DAY_S)
  t.match(await refresh(next.refresh_token), { status: 400, body: { error: 'invalid_grant' } }, 'and for 90 days')
})

t.test('the past is told once: any overlap is refused until there is another consent', async (t) => {
  const people = ['ana', 'bikash']
  const { simulator, backfill, receiver, pass, token } = await connected(t, { people })
  const [from, to] = [NOW - 20 * DAY_S, NOW - 10 * DAY_S]
  const wrong: string[] = []
  const check = async (name: string, expected: number, asked: ReturnType<typeof backfill>) => {
    const { status, body } = await asked
    if (status !== expected) wrong.push(`${name}: ${status} ${JSON.stringify(body)}`)
    return body
  }
  t.equal(await check('first', 202, backfill('sleeps', from, to)), '', 'without a body')
  await check('again', 409, backfill('sleeps', from, to))
  await check('a second of it', 409, backfill('sleeps', to - 1, NOW))
  await check('around it', 409, backfill('sleeps', from - DAY_S, to + DAY_S))
  await check('after it', 202, backfill('sleeps', to, NOW))
  await check('another type', 202, backfill('hrv', from, to))
  await check('another person', 202, backfill('sleeps', from, to, 'bikash'))
  await check('unknown type', 404, backfill('pulseox', from, to))
  await check('backwards', 400, backfill('epochs', to, from))
  await check('91 days', 400, backfill('epochs', NOW - 91 * DAY_S, NOW))
  const early = await check('too early', 400, backfill('dailies', NOW - 30 * DAY_S - 1, NOW))
  const stated = /min start time of (\S+Z)/.exec(early.errorMessage)?.[1] ?? ''
  await check('from there', 202, backfill('dailies', Date.parse(stated) / 1000 + 30, NOW))
  await simulator.control('POST', 'settings', { provider: 'garmin', own: { old_unauthorized: true } })
  await check('too early, 401', 401, backfill('epochs', NOW - 31 * DAY_S, NOW))
  await simulator.control('POST', 'scopes', { provider: 'garmin', person: 'bikash', scopes: ['HEALTH_EXPORT'] })
  await check('not ticked', 403, backfill('epochs', from, to, 'bikash'))
  await simulator.control('POST', 'settings', { provider: 'garmin', missing_scope_status: 412 })
  await check('not ticked, 412', 412, backfill('epochs', from, to, 'bikash'))
  const [one] = (await simulator.control('GET', 'subscriptions')).body
  await simulator.control('POST', `subscriptions/${one.id}`, { topics: ['sleeps', 'deregistrations'] })
  const disabled = await check('switched off', 400, backfill('activities', from, to))
  t.equal(disabled.errorMessage, 'Endpoint not enabled for summary type: CONNECT_ACTIVITY')
  await simulator.control('POST', 'settings', { provider: 'garmin', limits: [3] })
  const statuses = []
  for (let i = 0; i < 5; i++) statuses.push((await backfill('sleeps', from, to)).status)
  t.strictSame(statuses.slice(-2), [429, 429])
  t.equal((await simulator.get('garmin', `${REST}/user/id`, token.get('ana') ?? '')).status, 200, 'others go on')
  await simulator.control('POST', 'settings', { provider: 'garmin', limits: [1e6] })
  await simulator.control('POST', 'revoke', { provider: 'garmin', person: 'ana' })
  await check('revoked', 401, backfill('sleeps', from, to))
  token.set('ana', (await tokens(simulator, 'garmin')).access_token)
  await check('consented again', 202, backfill('sleeps', from, to))
  t.strictSame(wrong, [])
  await pass(60)
  t.equal(entries(receiver.notices, 'deregistrations').length, 1)
})

t.test(
  'a month of everything: pushes of several people, in disorder, some twice, with all documented fields',
  async (t) => {
    const people = THOROUGH ? ['ana', 'bikash', 'clara', 'edda'] : ['ana', 'edda']
    const own = { heart_rate_seconds: 60, detail_seconds: 30 }
    const { receiver, account, pass, backfill, simulator } = await connected(t, { people, own })
    const from = NOW - 30 * DAY_S + 60
    for (const person of people)
      for (const type of Object.values(BACKFILLS))
        t.equal((await backfill(type, from, NOW, person)).status, 202, `${type} of ${person}`)
    await pass(4)
    t.strictSame(receiver.notices, [], 'it takes some time')
    await pass(60)
    const { notices } = receiver
    const wrong = notices.flatMap(({ headers, body, text }) =>
      headers['garmin-client-id'] === 'pulsebase-simulated-garmin' && Object.keys(body).every((key) => SAMPLES[key])
        ? []
        : [text.slice(0, 200)],
    )
    const early: string[] = []
    for (const [key, type] of Object.entries(BACKFILLS)) {
      const found = entries(notices, key)
      wrong.push(...found.flatMap((one) => unlike(key, SAMPLES[key], one)))
      if (found.length === 0) wrong.push(`nothing of ${type}`)
      for (const one of found) {
        const start = one.startTimeInSeconds ?? one.measurementTimeInSeconds ?? one.summary?.startTimeInSeconds ?? from
        if (start < from || start >= NOW) early.push(`${key} ${start}`)
        if (!account.has(one.userId)) wrong.push(`${key} of nobody`)
      }
      if (latest(notices, key).length > found.length) wrong.push(key)
    }
    t.strictSame([...new Set(wrong)].slice(0, 20), [])
    t.strictSame(early, [], 'nothing that was not asked for')
    const users = (one: Received) =>
      new Set(Object.values<Json[]>(one.body).flatMap((list) => list.map((item) => item.userId)))
    t.ok(notices.filter((one) => users(one).size > 1).length > 20, 'several people in one body')
    t.ok(notices.filter(({ body }) => Object.keys(body).length > 1).length > 20, 'several types in one body')
    const days = entries(notices, 'dailies').filter((one) => account.get(one.userId) === 'ana')
    const starts = days.map((one) => one.startTimeInSeconds)
    t.notSame(starts, [...starts].sort(), 'in no order')
    t.ok(days.length > new Set(starts).size, 'some twice')
    const { body: list } = await simulator.control('GET', 'notices?provider=garmin')
    t.ok(list.every(({ state }: Json) => state === 'taken'))
    await pass(DAY_S)
    t.notOk((await backfill('sleeps', from, NOW)).status === 202, 'it is never told again')
  },
)

/** What is wrong with the newest records of a person, compared with the truth. */
function compare(
  truth: Json,
  notices: readonly Received[],
  userId: string,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): { wrong: string[]; count: number } {
  const wrong: string[] = []
  let count = 0
  const found = new Map<string, Json[]>()
  const of = (key: string) => {
    const known = found.get(key) ?? latest(notices, key).filter((one) => one.userId === userId)
    found.set(key, known)
    return known
  }
  const same = (name: string, found: unknown, expected: unknown) => {
    count++
    if (JSON.stringify(found) !== JSON.stringify(expected)) wrong.push(`${name}: ${found}, really ${expected}`)
  }
  const since = (list: Json[], start: (one: Json) => string): Json[] =>
    list.filter((one) => Date.parse(start(one)) >= fromMs && Date.parse(one.end ?? start(one)) <= toMs)
  const ms = (seconds: number) => new Date(seconds * 1000).toISOString()
  const days = since(truth.calendar_days, ({ start }) => start).filter(
    ({ start, complete }) => toMs === Number.POSITIVE_INFINITY || (complete && Date.parse(start) < toMs - DAY_S * 1000),
  )
  const minutesOf = new Map<string, Json>(truth.minutes.map((one: Json) => [one.date, one]))
  for (const day of days) {
    const one = of('dailies').find((row) => row.calendarDate === day.date)
    const real = minutesOf.get(day.date)
    same(`${day.date} start`, one && ms(one.startTimeInSeconds), day.start)
    same(`${day.date} length`, one?.durationInSeconds, real.steps.length * 60)
    same(`${day.date} steps`, one?.steps, day.steps)
    same(`${day.date} energy`, one?.activeKilocalories, Math.round(day.active_kcal))
    same(`${day.date} active`, one?.activeTimeInSeconds, day.active_seconds)
    const beats = Object.entries<number>(one?.timeOffsetHeartRateSamples ?? {})
    const off = beats.filter(([second, value]) => real.heart_rate[Math.floor(Number(second) / 60)] !== value)
    same(`${day.date} heart rate`, [off.length, beats.length > 0], [0, beats.length > 0])
    const slots = of('epochs').filter(
      (slot) => slot.startTimeInSeconds >= one?.startTimeInSeconds && ms(slot.startTimeInSeconds) < endOf(one),
    )
    const known = real.steps.length - (real.steps.length % 15)
    const walked = real.steps.slice(0, known).reduce((sum: number, value: number) => sum + value, 0)
    same(
      `${day.date} epochs`,
      slots.reduce((sum, slot) => sum + slot.steps, 0),
      walked,
    )
    const stress = of('stressDetails').find((row) => row.calendarDate === day.date)
    same(`${day.date} stress`, Object.values(stress?.timeOffsetStressLevelValues ?? {}), real.stress_3_min)
    const battery = real.body_battery_3_min.filter((value: number) => value > 0)
    same(`${day.date} battery`, Object.values(stress?.timeOffsetBodyBatteryValues ?? {}), battery)
  }
  const nights = of('sleeps')
  for (const sleep of since(truth.sleeps, ({ start }) => start)) {
    const night = nights.find(({ calendarDate }) => calendarDate === sleep.date)
    if (sleep.nap) {
      if (!night) continue
      const [nap] = night.naps ?? []
      same(`${sleep.key} start`, nap && ms(nap.napStartTimeInSeconds), sleep.start)
      same(`${sleep.key} end`, nap && ms(nap.napStartTimeInSeconds + nap.napDurationInSeconds), sleep.end)
      continue
    }
    same(`${sleep.key} start`, night && ms(night.startTimeInSeconds), sleep.start)
    const runs = Object.entries<Json[]>(night?.sleepLevelsMap ?? {}).flatMap(([stage, list]) =>
      list.map((run) => ({ stage, start: ms(run.startTimeInSeconds), end: ms(run.endTimeInSeconds) })),
    )
    same(
      `${sleep.key} stages`,
      runs.sort((a, b) => (a.start < b.start ? -1 : 1)),
      sleep.stages,
    )
    same(`${sleep.key} score`, night?.overallSleepScore?.value ?? null, sleep.unscorable ? null : sleep.quality)
    if (truth.person.ring === 'gen3') continue
    const hrv = of('hrv').find(({ calendarDate }) => calendarDate === sleep.date)
    same(
      `${sleep.key} hrv`,
      Object.values(hrv?.hrvValues ?? {}),
      sleep.hrv_rmssd_5_min.filter((value: unknown) => value !== null),
    )
  }
  for (const workout of since(truth.workouts, ({ start }) => start)) {
    const one = [...of('activities'), ...of('manuallyUpdatedActivities')].findLast(
      ({ activityId }) => String(activityId) === workout.ids.garmin,
    )
    same(`${workout.key} start`, one && ms(one.startTimeInSeconds), workout.start)
    same(`${workout.key} length`, one && ms(one.startTimeInSeconds + one.durationInSeconds), workout.end)
    same(`${workout.key} energy`, one?.activeKilocalories, Math.round(workout.active_kcal))
    same(`${workout.key} named`, one?.activityType === 'OTHER', workout.sport === 'unknown')
  }
  const isInside = (seconds: number) => seconds * 1000 >= fromMs && seconds * 1000 <= toMs
  const lists: [string, string, (row: Json) => unknown, (real: Json) => unknown][] = [
    ['weighings', 'bodyComps', (row) => row.weightInGrams / 1000, ({ kg }) => kg],
    [
      'blood_pressures',
      'bloodPressures',
      (row) => [row.systolic, row.diastolic, row.pulse],
      (real) => [real.systolic, real.diastolic, real.pulse],
    ],
  ]
  for (const [name, key, told, real] of lists) {
    const rows = of(key)
      .filter((row) => isInside(row.measurementTimeInSeconds))
      .sort((a, b) => a.measurementTimeInSeconds - b.measurementTimeInSeconds)
    same(name, rows.map(told), since(truth[name], ({ at }) => at).map(real))
  }
  const walks = of('moveIQActivities')
    .filter((row) => isInside(row.startTimeInSeconds) && isInside(row.startTimeInSeconds + row.durationInSeconds))
    .map((row) => ms(row.startTimeInSeconds))
  same(
    'walks',
    walks.sort(),
    since(truth.walks, ({ start }) => start).map(({ start }) => start),
  )
  return { wrong, count }
}

function endOf(day: Json): string {
  return new Date((day.startTimeInSeconds + day.durationInSeconds) * 1000).toISOString()
}

t.test('what is asked of the past is the truth', async (t) => {
  const people = ['ana', 'bikash', 'clara', 'dario', 'edda']
  const own = { heart_rate_seconds: 60, detail_seconds: 60 }
  const { receiver, account, pass, backfill, truth } = await connected(t, { people, own })
  const days = runs(12, 30)
  const from = NOW - days * DAY_S
  for (const person of people)
    for (const type of Object.values(BACKFILLS)) await backfill(type, from, NOW + DAY_S, person)
  await pass(120)
  for (const [userId, person] of account) {
    const { wrong, count } = compare(await truth(person), receiver.notices, userId, {
      ...{ fromMs: from * 1000, toMs: Number.POSITIVE_INFINITY },
    })
    t.strictSame(wrong.slice(0, 10), [], `${person}: ${wrong.length} of ${count}`)
    t.ok(count > days * 6.5, `${count} compared`)
  }
})

t.test('who only listens for two weeks has the truth, too: days again and again, naps inside nights', async (t) => {
  const people = ['ana', 'dario', 'edda']
  const own = { heart_rate_seconds: 60, detail_seconds: 60 }
  const { receiver, account, pass, truth } = await connected(t, { people, own })
  for (let day = 0; day < 28; day++) await pass(DAY_S / 2)
  const { notices } = receiver
  for (const [userId, person] of account) {
    if (!people.includes(person)) continue
    const real = await truth(person)
    const gone = new Set(real.deleted.map((key: string) => key.slice(-10)))
    const { wrong, count } = compare(real, notices, userId, spanOf(real))
    // What a person deletes is not told.
    const left = wrong.filter((line) => !gone.has(/\d{4}-\d\d-\d\d/.exec(line)?.[0]))
    t.strictSame(left.slice(0, 10), [], `${person}: ${left.length} of ${count}`)
    t.ok(count > 80, `${count} compared`)
  }
  const days = entries(notices, 'dailies').filter((one) => account.get(one.userId) === 'ana')
  const [day] = days.filter(({ calendarDate }) => calendarDate === '2026-03-10')
  const again = days.filter(({ summaryId }) => summaryId === day.summaryId).map((one) => one.durationInSeconds)
  t.ok(again.length >= 6 && again.at(-1) === 86_400, String(again))
  t.strictSame(
    again,
    [...again].sort((a, b) => a - b),
    'each time more of it',
  )
  t.ok(
    entries(notices, 'sleeps').some(({ naps }) => naps?.length > 0),
    'naps',
  )
  t.ok(entries(notices, 'activityFiles').every(({ callbackURL }) => callbackURL.includes('token=')))
  const edda = [...account].find(([, person]) => person === 'edda')?.[0]
  const { menstrual_cycles: cycles } = await truth('edda')
  const told = entries(notices, 'mct').filter(({ userId }) => userId === edda)
  t.ok(told.length >= 12, 'every day')
  const real = cycles.filter(({ start }: Json) => told.some((one) => one.periodStartDate === start))
  t.ok(real.length > 0 && told.every((one) => real.some(({ start }: Json) => start === one.periodStartDate)))
})

/** From a day after the beginning to the end of the last day that is complete. */
function spanOf(truth: Json) {
  const last = truth.calendar_days.findLast(({ complete }: Json) => complete)
  return { fromMs: START + DAY_S * 1000, toMs: Date.parse(last.start) + DAY_S * 1000 }
}

/** Fetches an address as a user. */
const fetchAs = (url: string, token: string) => ask(url, bearer(token))

t.test('pings name an address that gives the records, to the right user, for a day', async (t) => {
  const pinged = await connected(t, { people: ['ana', 'bikash'], own: { heart_rate_seconds: 60 }, ping: true })
  const { simulator, receiver, token, pass, account } = pinged
  await pass(3 * DAY_S)
  const wrong: string[] = []
  const tokenOf = (userId: string) => token.get(account.get(userId) ?? '') ?? ''
  let count = 0
  for (const { body } of receiver.notices)
    for (const [key, list] of Object.entries<Json[]>(body))
      for (const { userId, callbackURL, ...more } of list) {
        const { status, body: records } = await fetchAs(callbackURL, tokenOf(userId))
        if (key === 'activityFiles') {
          if (status !== 200 || !records.includes('<trkpt lat=')) wrong.push(`${key}: ${status}`)
          continue
        }
        count++
        if (status !== 200 || Object.keys(more).length > 0) wrong.push(`${key}: ${status}, ${Object.keys(more)}`)
        else wrong.push(...records.flatMap((one: Json) => unlike(key, SAMPLES[key] ?? SAMPLES.activities, one)))
        if (records.some((one: Json) => one.userId !== userId)) wrong.push(`${key}: of somebody else`)
      }
  t.strictSame([...new Set(wrong)], [])
  t.ok(count > 100, `${count} pings`)
  const named = receiver.notices.flatMap(({ body }) =>
    Object.values<Json[]>(body).flatMap((list) =>
      list.map((one) => `${one.userId} ${one.callbackURL.split('&token')[0]}`),
    ),
  )
  t.equal(new Set(named).size, named.length, 'no two have the same time of upload')
  const [first] = entries(receiver.notices, 'dailies')
  const other = first.userId === [...account.keys()][0] ? 'bikash' : 'ana'
  t.equal((await fetchAs(first.callbackURL, token.get(other) ?? '')).status, 401)
  t.equal((await fetchAs(first.callbackURL.replace('dailies', 'sleeps'), tokenOf(first.userId))).status, 404)
  const pulled = await fetchAs(first.callbackURL.replace(/&token=.*/, ''), tokenOf(first.userId))
  t.match(pulled, { status: 400, body: { errorMessage: /InvalidPullTokenException/ } })
  await pass(DAY_S + 60)
  t.equal((await fetchAs(first.callbackURL, tokenOf(first.userId))).status, 410)
  const secrets = (await simulator.control('GET', 'secrets')).body.map(({ value }: Json) => value)
  t.ok(secrets.includes(new URL(first.callbackURL).searchParams.get('token')))
})

t.test('types are pushed or pinged, and to the address of each', async (t) => {
  const { simulator, receiver, pass } = await connected(t, { topics: ['sleeps', 'hrv'] })
  const other = await listen(t)
  const given = { provider: 'garmin', url: other.url, topics: ['dailies'], ping: true }
  await simulator.control('POST', 'subscriptions', given)
  await pass(3 * DAY_S)
  const keys = (notices: readonly Received[]) => [...new Set(notices.flatMap(({ body }) => Object.keys(body)))].sort()
  t.strictSame([keys(receiver.notices), keys(other.notices)], [['hrv', 'sleeps'], ['dailies']])
  t.ok(entries(other.notices, 'dailies').every((one) => Object.keys(one).join() === 'userId,callbackURL'))
  const secret = simulator.env.GARMIN_WEBHOOK_PATH_SECRET
  const { body } = await simulator.control('POST', 'subscriptions', { ...given, with_secret: true })
  t.strictSame(new URL(body.url).searchParams.getAll('k'), ['secret', secret], 'beside what the address had')
})

t.test('what is not taken comes again for days; an endpoint on hold keeps a week', async (t) => {
  const { simulator, receiver, pass } = await connected(t, { topics: ['sleeps'] })
  receiver.status = 204
  await pass(DAY_S)
  const [first] = (await simulator.control('GET', 'notices?provider=garmin')).body
  t.equal(first.state, 'waiting', 'only 200 is good')
  const before = receiver.notices.length
  await pass(70)
  t.ok(receiver.notices.length > before, 'again after a minute')
  for (let hour = 0; hour < 50; hour++) await pass(3600)
  const [held] = (await simulator.control('GET', 'subscriptions')).body
  t.equal(held.active, false)
  const count = receiver.notices.length
  receiver.status = 200
  await pass(2 * DAY_S)
  t.equal(receiver.notices.length, count, 'on hold')
  await simulator.control('POST', `subscriptions/${held.id}`, { active: true })
  await pass(60)
  const nights = latest(receiver.notices.slice(count), 'sleeps').map(({ calendarDate }) => calendarDate)
  t.ok(nights.includes('2026-03-08') && nights.length >= 4, String(nights))
  await simulator.control('POST', `subscriptions/${held.id}`, { active: false })
  await pass(2 * DAY_S)
  await pass(8 * DAY_S)
  await simulator.control('POST', `subscriptions/${held.id}`, { active: true })
  const lost = receiver.notices.length
  await pass(60)
  const { body: list } = await simulator.control('GET', 'notices?provider=garmin')
  t.ok(
    list.some(({ state }: Json) => state === 'given up'),
    'older than a week',
  )
  t.ok(latest(receiver.notices.slice(lost), 'sleeps').length >= 3)
})

t.test('people change what may be read, and leave; faults strike pushes of a type', async (t) => {
  const { simulator, receiver, pass, account, token } = await connected(t, { people: ['ana', 'bikash'] })
  const scopes = ['ACTIVITY_EXPORT', 'HISTORICAL_DATA_EXPORT']
  await simulator.control('POST', 'scopes', { provider: 'garmin', person: 'ana', scopes })
  await pass(2 * DAY_S)
  const [change] = entries(receiver.notices, 'userPermissionsChange')
  t.match(change, { permissions: scopes, changeTimeInSeconds: NOW, summaryId: String })
  const told = (person: string, key: string) =>
    entries(receiver.notices, key).filter((one) => account.get(one.userId) === person).length
  t.equal(told('ana', 'dailies'), 0)
  t.ok(told('bikash', 'dailies') > 0 && told('ana', 'moveIQActivities') > 0)
  t.match((await simulator.get('garmin', `${REST}/user/permissions`, token.get('ana') ?? '')).body, {
    permissions: scopes,
  })
  t.equal((await simulator.control('POST', 'scopes', { provider: 'garmin', person: 'ana', scopes: ['X'] })).status, 400)
  receiver.notices.length = 0
  await simulator.control('POST', 'faults', { kind: 'silent', provider: 'garmin', path: '/notices/dailies' })
  await simulator.control('POST', 'faults', { kind: 'duplicate', provider: 'garmin', path: '/notices/stressDetails' })
  await pass(DAY_S)
  t.equal(told('bikash', 'dailies'), 0)
  const stress = entries(receiver.notices, 'stressDetails').map((one) => `${one.summaryId} ${one.durationInSeconds}`)
  const times = [...new Set(stress)].map((one) => stress.filter((other) => other === one).length)
  t.ok(times.length > 5 && times.every((count) => count % 2 === 0), `each twice: ${times}`)
  const left = await ask(
    `${simulator.env.GARMIN_API_URL}${REST}/user/registration`,
    bearer(token.get('bikash') ?? '', 'DELETE'),
  )
  t.equal(left.status, 204)
  await pass(60)
  t.equal(told('bikash', 'deregistrations'), 1)
  receiver.notices.length = 0
  await pass(DAY_S)
  t.strictSame(entries(receiver.notices, 'dailies'), [])
})

/** Addresses that nobody has named. */
t.test('nothing else is there', async (t) => {
  const { simulator, token } = await connected(t)
  const statuses: Record<string, number> = {
    [`${REST}/dailies?uploadStartTimeInSeconds=${NOW - 3600}&uploadEndTimeInSeconds=${NOW}`]: 400,
    [`${REST}/activities/123`]: 404,
    [`${REST}/backfill/sleeps`]: 400,
    [`${REST}/activityFile?id=1&token=x`]: 400,
    '/other': 404,
  }
  const wrong: string[] = []
  for (const [path, expected] of Object.entries(statuses)) {
    const { status } = await simulator.get('garmin', path, token.get('ana') ?? '')
    if (status !== expected) wrong.push(`${path}: ${status}`)
  }
  t.strictSame(wrong, [])
})
