import t, { type Test } from 'tap'
import { ask, askToken, clientOf, type Json, play, tokens, unlike } from '../support/simulator.ts'

const FROM = '2026-02-10'

/** Entries of the fact page's sample: fields and their types. */
const SAMPLES: Record<string, Json> = {
  hr: { day_start_timestamp: 0, title: '', unit: 'BPM', last_reading: 0 },
  hrv: { day_start_timestamp: 0, unit: 'ms', avg: 0 },
  temp: { unit: '°C', last_reading: 0 },
  steps: { total: 0, avg: 0, values: [{ value: 0, timestamp: 0 }] },
  night_rhr: { avg: 0 },
  recovery_index: { value: 0, title: '', day_start_timestamp: 0 },
  sleep: {
    ...{ bedtime_start: 0, bedtime_end: 0, quick_metrics: [{ type: '', value: 0 }] },
    ...{ sleep_stages: [{ type: '', stage_time: 0, percentage: 0 }] },
    sleep_graph: { title: '', data: [{ start: 0, end: 0, type: '' }] },
    ...{ total_sleep: { minutes: 0, seconds: 0 }, sleep_efficiency: { percentage: 0 } },
    temperature_deviation: { celsius: 0 },
  },
}

/** A simulator, and days as somebody who has given consent. */
async function ultrahuman(t: Test, person = 'bikash', own = {}) {
  const simulator = await play(t)
  await simulator.control('POST', 'settings', { provider: 'ultrahuman', limits: [1e6, 1e6], own })
  const given = await tokens(simulator, 'ultrahuman', { auto: person })
  const get = (path: string) => simulator.get('ultrahuman', path, given.access_token)
  const day = async (date: string): Promise<Map<string, Json>> => {
    const { body } = await get(`/user_data/metrics?date=${date}`)
    const entries = (body.data.metrics[date] as Json[]).filter((one) => one !== null)
    return new Map(entries.map(({ type, object }) => [type, object]))
  }
  const truth = async () => (await simulator.control('GET', `truth?person=${person}&from=${FROM}&minutes=true`)).body
  return { simulator, given, get, day, truth }
}

t.test('tokens rotate, say nothing of whose they are, and can be revoked', async (t) => {
  const { simulator, given, get } = await ultrahuman(t)
  t.match(given, { expires_in: 86_399, token_type: 'Bearer', scope: 'ring_data cgm_data profile', created_at: Number })
  const refresh = (token: string) =>
    askToken(simulator, 'ultrahuman', { grant_type: 'refresh_token', refresh_token: token })
  const { body } = await refresh(given.refresh_token)
  t.equal((await refresh(given.refresh_token)).status, 400, 'each once')
  const person = (await simulator.control('GET', 'people')).body[1]
  t.match((await get('/user_data/user_info')).body, {
    data: { id: person.accounts.ultrahuman, timezone: 'Asia/Kathmandu' },
  })
  const other = await tokens(simulator, 'ultrahuman', { auto: 'ana' })
  t.match((await simulator.get('ultrahuman', '/user_data/user_info', other.access_token)).body, { user_id: /^5\d{6}$/ })
  const { id, secret } = clientOf(simulator, 'ultrahuman')
  const form = new URLSearchParams({ token: body.access_token, client_id: id, client_secret: secret })
  const url = simulator.env.ULTRAHUMAN_TOKEN_URL?.replace(/token$/, 'revoke') ?? ''
  t.equal((await ask(url, { method: 'POST', body: form })).status, 200)
  t.match(await get('/user_data/user_info'), { status: 401, body: { error: 'invalid_token' } })
})

