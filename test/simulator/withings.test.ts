import { createHmac } from 'node:crypto'
import t, { type Test } from 'tap'
import { listen } from '../support/receiver.ts'
import { ask, askToken, clientOf, type Json, type Playing, play, START, tokens, unlike } from '../support/simulator.ts'

const DAY_MS = 86_400_000
const FROM = '2026-02-10'
const FIELDS = {
  getactivity: 'steps,distance,elevation,soft,moderate,intense,active,calories,totalcalories,hr_average,hr_min,hr_max',
  getworkouts:
    'calories,manual_distance,manual_calories,hr_average,hr_max,pause_duration,steps,distance,pool_laps,pool_length',
  getsummary:
    'total_timeinbed,total_sleep_time,lightsleepduration,remsleepduration,deepsleepduration,sleep_efficiency,wakeupduration,hr_average,hr_min,rr_average,sleep_score',
  get: 'hr,rr,snoring,sdnn_1,rmssd',
}

/** Samples of the fact page: fields and their types. */
const SAMPLES: Record<string, Json> = {
  group: {
    ...{ grpid: 0, attrib: 0, date: 0, created: 0, modified: 0, category: 1, comment: null },
    measures: [{ value: 0, type: 0, unit: 0 }],
  },
  activity: {
    ...{ steps: 0, distance: 0, elevation: 0, soft: 0, moderate: 0, intense: 0, active: 0, calories: 0 },
    ...{ totalcalories: 0, timezone: '', date: '', modified: 0, brand: 1, modelid: 0, model: '', is_tracker: true },
  },
  workout: {
    ...{ id: 0, category: 2, timezone: '', model: 93, attrib: 7, startdate: 0, enddate: 0, date: '', modified: 0 },
    data: { calories: 0, manual_distance: 0, manual_calories: 0, pause_duration: 0, steps: 0 },
  },
  night: {
    ...{ id: 0, timezone: '', model: 32, model_id: 63, hash_deviceid: '', startdate: 0, enddate: 0, date: '' },
    data: { total_timeinbed: 0, total_sleep_time: 0, deepsleepduration: 0, sleep_efficiency: 0.9, hr_average: 0 },
    ...{ created: 0, modified: 0, completed: true },
  },
}

/** A simulator, and calls as somebody who has given consent. */
async function withings(t: Test, person = 'ana', own: Json = { repeat_seconds: 0 }) {
  const simulator = await play(t)
  await simulator.control('POST', 'settings', { provider: 'withings', limits: [1e6], own })
  const given = await tokens(simulator, 'withings', { auto: person })
  const call = (path: string, form: Record<string, string>, token: string = given.access_token) =>
    post(simulator, path, form, { authorization: `Bearer ${token}` })
  const truth = async (more = '') =>
    (await simulator.control('GET', `truth?person=${person}&from=${FROM}&minutes=true${more}`)).body
  return { simulator, given, call, truth }
}

async function post(
  { env }: Playing,
  path: string,
  form: Record<string, string>,
  headers: Record<string, string> = {},
) {
  const { status, body } = await ask(`${env.WITHINGS_API_URL}${path}`, {
    ...{ method: 'POST', headers, body: new URLSearchParams(form) },
  })
  return { http: status, ...body } as { http: number; status: number; body: Json; error?: string }
}

/** All rows of a list, page by page. */
async function all(call: (form: Record<string, string>) => Promise<Json>, name: string): Promise<Json[]> {
  const rows: Json[] = []
  for (let offset = 0; ; ) {
    const { body } = await call({ offset: String(offset) })
    rows.push(...body[name])
    if (!body.more) return rows
    offset = body.offset
  }
}

