import t from 'tap'
import {
  allow,
  ask,
  askToken,
  basicOf,
  CALLBACK,
  type Json,
  play,
  START,
  tokens,
  unlike,
} from '../support/simulator.ts'

const LIST = '/athlete/activities'
const UNLIMITED = { provider: 'strava', limits: [1e6, 1e6, 1e6, 1e6] }

async function strava(t: Parameters<typeof play>[0], person = 'ana', more: Record<string, string> = {}) {
  const simulator = await play(t)
  await simulator.control('POST', 'settings', UNLIMITED)
  const { access_token: token } = await tokens(simulator, 'strava', { auto: person, ...more })
  const get = async (path: string) => simulator.get('strava', path, token)
  const truth = async (more = '') => (await simulator.control('GET', `truth?person=${person}${more}`)).body
  return { simulator, token, get, truth }
}

/** Samples of the provider's documentation, shortened: every field has to be there where the activity was recorded. */
const SUMMARY = {
  ...{ id: 15550123456, name: 'Morning Run', sport_type: 'TrailRun', type: 'Run', start_date: '2026-03-07T06:12:30Z' },
  ...{ start_date_local: '2026-03-07T07:12:30Z', timezone: '(GMT+01:00) Europe/Warsaw', utc_offset: 3600.0 },
  ...{ elapsed_time: 3120, moving_time: 3015, distance: 9120.4, total_elevation_gain: 184.0, average_speed: 3.025 },
  ...{ max_speed: 4.9, has_heartrate: true, average_heartrate: 151.2, max_heartrate: 177.0, trainer: false },
  ...{ manual: false, private: false, visibility: 'everyone', athlete: { id: 48211907 } },
  ...{ external_id: 'garmin_ping_401122334455', upload_id: 16550987654 },
}

t.test(
  'activities look like those of the provider; entered by hand, they have nothing that was measured',
  async (t) => {
    const { get } = await strava(t)
    const { body: rows } = await get(`${LIST}?per_page=200`)
    const wrong = rows.flatMap((row: Json) => (row.manual ? [] : unlike(`${row.id}`, SUMMARY, row)))
    for (const row of rows) if ('calories' in row || 'device_name' in row) wrong.push(`${row.id} says too much`)
    const { body: detail } = await get(`/activities/${rows[0].id}`)
    wrong.push(...unlike('detail', { ...SUMMARY, calories: 611, device_name: 'Garmin Forerunner 965' }, detail))
    const byHand = rows.filter(({ manual }: Json) => manual)
    for (const row of byHand)
      if (row.has_heartrate || row.upload_id !== null || 'average_heartrate' in row)
        wrong.push(`${row.id} was measured`)
    t.strictSame(wrong, [])
    t.ok(rows.length > 15 && byHand.length > 0, `${rows.length} activities, ${byHand.length} by hand`)
    t.equal((await get(`/activities/${byHand[0].id}/streams?keys=time`)).status, 404)
    const { body: athlete } = await get('/athlete')
    t.match(athlete, { username: 'ana', firstname: 'Ana', weight: Number, measurement_preference: 'meters' })
    t.ok((await get('/athlete/zones')).body.heart_rate.zones.length === 5)
  },
)

