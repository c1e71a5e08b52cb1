import t from 'tap'
import { ask, type Json, play, START, tokens } from '../support/simulator.ts'

const DAY_MS = 86_400_000

async function whoop(t: Parameters<typeof play>[0], person = 'ana', more: Record<string, string> = {}) {
  const simulator = await play(t)
  await simulator.control('POST', 'settings', { provider: 'whoop', limits: [100_000, 100_000] })
  const { access_token: token } = await tokens(simulator, 'whoop', { auto: person, ...more })
  const get = (path: string) => simulator.get('whoop', path, token)
  const truth = async (from: string, to: string) =>
    (await simulator.control('GET', `truth?person=${person}&from=${from}&to=${to}`)).body
  /** All pages of a collection, newest first. */
  const all = async (path: string, query = '') => {
    const rows: Json[] = []
    let next = ''
    do {
      const { status, body } = await get(`${path}?limit=25${query}${next && `&nextToken=${next}`}`)
      if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`)
      rows.push(...body.records)
      next = body.next_token
    } while (next)
    return rows
  }
  return { simulator, token, get, truth, all }
}

const WORKOUT = '/v2/activity/workout'
const SLEEP = '/v2/activity/sleep'
const RECOVERY = '/v2/recovery'
const CYCLE = '/v2/cycle'

/** Samples of the provider's documentation: every field has to be there, with a value of its kind. */
const times = { created_at: '2026-03-10T17:05:44.774Z', updated_at: '2026-03-10T17:12:01.120Z', score_state: 'SCORED' }
const SAMPLES: Record<string, Json> = {
  [WORKOUT]: {
    ...{ id: 'ecfc6a15-4661-442f-a9a4-f160dd7afae8', v1_id: 1043, user_id: 10129, ...times },
    ...{ start: '2026-03-10T16:05:30.000Z', end: '2026-03-10T16:57:30.000Z', timezone_offset: '+01:00' },
    ...{ sport_name: 'hiking-rucking', sport_id: 52 },
    score: {
      ...{ strain: 8.2463, average_heart_rate: 123, max_heart_rate: 146, kilojoule: 1569.34, percent_recorded: 100 },
      zone_durations: {
        ...{ zone_zero_milli: 300000, zone_one_milli: 600000, zone_two_milli: 900000, zone_three_milli: 900000 },
        ...{ zone_four_milli: 360000, zone_five_milli: 60000 },
      },
    },
  },
  [SLEEP]: {
    ...{ id: '3f0a2d7e-6b1c-4a55-9d0e-5b8f1c2d3e4f', cycle_id: 93845, v1_id: 93845, user_id: 10129, ...times },
    ...{ start: '2026-03-09T22:41:00.000Z', end: '2026-03-10T05:52:00.000Z', timezone_offset: '+01:00', nap: false },
    score: {
      stage_summary: {
        ...{ total_in_bed_time_milli: 25860000, total_awake_time_milli: 2160000, total_no_data_time_milli: 0 },
        ...{ total_light_sleep_time_milli: 13620000, total_slow_wave_sleep_time_milli: 4980000 },
        ...{ total_rem_sleep_time_milli: 5100000, sleep_cycle_count: 5, disturbance_count: 9 },
      },
      sleep_needed: {
        ...{ baseline_milli: 27395716, need_from_sleep_debt_milli: 352230, need_from_recent_strain_milli: 208595 },
        need_from_recent_nap_milli: -12312,
      },
      ...{ respiratory_rate: 15.1, sleep_performance_percentage: 86, sleep_consistency_percentage: 78 },
      sleep_efficiency_percentage: 91.6,
    },
  },
  [RECOVERY]: {
    ...{ cycle_id: 93845, sleep_id: '3f0a2d7e-6b1c-4a55-9d0e-5b8f1c2d3e4f', user_id: 10129, ...times },
    score: { user_calibrating: false, recovery_score: 64, resting_heart_rate: 49, hrv_rmssd_milli: 61.813562 },
  },
  [CYCLE]: {
    ...{ id: 93845, user_id: 10129, ...times, start: '2026-03-09T22:41:00.000Z', timezone_offset: '+01:00' },
    score: { strain: 5.29, kilojoule: 8288.297, average_heart_rate: 68, max_heart_rate: 141 },
  },
}

t.test('records look like those of the provider', async (t) => {
  const { all, get } = await whoop(t)
  const wrong: string[] = []
  for (const [path, sample] of Object.entries(SAMPLES)) {
    const rows = (await all(path)).filter(({ score_state }) => score_state === 'SCORED')
    if (rows.length < 5) wrong.push(`${path}: ${rows.length} rows`)
    for (const row of rows) wrong.push(...differences(path, sample, row))
  }
  const body = { height_meter: 1.8288, weight_kilogram: 90.7185, max_heart_rate: 200 }
  wrong.push(...differences('body', body, (await get('/v2/user/measurement/body')).body))
  const profile = { user_id: 10129, email: 'jane@example.org', first_name: 'Jane', last_name: 'Doe' }
  wrong.push(...differences('profile', profile, (await get('/v2/user/profile/basic')).body))
  t.strictSame(wrong, [])
})

function differences(where: string, sample: Json, found: Json): string[] {
  if (typeof sample !== typeof found) return [`${where} is ${JSON.stringify(found)?.slice(0, 60)}`]
  if (typeof sample === 'object')
    return Object.keys(sample).flatMap((name) => differences(`${where}.${name}`, sample[name], found?.[name]))
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
  return time.test(sample) && !time.test(found) ? [`${where} is ${found}`] : []
}

t.test('what it shows is the truth, in its own units, rounded', async (t) => {
  const wrong: string[] = []
  const seen: Record<string, number> = {}
  for (const person of ['ana', 'bikash']) {
    const { all, truth } = await whoop(t, person)
    const real = await truth('2026-01-07', '2026-03-07')
    const check = (name: string, found: unknown, expected: unknown, within = 0) => {
      const near = Math.abs(Number(found) - Number(expected)) <= within
      if (within > 0 ? !near : found !== expected) wrong.push(`${person} ${name}: ${found}, really ${expected}`)
    }
    const query = '&start=2026-01-07T00:00:00Z'
    const sleeps = new Map((await all(SLEEP, query)).map((row) => [row.id, row]))
    const recoveries = new Map((await all(RECOVERY, query)).map((row) => [row.sleep_id, row]))
    for (const sleep of real.sleeps.filter(({ start }: Json) => start >= '2026-01-07')) {
      const { score, ...row } = sleeps.get(sleep.ids.whoop) ?? {}
      check(sleep.key, row.start, sleep.start)
      check(sleep.key, row.end, sleep.end)
      check(sleep.key, row.timezone_offset === 'Z' ? '+00:00' : row.timezone_offset, sleep.start_offset)
      check(sleep.key, row.nap, sleep.nap)
      check(sleep.key, row.score_state, sleep.unscorable ? 'UNSCORABLE' : 'SCORED')
      check(sleep.key, score === undefined, sleep.unscorable)
      const recovery = recoveries.get(sleep.ids.whoop)
      check(sleep.key, recovery === undefined, sleep.nap || sleep.unscorable)
      if (score) {
        check(sleep.key, score.stage_summary.total_slow_wave_sleep_time_milli, sleep.seconds.deep * 1000)
        check(sleep.key, score.stage_summary.total_awake_time_milli, sleep.seconds.awake * 1000)
        check(sleep.key, score.sleep_efficiency_percentage, sleep.efficiency_percent, 0.05)
        check(sleep.key, score.respiratory_rate, sleep.respiratory_rate, 0.0051)
      }
      if (recovery) {
        check(sleep.key, recovery.score.recovery_score, sleep.recovery)
        check(sleep.key, recovery.score.hrv_rmssd_milli, sleep.average_hrv_rmssd_ms, 1e-6)
        check(sleep.key, recovery.score.resting_heart_rate, sleep.lowest_heart_rate)
        check(sleep.key, recovery.score.spo2_percentage ?? null, person === 'bikash' ? null : sleep.spo2_percent)
        check(sleep.key, recovery.score.skin_temp_celsius === undefined, person === 'bikash')
      }
      for (const name of [row.score_state, row.nap, sleep.edited && 'edited']) seen[name] = (seen[name] ?? 0) + 1
    }
    check('sleeps', sleeps.size, real.sleeps.filter(({ start }: Json) => start >= '2026-01-07').length)
    const workouts = new Map((await all(WORKOUT, query)).map((row) => [row.id, row]))
    check('workouts', workouts.size, real.workouts.length)
    for (const workout of real.workouts) {
      const { score, ...row } = workouts.get(workout.ids.whoop) ?? {}
      check(workout.key, row.start, workout.start)
      check(workout.key, score === undefined, workout.unscorable)
      if (!score) continue
      check(workout.key, score.kilojoule / 4.184, workout.active_kcal, 0.01)
      check(workout.key, score.distance_meter ?? null, workout.distance_m)
      check(workout.key, score.altitude_gain_meter ?? null, workout.climbed_m)
      check(workout.key, score.average_heart_rate, workout.average_heart_rate, 0.5)
      const zones = Object.values(score.zone_durations as Record<string, number>)
      check(
        workout.key,
        zones.reduce((sum, ms) => sum + ms),
        Date.parse(workout.end) - Date.parse(workout.start),
      )
    }
    const cycles = new Map((await all(CYCLE, query)).map((row) => [String(row.id), row]))
    for (const cycle of real.cycles.filter(({ start }: Json) => start >= '2026-01-07')) {
      const row = cycles.get(cycle.ids.whoop) ?? {}
      check(cycle.date, row.start, cycle.start)
      check(cycle.date, row.end ?? null, cycle.end)
      check(cycle.date, row.score?.kilojoule, cycle.total_kcal * 4.184, 0.001)
      check(cycle.date, row.score?.strain, cycle.strain, 0.0001)
    }
  }
  t.strictSame(wrong, [])
  t.ok(seen.UNSCORABLE && seen.true && seen.edited, JSON.stringify(seen))
})

t.test('collections: newest first, start included, end not, 10 to 25 a page, 30 days', async (t) => {
  const { get, all } = await whoop(t)
  const first = (await get(SLEEP)).body
  t.equal(first.records.length, 10)
  const rows = await all(SLEEP)
  const starts = rows.map(({ start }) => start)
  t.strictSame(starts, [...starts].sort().reverse())
  t.ok(starts.every((start) => Date.parse(start) >= START - 30 * DAY_MS) && starts.length > 25)
  t.strictSame(
    first.records.map(({ id }: Json) => id),
    rows.slice(0, 10).map(({ id }) => id),
  )
  const between = async (start: string, end: string) => (await get(`${SLEEP}?start=${start}&end=${end}`)).body.records
  t.equal((await between(starts[5], starts[4])).length, 1, 'the end is not included')
  t.equal((await between(starts[5], starts[3]))[1].start, starts[5], 'the start is')
  const status = async (query: string) => (await get(`${SLEEP}?${query}`)).status
  t.strictSame(
    await Promise.all(['limit=25', 'limit=26', 'limit=0', 'limit=x', 'start=2026-03-01', 'nextToken=abc'].map(status)),
    [200, 400, 400, 400, 400, 400],
  )
  t.equal(await status(`limit=5&nextToken=${first.next_token}`), 400, 'a token is good for its request')
  const lasts = []
  for (const path of [WORKOUT, SLEEP, RECOVERY, CYCLE])
    lasts.push((await get(`${path}?start=2026-03-06T00:00:00Z`)).body.next_token)
  t.strictSame(lasts, [null, undefined, '', null], 'the last page is said in every way there is')
})

t.test('a new night waits for its score; an edited one is another; a deleted one is gone', async (t) => {
  const { simulator, get } = await whoop(t, 'bikash')
  const at = (ms: number) => simulator.control('POST', 'clock', { now: new Date(ms).toISOString() })
  const found = { pending: 0, edited: 0, deleted: 0 }
  const wrong: string[] = []
  const before = new Map<string, Json>()
  for (let day = 0; day < 45; day++) {
    const morning = START + (day + 1) * DAY_MS
    await at(morning)
    const rows = (await get(`${SLEEP}?limit=25&start=${new Date(morning - 5 * DAY_MS).toISOString()}`)).body.records
    const ids = new Set(rows.map(({ id }: Json) => id))
    for (const [id, row] of before) {
      if (ids.has(id) || Date.parse(row.start) < morning - 5 * DAY_MS) continue
      if ((await get(`${SLEEP}/${id}`)).status !== 404) wrong.push(`${id} is still there`)
      const again = rows.find(
        ({ cycle_id, nap, id: other }: Json) => cycle_id === row.cycle_id && !nap && !before.has(other),
      )
      found[again ? 'edited' : 'deleted']++
      before.delete(id)
      const recovery = await get(`${CYCLE}/${row.cycle_id}/recovery`)
      if (!row.nap && recovery.status !== (again && again.score_state === 'SCORED' ? 200 : 404))
        wrong.push(`${id}: recovery`)
    }
    for (const row of rows) before.set(row.id, row)
    const night = rows.find(({ nap }: Json) => !nap)
    if (night?.score_state !== 'SCORED') continue
    await at(Date.parse(night.created_at))
    const early = (await get(`${SLEEP}/${night.id}`)).body
    const recovery = (await get(`${CYCLE}/${night.cycle_id}/recovery`)).body
    if (early.score_state !== 'PENDING_SCORE' || early.score || recovery.score_state !== 'PENDING_SCORE')
      wrong.push(`${night.id} ${JSON.stringify(early)}`)
    else found.pending++
    if (early.updated_at >= night.updated_at) wrong.push(`${night.id} was not changed by its score`)
  }
  t.strictSame(wrong, [])
  t.ok(found.pending > 30 && found.edited > 0 && found.deleted > 0, JSON.stringify(found))
})

t.test('a cycle has its sleep and recovery, or 404; the last one is open', async (t) => {
  const { get, all } = await whoop(t, 'edda')
  const cycles = await all(CYCLE, '&start=2026-01-07T00:00:00Z')
  t.notOk('end' in cycles[0])
  t.ok(
    cycles.slice(1).every((cycle, i) => cycle.end === cycles[i].start),
    'each ends where the next begins',
  )
  t.ok(cycles[0].id > 2 ** 32)
  let missing = 0
  const wrong: number[] = []
  for (const { id } of cycles) {
    const [cycle, sleep, recovery] = await Promise.all(
      ['', '/sleep', '/recovery'].map((part) => get(`${CYCLE}/${id}${part}`)),
    )
    const found = sleep?.status === 200
    if (!found) missing++
    const scored = sleep?.body.score_state === 'SCORED'
    const right = cycle?.body.id === id && (!found || sleep.body.cycle_id === id)
    const recovered = scored ? recovery?.body.sleep_id === sleep?.body.id : recovery?.status === 404
    if (!right || !recovered) wrong.push(id)
  }
  t.strictSame(wrong, [])
  t.ok(missing > 0 && missing < 6, `${missing} cycles without a night`)
  t.notOk('end' in cycles[0])
  const other = await whoop(t, 'bikash')
  t.equal((await other.all(CYCLE))[0].end, null, 'some say it with null')
})

t.test('single records, ids of the old API, and what is not there', async (t) => {
  const { simulator, get, all } = await whoop(t)
  for (const path of [WORKOUT, SLEEP]) {
    const [row] = await all(path)
    t.strictSame((await get(`${path}/${row.id}`)).body, row)
    t.strictSame((await get(`/v1/activity-mapping/${row.v1_id}`)).body, { v2_activity_id: row.id })
    const { access_token: other } = await tokens(simulator, 'whoop', { auto: 'bikash' })
    t.equal((await simulator.get('whoop', `${path}/${row.id}`, other)).status, 404, "another person's")
  }
  const paths = [`${RECOVERY}/1`, `${SLEEP}/x/y`, '/v1/activity-mapping/1', '/v2/cycle/5', '/v2/steps', '/toString', '']
  t.strictSame(
    await Promise.all(paths.map(async (path) => (await get(path)).status)),
    paths.map(() => 404),
  )
  t.equal((await ask(`${simulator.env.WHOOP_API_URL}${SLEEP}`)).status, 401)
  const some = await whoop(t, 'ana', { scope: 'offline read:sleep' })
  const statuses = [SLEEP, WORKOUT, RECOVERY, CYCLE, '/v2/user/profile/basic'].map(
    async (path) => (await some.get(path)).status,
  )
  t.strictSame(await Promise.all(statuses), [200, 401, 401, 401, 401])
})

t.test(
  'the application has 100 requests a minute and 10,000 a day, of which every answer says what is left',
  async (t) => {
    const { simulator, get } = await whoop(t)
    await simulator.control('POST', 'settings', { provider: 'whoop', limits: null })
    const body = '/v2/user/measurement/body'
    const rates = (headers: Headers) =>
      ['limit', 'remaining', 'reset'].map((name) => headers.get(`x-ratelimit-${name}`))
    t.strictSame(rates((await get(body)).headers), ['100, 100;window=60, 10000;window=86400', '99', '60'])
    simulator.wait(30)
    const statuses: number[] = []
    for (let i = 0; i < 100; i++) statuses.push((await get(body)).status)
    t.strictSame([statuses.filter((status) => status === 200).length, statuses.at(-1)], [99, 429])
    const refused = await get(body)
    t.strictSame(rates(refused.headers), ['100, 100;window=60, 10000;window=86400', '0', '30'])
    t.equal(refused.headers.get('retry-after'), null)
    simulator.wait(30)
    t.strictSame(
      [(await get(body)).status, (await get(body)).status],
      [200, 429],
      'one of a minute ago no longer counts',
    )
  },
)