t.test('tokens come in an envelope; the old refresh token lives until the new access token is used', async (t) => {
  const { simulator, given, call } = await withings(t)
  const refresh = (token: string) =>
    askToken(simulator, 'withings', { grant_type: 'refresh_token', refresh_token: token })
  t.match(given, { userid: /^7\d{7}$/, expires_in: 10_800, token_type: 'Bearer', scope: /user\.metrics/ })
  const { body: first } = await refresh(given.refresh_token)
  t.equal(first.status, 0)
  t.equal((await refresh(given.refresh_token)).body.status, 0, 'an answer that was lost can be asked for again')
  const newest = (await refresh(given.refresh_token)).body
  t.equal(newest.status, 503, 'not from two generations before')
  const again = (await refresh(first.body.refresh_token)).body
  await call('/v2/user', { action: 'getdevice' }, again.body.access_token)
  t.match(await refresh(first.body.refresh_token), { status: 200, body: { status: 503, error: /refresh|token/ } })
  await simulator.control('POST', 'settings', { provider: 'withings', own: { repeat_seconds: 10 } })
  t.equal((await refresh(again.body.refresh_token)).body.status, 0)
  t.equal((await refresh(again.body.refresh_token)).body.status, 601, 'the same call within ten seconds')
  simulator.wait(11)
  t.equal((await refresh(again.body.refresh_token)).body.status, 0)
  simulator.wait(10_801)
  t.match(await call('/v2/user', { action: 'getdevice' }), { http: 200, status: 401, body: [] })
  const wrong = await post(simulator, '/v2/oauth2', { action: 'requesttoken', client_id: 'x', client_secret: 'y' })
  t.match(wrong, { http: 200, status: 213 })
  t.equal((await post(simulator, '/v2/oauth2', { action: 'dance' })).status, 2554)
})

t.test('a signed nonce revokes once, ends the subscriptions and tells nobody', async (t) => {
  const { simulator, given, call } = await withings(t)
  const there = await listen(t)
  t.equal((await call('/notify', { action: 'subscribe', callbackurl: there.url, appli: '46' })).status, 0)
  const { id, secret } = clientOf(simulator, 'withings')
  const signed = (text: string) => createHmac('sha256', secret).update(text).digest('hex')
  const nonce = async () => {
    const timestamp = String(START / 1000)
    const form = { action: 'getnonce', client_id: id, timestamp, signature: signed(`getnonce,${id},${timestamp}`) }
    return (await post(simulator, '/v2/signature', form)).body.nonce as string
  }
  const revoke = (value: string, signature: string) =>
    post(simulator, '/v2/oauth2', { action: 'revoke', client_id: id, nonce: value, userid: given.userid, signature })
  t.equal((await revoke('0', signed(`revoke,${id},0`))).status, 503, 'a nonce that nobody gave')
  const first = await nonce()
  t.equal((await revoke(first, signed('revoke'))).status, 503, 'another signature')
  t.equal((await revoke(first, signed(`revoke,${id},${first}`))).status, 503, 'which spends it')
  const second = await nonce()
  t.equal((await revoke(second, signed(`revoke,${id},${second}`))).status, 0)
  t.equal((await call('/v2/user', { action: 'getdevice' })).status, 401)
  await simulator.control('POST', 'notices')
  t.strictSame(there.notices, [])
  t.strictSame((await simulator.control('GET', 'subscriptions')).body, [])
})

