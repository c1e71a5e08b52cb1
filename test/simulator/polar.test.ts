import t from 'tap'
import { ask, basicOf, type Json, play, register, START, tokens, unlike } from '../support/simulator.ts'

const UNLIMITED = { provider: 'polar', limits: [1e6, 1e6] }
const DAY_MS = 86_400_000

/** A player with a token of somebody who is registered, and whose old exercises are shown. */
async function polar(t: Parameters<typeof play>[0], person = 'ana') {
  const simulator = await play(t)
  await simulator.control('POST', 'settings', { ...UNLIMITED, own: { old_exercises: true } })
  const { access_token: token } = await tokens(simulator, 'polar', { auto: person })
  await register(simulator, token, person)
  const get = (path: string) => simulator.get('polar', `/v3${path}`, token)
  const truth = async (more = '') => (await simulator.control('GET', `truth?person=${person}${more}`)).body
  return { simulator, token, get, truth }
}

/** Samples of the fact page, shortened: every field has to be there. */
const SAMPLES: Record<string, Json> = {
  '/exercises?samples=true&zones=true&route=true': {
    ...{ id: '2AC312F', upload_time: '2026-03-10T17:20:11.000Z', device: 'Polar Vantage V3', device_id: 'C2A1B3D4' },
    ...{ polar_user: 'https://www.polaraccesslink.com/v3/users/10579', start_time: '2026-03-10T17:05:30' },
    ...{ start_time_utc_offset: 60, duration: 'PT52M0.4S', calories: 611, training_load: 143.2, sport: 'RUNNING' },
    ...{ heart_rate: { average: 151, maximum: 177 }, has_route: true, fat_percentage: 38 },
    heart_rate_zones: [{ index: 1, 'lower-limit': 95, 'upper-limit': 114, 'in-zone': 'PT4M10S' }],
    samples: [{ 'recording-rate': 1, 'sample-type': '0', data: '102,103,105,,108' }],
    training_load_pro: {
      ...{ date: '2026-03-10', 'cardio-load': 96.0, 'muscle-load': 58.1, 'perceived-load': 312.0 },
      ...{ 'cardio-load-interpretation': 'MEDIUM', 'user-rpe': 'RPE_MODERATE' },
    },
  },
  '/users/activities?steps=true&activity_zones=true&inactivity_stamps=true': {
    ...{ start_time: '2026-06-21T00:00', end_time: '2026-06-21T23:59', active_duration: 'PT3H11M', steps: 9123 },
    ...{ inactive_duration: 'PT12H3M', daily_activity: 112.4, calories: 2314, active_calories: 612 },
    ...{ inactivity_alert_count: 1, distance_from_steps: 7012.5 },
    samples: {
      steps: { interval_ms: 60_000, total_steps: 9123, samples: [{ steps: 52, timestamp: '2026-03-10T07:14' }] },
      activity_zones: { samples: [{ zone: 'LIGHT', timestamp: '2026-03-10T07:14:30' }] },
      inactivity_stamps: { samples: [] },
    },
  },
  '/users/cardio-load': {
    ...{ date: '2026-03-10', cardio_load_status: 'PRODUCTIVE', cardio_load: 96.0, strain: 71.2, tolerance: 64.8 },
    ...{ cardio_load_ratio: 1.1, cardio_load_level: { very_low: 20.0, low: 45.0, 'very-high': 170.0 } },
  },
  '/users/sleepwise/alertness': {
    ...{ grade: 7.9, grade_validity_seconds: 57600, grade_type: 'GRADE_TYPE_PRIMARY', validity: 'VALIDITY_VALID' },
    ...{ period_start_time: '2026-03-10T05:52:00', sleep_period_start_time: '2026-03-09T22:41:00' },
    ...{
      sleep_timezone_offset_minutes: 60,
      hourly_data: [{ alertness_level: 'X', start_time: '2026-03-10T06:00:00' }],
    },
  },
  '/users/sleepwise/circadian-bedtime': {
    ...{ validity: 'VALIDITY_VALID', quality: 'CIRCADIAN_BEDTIME_QUALITY_COMPROMISED', result_type: 'X' },
    ...{ period_start_time: '2026-03-10T21:18:30', sleep_gate_start_time: '2026-03-10T20:40:00' },
  },
  '/users/biosensing/bodytemperature': {
    ...{ source_device_id: 'C2A1B3D4', measurement_type: 'TM_SKIN_TEMPERATURE', start_time: '2026-03-09T22:45:00' },
    samples: [{ temperature_celsius: 33.9, recording_time_delta_milliseconds: 0 }],
  },
  '/users/biosensing/skintemperature': {
    ...{ sleep_time_skin_temperature_celsius: 34.2, deviation_from_baseline_celsius: -0.3, sleep_date: '2026-03-10' },
  },
  '/users/biosensing/spo2': { test_time: 1773134100, time_zone_offset: 60, test_status: 'X' },
  '/users/biosensing/ecg': { test_time: 1773134100, heart_rate_variability_ms: 44.0, rri_ms: 1034.0, samples: [] },
}