t.test('what it shows is the truth, in its own units, rounded', async (t) => {
  const wrong: string[] = []
  let seen = 0
  for (const person of ['ana', 'bikash', 'edda']) {
    const { get, truth } = await strava(t, person)
    const rows = new Map((await get(`${LIST}?per_page=200`)).body.map((row: Json) => [String(row.id), row]))
    const { workouts } = await truth()
    if (rows.size !== workouts.length) wrong.push(`${person}: ${rows.size} of ${workouts.length} workouts`)
    for (const workout of workouts) {
      const row = rows.get(workout.ids.strava) as Json
      const check = (name: string, found: unknown, expected: number, within: number) => {
        if (!(Math.abs(Number(found) - expected) <= within)) wrong.push(`${workout.key} ${name}: ${found}, ${expected}`)
      }
      seen++
      const offset = Date.parse(row.start_date_local) - Date.parse(row.start_date)
      check('start', Date.parse(row.start_date), Date.parse(workout.start), 0)
      check('elapsed', row.elapsed_time, (Date.parse(workout.end) - Date.parse(workout.start)) / 1000, 0)
      check('distance', row.distance, workout.distance_m ?? 0, 0.0501)
      check('climb', row.total_elevation_gain, workout.climbed_m ?? 0, 0.0501)
      check('offset', row.utc_offset, offset / 1000, 0)
      check('speed', row.average_speed * row.moving_time, row.distance, 0.6 + row.moving_time / 2000)
      if (row.moving_time > row.elapsed_time) wrong.push(`${workout.key}: moves longer than it takes`)
      if (row.has_heartrate) {
        check('heart rate', row.average_heartrate, workout.average_heart_rate, 0.0501)
        check('highest', row.max_heartrate, workout.max_heart_rate, 0)
      }
      if (row.kilojoules) check('work', row.kilojoules, workout.active_kcal, workout.active_kcal * 0.02)
    }
    const [first] = workouts
    t.equal((await get(`/activities/${first.ids.strava}`)).body.calories, Math.round(first.active_kcal * 10) / 10)
  }
  t.strictSame(wrong, [])
  t.ok(seen > 60, `${seen} workouts`)
})

const ALL_KEYS = 'time,heartrate,velocity_smooth,distance,altitude,latlng,cadence,watts,temp,moving,grade_smooth'
const AS: Record<string, string> = {
  ...{ heartrate: 'heart_rate', velocity_smooth: 'speed_m_per_s', distance: 'distance_m', altitude: 'altitude_m' },
  ...{ watts: 'watts', temp: 'celsius' },
}

t.test('streams are the seconds of the truth in which somebody moved', async (t) => {
  const { get, truth } = await strava(t, 'edda')
  const { workouts } = await truth('&samples=true')
  const wrong: string[] = []
  let values = 0
  for (const { key, ids, sport, manual, samples } of workouts) {
    const { status, body } = await get(`/activities/${ids.strava}/streams?keys=${ALL_KEYS}&key_by_type=true`)
    if (manual !== (status === 404)) wrong.push(`${key}: ${status}`)
    if (status !== 200) continue
    const time: number[] = body.time.data
    for (const [name, stream] of Object.entries<Json>(body)) {
      if (stream.data.length !== time.length || stream.original_size !== time.length)
        wrong.push(`${key} ${name}: length`)
      const of = AS[name]
      const real = of === undefined ? undefined : samples[of]
      if (real && time.some((second, i) => stream.data[i] !== real[second])) wrong.push(`${key} ${name}: not the truth`)
      values += stream.data.length
    }
    if (time.some((second, i) => i > 0 && second <= (time[i - 1] ?? 0))) wrong.push(`${key}: time goes back`)
    const feet = ['running', 'trail running', 'walking', 'hiking'].includes(sport) ? 2 : 1
    const cadence = body.cadence?.data ?? []
    if (cadence.some((value: number, i: number) => value * feet !== samples.cadence_per_minute[time[i] ?? 0]))
      wrong.push(`${key}: cadence is that of one foot`)
    if ((body.latlng !== undefined) !== (samples.latitude !== null)) wrong.push(`${key}: route`)
  }
  t.strictSame(wrong, [])
  t.ok(values > 200_000, `${values} values`)
  const recorded = workouts.find(({ manual }: Json) => !manual).ids.strava
  const list = await get(`/activities/${recorded}/streams?keys=time,heartrate`)
  t.match(list.body, [{ type: 'time' }, { type: 'heartrate', series_type: 'time', resolution: 'high' }])
  t.equal((await get(`/activities/${recorded}/streams`)).status, 400, 'keys have to be named')
})