t.test('measures: exact decimals, whose they are, windows and changes', async (t) => {
  const { simulator, call, truth } = await withings(t, 'edda')
  await simulator.control('POST', 'settings', { provider: 'withings', page_size: 10 })
  const real = await truth()
  const from = String(Date.parse(`${FROM}T00:00:00Z`) / 1000)
  const to = String(START / 1000)
  const list = (form: Record<string, string>) =>
    all(
      (page) => call('/measure', { action: 'getmeas', category: '1', startdate: from, enddate: to, ...form, ...page }),
      'measuregrps',
    )
  const groups = await list({ meastypes: '1,5,6,8,76' })
  const value = (group: Json, type: number) => {
    const found = group.measures.find((one: Json) => one.type === type && one.position === undefined)
    return found && Number(`${found.value}e${found.unit}`)
  }
  const own = groups.filter(({ attrib }) => attrib !== 1)
  const at = (group: Json) => new Date(group.date * 1000).toISOString()
  t.strictSame(
    own.map((group) => [at(group), value(group, 1)]).reverse(),
    real.weighings.map((one: Json) => [one.at, one.kg]),
  )
  t.ok(
    groups.some(({ attrib }) => attrib === 1),
    'somebody else was weighed',
  )
  const wrong = groups.flatMap((group) => unlike('group', SAMPLES.group, group))
  for (const group of own.filter(({ attrib }) => attrib === 0)) {
    const { fat_percent, muscle_kg } = real.weighings.find((one: Json) => one.at === at(group))
    if (value(group, 6) !== fat_percent || value(group, 76) !== muscle_kg) wrong.push(`${at(group)}: composition`)
    if (Math.abs(value(group, 5) + value(group, 8) - value(group, 1)) > 0.0011) wrong.push(`${at(group)}: sum`)
  }
  t.strictSame(wrong, [])
  const pressures = await list({ meastypes: '9,10,11' })
  t.strictSame(
    pressures.map((one) => [at(one), value(one, 10), value(one, 9), value(one, 11)]).reverse(),
    real.blood_pressures.map((one: Json) => [one.at, one.systolic, one.diastolic, one.pulse]),
  )
  const temperatures = await list({ meastypes: '12,71' })
  t.strictSame(
    temperatures.map((one) => value(one, 71)).reverse(),
    real.temperatures.map((one: Json) => one.celsius),
  )
  const oxygen = await list({ meastypes: '54' })
  t.strictSame(
    oxygen.map((one) => value(one, 54)).reverse(),
    real.spot_oxygen.map((one: Json) => one.percent),
  )
  const since = own[1].modified
  const { body } = await call('/measure', { action: 'getmeas', meastypes: '1', lastupdate: String(since) })
  t.strictSame(
    body.measuregrps.filter(({ attrib }: Json) => attrib !== 1).map(({ grpid }: Json) => grpid),
    own.slice(0, 2).map(({ grpid }) => grpid),
  )
  t.match(body, { updatetime: START / 1000, timezone: String, more: 0, offset: 0 })
  const both = await call('/measure', { action: 'getmeas', lastupdate: '1', startdate: from, enddate: to })
  t.match([both.http, both.status], [200, 503], 'a range and a change exclude each other')
  const first = await call('/measure', { action: 'getmeas', startdate: '0', enddate: to })
  t.ok(first.body.more, 'pages')
  t.notOk((await list({ meastypes: '1' })).some(({ category }) => category === 2))
})

