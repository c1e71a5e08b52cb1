// No answer to bad input is large, whatever the client sent, and none repeats a secret.
import { request } from 'node:http'
import t from 'tap'
import { routes } from '../../server/api/index.ts'
import { startTestApp } from '../support/app.ts'
import { createUser } from '../support/sdk.ts'
import { engines } from '../support/servers.ts'

const LIMIT_BYTES = 64 * 1024
/** Node accepts 16 KiB of request line and headers together. */
const LINE = 15_000
const MEGABYTE = 1024 * 1024 - 100

const [engine] = engines()
if (!engine) throw new Error('no engine')
const app = await startTestApp(t, engine, { outgoingWebhooksEnabled: true, corsOrigins: ['*'] })
const user = await createUser(app)
const developer = `Bearer ${await app.developer.token()}`

const json = (value: unknown) => JSON.stringify(value)
/** As many copies of `piece` as fit. */
const filled = (piece: string, length: number) => piece.repeat(Math.floor(length / piece.length))
/** A list of copies of `item` as JSON of a megabyte. */
const listOf = (item: unknown) => `[${filled(`${json(item)},`, MEGABYTE - 100)}${json(item)}]`
const namesOf = (value: string) =>
  `{${Array.from({ length: 80_000 }, (_, n) => `"k${n}":${value}`).join(',')}}`.slice(0, MEGABYTE)

interface Bad {
  name: string
  method?: string
  path: string
  body?: string
  headers?: Record<string, string>
}

const timeseries = `/api/v1/users/${user}/timeseries`
const RANGE = 'start_time=2026-01-01&end_time=2026-01-02'
const users = '/api/v1/users'
const password = '/api/v1/auth/change-password'
const endpoints = '/api/v1/webhooks/endpoints'

