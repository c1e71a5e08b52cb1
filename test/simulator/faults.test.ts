import { readFile } from 'node:fs/promises'
import t from 'tap'
import { faultKinds } from '../../simulator/faults.ts'
import { ask, askToken, type Json, play, START, tokens } from '../support/simulator.ts'

const SLEEP = '/v2/usercollection/sleep'
const ME = '/v2/usercollection/personal_info'

t.test('an answer that is slow, cut, lost, no JSON, too large or too deep', async (t) => {
  const simulator = await play(t, { days: 20 })
  const { access_token: token } = await tokens(simulator, 'oura')
  const url = simulator.env.OURA_API_URL + SLEEP
  const raw = async () => (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).text()
  const plain = JSON.parse(await raw())
  const during = async <T>(fault: object, look: () => Promise<T>) => {
    const { status, body } = await simulator.control('POST', 'faults', { provider: 'oura', path: 'sleep', ...fault })
    if (status !== 200) throw new Error(body.error)
    const found = await look().catch((error: Error) => error)
    await simulator.control('DELETE', `faults/${body.id}`)
    return found
  }
  const started = performance.now()
  await during({ kind: 'slow', ms: 150 }, raw)
  t.ok(performance.now() - started >= 150)
  t.ok((await during({ kind: 'reset' }, raw)) instanceof Error)
  t.ok((await during({ kind: 'half' }, raw)) instanceof Error)
  const html = await during({ kind: 'html' }, () => simulator.get('oura', SLEEP, token))
  t.match(html, { status: 200, body: /<!doctype html>/ })
  const big = (await during({ kind: 'big', bytes: 3_000_000 }, raw)) as string
  t.ok(big.length > 3_000_000 && JSON.parse(big).data.length === plain.data.length)
  const deep = (await during({ kind: 'deep' }, raw)) as string
  t.match(deep, `${'['.repeat(500)}${']'.repeat(500)}`)
  const text = JSON.parse((await during({ kind: 'text_numbers' }, raw)) as string)
  t.equal(text.data[0].time_in_bed, String(plain.data[0].time_in_bed))
  t.equal(text.data[0].heart_rate.items[1], String(plain.data[0].heart_rate.items[1]))
  const twice = JSON.parse((await during({ kind: 'duplicate' }, raw)) as string)
  t.equal(twice.data.length, plain.data.length * 2)
  t.equal(JSON.stringify(await raw()), JSON.stringify(JSON.stringify(plain)), 'and all is as before')
})

t.test('records in another order, a next page that is this page, or lies elsewhere', async (t) => {
  const simulator = await play(t)
  for (const [provider, path, list, parameter] of [
    ['oura', '/v2/usercollection/daily_sleep?start_date=2026-02-01&end_date=2026-03-01', 'data', 'next_token'],
    ['whoop', '/v2/activity/sleep?start=2026-02-01T00:00:00Z', 'records', 'nextToken'],
  ] as const) {
    const { access_token: token } = await tokens(simulator, provider)
    const get = async (more = '') => (await simulator.get(provider, path + more, token)).body
    const plain = await get()
    await simulator.control('POST', 'faults', { kind: 'shuffle', provider, times: 1 })
    const shuffled = await get()
    const days = (body: Json) => body[list].map((row: Json) => JSON.stringify(row))
    t.ok(String(days(shuffled)) !== String(days(plain)))
    t.equal(String(days(shuffled).sort()), String(days(plain).sort()))
    await simulator.control('POST', 'faults', { kind: 'next_itself', provider, times: 2 })
    const { next_token: next } = await get()
    t.equal((await get(`&${parameter}=${next}`)).next_token, next)
    await simulator.control('POST', 'faults', { kind: 'next_elsewhere', provider, times: 1 })
    t.match((await get()).next_token, 'https://elsewhere.example/')
  }
})

t.test('statuses, with the headers of the provider', async (t) => {
  const simulator = await play(t)
  const oura = (await tokens(simulator, 'oura')).access_token
  const whoop = (await tokens(simulator, 'whoop')).access_token
  await simulator.control('POST', 'faults', { kind: '429', seconds: 17 })
  const found = await simulator.get('oura', ME, oura)
  t.strictSame(
    [found.status, found.headers.get('retry-after'), found.headers.get('x-ratelimit-reset')],
    [429, '17', String(START / 1000 + 17)],
  )
  const other = await simulator.get('whoop', '/v2/cycle', whoop)
  t.strictSame([other.status, other.headers.get('x-ratelimit-reset')], [429, '17'])
  await simulator.control('DELETE', 'faults')
  await simulator.control('POST', 'faults', { kind: 503, provider: 'whoop', path: '/oauth2/token' })
  t.equal((await askToken(simulator, 'whoop', { grant_type: 'refresh_token', refresh_token: 'x' })).status, 503)
  t.equal((await simulator.get('whoop', '/v2/cycle', whoop)).status, 200)
})