t.test('days, workouts and nights are what is true; fields have to be asked for', async (t) => {
  const { call, truth } = await withings(t, 'bikash')
  const real = await truth()
  const range = { startdateymd: FROM, enddateymd: '2026-03-07' }
  const list = (path: string, action: keyof typeof FIELDS, name: string) =>
    all((page) => call(path, { action, data_fields: FIELDS[action], ...range, ...page }), name)
  const wrong: string[] = []
  const same = (what: string, found: unknown, expected: unknown) => {
    if (found !== expected) wrong.push(`${what}: ${found}, really ${expected}`)
  }
  const days = await list('/v2/measure', 'getactivity', 'activities')
  const worn = days.filter(({ brand }) => brand === 1)
  t.ok(days.length > worn.length, 'what other apps measured comes as another brand')
  t.strictSame(
    worn.map(({ date }) => date),
    real.calendar_days.map(({ date }: Json) => date),
  )
  for (const [i, day] of worn.entries()) {
    const truth = real.calendar_days[i]
    wrong.push(...unlike(`day ${day.date}`, SAMPLES.activity, day))
    same(`${day.date} steps`, day.steps, truth.steps)
    same(`${day.date} floors`, day.elevation, truth.floors)
    same(`${day.date} distance`, day.distance, Math.round(truth.distance_m * 10) / 10)
    same(`${day.date} active`, day.active, truth.high_seconds + truth.medium_seconds)
    if (Math.abs(day.totalcalories - truth.active_kcal - truth.basal_kcal) > 0.11) wrong.push(`${day.date} energy`)
  }
  const workouts = (await list('/v2/measure', 'getworkouts', 'series')).filter((one) => one.category !== 128)
  const own = workouts.filter(({ model }) => model < 1000)
  t.strictSame(
    own.map(({ id }) => String(id)),
    real.workouts.map(({ ids }: Json) => ids.withings),
  )
  for (const [i, one] of own.entries()) {
    const truth = real.workouts[i]
    wrong.push(...unlike(`workout ${truth.key}`, SAMPLES.workout, one))
    same(`${truth.key} start`, one.startdate * 1000, Date.parse(truth.start))
    same(`${truth.key} energy`, one.data.manual_calories || one.data.calories, Math.round(truth.active_kcal))
    const metres = one.data.manual_distance || one.data.distance || (one.data.pool_laps ?? 0) * 25
    if (Math.abs(metres - (truth.distance_m ?? 0)) > 13) wrong.push(`${truth.key} distance ${metres}`)
  }
  const nights = await list('/v2/sleep', 'getsummary', 'series')
  t.strictSame(
    nights.map(({ id }) => String(id)),
    real.sleeps.map(({ ids }: Json) => ids.withings),
  )
  for (const [i, night] of nights.entries()) {
    const truth = real.sleeps[i]
    wrong.push(...unlike(`night ${truth.key}`, SAMPLES.night, night))
    same(`${truth.key} end`, night.enddate * 1000, Date.parse(truth.end))
    same(`${truth.key} deep`, night.data.deepsleepduration, truth.seconds.deep)
    same(`${truth.key} lowest`, night.data.hr_min, truth.lowest_heart_rate)
    same(`${truth.key} score`, night.data.sleep_score, truth.nap || truth.unscorable ? undefined : truth.quality)
  }
  t.strictSame(wrong, [])
  const bare = await call('/v2/sleep', { action: 'getsummary', ...range })
  t.strictSame(bare.body.series[0].data, {})
})

t.test('details of a night and of a day; more than a day is cut', async (t) => {
  const { simulator, call, truth } = await withings(t, 'bikash')
  const real = await truth()
  const night = real.sleeps.findLast(({ nap }: Json) => !nap)
  const [start, end] = [Date.parse(night.start) / 1000, Date.parse(night.end) / 1000]
  const get = (from: number, to: number) =>
    call('/v2/sleep', { action: 'get', startdate: String(from), enddate: String(to), data_fields: FIELDS.get })
  const { body } = await get(start, end)
  const states = ['awake', 'light', 'deep', 'rem']
  const found = body.series.map((one: Json) => [states[one.state] ?? 'awake', one.startdate * 1000])
  t.strictSame(
    found,
    night.stages.map(({ stage, start }: Json) => [stage, Date.parse(start)]),
  )
  const beats = Object.assign({}, ...body.series.map(({ hr }: Json) => hr))
  t.strictSame(
    night.heart_rate_5_min.map((_: Json, i: number) => beats[start + i * 300] ?? null),
    night.heart_rate_5_min,
  )
  t.ok(
    body.series.some(({ hr }: Json) => Array.isArray(hr)),
    'nothing is an empty list',
  )
  const wide = await get(start - 10 * 86_400, end)
  t.notOk(wide.body.series.some(({ startdate }: Json) => startdate > start - 9 * 86_400))
  const noon = Date.parse('2026-03-05T06:00:00Z') / 1000
  const within = await call('/v2/measure', {
    ...{ action: 'getintradayactivity', startdate: String(noon), enddate: String(noon + 3600) },
    data_fields: 'heart_rate,steps',
  })
  const day = real.minutes.find(({ start }: Json) => Date.parse(start) / 1000 + 86_400 > noon)
  const first = (noon - Date.parse(day.start) / 1000) / 60
  const steps = Object.fromEntries(
    day.steps
      .slice(first, first + 60)
      .flatMap((count: number, i: number) => (count > 0 ? [[noon + i * 60, count]] : [])),
  )
  const series = Object.entries<Json>(within.body.series).filter(([, one]) => one.steps)
  t.strictSame(Object.fromEntries(series.map(([at, one]) => [at, one.steps])), steps)
  await simulator.control('POST', 'settings', { provider: 'withings', own: { two_devices: true } })
  const summaries = await call('/v2/sleep', { action: 'getsummary', startdateymd: night.date, enddateymd: night.date })
  t.strictSame(
    summaries.body.series.map(({ model }: Json) => model),
    [16, 32],
    'watch and mat',
  )
  await simulator.control('POST', 'settings', { provider: 'withings', own: { two_devices: false, free_plan: true } })
  const free = await get(start, end)
  t.notOk(
    free.body.series.some(({ rmssd }: Json) => rmssd !== undefined),
    'absent, without an error',
  )
  const log = (await simulator.control('GET', 'log?provider=withings')).body
  t.ok(log.some((one: Json) => one.path === '/v2/sleep/get' && one.query.startdate === String(start)))
})