const WORST: Bad[] = [
  { name: '7,500 unknown types in a comma list', path: `${timeseries}?${RANGE}&types=${filled('x,', LINE)}` },
  { name: '900 unknown types one by one', path: `${timeseries}?${RANGE}${'&types=x'.repeat(900)}` },
  { name: '200 unknown types', path: `${timeseries}?${RANGE}&types=${'x,'.repeat(200)}` },
  { name: '7,500 unknown providers', path: `${users}?provider=${filled('x,', LINE)}` },
  { name: '990 unknown parameters', path: `${users}?${Array.from({ length: 990 }, (_, n) => `p${n}=${n}`).join('&')}` },
  { name: '7,500 unknown parameters', path: `${users}?${filled('a&', LINE)}` },
  { name: 'an unknown parameter with a name of 15 KB', path: `${users}?${'%01'.repeat(LINE / 3)}=x` },
  { name: 'an email address of 15 KB', path: `${users}?email=${'%01'.repeat(LINE / 3)}` },
  { name: 'a path segment of 15 KB', path: `${users}/${'%01'.repeat(LINE / 3)}` },
  { name: 'a bad date of 15 KB', path: `${timeseries}?start_time=${'%01'.repeat(LINE / 3)}&end_time=1` },
  { name: 'a bad cursor of 15 KB', path: `${timeseries}?${RANGE}&cursor=${'%01'.repeat(LINE / 3)}` },
  { name: 'a number of 15 KB', path: `${users}?limit=${'9'.repeat(LINE)}` },
  {
    name: 'an unknown SDK provider of 15 KB',
    method: 'POST',
    path: `/api/v1/sdk/users/${user}/sync?provider=${'%01'.repeat(LINE / 3)}`,
    body: '{}',
  },
  {
    name: 'an unknown provider of 15 KB',
    method: 'PUT',
    path: `/api/v1/oauth/providers/${'%01'.repeat(LINE / 3)}`,
    body: '{}',
  },
  {
    name: 'a logged provider of 60 KB',
    method: 'POST',
    path: `/api/v1/sdk/users/${user}/logs`,
    body: json({ sdkVersion: '1', provider: '\u0001'.repeat(60_000), events: [{}] }),
  },
  {
    name: '1 MB of unknown event types',
    method: 'POST',
    path: endpoints,
    body: json({ url: 'https://example.org', filter_types: [] }).replace('[]', listOf('x')),
  },
  {
    name: '1 MB of empty priorities',
    method: 'PUT',
    path: '/api/v1/priorities/providers',
    body: `{"priorities":${listOf({})}}`,
  },
  {
    name: '80,000 providers that are not true or false',
    method: 'PUT',
    path: '/api/v1/oauth/providers',
    body: `{"providers":${namesOf('1')}}`,
  },
  {
    name: 'a provider with a name of 1 MB',
    method: 'PUT',
    path: '/api/v1/oauth/providers',
    body: `{"providers":{"${'k'.repeat(MEGABYTE)}":1}}`,
  },
  { name: 'three missing fields in 1 MB', method: 'POST', path: password, body: json({ x: 'x'.repeat(MEGABYTE) }) },
  {
    name: 'four missing fields in 1 MB',
    method: 'POST',
    path: '/api/v1/invitations/accept',
    body: json({ x: 'x'.repeat(MEGABYTE) }),
  },
  { name: 'a name of 1 MB', method: 'POST', path: users, body: json({ first_name: 'x'.repeat(MEGABYTE) }) },
  {
    name: 'an email address of control characters, 1 MB',
    method: 'POST',
    path: users,
    body: `{"email":"${filled('\\u0001', MEGABYTE)}"}`,
  },
  {
    name: 'a number where a list belongs, with 1 MB in it',
    method: 'POST',
    path: users,
    body: `{"first_name":${listOf('x')}}`,
  },
  { name: 'a list of 1 MB', method: 'POST', path: users, body: listOf('x') },
  { name: 'a string of 1 MB', method: 'POST', path: users, body: json('x'.repeat(MEGABYTE)) },
  { name: 'arrays 500,000 deep', method: 'POST', path: users, body: `${'['.repeat(500_000)}${']'.repeat(500_000)}` },
  {
    name: 'objects 32 deep in a field, 1 MB',
    method: 'POST',
    path: users,
    body: `{"first_name":[${filled(`${'[{"a":'.repeat(15)}1${'}]'.repeat(15)},`, MEGABYTE)}1]}`,
  },
  { name: 'half a JSON object of 1 MB', method: 'POST', path: users, body: `{"first_name":"${'x'.repeat(MEGABYTE)}` },
  {
    name: 'a login with 20,000 fields',
    method: 'POST',
    path: '/api/v1/auth/login',
    body: filled('username=x&', 200_000),
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  },
  { name: 'a run key of 15 KB', path: `/api/v1/sync/history/${'%01'.repeat(LINE / 3)}` },
  { name: 'an unknown path of 15 KB', path: `/${'%01'.repeat(LINE / 3)}` },
  { name: 'a wrong method on a path of 15 KB', method: 'PUT', path: `${users}/${'a'.repeat(LINE)}` },
  { name: 'a request id of 15 KB', path: `${users}/x`, headers: { 'X-Request-Id': 'x'.repeat(LINE) } },
  {
    name: 'a media type of 15 KB',
    method: 'POST',
    path: users,
    body: 'x',
    headers: { 'Content-Type': `text/${'x'.repeat(LINE)}` },
  },
  {
    name: 'a preflight for headers of 15 KB',
    method: 'OPTIONS',
    path: users,
    headers: {
      Origin: 'https://x.org',
      'Access-Control-Request-Method': 'PUT',
      'Access-Control-Request-Headers': 'x'.repeat(LINE),
    },
  },
  { name: 'headers of 100 KB', path: users, headers: { 'X-Long': 'x'.repeat(100_000) } },
]

interface Sized {
  status: number
  bytes: number
  text: string
}