t.test('a list goes by pages, in the order of its parameters, until one is empty', async (t) => {
  const { get, simulator } = await strava(t)
  const ids = async (query: string) => (await get(`${LIST}?${query}`)).body.map(({ id }: Json) => id)
  const all = await ids('per_page=200')
  t.ok(all.length > 20)
  const pages = [await ids('per_page=10'), await ids('per_page=10&page=2'), await ids('per_page=10&page=3')]
  t.strictSame(pages.flat(), all.slice(0, 30))
  t.strictSame(await ids('per_page=10&page=9'), [])
  const rows = (await get(`${LIST}?per_page=200`)).body
  const at = (i: number) => Date.parse(rows[i].start_date) / 1000
  t.strictSame(await ids(`after=${at(5)}`), all.slice(0, 5).reverse(), 'oldest first, that one left out')
  t.strictSame(await ids(`before=${at(1)}&after=${at(5)}`), all.slice(2, 5).reverse())
  for (const query of ['per_page=201', 'per_page=0', 'page=0', 'after=2026-03-01'])
    t.match(await get(`${LIST}?${query}`), { status: 400, body: { errors: [{ code: 'invalid' }] } }, query)
  await simulator.control('POST', 'faults', { kind: 'next_itself', provider: 'strava' })
  t.strictSame(await ids('per_page=10&page=9'), all.slice(0, 10), 'a provider that repeats itself for ever')
  await simulator.control('DELETE', 'faults')
  for (const path of ['/activities/1', '/activities/x', '/clubs', '/activities/1/streams?keys=time'])
    t.equal((await get(path)).status, 404, path)
})

t.test('what only the athlete may see takes a scope of its own; so does the profile', async (t) => {
  const all = await strava(t)
  const some = await strava(t, 'ana', { scope: 'read,activity:read' })
  const rows = (await all.get(`${LIST}?per_page=200`)).body
  const seen = new Set((await some.get(`${LIST}?per_page=200`)).body.map(({ id }: Json) => id))
  const hidden = rows.filter((row: Json) => row.private)
  t.ok(hidden.length > 0 && hidden.every((row: Json) => row.visibility === 'only_me'))
  t.strictSame(
    rows.filter(({ id }: Json) => !seen.has(id)).map(({ id }: Json) => id),
    hidden.map(({ id }: Json) => id),
  )
  t.equal((await some.get(`/activities/${hidden[0].id}`)).status, 404)
  const none = await strava(t, 'ana', { scope: 'read,profile:read_all' })
  const missing = { message: 'Authorization Error', errors: [{ field: 'activity:read_permission', code: 'missing' }] }
  t.match(await none.get(LIST), { status: 401, body: missing })
  t.equal((await none.get('/athlete')).body.weight > 0, true)
  t.match(await some.get('/athlete/zones'), { status: 401, body: { errors: [{ code: 'missing' }] } })
  t.equal((await some.get('/athlete')).body.weight, undefined)
  await all.simulator.control('POST', 'faults', { kind: 'half_streams', provider: 'strava', streams: ['activities'] })
  t.match(await all.get(LIST), { status: 401, body: missing }, 'as a fault says it, too')
})