t.test('records look like those of the provider, each where it is kept', async (t) => {
  const { get } = await polar(t)
  const wrong: string[] = []
  for (const [path, sample] of Object.entries(SAMPLES)) {
    const { status, body: rows } = await get(path)
    if (status !== 200 || !(rows.length > 5)) wrong.push(`${path}: ${status}, ${rows.length} rows`)
    else wrong.push(...rows.flatMap((row: Json) => unlike(path, sample, row)))
  }
  const { nights } = (await get('/users/sleep')).body
  const night = {
    date: '2026-03-10',
    sleep_start_time: '2026-03-09T23:41:00+01:00',
    light_sleep: 13620,
    sleep_score: 81,
  }
  const more = { continuity: 3.1, total_interruption_duration: 2160, hypnogram: { '23:41': 3 } }
  for (const one of nights) wrong.push(...unlike('sleep', { ...night, ...more, hypnogram: {} }, one))
  const { recharges } = (await get('/users/nightly-recharge')).body
  const recharge = { heart_rate_avg: 54, heart_rate_variability_avg: 52, breathing_rate_avg: 14.1, hrv_samples: {} }
  for (const one of recharges) wrong.push(...unlike('recharge', recharge, one))
  const day = { date: '2026-03-10', heart_rate_samples: [{ heart_rate: 63, sample_time: '00:02:08' }] }
  const { body: range } = await get('/users/continuous-heart-rate?from=2026-03-01&to=2026-03-07')
  for (const one of range.heart_rates) wrong.push(...unlike('heart rate', day, one))
  wrong.push(...unlike('a day', day, (await get('/users/continuous-heart-rate/2026-03-02')).body))
  const physical = { weight: 70.5, height: 175.0, modified: '2026-03-10T12:00:00Z', gender: 'MALE', vo2_max: 52 }
  wrong.push(...unlike('physical', physical, (await get('/users/physical-info')).body))
  t.strictSame(wrong, [])
  t.ok(nights.length > 20 && recharges.length > 20 && range.heart_rates.length === 7)
  t.ok(
    nights.some((one: Json) => Object.keys(one.hypnogram)[0]?.startsWith('0')),
    'some hypnograms are out of order',
  )
})

t.test('the facts of one moment are the same, whenever they are asked for', async (t) => {
  const { simulator, get } = await polar(t)
  const known = new Map<string, number>()
  let changed = 0
  for (let hour = 0; hour < 24 * 14; hour += 6) {
    await simulator.control('POST', 'clock', { advance_seconds: 6 * 3_600 })
    const { modified, vo2_max: vo2Max } = (await get('/users/physical-info')).body
    if ((known.get(modified) ?? vo2Max) !== vo2Max) changed += 1
    known.set(modified, vo2Max)
  }
  t.equal(changed, 0)
  t.ok(known.size > 2 && known.size < 24, `${known.size} moments`)
})

