import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { simulate } from '../../simulator/command.ts'
import { startSimulator } from '../../simulator/server.ts'
import { type Json, play } from '../support/simulator.ts'

const KEY = 'sk-of-a-test'

/** What is asked for, and a page of it. */
const PROVIDERS: Record<string, { scope: string; path: string; form?: Record<string, string> }> = {
  oura: { scope: 'extapi:daily', path: '/v2/usercollection/sleep' },
  whoop: { scope: 'offline read:sleep read:profile', path: '/v2/activity/sleep' },
  strava: { scope: 'activity:read_all,profile:read_all', path: '/athlete/activities' },
  polar: { scope: 'accesslink.read_all', path: '/v3/users/sleep' },
  garmin: { scope: '', path: '/wellness-api/rest/user/id' },
  suunto: { scope: '', path: '/v3/workouts' },
  withings: { scope: 'user.activity', path: '/v2/sleep', form: { action: 'getsummary', lastupdate: '1' } },
  google_health: {
    scope: 'https://www.googleapis.com/auth/googlehealth.sleep.readonly',
    path: '/v4/users/me/dataTypes/sleep/dataPoints',
  },
  ultrahuman: { scope: 'ring_data', path: '/user_data/metrics?date=2026-03-01' },
  sensorbio: { scope: '', path: '/v1/sleep?date=2026-03-01' },
  fitbit: { scope: 'sleep', path: '/1.2/user/-/sleep/date/2026-03-01/2026-03-07.json' },
}

const VERIFIER = 'a-verifier-that-is-long-enough-to-be-one-of-them'
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')
const CHALLENGED = ['garmin', 'fitbit']

interface Habits {
  /** Whether it asks for history by itself once somebody is connected. */
  readonly historyOnConnect: boolean
  /** Providers that are switched off. */
  readonly disabled?: readonly string[]
  /** Providers without a client id. */
  readonly unconfigured?: readonly string[]
  /** Providers that cannot be synchronised, since they tell by themselves. */
  readonly telling?: readonly string[]
  /** How runs end. */
  readonly status?: string
}