t.test('limits begin at quarter hours; what is refused counts toward the day', async (t) => {
  const simulator = await play(t)
  const { access_token: token } = await tokens(simulator, 'strava')
  await simulator.control('POST', 'settings', { provider: 'strava', limits: [5, 2000, 3, 1000] })
  simulator.wait(14 * 60)
  const ask = async () => simulator.get('strava', '/athlete', token)
  const first = await ask()
  t.equal(first.status, 200)
  t.strictSame(
    ['x-ratelimit-limit', 'x-ratelimit-usage', 'x-readratelimit-limit', 'x-readratelimit-usage'].map((name) =>
      first.headers.get(name),
    ),
    ['5,2000', '1,1', '3,1000', '1,1'],
  )
  const statuses = []
  for (let i = 0; i < 5; i++) statuses.push((await ask()).status)
  t.strictSame(statuses, [200, 200, 429, 429, 429])
  const refused = await ask()
  t.match(refused.body, { message: 'Rate Limit Exceeded' })
  t.strictSame([refused.headers.get('x-readratelimit-usage'), refused.headers.get('retry-after')], ['3,7', null])
  simulator.wait(60)
  t.equal((await ask()).headers.get('x-readratelimit-usage'), '1,8', 'a minute later a quarter hour begins')
  simulator.wait(86_400)
  const { access_token: next } = await tokens(simulator, 'strava')
  const { headers } = await simulator.get('strava', '/athlete', next)
  t.equal(headers.get('x-readratelimit-usage'), '1,1', 'and so does a day')
})

t.test('tokens: the athlete comes with them, an access token stays for hours, refresh tokens rotate', async (t) => {
  const simulator = await play(t)
  const refresh = (value: string) =>
    askToken(simulator, 'strava', { grant_type: 'refresh_token', refresh_token: value })
  const back = await allow(simulator, 'strava', { without: 'profile:read_all' })
  t.equal(back.get('scope'), 'activity:read_all')
  const code = { grant_type: 'authorization_code', code: back.get('code') ?? '' }
  const { body: first } = await askToken(simulator, 'strava', code)
  t.match(first, { token_type: 'Bearer', expires_in: 21_600, expires_at: START / 1000 + 21_600 })
  t.match(first.athlete, { username: 'ana', id: Number })
  t.notOk('scope' in first)
  simulator.wait(3600)
  const { body: second } = await refresh(first.refresh_token)
  t.strictSame([second.access_token, second.expires_in], [first.access_token, 18_000], 'more than an hour is left')
  t.notOk('athlete' in second)
  t.match(await refresh(first.refresh_token), { status: 400, body: { errors: [{ code: 'invalid' }] } })
  simulator.wait(14_400)
  const { body: third } = await refresh(second.refresh_token)
  t.ok(third.access_token !== first.access_token && third.expires_in === 21_600)
  const next = await tokens(simulator, 'strava')
  t.equal((await simulator.get('strava', '/athlete', third.access_token)).status, 401, 'one pair for each athlete')
  const post = (path: string, sent: Parameters<typeof ask>[1]) =>
    ask(`${simulator.url}/strava${path}`, { method: 'POST', ...sent })
  const body = () => new URLSearchParams({ token: next.access_token, token_type_hint: 'access_token' })
  t.equal((await post('/oauth/revoke', { body: body() })).status, 401, 'the client has to identify itself')
  t.equal((await post('/oauth/revoke', { body: body(), headers: basicOf(simulator, 'strava') })).status, 200)
  t.equal((await simulator.get('strava', '/athlete', next.access_token)).status, 401)
  const last = await tokens(simulator, 'strava')
  const headers = { authorization: `Bearer ${last.access_token}` }
  t.strictSame(
    [(await post('/oauth/deauthorize', { headers })).status, (await post('/oauth/deauthorize', { headers })).status],
    [200, 200],
  )
  t.equal((await refresh(last.refresh_token)).status, 400)
  await simulator.control('POST', 'settings', { provider: 'strava', member_limit: 0 })
  const full = { grant_type: 'authorization_code', code: (await allow(simulator, 'strava')).get('code') ?? '' }
  t.match(await askToken(simulator, 'strava', full), { status: 403, body: { errors: [{ code: 'exceeded' }] } })
  const mobile = simulator.env.STRAVA_AUTHORIZE_URL?.replace('/authorize', '/mobile/authorize')
  t.equal((await ask(`${mobile}?client_id=x&redirect_uri=${CALLBACK}`)).status, 400)
})