/** Seconds of `PT1H2M3.5S`. */
function secondsOf(duration: string): number {
  const [, hours = 0, minutes = 0, seconds = 0] = /^PT(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?$/.exec(duration) ?? []
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
}

t.test('exercises are the truth: in local time, lengths written in three ways, lists of text with gaps', async (t) => {
  const wrong: string[] = []
  const forms = new Set<string>()
  let values = 0
  for (const person of ['ana', 'clara', 'edda']) {
    const { get, truth } = await polar(t, person)
    const { workouts } = await truth('&samples=true')
    const { body: rows } = await get('/exercises?samples=true&route=true')
    const since = START - 30 * DAY_MS
    if (rows.some(({ upload_time }: Json) => Date.parse(upload_time) <= since)) wrong.push('older than thirty days')
    for (const row of rows) {
      const workout = workouts.find(({ ids }: Json) => ids.polar === row.id)
      const check = (name: string, found: unknown, expected: unknown) => {
        if (found !== expected) wrong.push(`${person} ${workout.key} ${name}: ${found}, really ${expected}`)
      }
      forms.add(row.duration.replaceAll(/\d+/g, '0'))
      const start = Date.parse(`${row.start_time}Z`) - row.start_time_utc_offset * 60_000
      check('start', start, Date.parse(workout.start))
      check('length', secondsOf(row.duration) * 1000, Date.parse(workout.end) - Date.parse(workout.start))
      check('energy', row.calories, Math.round(workout.active_kcal))
      check('highest', row.heart_rate.maximum, workout.max_heart_rate)
      check('route', row.has_route, workout.samples.latitude !== null)
      const { 'recording-rate': rate, data } = row.samples.find((one: Json) => one['sample-type'] === '0')
      data.split(',').forEach((text: string, i: number) => {
        values++
        if ((text === '' ? null : Number(text)) !== workout.samples.heart_rate[i * rate]) wrong.push(`${row.id} ${i}`)
      })
      for (const [i, point] of (row.route ?? []).entries()) {
        if (point.latitude !== workout.samples.latitude[i * rate] || secondsOf(point.time) !== i * rate)
          wrong.push(`${row.id} route ${i}`)
      }
    }
    const [one] = rows
    t.strictSame((await get(`/exercises/${one.id}`)).body.samples, undefined, 'nothing that was not asked for')
  }
  t.strictSame(wrong, [])
  t.ok(forms.size >= 3 && values > 20_000, `${[...forms].join(' ')}; ${values} values`)
})

const STAGES: Record<string, string> = { 0: 'awake', 1: 'rem', 2: 'light', 3: 'light', 4: 'deep', 6: 'awake' }

t.test('nights are the truth; their hypnogram to the minute, by the clock of where they began', async (t) => {
  const wrong: string[] = []
  let minutes = 0
  for (const person of ['ana', 'clara', 'dario']) {
    const { get, truth } = await polar(t, person)
    const real = new Map(
      (await truth()).sleeps.filter(({ nap }: Json) => !nap).map((one: Json) => [one.ids.polar, one]),
    )
    const recharges = new Map((await get('/users/nightly-recharge')).body.recharges.map((one: Json) => [one.date, one]))
    for (const night of (await get('/users/sleep')).body.nights) {
      const sleep = real.get(night.date) as Json
      const where = `${person} ${night.date}`
      const start = Date.parse(night.sleep_start_time)
      if (start !== Date.parse(sleep.start) || Date.parse(night.sleep_end_time) !== Date.parse(sleep.end))
        wrong.push(`${where}: times`)
      if (night.sleep_start_time.slice(-6) !== sleep.start_offset) wrong.push(`${where}: offset`)
      const { light, deep, rem, awake } = sleep.seconds
      const told = [night.light_sleep, night.deep_sleep, night.rem_sleep, night.total_interruption_duration]
      if (String(told) !== String([light, deep, rem, awake])) wrong.push(`${where}: stages`)
      if (night.sleep_score !== (sleep.unscorable ? -1 : sleep.quality)) wrong.push(`${where}: score`)
      const recharge = recharges.get(night.date) as Json
      if ((recharge === undefined) !== sleep.unscorable) wrong.push(`${where}: recharge`)
      if (recharge && recharge.heart_rate_variability_avg !== Math.round(sleep.average_hrv_rmssd_ms))
        wrong.push(`${where}: hrv`)
      for (const [clock, code] of Object.entries<number>(night.hypnogram)) {
        minutes++
        const at = Math.max(start, instantOf(clock, night.sleep_start_time))
        const stage = sleep.stages.find((one: Json) => Date.parse(one.start) <= at && at < Date.parse(one.end))
        if (stage?.stage !== STAGES[code]) wrong.push(`${where} ${clock}: ${code} is ${stage?.stage}`)
      }
    }
  }
  t.strictSame(wrong, [])
  t.ok(minutes > 1500, `${minutes} changes`)
})

/** When it is so late in the offset of a night that begins then, in the day from its first minute on. */
function instantOf(clock: string, start: string): number {
  const first = Math.floor(Date.parse(start) / 60_000) * 60_000
  const at = Date.parse(`${start.slice(0, 10)}T${clock}:00${start.slice(-6)}`)
  return at < first ? at + DAY_MS : at
}

t.test('days go from midnight to midnight by the watch; steps that repeat are left out', async (t) => {
  const wrong: string[] = []
  for (const person of ['ana', 'bikash', 'clara']) {
    const { get, truth } = await polar(t, person)
    const { calendar_days: days, minutes } = await truth('&minutes=true')
    const { body: rows } = await get('/users/activities?steps=true')
    if (rows.length < 28) wrong.push(`${person}: ${rows.length} days`)
    for (const row of rows) {
      const date = row.start_time.slice(0, 10)
      const real = days.find((one: Json) => one.date === date)
      const active = Math.round(real.active_kcal)
      const expected = [real.steps, active, active + Math.round(real.basal_kcal), real.active_seconds]
      const told = [row.steps, row.active_calories, row.calories, secondsOf(row.active_duration)]
      if (String(told) !== String(expected)) wrong.push(`${person} ${date}: ${told}, really ${expected}`)
      const { steps } = minutes.find((one: Json) => one.date === date)
      const sum = restored(row.samples.steps.samples, steps.length)
      // A clock that is changed makes minutes of the watch come twice, or not at all.
      if (steps.length === 1440 && sum !== row.steps && !moves(rows, row)) wrong.push(`${person} ${date}: ${sum} steps`)
      if (row.samples.steps.total_steps !== row.steps) wrong.push(`${person} ${date}: total`)
    }
  }
  t.strictSame(wrong, [])
})

/** Sum of the steps of all minutes of a day, with those that were left out. */
function restored(samples: Json[], count: number): number {
  const at = ({ timestamp }: Json) => Number(timestamp.slice(11, 13)) * 60 + Number(timestamp.slice(14))
  return samples.reduce(
    (sum, one, i) => sum + one.steps * ((i + 1 < samples.length ? at(samples[i + 1]) : count) - at(one)),
    0,
  )
}

/** Whether a day is the last of the list, which goes on. */
function moves(rows: Json[], row: Json): boolean {
  return row === rows.at(-1)
}

t.test('heart rates of the day leave out exercises, and are those of the minutes', async (t) => {
  const wrong: string[] = []
  let count = 0
  for (const person of ['ana', 'bikash']) {
    const { get, truth } = await polar(t, person)
    const { minutes } = await truth('&minutes=true')
    const { heart_rates: days } = (await get('/users/continuous-heart-rate?from=2026-02-25&to=2026-03-04')).body
    for (const { date, heart_rate_samples: samples } of days) {
      const { heart_rate: real } = minutes.find((one: Json) => one.date === date)
      if (real.length !== 1440) continue
      for (const { sample_time: time, heart_rate: beats } of samples) {
        count++
        const minute = Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5))
        if (real[minute] !== beats) wrong.push(`${person} ${date} ${time}: ${beats}, really ${real[minute]}`)
      }
    }
  }
  t.strictSame(wrong, [])
  t.ok(count > 5000, `${count} values`)
})