/** Sends a request and counts the whole answer, headers and body, but keeps no more of it than the limit. */
function size({ method = 'GET', path, body, headers = {} }: Bad): Promise<Sized> {
  return new Promise((resolve, reject) => {
    const own = routes.find(
      (route) =>
        route.method === method &&
        new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path.split('?')[0] ?? ''),
    )
    const credential = own?.guard === 'developer' ? { Authorization: developer } : { 'X-Service-API-Key': app.apiKey }
    const sent = request(
      {
        host: '127.0.0.1',
        port: new URL(app.url).port,
        method,
        path,
        headers: {
          ...credential,
          ...(body !== undefined && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
          ...headers,
        },
        agent: false,
      },
      (response) => {
        let bytes = response.rawHeaders.join('  ').length
        let text = ''
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          if (text.length < LIMIT_BYTES) text += chunk.toString()
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, bytes, text }))
        response.on('error', reject)
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

t.test('the worst requests get small answers', async (t) => {
  const tooLarge: string[] = []
  const notRefused: string[] = []
  for (const bad of WORST) {
    const { status, bytes } = await size(bad)
    t.comment(`${String(bytes).padStart(9)} bytes  ${status}  ${bad.name}`)
    if (bytes >= LIMIT_BYTES) tooLarge.push(`${bad.name}: ${bytes} bytes`)
    if ((status < 400 || status >= 500) && bad.method !== 'OPTIONS') notRefused.push(`${bad.name}: ${status}`)
  }
  t.strictSame(tooLarge, [])
  t.strictSame(notRefused, [])
  t.ok(WORST.length >= 20)
})

t.test('a list of failures says how many it leaves out', async (t) => {
  const fields = Array.from({ length: 990 }, (_, n) => `p${n}=${n}`).join('&')
  const { body } = await app.request('GET', `${users}?${fields}`)
  t.equal(body.detail.length, 51)
  t.match(body.detail[49], { type: 'extra_forbidden', loc: ['query', 'p49'] })
  t.strictSame(body.detail[50], {
    type: 'too_many_errors',
    loc: [],
    msg: 'Not listed: 940 more failures',
    input: null,
    ctx: { unlisted: 940 },
  })
  const types = (await app.request('GET', `${timeseries}?${RANGE}&types=${'x,'.repeat(60)}`)).body.detail
  const [first, second] = types
  t.match(first.msg, /^Input should be 'resting_heart_rate'|^Input should be 'heart_rate'/)
  t.ok(first.ctx.expected.split(', ').length > 100, 'the first names all types')
  t.match(second, { type: 'enum', loc: ['query', 'types', 1], input: 'x', msg: /… \(as above\)$/, ctx: undefined })
})

t.test('no secret comes back, wherever it was put', async (t) => {
  const secret = 'correct horse battery 4711'
  const key = app.apiKey
  const token = await app.developer.token()
  const refresh = `rt-${'0123456789abcdef'.repeat(2)}`
  const long = { first_name: 'x'.repeat(2000) }
  const sent: [method: string, path: string, body?: unknown][] = [
    ['POST', password, { current_password: secret, new_password: 4711 }],
    ['POST', password, { current_password: [secret], new_password: { [secret]: secret }, confirm_password: '4711' }],
    ['POST', password, { current_password: secret, new_password: secret, confirm_password: `${secret}!` }],
    ['POST', password, { current_pasword: secret }],
    ['POST', password, secret],
    ['POST', password, [secret]],
    ['PATCH', '/api/v1/auth/me', { ...long, password: `${secret}\0` }],
    ['POST', '/api/v1/auth/login', { username: 'x', password: secret, grant_type: secret }],
    ['POST', '/api/v1/invitations/accept', { token: secret, password: secret }],
    ['POST', '/api/v1/token/refresh', { refresh_token: [refresh, secret] }],
    ['POST', '/api/v1/invitation-code/redeem', { code: secret }],
    ['POST', `${users}/${user}/token`, { app_id: 1, app_secret: [secret] }],
    ['POST', users, { first_name: { password: secret, api_key: secret, deep: { token: secret } } }],
    ['GET', `${users}?api_key=${key}&access_token=${token}&password=${encodeURIComponent(secret)}&x=${refresh}`],
    ['GET', `${users}/${key}`],
    ['GET', `${users}?${key}=1`],
    ['GET', `${timeseries}?${RANGE}&cursor=${key}`],
    ['GET', `${timeseries}?start_time=${token}&end_time=1`],
    ['GET', `${timeseries}?${RANGE}&cursor=${'x'.repeat(290)}${key}`],
    ['PUT', `/api/v1/oauth/providers/${key}`, {}],
    ['PUT', '/api/v1/oauth/providers', { providers: { [token]: true } }],
    ['POST', endpoints, { url: 'https://ada:horse4711@example.org' }],
  ]
  const told: string[] = []
  for (const [method, path, body] of sent) {
    const auth = /users|token|redeem|accept|login/.test(path) ? 'key' : 'developer'
    const answer = await app.request(method, path, {
      auth,
      ...(body !== undefined && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
    })
    const text = JSON.stringify(answer.body)
    if (answer.status < 400 || answer.status >= 500) told.push(`${answer.status} ${method} ${path}`)
    if (/4711|0123456789abcdef/.test(text) || text.includes(key.slice(3)) || text.includes(token.slice(10)))
      told.push(`${method} ${path} ${JSON.stringify(body)}: ${text}`)
  }
  t.strictSame(told, [])
})