/** A service that answers as contract 6 and 7 say, and really asks the simulator for tokens and one page of data. */
async function service(t: Test, env: () => Record<string, string>, habits: Habits) {
  const users: { id: string; external_user_id: string }[] = []
  const connections = new Map<string, Json>()
  const states = new Map<string, string>()
  const runs: (Json & { polls: number })[] = []
  const seen: string[] = []
  const server = createServer(async (request, response) => {
    const answer = await answered(request).catch((error: Error) => ({ status: 500, body: { detail: error.message } }))
    const { status, body, location } = answer as { status: number; body?: Json; location?: string }
    response.writeHead(status, { 'content-type': 'application/json', ...(location && { location }) })
    response.end(body === undefined ? '' : JSON.stringify(body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const url = `http://localhost:${(server.address() as AddressInfo).port}`
  const begin = (user: string, provider: string, days: number) => {
    runs.push({ run_id: randomUUID(), user_id: user, provider, items_processed: days, error: null, polls: 0 })
    return { status: 200, body: { success: true, task_id: runs.at(-1).run_id } }
  }
  async function answered(request: IncomingMessage) {
    const { pathname, searchParams } = new URL(request.url ?? '/', url)
    const route = `${request.method} ${pathname.replace('/api/v1', '')}`
    seen.push(route.replaceAll(/[0-9a-f-]{36}/g, '{id}'))
    const [provider = ''] = Object.keys(PROVIDERS).filter((name) => pathname.includes(name))
    if (pathname.endsWith('/callback')) return callback(provider, searchParams)
    if (pathname.endsWith('/oauth/providers')) return { status: 200, body: listed() }
    if (pathname.endsWith('/oauth/success')) return { status: 200, body: { success: true } }
    if (request.headers['x-service-api-key'] !== KEY)
      return { status: 401, body: { detail: 'Invalid or missing API key' } }
    if (route === 'POST /users') {
      let text = ''
      for await (const chunk of request) text += chunk
      users.push({ ...JSON.parse(text), id: randomUUID() })
      return { status: 201, body: users.at(-1) }
    }
    if (route === 'GET /users') {
      const items = users.filter((user) => user.external_user_id === searchParams.get('external_user_id'))
      return { status: 200, body: { items, total: items.length } }
    }
    const [user = ''] = /[0-9a-f-]{36}/.exec(pathname) ?? [searchParams.get('user_id') ?? '']
    if (pathname.endsWith('/connections'))
      return { status: 200, body: [...connections.values()].filter((one) => one.user_id === user) }
    if (pathname.endsWith('/authorize')) return authorize(provider, user)
    if (pathname.endsWith('/sync/historical')) return begin(user, provider, Number(searchParams.get('days')))
    if (pathname.endsWith('/sync/runs')) return { status: 200, body: polled(user) }
    if (habits.telling?.includes(provider)) return { status: 400, body: { detail: 'It sends its data by itself' } }
    if (route.startsWith('POST') && pathname.endsWith('/sync')) return begin(user, provider, 1)
    return { status: 404, body: { detail: 'Not Found' } }
  }
  function listed() {
    return Object.keys(PROVIDERS).flatMap((name) => (habits.disabled?.includes(name) ? [] : { provider: name }))
  }
  function authorize(provider: string, user: string) {
    if (habits.unconfigured?.includes(provider))
      return { status: 400, body: { detail: `Provider '${provider}' is not configured` } }
    const prefix = provider.toUpperCase()
    const state = randomUUID()
    states.set(state, user)
    const scope = PROVIDERS[provider]?.scope ?? ''
    const redirect_uri = `${url}/api/v1/oauth/${provider}/callback`
    const query = {
      ...{ response_type: 'code', client_id: env()[`${prefix}_CLIENT_ID`] ?? '', redirect_uri, scope, state },
      ...(CHALLENGED.includes(provider) && { code_challenge: CHALLENGE, code_challenge_method: 'S256' }),
    }
    return {
      status: 200,
      body: { authorization_url: `${env()[`${prefix}_AUTHORIZE_URL`]}?${new URLSearchParams(query)}`, state },
    }
  }
  async function callback(provider: string, query: URLSearchParams) {
    const prefix = provider.toUpperCase()
    const user = states.get(query.get('state') ?? '') ?? ''
    const [id, secret] = [env()[`${prefix}_CLIENT_ID`] ?? '', env()[`${prefix}_CLIENT_SECRET`] ?? '']
    const form = {
      grant_type: 'authorization_code',
      code: query.get('code') ?? '',
      redirect_uri: `${url}/api/v1/oauth/${provider}/callback`,
      ...(CHALLENGED.includes(provider) && { code_verifier: VERIFIER }),
      ...(provider === 'withings' && { action: 'requesttoken' }),
    }
    const basic = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
    const found = await fetch(env()[`${prefix}_TOKEN_URL`] ?? '', {
      method: 'POST',
      ...(['polar', 'suunto', 'fitbit'].includes(provider)
        ? { headers: { authorization: basic }, body: new URLSearchParams(form) }
        : { body: new URLSearchParams({ ...form, client_id: id, client_secret: secret }) }),
    })
    if (!found.ok) return { status: 400, body: { detail: 'Failed to exchange authorization code' } }
    const given = (await found.json()) as Json
    const token: string = (provider === 'withings' ? given.body : given).access_token
    const api = env()[`${prefix}_API_URL`] ?? ''
    const key = { 'ocp-apim-subscription-key': env().SUUNTO_SUBSCRIPTION_KEY ?? '' }
    const headers = { authorization: `Bearer ${token}`, ...(provider === 'suunto' && key) }
    const body = JSON.stringify({ 'member-id': user })
    if (provider === 'polar') await fetch(`${api}/v3/users`, { method: 'POST', headers, body })
    const { path, form: asked } = PROVIDERS[provider] ?? {}
    const post = asked && { method: 'POST', body: new URLSearchParams(asked) }
    const page = await fetch(`${api}${path}`, { headers, ...post })
    if (!page.ok) return { status: 500, body: { detail: 'No data' } }
    connections.set(`${user} ${provider}`, { user_id: user, provider, status: 'active' })
    if (habits.historyOnConnect) begin(user, provider, 90)
    return { status: 303, location: `/api/v1/oauth/success?provider=${provider}&user_id=${user}` }
  }
  /** Runs of a user; each goes on until it was asked for twice. */
  function polled(user: string) {
    const own = runs.filter((run) => run.user_id === user)
    for (const run of own) run.polls++
    return own.map((run) => ({ ...run, status: run.polls > 2 ? (habits.status ?? 'success') : 'in_progress' }))
  }
  return { url, users, connections, runs, seen }
}

t.test('its people become users, are connected, and their data is waited for; a second run goes on', async (t) => {
  const simulator = await play(t, { people: 3, days: 30 })
  const port = new URL(simulator.url).port
  const there = await service(t, () => simulator.env, { historyOnConnect: true, telling: ['garmin'] })
  const run = async () => {
    const lines: string[] = []
    const args = ['--connect', `${there.url}/`, '--key', KEY, '--port', port, '--providers', '11']
    const outcome = await simulate(args, (line) => lines.push(line))
    t.strictSame(outcome, { simulator: undefined, failed: false }, 'the simulator that runs is used')
    return lines
  }
  const lines = await run()
  t.strictSame(there.users.map((user) => user.external_user_id).sort(), [
    'simulated-7-ana',
    'simulated-7-bikash',
    'simulated-7-clara',
  ])
  t.equal(there.connections.size, 33)
  t.match(lines.sort(), [
    /^ {2}http:\/\/localhost:\d+\/api\/v1\/users\/[0-9a-f-]+\/events\/sleep\?start_date=/,
    /^ /,
    /^ /,
  ])
  t.ok(lines.includes('3 users: everybody is connected.'))
  t.ok(
    lines.some((line) => /^Ana \w+: (\w+ connected, 90 items(; |$)){11}/.test(line)),
    lines.join('\n'),
  )
  const people = (await simulator.control('GET', 'log')).body.flatMap((one: Json) =>
    one.path.includes('sleep') ? one.person : [],
  )
  t.strictSame(
    people.sort(),
    ['ana', 'bikash', 'clara'].flatMap((key) => Array.from({ length: 7 }, () => key)),
    'each under their own account, at as many providers as --providers says',
  )
  there.seen.length = 0
  const again = await run()
  t.ok(
    again.some((line) => line.includes('oura connected before, 1 item;')),
    again.join('\n'),
  )
  t.ok(
    again.some((line) => line.includes('garmin connected before; ')),
    'who cannot be synchronised',
  )
  t.strictSame([there.users.length, there.connections.size], [3, 33])
  const entered = (await simulator.control('GET', 'subscriptions')).body.map((one: Json) => one.url.split('?')[0])
  t.strictSame(
    entered,
    ['whoop', 'garmin', 'suunto'].map((name) => `${there.url}/api/v1/providers/${name}/webhooks`),
    'once, where people enter it',
  )
  t.equal(there.seen.filter((route) => route === 'POST /providers/oura/users/{id}/sync').length, 3)
  t.notOk(there.seen.some((route) => route.includes('authorize')))
  there.connections.delete(`${there.users[0]?.id} whoop`)
  await run()
  t.equal(there.connections.size, 33, 'who was disconnected is connected again')
})

t.test('ten people get three providers each, and nobody the same ones', async (t) => {
  const simulator = await play(t, { people: 12, days: 20 })
  const there = await service(t, () => simulator.env, { historyOnConnect: true, disabled: ['fitbit'] })
  const port = new URL(simulator.url).port
  const { failed } = await simulate(['--connect', there.url, '--key', KEY, '--port', port], () => {})
  t.equal(failed, false)
  t.equal(there.users.length, 10)
  const sets = there.users.map(({ id }) => {
    const own = [...there.connections.values()].filter((one) => one.user_id === id)
    return own
      .map(({ provider }) => provider)
      .sort()
      .join(' ')
  })
  t.strictSame(
    sets.filter((set) => set.split(' ').length !== 3),
    [],
  )
  t.equal(new Set(sets).size, 10, 'nobody has the same ones')
  const counts = Object.keys(PROVIDERS).map((name) => sets.filter((set) => set.split(' ').includes(name)).length)
  t.strictSame(counts, [...Array.from({ length: 10 }, () => 3), 0], 'each provider has three people')
})

t.test('a service that asks for no history is asked for it, and what fails is said', async (t) => {
  const simulator = await play(t, { people: 1, days: 30 })
  const args = (url: string, key = KEY) => ['--connect', url, '--key', key, '--port', new URL(simulator.url).port]
  const asking = await service(t, () => simulator.env, {
    historyOnConnect: false,
    unconfigured: Object.keys(PROVIDERS).filter((name) => name !== 'oura'),
    disabled: ['fitbit', 'ultrahuman', 'sensorbio', 'withings', 'google_health'],
  })
  const lines: string[] = []
  const outcome = await simulate([...args(asking.url), '--history', '60', '--providers', '20'], (line) =>
    lines.push(line),
  )
  t.equal(outcome.failed, true)
  t.match(
    lines[0],
    /^Not switched on at the service, left out: withings, google_health, ultrahuman, sensorbio, fitbit$/,
  )
  t.match(lines[1], /oura connected, 60 items; whoop failed: 400 .*Provider 'whoop' is not configured/)
  t.equal(lines.at(-1), '1 user: 5 connections failed.')
  const failing = await service(t, () => simulator.env, { historyOnConnect: true, status: 'failed' })
  await simulate(args(failing.url), (line) => lines.push(line))
  t.match(lines.join('\n'), 'oura failed: failed: no reason given')
  await t.rejects(
    simulate(args(asking.url, 'sk-wrong'), () => {}),
    { message: /^401 / },
  )
})

t.test('the command starts a simulator, prints its variables, and says what it cannot do', async (t) => {
  const lines: string[] = []
  const say = (line: string) => lines.push(line)
  await simulate(['--env', '--port', '8901'], say)
  const variables = Object.fromEntries(lines.map((line) => line.split('=', 2)))
  t.match(variables, {
    OURA_AUTHORIZE_URL: 'http://localhost:8901/oura/oauth/v2/ext/oauth-authorize',
    OURA_TOKEN_URL: 'http://localhost:8901/oura/oauth/v2/ext/oauth-token',
    OURA_API_URL: 'http://localhost:8901/oura',
    OURA_CLIENT_ID: 'pulsebase-simulated-oura',
    OURA_CLIENT_SECRET: /^[0-9a-f]{40}$/,
    WHOOP_AUTHORIZE_URL: 'http://localhost:8901/whoop/oauth/oauth2/auth',
    WHOOP_TOKEN_URL: 'http://localhost:8901/whoop/oauth/oauth2/token',
    WHOOP_API_URL: 'http://localhost:8901/whoop/developer',
    WHOOP_CLIENT_ID: 'pulsebase-simulated-whoop',
    WHOOP_CLIENT_SECRET: /^[0-9a-f]{40}$/,
    STRAVA_AUTHORIZE_URL: 'http://localhost:8901/strava/oauth/authorize',
    STRAVA_API_URL: 'http://localhost:8901/strava/api/v3',
    STRAVA_WEBHOOK_SIGNING_SECRET: /^[0-9a-f]{40}$/,
    POLAR_AUTHORIZE_URL: 'http://localhost:8901/polar/oauth2/authorization',
    POLAR_TOKEN_URL: 'http://localhost:8901/polar/v2/oauth2/token',
    POLAR_API_URL: 'http://localhost:8901/polar',
    GARMIN_AUTHORIZE_URL: 'http://localhost:8901/garmin/oauth2Confirm',
    GARMIN_API_URL: 'http://localhost:8901/garmin',
    GARMIN_WEBHOOK_PATH_SECRET: /^[0-9a-f]{40}$/,
    SUUNTO_TOKEN_URL: 'http://localhost:8901/suunto/oauth/token',
    SUUNTO_SUBSCRIPTION_KEY: /^[0-9a-f]{40}$/,
    SUUNTO_WEBHOOK_SECRET: /^[0-9a-f]{40}$/,
    SUUNTO_REQUESTS_PER_SECOND: '1000',
    WITHINGS_AUTHORIZE_URL: 'http://localhost:8901/withings/oauth2_user/authorize2',
    WITHINGS_TOKEN_URL: 'http://localhost:8901/withings/v2/oauth2',
    WITHINGS_API_URL: 'http://localhost:8901/withings',
    WITHINGS_WEBHOOK_TOKEN: /^[0-9a-f]{40}$/,
    WITHINGS_REQUESTS_PER_MINUTE: '60000',
    GOOGLE_HEALTH_TOKEN_URL: 'http://localhost:8901/google_health/token',
    GOOGLE_HEALTH_API_URL: 'http://localhost:8901/google_health',
    GOOGLE_HEALTH_PROJECT_ID: /^\d+$/,
    GOOGLE_HEALTH_SERVICE_ACCOUNT_FILE: /service-account\.json$/,
    GOOGLE_HEALTH_WEBHOOK_SECRET: /^[0-9a-f]{40}$/,
    ULTRAHUMAN_AUTHORIZE_URL: 'http://localhost:8901/ultrahuman/authorise',
    ULTRAHUMAN_API_URL: 'http://localhost:8901/ultrahuman/api/partners/v1',
    ULTRAHUMAN_REQUESTS_PER_SECOND: '1000',
    ULTRAHUMAN_ACCOUNT_REQUESTS_PER_SECOND: '1000',
    SENSORBIO_API_URL: 'http://localhost:8901/sensorbio',
    SENSORBIO_REQUESTS_PER_SECOND: '1000',
    FITBIT_TOKEN_URL: 'http://localhost:8901/fitbit/oauth2/token',
    OAUTH_REDIRECT_ORIGINS: 'http://localhost:8901',
  })
  t.equal(lines.length, 69)
  const taken = await startSimulator({ people: 1, days: 1 })
  t.teardown(async () => taken.close())
  const port = new URL(taken.url).port
  await t.rejects(simulate(['--port', port], say), { message: `Port ${port} is taken. Give another one: --port.` })
  await t.rejects(simulate(['--people', 'many'], say), { message: '--people takes a whole number, not many.' })
  await t.rejects(simulate(['--connect', 'http://localhost:1'], say), { message: /needs --key/ })
  await t.rejects(simulate(['--pepole', '3'], say), { message: /Unknown option '--pepole'[\s\S]*npm run simulate/ })
  const { simulator } = await simulate(['--port', '0', '--people', '2', '--days', '10', '--seed', '9'], say)
  t.teardown(async () => simulator?.close())
  const body = (await (await fetch(`${simulator?.url}/_control`)).json()) as Json
  t.strictSame([body.seed, body.people], [9, ['ana', 'bikash']])
  t.match(lines.at(-1), /^Simulated providers at http:\/\/localhost:\d+ \(control/)
})