t.test('nothing is read before the registration; what was uploaded before it is not shown', async (t) => {
  const simulator = await play(t, { people: 6 })
  await simulator.control('POST', 'settings', UNLIMITED)
  const given = await tokens(simulator, 'polar')
  t.match(given, { token_type: 'bearer', expires_in: 315_359_999, x_user_id: Number })
  t.notOk('refresh_token' in given)
  const api = (method: string, path: string, token: string, body?: object) =>
    ask(`${simulator.env.POLAR_API_URL}/v3${path}`, {
      ...{ method, headers: { authorization: `Bearer ${token}` } },
      ...(body && { body: JSON.stringify(body) }),
    })
  const own = `/users/${given.x_user_id}`
  t.equal((await api('GET', '/exercises', given.access_token)).status, 403)
  t.equal((await api('GET', own, given.access_token)).status, 204)
  t.equal((await api('POST', '/users', given.access_token, {})).status, 400)
  const registered = await api('POST', '/users', given.access_token, { 'member-id': 'm1' })
  t.match(registered, { status: 200, body: { 'polar-user-id': given.x_user_id, 'member-id': 'm1', gender: String } })
  t.equal((await api('POST', '/users', given.access_token, { 'member-id': 'm2' })).status, 409)
  const other = await tokens(simulator, 'polar', { auto: 'bikash' })
  t.equal((await api('POST', '/users', other.access_token, { 'member-id': 'm1' })).status, 409, 'the name is taken')
  t.equal((await api('GET', own, other.access_token)).status, 403)
  t.strictSame((await api('GET', '/exercises', given.access_token)).body, [])
  t.ok((await api('GET', '/users/sleep', given.access_token)).body.nights.length > 20)
  await simulator.control('POST', 'clock', { advance_days: 10 })
  const { body: later } = await api('GET', '/exercises', given.access_token)
  t.ok(later.length > 1 && later.every((one: Json) => Date.parse(one.upload_time) > START))
  const again = await tokens(simulator, 'polar')
  t.equal((await api('GET', '/exercises', given.access_token)).status, 401, 'a new consent ends the old token')
  t.equal((await api('GET', '/exercises', again.access_token)).body.length, later.length)
  t.equal((await api('DELETE', own, again.access_token)).status, 204)
  t.equal((await api('GET', '/exercises', again.access_token)).status, 401, 'the token went with it')
  await simulator.control('POST', 'settings', { provider: 'polar', own: { consents_missing: true } })
  const refused = await api('GET', '/users/sleep', other.access_token)
  t.strictSame([refused.status, refused.body], [403, ''])
})