t.test('a fault strikes whom it is for, after so many requests, so often', async (t) => {
  const simulator = await play(t)
  const ana = (await tokens(simulator, 'oura')).access_token
  const clara = (await tokens(simulator, 'oura', { auto: 'clara' })).access_token
  await simulator.control('POST', 'faults', { kind: '500', person: 'clara', path: 'personal', skip: 1, times: 2 })
  const statuses = []
  for (const token of [clara, clara, ana, clara, clara]) statuses.push((await simulator.get('oura', ME, token)).status)
  t.strictSame(statuses, [200, 500, 200, 500, 200])
  t.equal((await simulator.control('GET', 'faults')).body[0].hits, 4)
  const refused = [
    { kind: 'odd' },
    { kind: '200' },
    { kind: 'slow', ms: 'long' },
    { kind: 'slow', path: 5 },
    { kind: 'slow', when: 1 },
    { kind: 'slow', provider: 'aura' },
    { kind: 'half_streams', streams: [5] },
  ]
  for (const fault of refused) {
    const { status, body } = await simulator.control('POST', 'faults', fault)
    t.match({ status, error: body.error }, { status: 400, error: /^(Unknown|Not a value)/ })
  }
})

t.test('a consent that ended, a rotation whose answer is lost, a token for half of the streams', async (t) => {
  const simulator = await play(t)
  const given = await tokens(simulator, 'oura')
  const refresh = (token: string) =>
    askToken(simulator, 'oura', { grant_type: 'refresh_token', refresh_token: token }).catch((error: Error) => error)
  await simulator.control('POST', 'faults', { kind: 'revoked', person: 'ana' })
  t.equal((await simulator.get('oura', ME, given.access_token)).status, 401)
  t.match(await refresh(given.refresh_token), { status: 400, body: { error: 'invalid_grant' } })
  await simulator.control('DELETE', 'faults')
  t.equal((await simulator.get('oura', ME, given.access_token)).status, 200, 'it was only said')
  await simulator.control('POST', 'faults', { kind: 'rotated_lost', times: 1 })
  t.ok((await refresh(given.refresh_token)) instanceof Error)
  t.match(await refresh(given.refresh_token), { status: 400, body: { error: 'invalid_grant' } }, 'it was rotated')
  const again = await tokens(simulator, 'oura')
  const statuses = async () => {
    const paths = ['sleep', 'workout', 'daily_sleep', 'daily_activity', 'heartrate', 'personal_info']
    const asked = paths.map((path) => simulator.get('oura', `/v2/usercollection/${path}`, again.access_token))
    return (await Promise.all(asked)).map(({ status }) => status)
  }
  await simulator.control('POST', 'faults', { kind: 'half_streams', streams: ['sleep', 'heartrate'] })
  t.strictSame(await statuses(), [403, 200, 200, 200, 403, 200])
  await simulator.control('DELETE', 'faults')
  await simulator.control('POST', 'faults', { kind: 'half_streams' })
  const half = await statuses()
  t.ok(half.includes(403) && half.includes(200), String(half))
  const { access_token: token } = await tokens(simulator, 'whoop')
  await simulator.control('DELETE', 'faults')
  await simulator.control('POST', 'faults', { kind: 'half_streams', provider: 'whoop', streams: ['recovery'] })
  t.equal((await simulator.get('whoop', '/v2/recovery', token)).status, 401)
  t.equal((await simulator.get('whoop', '/v2/cycle/5/recovery', token)).status, 401)
  t.equal((await simulator.get('whoop', '/v2/user/profile/basic', token)).status, 200, 'who it is can always be asked')
})

t.test('a clock that is an hour off, and one that is moved', async (t) => {
  const simulator = await play(t)
  const { access_token: token, refresh_token: refresh } = await tokens(simulator, 'whoop')
  const date = async () => Date.parse((await simulator.get('whoop', '/v2/cycle', token)).headers.get('date') ?? '')
  t.equal(await date(), START)
  await simulator.control('POST', 'faults', { kind: 'clock' })
  t.equal(await date(), START + 3_600_000)
  await simulator.control('DELETE', 'faults')
  const cycles = async () => (await simulator.get('whoop', '/v2/cycle?limit=25&start=2026-03-05T00:00:00Z', token)).body
  const before = (await cycles()).records.length
  const { body } = await simulator.control('POST', 'clock', { advance_days: 3 })
  t.equal(body.now, new Date(START + 3 * 86_400_000).toISOString())
  t.equal((await cycles()).records.length, before + 3, 'data appears, and the token still works')
  t.equal((await simulator.control('POST', 'expire', { person: 'ana' })).body.grants, 1)
  t.equal((await simulator.get('whoop', '/v2/cycle', token)).status, 401)
  const { body: next } = await askToken(simulator, 'whoop', { grant_type: 'refresh_token', refresh_token: refresh })
  t.equal((await simulator.get('whoop', '/v2/cycle', next.access_token)).status, 200, 'a new one is good at once')
  for (const wrong of [{ now: 'then' }, { advance_days: 'one' }, { days: 1 }, { now: '1815-12-10T00:00:00Z' }])
    t.equal((await simulator.control('POST', 'clock', wrong)).status, 400)
})