t.test('scopes, limits and faults answer 200 with a status', async (t) => {
  const { simulator, call } = await withings(t)
  const { access_token: other } = await tokens(simulator, 'withings', { without: 'user.activity' })
  const asked = { action: 'getsummary', lastupdate: '1' }
  t.match(await call('/v2/sleep', asked, other), { http: 200, status: 277 })
  t.equal((await call('/v2/sleep', { action: 'dance' })).status, 2554)
  const fault = (body: object) => simulator.control('POST', 'faults', { provider: 'withings', times: 1, ...body })
  await fault({ kind: 'rpc', code: 522, path: 'sleep/getsummary' })
  t.match(await call('/v2/sleep', asked), { http: 200, status: 522 })
  await fault({ kind: 'revoked', path: 'requesttoken' })
  const refused = await askToken(simulator, 'withings', { grant_type: 'refresh_token', refresh_token: 'x' })
  t.match(refused, { status: 200, body: { status: 503 } })
  await fault({ kind: 'duplicate', path: 'getsummary' })
  const { body } = await call('/v2/sleep', asked)
  t.equal(new Set(body.series.map(({ id }: Json) => id)).size * 2, body.series.length, 'lists within an envelope')
  await simulator.control('POST', 'settings', { provider: 'withings', limits: [3] })
  simulator.wait(61)
  for (let i = 0; i < 3; i++) t.equal((await call('/v2/user', { action: 'getdevice' })).status, 0)
  t.match(await call('/notify', { action: 'list' }), { http: 200, status: 601 }, 'subscriptions count, too')
})