t.test('a token from before a restart is that of somebody who is registered', async (t) => {
  const { token } = await polar(t)
  const after = await play(t)
  await after.control('POST', 'settings', { ...UNLIMITED, own: { old_exercises: true } })
  t.ok((await after.get('polar', '/v3/exercises', token)).body.length > 3)
})

t.test('ranges have 28 days at most, none before last year; days without data are empty', async (t) => {
  const { get, simulator } = await polar(t)
  const statuses: Record<string, number> = {
    '/users/activities?from=2026-02-08&to=2026-03-07': 200,
    '/users/activities?from=2026-02-07&to=2026-03-07': 400,
    '/users/activities?from=2025-03-06&to=2025-03-07': 400,
    '/users/activities?from=2026-03-07&to=2026-03-01': 400,
    '/users/activities?from=then': 400,
    '/users/activities/2026-03-01': 200,
    '/users/activities/samples/2026-03-01': 200,
    '/users/activities/2026-03-20': 204,
    '/users/activities/x': 400,
    '/users/continuous-heart-rate': 400,
    '/users/continuous-heart-rate?from=2026-03-01': 400,
    '/users/continuous-heart-rate/2026-03-20': 404,
    '/users/sleep/2026-03-20': 404,
    '/users/sleep/available': 200,
    '/users/nightly-recharge/2020-01-01': 404,
    '/users/cardio-load/2026-03-01': 200,
    '/users/cardio-load/date?from=2026-03-01&to=2026-03-05': 200,
    '/users/cardio-load/period/days/180': 200,
    '/users/cardio-load/period/days/181': 400,
    '/users/cardio-load/period/months/6': 200,
    '/users/sleepwise/alertness/date?from=2026-03-01&to=2026-03-05': 200,
    '/users/biosensing/skincontacts': 204,
    '/exercises/FFFF': 404,
    '/users/body-temperature': 404,
  }
  const wrong: string[] = []
  for (const [path, expected] of Object.entries(statuses)) {
    const { status } = await get(path)
    if (status !== expected) wrong.push(`${path}: ${status}, not ${expected}`)
  }
  t.strictSame(wrong, [])
  const people = (await simulator.control('GET', 'people')).body
  const old = people.find(({ ring }: Json) => ring === 'gen3').key
  const before = await polar(t, old)
  for (const path of ['/users/sleepwise/alertness', '/users/biosensing/spo2'])
    t.equal((await before.get(path)).status, 204, `an old device: ${path}`)
  await simulator.control('POST', 'settings', { provider: 'polar', own: { as_specified: true } })
  const [day] = (await get('/users/activities?inactivity_stamps=true')).body
  t.match(day, { start_time: /T00:00:00$/, samples: { date: String, inactivity_stamps: Array } })
})

t.test('the application may ask more, the more people it has', async (t) => {
  const simulator = await play(t)
  const { access_token: token } = await tokens(simulator, 'polar')
  const limits = async () => (await simulator.get('polar', '/v3/users/1', token)).headers.get('ratelimit-limit')
  t.equal(await limits(), '520, 5100')
  await tokens(simulator, 'polar', { auto: 'bikash' })
  t.equal(await limits(), '540, 5200')
  await simulator.control('POST', 'settings', { provider: 'polar', limits: [3, 100] })
  const last = async () => simulator.get('polar', '/v3/users/1', token)
  await last()
  const refused = await last()
  t.match(refused, { status: 429, body: { status: 429, errorType: String, corrId: String } })
  t.strictSame(
    ['ratelimit-usage', 'ratelimit-reset'].map((name) => refused.headers.get(name)),
    ['3, 4', '900, 86400'],
  )
  t.equal(
    (await ask(`${simulator.env.POLAR_API_URL}/v3/webhooks`, { headers: basicOf(simulator, 'polar') })).status,
    200,
  )
})
