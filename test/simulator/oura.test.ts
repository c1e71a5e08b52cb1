import t from 'tap'
import { type Json, play, START, tokens } from '../support/simulator.ts'

const BASE = '/v2/usercollection/'
const DAY_MS = 86_400_000

/** A player with a token of a person, who asks for collections by name. */
async function oura(t: Parameters<typeof play>[0], person = 'ana', more: Record<string, string> = {}) {
  const simulator = await play(t)
  const { access_token: token } = await tokens(simulator, 'oura', { auto: person, ...more })
  const get = (path: string) => simulator.get('oura', BASE + path, token)
  const truth = async (from: string, to: string, more = '') =>
    (await simulator.control('GET', `truth?person=${person}&from=${from}&to=${to}${more}`)).body
  /** All pages of a collection. */
  const all = async (path: string) => {
    const rows: Json[] = []
    let [next, pages] = ['', 0]
    do {
      const { status, body } = await get(`${path}${next && `&next_token=${next}`}`)
      if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`)
      rows.push(...body.data)
      next = body.next_token
    } while (next && ++pages < 100)
    return rows
  }
  return { simulator, token, get, truth, all }
}

/** Samples of the provider's documentation and of recorded answers, shortened: every field has to be there. */
const SAMPLES: Record<string, Json> = {
  workout: {
    ...{ id: '2f1c', activity: 'walking', calories: 87.9, day: '2026-03-07', distance: 1269.9, intensity: 'easy' },
    ...{ start_datetime: '2026-03-07T16:49:00+01:00', end_datetime: '2026-03-07T17:33:00+01:00', label: null },
    source: 'confirmed',
  },
  sleep: {
    ...{ id: '96e7', day: '2026-03-07', type: 'long_sleep', period: 0, bedtime_start: '2026-03-06T23:01:59+01:00' },
    ...{ bedtime_end: '2026-03-07T07:04:12+01:00', time_in_bed: 28933, total_sleep_duration: 23220 },
    ...{ deep_sleep_duration: 3060, light_sleep_duration: 17160, rem_sleep_duration: 3000, awake_time: 5713 },
    ...{ latency: 930, efficiency: 80, average_breath: 14.5, average_heart_rate: 57.3, lowest_heart_rate: 49 },
    average_hrv: 38,
    heart_rate: { interval: 300, items: [null, 56, 55], timestamp: '2026-03-06T23:01:59.000+01:00' },
    hrv: { interval: 300, items: [null, 32, 41], timestamp: '2026-03-06T23:01:59.000+01:00' },
    ...{
      sleep_phase_5_min: '4221113324',
      restless_periods: 83,
      low_battery_alert: false,
      sleep_algorithm_version: 'v2',
    },
  },
  daily_readiness: {
    ...{ id: 'a1', day: '2026-03-07', score: 86, temperature_deviation: 0.1, temperature_trend_deviation: 0.13 },
    timestamp: '2026-03-07T00:00:00+01:00',
    contributors: {
      ...{ activity_balance: 94, body_temperature: 97, hrv_balance: 95, previous_day_activity: 91, previous_night: 77 },
      ...{ recovery_index: 64, resting_heart_rate: 92, sleep_balance: 92 },
    },
  },
  daily_activity: {
    ...{ id: 'b1', day: '2026-03-07', score: 95, active_calories: 553, total_calories: 2602, steps: 11185 },
    ...{ equivalent_walking_distance: 9850, high_activity_time: 1260, medium_activity_time: 2860 },
    ...{ low_activity_time: 14060, sedentary_time: 38100, resting_time: 28860, non_wear_time: 60 },
    ...{
      average_met_minutes: 1.65,
      met: { interval: 60, items: [0.9, 1.1], timestamp: '2026-03-07T04:00:00.000+01:00' },
    },
    timestamp: '2026-03-07T04:00:00+01:00',
    contributors: {
      ...{ meet_daily_targets: 100, move_every_hour: 100, recovery_time: 100, stay_active: 65 },
      ...{ training_frequency: 100, training_volume: 100 },
    },
  },
  daily_sleep: {
    ...{ id: 'c1', day: '2026-03-07', score: 78, timestamp: '2026-03-07T00:00:00+01:00' },
    contributors: {
      ...{ deep_sleep: 75, efficiency: 88, latency: 90, rem_sleep: 66, restfulness: 71, timing: 95, total_sleep: 80 },
    },
  },
  daily_spo2: { id: 'd1', day: '2026-03-07', spo2_percentage: { average: 97.5 }, breathing_disturbance_index: 6 },
  daily_cardiovascular_age: { day: '2026-03-07', vascular_age: 39 },
  vO2_max: { id: 'e1', day: '2026-03-07', timestamp: '2026-03-07T08:12:00+01:00', vo2_max: 44 },
  daily_stress: { day: '2026-03-07', stress_high: 3600, recovery_high: 900, day_summary: 'normal' },
  daily_resilience: {
    ...{ day: '2026-03-07', level: 'solid' },
    contributors: { sleep_recovery: 1.5, daytime_recovery: 1.5, stress: 1.5 },
  },
}

t.test('documents look like those of the provider', async (t) => {
  const { all, get, simulator } = await oura(t, 'ana', { scope: '' })
  const wrong: string[] = []
  for (const [name, sample] of Object.entries(SAMPLES)) {
    const rows = await all(`${name}?start_date=2026-02-20&end_date=2026-03-07T23:59:59`)
    if (rows.length < 2) wrong.push(`${name} has ${rows.length} rows`)
    for (const row of rows) if (row.type !== 'rest') wrong.push(...differences(name, sample, row))
  }
  const heartRate = { bpm: 61, source: 'awake', timestamp: '2026-03-07T12:31:21+00:00', timestamp_unix: 1772886681000 }
  for (const row of (await get('heartrate')).body.data) wrong.push(...differences('heartrate', heartRate, row))
  const me = { id: 'u', age: 42, weight: 80.2, height: 1.8, biological_sex: 'male', email: 'user@example.com' }
  wrong.push(...differences('personal_info', me, (await get('personal_info')).body))
  t.strictSame(wrong, [])
  t.match((await get('ring_configuration')).body.data[0], { hardware_type: /^(gen[1-4]|or5)$/, set_up_at: /Z$/ })
  const newer = { provider: 'oura', own: { document_meta: true } }
  await simulator.control('POST', 'settings', newer)
  t.match((await get('daily_sleep')).body.data[0].meta, { version: 1, updated_at: /^2026-03-0/ })
})

/** Fields that are missing or of another kind; texts of dates have to have the same form. */
function differences(where: string, sample: Json, found: Json): string[] {
  if (sample === null || found === null) return []
  if (typeof sample !== typeof found) return [`${where} is ${JSON.stringify(found)?.slice(0, 60)}`]
  if (Array.isArray(sample)) return []
  if (typeof sample === 'object')
    return Object.keys(sample).flatMap((name) => {
      if (!(name in found)) return [`${where}.${name} is missing`]
      return differences(`${where}.${name}`, sample[name], found[name])
    })
  if (typeof sample !== 'string' || !/^\d/.test(sample) || !/[T-]/.test(sample)) return []
  const form = (text: string) => text.replaceAll(/\d/g, '0').replace(/[+-](00:00)$/, '+$1')
  return form(sample) === form(found) ? [] : [`${where} is ${found}`]
}

t.test('what it shows is the truth, in its own units, rounded', async (t) => {
  const wrong: string[] = []
  for (const person of ['ana', 'dario']) {
    const { all, truth } = await oura(t, person)
    const range = 'start_date=2026-01-07&end_date=2026-03-07T23:59:59'
    const real = await truth('2026-01-07', '2026-03-07', '&minutes=true')
    const check = (name: string, found: unknown, expected: unknown, within = 0) => {
      const near = Math.abs(Number(found) - Number(expected)) <= within
      if (within > 0 ? !near : found !== expected) wrong.push(`${person} ${name}: ${found}, really ${expected}`)
    }
    const sleeps = new Map((await all(`sleep?${range}`)).map((row) => [row.id, row]))
    for (const sleep of real.sleeps) {
      const row = sleeps.get(sleep.ids.oura)
      check(sleep.key, Date.parse(row.bedtime_start), Date.parse(sleep.start))
      check(sleep.key, Date.parse(row.bedtime_end), Date.parse(sleep.end))
      check(sleep.key, row.bedtime_start.slice(-6), sleep.start_offset)
      check(sleep.key, row.bedtime_end.slice(-6), sleep.end_offset)
      check(sleep.key, row.deep_sleep_duration, sleep.seconds.deep)
      check(sleep.key, row.awake_time + row.total_sleep_duration, row.time_in_bed)
      check(sleep.key, String(row.heart_rate.items), String(sleep.heart_rate_5_min))
      check(sleep.key, String(row.hrv.items), String(sleep.hrv_rmssd_5_min))
      check(sleep.key, row.average_breath, sleep.respiratory_rate, 1 / 16)
      check(sleep.key, row.efficiency, sleep.efficiency_percent, 0.5)
      check(sleep.key, row.average_hrv, sleep.average_hrv_rmssd_ms, 0.5)
      check(sleep.key, row.type === 'long_sleep', !sleep.nap)
      check(sleep.key, row.sleep_phase_5_min.length, Math.ceil(row.time_in_bed / 300))
      if (row.sleep_phase_30_sec) check(sleep.key, phases(row.sleep_phase_30_sec), stages(sleep))
      sleeps.delete(sleep.ids.oura)
    }
    const left = [...sleeps.values()].map(({ type }) => type)
    check('left over', left.filter((type) => type === 'rest').length, real.rests.length)
    check('left over', left.filter((type) => type === 'deleted').length, left.length - real.rests.length)
    // Minutes follow each other without a gap.
    const steps: number[] = real.minutes.flatMap((day: Json) => day.steps)
    const minuteAt = (time: string) => (Date.parse(time) - Date.parse(real.minutes[0].start)) / 60_000
    const activities = await all(`daily_activity?${range}`)
    check('days', activities.length, real.days.length)
    for (const [i, day] of real.days.entries()) {
      const inside = steps.slice(minuteAt(day.start), minuteAt(day.end))
      check(
        day.date,
        activities[i].steps,
        inside.reduce((sum, count) => sum + count, 0),
      )
      check(day.date, activities[i].timestamp, day.start)
      check(day.date, activities[i].active_calories, day.active_kcal, 0.5)
      check(day.date, activities[i].total_calories, day.active_kcal + day.basal_kcal, 1)
      check(day.date, activities[i].met.items.length, inside.length)
    }
    const workouts = await all(`workout?${range}`)
    check('workouts', workouts.length, real.workouts.length)
    for (const [i, workout] of real.workouts.entries()) {
      check(workout.key, workouts[i].id, workout.ids.oura)
      check(workout.key, Date.parse(workouts[i].start_datetime), Date.parse(workout.start))
      check(workout.key, workouts[i].calories, workout.active_kcal)
    }
  }
  t.strictSame(wrong, [])
})

/** Seconds of each run of equal characters. */
function phases(text: string): string {
  return text.replaceAll(/(.)\1*/g, (run, sign) => `${sign}${run.length} `)
}

function stages(sleep: Json): string {
  const signs: Record<string, string> = { deep: '1', light: '2', rem: '3', awake: '4' }
  const long = (stage: Json) => Math.ceil((Date.parse(stage.end) - Date.parse(stage.start)) / 30_000)
  return sleep.stages.map((stage: Json) => `${signs[stage.stage]}${long(stage)} `).join('')
}

t.test(
  'heart rate is every five minutes, as nights have it, and each minute of workouts; at most 30 days',
  async (t) => {
    const { all, get, truth } = await oura(t)
    const rows = await all('heartrate?start_datetime=2026-02-20T00:00:00Z&end_datetime=2026-03-06T23:59:59Z')
    const bpm = new Map(rows.map((row) => [Date.parse(row.timestamp), row.bpm]))
    const { sleeps, workouts } = await truth('2026-02-21', '2026-03-06')
    const missing = sleeps.flatMap((sleep: Json) =>
      sleep.heart_rate_5_min.filter((value: number | null, i: number) => {
        return value !== null && bpm.get(Date.parse(sleep.start) + i * 300_000) !== value
      }),
    )
    t.strictSame(missing, [])
    const trained = rows.filter(({ source }) => source === 'workout').length
    const minutes = workouts.reduce(
      (sum: number, one: Json) => sum + (Date.parse(one.end) - Date.parse(one.start)) / 60_000,
      0,
    )
    t.ok(trained >= minutes, `${trained} rows in ${minutes} minutes of workouts`)
    t.strictSame(
      rows.map(({ timestamp_unix }) => timestamp_unix),
      rows.map(({ timestamp }) => Date.parse(timestamp)),
    )
    const range = (days: number) => {
      const from = new Date(START - days * DAY_MS).toISOString()
      return `heartrate?start_datetime=${from}&end_datetime=${new Date(START).toISOString()}`
    }
    t.strictSame([(await get(range(30))).status, (await get(range(31))).status], [200, 400])
    const latest = (await get('heartrate?latest=true')).body.data
    t.equal(latest.length, 1)
    t.ok(START - latest[0].timestamp_unix < 20 * 60_000)
    t.strictSame((await get('heartrate?start_datetime=yesterday')).body.detail[0].loc, ['query', 'start_datetime'])
  },
)

t.test('days include both ends, but a bare end of today misses today', async (t) => {
  const { get } = await oura(t)
  const days = async (query: string) => (await get(`daily_activity?${query}`)).body.data?.map(({ day }: Json) => day)
  t.strictSame(await days('start_date=2026-03-04&end_date=2026-03-06'), ['2026-03-04', '2026-03-05', '2026-03-06'])
  t.strictSame(await days('start_date=2026-03-06&end_date=2026-03-07'), ['2026-03-06'])
  t.strictSame(await days('start_date=2026-03-06&end_date=2026-03-07T23:59:59'), ['2026-03-06', '2026-03-07'])
  t.strictSame(await days(''), ['2026-03-06', '2026-03-07'], 'the last day where nothing is said')
  t.strictSame(await days('start_date=2023-09-01&end_date=2026-01-07'), ['2026-01-06', '2026-01-07'], 'any length')
  t.equal((await get('sleep?start_date=2026-03-08&end_date=2026-03-04')).status, 400)
  const { status, body } = await get('sleep?start_date=2026-02-30')
  t.strictSame([status, body.detail[0].loc], [422, ['query', 'start_date']])
  t.strictSame(Object.keys((await get('daily_activity?fields=day,steps')).body.data[0]), ['id', 'day', 'steps'])
})

t.test('pages go on through an empty one; a token is good for its request only', async (t) => {
  const { simulator, get, all } = await oura(t)
  await simulator.control('POST', 'settings', { provider: 'oura', page_size: 7 })
  const path = 'daily_activity?start_date=2026-02-16&end_date=2026-03-05'
  const first = (await get(path)).body
  const second = (await get(`${path}&next_token=${first.next_token}`)).body
  t.strictSame([first.data.length, second.data.length, typeof second.next_token], [7, 0, 'string'])
  const rows = await all(path)
  t.strictSame([rows.length, new Set(rows.map(({ id }) => id)).size], [18, 18])
  for (const other of ['daily_activity?start_date=2026-02-17&end_date=2026-03-05', 'sleep?start_date=2026-02-16'])
    t.equal((await get(`${other}&next_token=${first.next_token}`)).status, 400)
  t.equal((await get(`${path}&next_token=nonsense`)).status, 400)
})

t.test('single documents, and what is not there', async (t) => {
  const { simulator, get, all } = await oura(t)
  const wrong: string[] = []
  for (const name of Object.keys(SAMPLES)) {
    for (const row of await all(`${name}?start_date=2026-03-01&end_date=2026-03-07T23:59:59`)) {
      if (row.id === undefined) continue
      const { body } = await get(`${name}/${row.id}`)
      if (JSON.stringify(body) !== JSON.stringify(row)) wrong.push(`${name}/${row.id}`)
    }
  }
  t.strictSame(wrong, [])
  t.strictSame((await get('sleep/96e7772a-64a7-4342-9c5f-000000000001')).body, { detail: 'Document not found.' })
  const paths = ['vo2_max', 'sleep/', 'sleep/a/b', 'constructor', '../../_control', '']
  t.strictSame(await Promise.all(paths.map(async (path) => (await get(path)).status)), [404, 404, 404, 404, 404, 404])
  t.equal((await simulator.get('oura', '/v2/usercollection/sleep', 'no token')).status, 401)
  const sandbox = await simulator.get('oura', '/v2/sandbox/usercollection/sleep', 'anything')
  t.strictSame([sandbox.status, sandbox.body.data.length > 0], [200, true])
})

t.test('what was not allowed is refused: 403, or 401 as some have seen', async (t) => {
  const { simulator, get } = await oura(t, 'ana', { scope: 'extapi:daily' })
  const statuses = async () =>
    Promise.all(
      ['sleep', 'workout', 'heartrate', 'daily_resilience', 'vO2_max', 'ring_configuration'].map(
        async (path) => (await get(path)).status,
      ),
    )
  t.strictSame(await statuses(), [200, 403, 403, 403, 403, 403])
  t.strictSame(Object.keys((await get('personal_info')).body), ['id'], 'the id needs no scope')
  await simulator.control('POST', 'settings', { provider: 'oura', missing_scope_status: 401 })
  t.strictSame(await statuses(), [200, 401, 401, 401, 401, 401])
})

t.test('today is revised, nights come with the phone, and deleted ones stay listed', async (t) => {
  const { simulator, all, truth } = await oura(t)
  const today = async () => (await all('daily_activity?start_date=2026-03-07&end_date=2026-03-07T23:59:59'))[0]
  const steps: number[] = []
  for (const hour of [1, 4, 8, 14, 15.5, 20]) {
    await simulator.control('POST', 'clock', { now: new Date(START + hour * 3_600_000).toISOString() })
    steps.push((await today()).steps)
  }
  t.ok(steps[0]! < steps[1]! && steps[1]! < steps[2]! && steps[2]! <= steps[3]!, `${steps}`)
  t.equal(steps[5], steps[4], 'no more after 04:00')
  const { body } = await simulator.control('POST', 'clock', { offset_seconds: 0 })
  t.equal(body.now, new Date(START).toISOString())
  let deleted = 0
  const wrong: string[] = []
  for (let hour = 0; hour < 24 * 60; hour += 30) {
    await simulator.control('POST', 'clock', { offset_seconds: hour * 3600 })
    const day = new Date(START + hour * 3_600_000 - DAY_MS).toISOString().slice(0, 10)
    const rows = await all(`sleep?start_date=${day}&end_date=${day}`)
    const real = await truth(day, day)
    const shown = rows.filter(({ type }) => type !== 'rest' && type !== 'deleted').map(({ id }) => id)
    deleted += rows.filter(({ type }) => type === 'deleted').length
    if (String(shown) !== String(real.sleeps.map(({ ids }: Json) => ids.oura))) wrong.push(day)
    const night = real.sleeps.some(({ nap }: Json) => !nap)
    if ((await all(`daily_readiness?start_date=${day}&end_date=${day}`)).length !== (night ? 1 : 0)) wrong.push(day)
  }
  t.strictSame(wrong, [])
  t.ok(deleted > 0, `${deleted} deleted`)
})

t.test('requests are counted strictly, of each token and of the application', async (t) => {
  const { simulator, get } = await oura(t)
  await simulator.control('POST', 'settings', { provider: 'oura', limits: [3, 5] })
  const statuses = async (count: number, one = get) => {
    const found: number[] = []
    for (let i = 0; i < count; i++) found.push((await one('personal_info')).status)
    return found
  }
  t.strictSame(await statuses(2), [200, 200])
  simulator.wait(100)
  t.strictSame(await statuses(2), [200, 429])
  const { headers } = await get('personal_info')
  t.strictSame(
    ['retry-after', 'x-ratelimit-limit', 'x-ratelimit-window', 'x-ratelimit-reset', 'x-ratelimit-tier'].map((name) =>
      headers.get(name),
    ),
    ['200', '3', '300', String(START / 1000 + 300), 'token'],
  )
  const other = await tokens(simulator, 'oura', { auto: 'bikash' })
  const asOther = (path: string) => simulator.get('oura', BASE + path, other.access_token)
  t.strictSame(await statuses(3, asOther), [200, 200, 429])
  t.equal((await asOther('personal_info')).headers.get('x-ratelimit-tier'), 'application')
  simulator.wait(199)
  t.strictSame(await statuses(1), [429], 'not a second too early')
  simulator.wait(1)
  t.strictSame(await statuses(3), [200, 200, 429], 'two of 300 s ago no longer count')
  const { body } = await simulator.control('GET', 'budgets')
  t.ok(body.oura['application 300 s'].peak > 5)
})