t.test('every request is written down, and no secret', async (t) => {
  const simulator = await play(t)
  const { access_token: token, refresh_token: refresh } = await tokens(simulator, 'oura')
  await simulator.get('oura', `${SLEEP}?start_date=2026-03-01`, token)
  await simulator.control('POST', 'faults', { kind: 'reset', provider: 'whoop' })
  await ask(`${simulator.env.WHOOP_API_URL}/v2/cycle`).catch(() => {})
  await ask(`${simulator.url}/oura/oauth/revoke?access_token=${token}`, { method: 'POST' })
  const { body } = await simulator.control('GET', 'log')
  t.match(body, [
    { number: 1, provider: 'oura', method: 'GET', path: '/oauth/v2/ext/oauth-authorize', status: 302 },
    { number: 2, method: 'POST', path: '/oauth/v2/ext/oauth-token', grant_type: 'authorization_code', status: 200 },
    { number: 3, path: SLEEP, query: { start_date: '2026-03-01' }, person: 'ana', status: 200, faults: [] },
    { number: 4, provider: 'whoop', path: '/developer/v2/cycle', status: null, faults: ['reset'] },
    { number: 5, path: '/oauth/revoke', query: { access_token: '…' }, person: 'ana' },
  ])
  t.notOk([token, refresh].some((secret) => JSON.stringify(body).includes(secret)))
  t.strictSame(
    (await simulator.control('GET', 'log?after=3&provider=oura')).body.map((one: Json) => one.number),
    [5],
  )
  await simulator.control('DELETE', 'log')
  t.strictSame((await simulator.control('GET', 'log')).body, [])
})

t.test('control says what it does not know, and shows what there is', async (t) => {
  const simulator = await play(t, { people: 2 })
  const { body } = await simulator.control('GET', '')
  t.match(body, { seed: 7, people: ['ana', 'bikash'] })
  t.ok(body.requests.includes('GET truth'))
  t.match(
    (await simulator.control('GET', 'nothing')).body.error,
    /^Not there: GET \/_control\/nothing\. There is: GET people/,
  )
  t.match((await simulator.control('GET', 'truth?person=zoe')).body.error, 'Unknown person: zoe. Known: ana, bikash')
  t.match((await simulator.control('GET', 'truth?person=ana&from=2026-02-30')).body.error, 'from is no date')
  t.match(
    (await simulator.control('POST', 'settings', { provider: 'oura', page: 1 })).body.error,
    'Unknown setting: page',
  )
  t.match((await simulator.control('POST', 'settings', { provider: 'oura', page_size: 0 })).body.error, 'Not a value')
  const own = { provider: 'whoop', own: { document_meta: true } }
  t.match((await simulator.control('POST', 'settings', own)).body.error, 'No switch of it: document_meta')
  t.match((await simulator.control('POST', 'settings', { page_size: 5 })).body.error, 'Unknown provider')
  t.equal((await ask(`${simulator.url}/_control/clock`, { method: 'POST', body: '[' })).status, 400)
  const home = await ask(`${simulator.url}/`)
  t.match(
    home.body,
    /Plays Oura, WHOOP, Strava, Polar, Garmin, Suunto, Withings, Google Health, .* and Fitbit for .*Ana/s,
  )
  t.match((await ask(`${simulator.url}/connected`)).body, 'back in the application')
  t.equal((await ask(`${simulator.url}/jawbone`)).status, 404)
})

t.test('what control understands stands in docs/simulator.md', async (t) => {
  const simulator = await play(t, { people: 1, days: 5 })
  const manual = await readFile(new URL('../../docs/simulator.md', import.meta.url), 'utf8')
  const words = new Set(
    [...manual.replaceAll(/```[\s\S]*?```/g, '').matchAll(/`([^`]+)`/g)].flatMap(([, code = '']) =>
      code.split(/[^\w]+/),
    ),
  )
  const { requests } = (await simulator.control('GET', '')).body
  const settings: Json[] = Object.values((await simulator.control('GET', 'settings')).body)
  const truth = (await simulator.control('GET', 'truth?person=ana')).body
  const names = [...faultKinds, ...Object.keys(settings[0]), ...Object.keys(truth)]
  names.push(...settings.flatMap(({ own }) => Object.keys(own)))
  names.push(...requests.map((request: string) => request.split(' ')[1]))
  t.strictSame(
    names.filter((name) => !words.has(name)),
    [],
  )
})