t.test('notices of one person: a probed address, forms without a signature, deletions like changes', async (t) => {
  const { simulator, given, call } = await withings(t, 'clara')
  const there = await listen(t)
  const { notices, others } = there
  const notify = (form: Record<string, string>) => call('/notify', { callbackurl: there.url, ...form })
  t.match(await notify({ action: 'subscribe', callbackurl: 'http://localhost:1/', appli: '1' }), { status: 293 })
  t.match(await notify({ action: 'subscribe', appli: '7' }), { status: 503 })
  for (const appli of ['1', '4', '16', '44', '46', '58'])
    t.equal((await notify({ action: 'subscribe', appli, comment: 'pulsebase' })).status, 0)
  t.strictSame([...new Set(others.map(({ method }) => method))], ['HEAD', 'GET'])
  await notify({ action: 'subscribe', appli: '1' })
  const { profiles } = (await call('/notify', { action: 'list' })).body
  t.equal(profiles.length, 6)
  t.match(profiles[0], { appli: 1, expires: 2_147_483_647, callbackurl: there.url, comment: 'pulsebase' })
  t.equal(
    (await call('/notify', { action: 'list' }, (await tokens(simulator, 'withings', { auto: 'ana' })).access_token))
      .body.profiles.length,
    0,
  )
  t.strictSame((await notify({ action: 'get', appli: '4' })).body, {
    appli: 4,
    callbackurl: there.url,
    comment: 'pulsebase',
  })
  t.equal((await notify({ action: 'update', appli: '4', new_callbackurl: 'http://localhost:1/' })).status, 293)
  t.equal((await notify({ action: 'update', appli: '4', new_appli: '2' })).status, 0)
  t.equal((await notify({ action: 'get', appli: '4' })).status, 294)
  t.equal((await notify({ action: 'revoke', appli: '16' })).status, 0)
  t.equal((await notify({ action: 'revoke', appli: '16' })).status, 294)
  await simulator.control('POST', 'clock', { advance_days: 4 })
  await simulator.control('POST', 'notices')
  const forms = notices.map(({ text }) => new URLSearchParams(text))
  t.strictSame([...new Set(forms.map((form) => form.get('userid')))], [String(given.userid)])
  t.ok(forms.every((form) => form.get('k') === 'secret'))
  t.ok(notices.every(({ headers }) => headers['content-type'] === 'application/x-www-form-urlencoded'))
  const { body: real } = await simulator.control('GET', 'truth?person=clara&from=2026-03-07')
  const told = (appli: string) => forms.filter((form) => form.get('appli') === appli)
  t.notOk(told('16').length)
  const spans = told('58').map((form) => ['startdate', 'enddate'].map((name) => Number(form.get(name)) * 1000))
  const covered = (ms: number) => spans.some(([from = 0, to = 0]) => ms >= from && ms < to)
  const last = Date.parse(real.known_until) - 4 * 3_600_000
  const measured = real.glucose.map(({ at }: Json) => Date.parse(at)).filter((ms: number) => ms > START && ms < last)
  t.strictSame(
    measured.filter((ms: number) => !covered(ms)),
    [],
    'all readings lie in some window',
  )
  t.ok(spans.length < measured.length / 8, `${spans.length} windows for ${measured.length} readings`)
  const nights = new Set(told('44').map((form) => Number(form.get('enddate')) * 1000))
  const slept = real.sleeps.filter(({ updated_at }: Json) => Date.parse(updated_at) > START)
  t.strictSame(
    slept.filter(({ end }: Json) => !nights.has(Date.parse(end))),
    [],
  )
  const weighed = real.weighings
    .filter(({ at }: Json) => Date.parse(at) > START)
    .map(({ at }: Json) => Date.parse(at) / 1000)
  t.strictSame(
    told('1').map((form) => Number(form.get('startdate'))),
    weighed,
  )
  notices.length = 0
  await simulator.control('POST', 'revoke', { provider: 'withings', person: 'clara' })
  await simulator.control('POST', 'notices')
  t.match(
    notices.map(({ text }) => text),
    [/appli=46&action=unlink/],
  )
  t.strictSame((await simulator.control('GET', 'subscriptions')).body, [], 'which ends them')
})

t.test('a notice is sent ten times in five hours, then never again; twenty days without success end it', async (t) => {
  const { simulator, call } = await withings(t, 'clara')
  const there = await listen(t)
  for (const appli of ['1', '44']) await call('/notify', { action: 'subscribe', callbackurl: there.url, appli })
  there.status = 500
  for (let hour = 0; hour < 30; hour++) {
    await simulator.control('POST', 'clock', { advance_seconds: 3600 })
    await simulator.control('POST', 'notices')
  }
  const [first] = (await simulator.control('GET', 'notices?provider=withings')).body
  t.match(first, { state: 'given up', topic: '44' })
  t.equal(first.attempts.length, 10)
  await simulator.control('POST', 'clock', { advance_seconds: (21 * DAY_MS) / 1000 })
  await simulator.control('POST', 'notices')
  t.ok((await simulator.control('GET', 'subscriptions')).body.length < 2)
})