t.test('a day is what is true of it, in counts of five minutes', async (t) => {
  const { day, truth } = await ultrahuman(t)
  const real = await truth()
  const wrong: string[] = []
  const same = (what: string, found: unknown, expected: unknown) => {
    if (JSON.stringify(found) !== JSON.stringify(expected)) wrong.push(`${what}: ${found}, really ${expected}`)
  }
  for (const { date, start, steps, ...calendar } of real.calendar_days) {
    const entries = await day(date)
    const minutes = real.minutes.find((one: Json) => one.date === date)
    const first = Date.parse(start) / 1000
    for (const [type, sample] of Object.entries(SAMPLES))
      if (entries.has(type)) wrong.push(...unlike(`${date} ${type}`, sample, entries.get(type)))
    same(`${date} total`, entries.get('steps').total, steps)
    const sum = entries.get('steps').values.reduce((all: number, { value }: Json) => all + value, 0)
    same(`${date} sum`, sum, steps)
    const fifth = minutes.heart_rate.filter((_: number, i: number) => i % 5 === 0)
    same(
      `${date} heart rate`,
      entries.get('hr').values.map(({ value }: Json) => value ?? 0),
      fifth,
    )
    same(`${date} times`, entries.get('hr').values[1].timestamp, first + 300)
    same(`${date} active`, entries.get('active_minutes').value * 60, calendar.active_seconds)
    const night = real.sleeps.find((one: Json) => one.date === date && !one.nap)
    same(`${date} night`, entries.has('sleep'), night !== undefined)
    if (!night) continue
    const { bedtime_start, bedtime_end, sleep_stages, sleep_graph } = entries.get('sleep')
    same(
      `${date} bed`,
      [bedtime_start, bedtime_end],
      [night.start, night.end].map((at) => Date.parse(at) / 1000),
    )
    const names = { deep_sleep: 'deep', light_sleep: 'light', rem_sleep: 'rem', awake: 'awake' } as const
    for (const { type, stage_time } of sleep_stages)
      same(`${date} ${type}`, stage_time, night.seconds[names[type as keyof typeof names]])
    same(`${date} graph`, sleep_graph.data.length, night.stages.length)
    same(`${date} recovery`, entries.get('recovery_index')?.value, night.unscorable ? undefined : night.recovery)
    const hrv = entries.get('hrv').values.map(({ value }: Json) => value)
    same(`${date} variability`, hrv, night.hrv_rmssd_5_min)
  }
  t.strictSame(wrong, [])
  t.ok(real.calendar_days.length > 20)
})

t.test('a traveller has days by the clock of where they are now; glucose takes a sensor and a scope', async (t) => {
  const { simulator, get } = await ultrahuman(t, 'ana')
  const { body } = await get('/user_data/metrics?date=2026-03-06')
  t.equal(body.data.latest_time_zone, 'Europe/Berlin')
  const start = Date.parse('2026-03-06T00:00:00+01:00') / 1000
  t.equal(body.data.metrics['2026-03-06'][0].object.day_start_timestamp, start)
  const types = async (more: Record<string, string>) => {
    const { access_token } = await tokens(simulator, 'ultrahuman', { auto: 'clara', ...more })
    const answer = await simulator.get('ultrahuman', '/user_data/metrics?date=2026-03-06', access_token)
    return answer.body.data.metrics['2026-03-06'].map((one: Json) => one?.type)
  }
  t.ok((await types({})).includes('glucose'))
  t.notOk((await types({ without: 'cgm_data' })).includes('glucose'))
  t.ok((await types({})).includes(undefined), 'nulls are between the entries')
})

t.test('dates alone are accepted; the older envelope; applications without access', async (t) => {
  const { simulator, given, get } = await ultrahuman(t)
  for (const query of ['date=yesterday', '', 'date=2026-03-01&start_epoch=1', 'start_epoch=1&end_epoch=2'])
    t.equal((await get(`/user_data/metrics?${query}`)).status, 400, query)
  t.strictSame((await get('/user_data/metrics?date=2020-01-01')).body.data.metrics, { '2020-01-01': [] })
  t.strictSame((await get('/user_data/metrics?date=2026-03-20')).body.data.metrics, { '2026-03-20': [] })
  const own = (switches: object) => simulator.control('POST', 'settings', { provider: 'ultrahuman', own: switches })
  await own({ old_envelope: true })
  const { body } = await get('/user_data/metrics?date=2026-03-06')
  t.ok(body.data.metric_data.some((one: Json) => one?.type === 'Sleep'))
  await own({ no_access: true })
  const refused = await get('/user_data/metrics?date=2026-03-06')
  t.strictSame([refused.status, refused.body], [403, ''])
  const { access_token } = await tokens(simulator, 'ultrahuman', { without: 'profile' })
  t.equal((await simulator.get('ultrahuman', '/user_data/user_info', access_token)).status, 403)
  t.ok(given.refresh_token)
})
