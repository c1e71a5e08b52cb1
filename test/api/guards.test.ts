import { createHmac, randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { deriveKeys, signAccessToken } from '../../server/http/tokens.ts'
import { startTestApp, type TestAnswer } from '../support/app.ts'
import { engines } from '../support/servers.ts'

const [engine] = engines()
if (!engine) throw new Error('no engine')

const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const inAnHour = () => Math.floor(Date.now() / 1000) + 3600

t.test('who may call what', async (t) => {
  const app = await startTestApp(t, engine)
  const { keys } = app.deps
  const user: string = (await app.request('POST', '/api/v1/users', { body: {} })).body.id
  const other: string = (await app.request('POST', '/api/v1/users', { body: {} })).body.id
  const developerToken = await app.developer.token()
  const sdkToken = await app.sdkToken(user)

  const get = (path: string) => (headers: Record<string, string>) => app.request('GET', path, { auth: 'none', headers })
  const key = get('/api/v1/users')
  const developer = get('/api/v1/auth/me')
  const sdk = (headers: Record<string, string>, id = user) =>
    app.request('POST', `/api/v1/sdk/users/${id}/sync`, {
      auth: 'none',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: '{"provider":"apple","data":{}}',
    })

  const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })
  const apiKey = (value: string) => ({ 'X-Service-API-Key': value })
  const good = apiKey(app.apiKey)
  const unknownKey = apiKey(`sk-${'0'.repeat(32)}`)

  const foreign = deriveKeys('another secret that is long enough 123456')
  const claims = { sub: app.developer.id, scope: 'developer', iat: inAnHour() - 3600, exp: inAnHour() }
  const signed = (header: object, payload: object, secret: Uint8Array) => {
    const text = `${base64(header)}.${base64(payload)}`
    return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
  }
  const invalid: Record<string, string> = {
    'an expired token': await signAccessToken(keys, 'developer', app.developer.id, { lifetimeSeconds: -1 }),
    'a token of alg none': `${base64({ alg: 'none', typ: 'JWT' })}.${base64(claims)}.`,
    'a token of alg none with a signature': `${base64({ alg: 'none' })}.${base64(claims)}.${developerToken.split('.')[2]}`,
    'a token signed with another secret': await signAccessToken(foreign, 'developer', app.developer.id),
    'a token with a changed claim': developerToken.replace(
      /\.[^.]+\./,
      `.${base64({ ...claims, sub: randomUUID() })}.`,
    ),
    'a developer token signed with the SDK key': signed({ alg: 'HS256' }, claims, keys.sdk),
    'an SDK scope signed with the developer key': signed({ alg: 'HS256' }, { ...claims, scope: 'sdk' }, keys.developer),
    'a token that never expires': signed({ alg: 'HS256' }, { ...claims, exp: undefined }, keys.developer),
    'a token of alg HS512': signed({ alg: 'HS512' }, claims, keys.developer),
    'a token of a deleted developer': await signAccessToken(keys, 'developer', randomUUID()),
    'a token whose subject is no id': await signAccessToken(keys, 'developer', 'admin'),
    'a refresh token': `rt-${'0'.repeat(32)}`,
    'an API key': app.apiKey,
    'no token at all': 'x',
    nothing: '',
  }

  const refused = (t: Test, answer: TestAnswer, detail: string, status = 401) => {
    t.equal(answer.status, status)
    const { hint, ...body } = answer.body
    t.strictSame(body, { detail })
  }

  t.test('KEY: a developer token or an API key', async (t) => {
    t.equal((await key(bearer(developerToken))).status, 200)
    t.equal((await key({ Authorization: `bearer ${developerToken}` })).status, 200, 'the scheme in any case')
    t.equal((await key(good)).status, 200)
    t.equal((await key({ 'x-service-api-key': ` ${app.apiKey} ` })).status, 200)
    const none = 'Authentication required: provide JWT token or API key'
    refused(t, await key({}), none)
    refused(t, await key(apiKey('')), none)
    refused(t, await key(apiKey('  ')), none)
    refused(t, await key({ 'X-Open-Wearables-API-Key': app.apiKey }), none)
    refused(t, await key(bearer(sdkToken)), none)
    refused(t, await key({ Authorization: `Basic ${Buffer.from('a:b').toString('base64')}` }), none)
    refused(t, await key({ Authorization: developerToken }), none)
    for (const [name, token] of Object.entries(invalid)) {
      t.comment(name)
      refused(t, await key(bearer(token)), none)
      t.equal((await key({ ...bearer(token), ...good })).status, 200, 'is ignored beside a good key')
      refused(t, await key({ ...bearer(token), ...unknownKey }), 'Invalid or missing API key')
    }
    t.equal((await key({ ...bearer(sdkToken), ...good })).status, 200, 'an SDK token is ignored beside a good key')
    refused(t, await key(unknownKey), 'Invalid or missing API key')
    refused(t, await key({ ...bearer(sdkToken), ...unknownKey }), 'Invalid or missing API key')
    t.equal((await key({ ...bearer(developerToken), ...unknownKey })).status, 200, 'the token is tried first')
    refused(t, await get(`/api/v1/users?api_key=${app.apiKey}`)({}), none)
  })

  t.test('DEV: a developer token only', async (t) => {
    t.equal((await developer(bearer(developerToken))).status, 200)
    const bad = async (answer: TestAnswer) => {
      refused(t, answer, 'Could not validate credentials')
      t.equal(answer.headers.get('www-authenticate'), 'Bearer')
    }
    await bad(await developer({}))
    await bad(await developer({ Authorization: developerToken }))
    await bad(await developer(good))
    for (const [name, token] of Object.entries(invalid)) {
      t.comment(name)
      await bad(await developer(bearer(token)))
      await bad(await developer({ ...bearer(token), ...good }))
    }
    refused(t, await developer(bearer(sdkToken)), 'SDK tokens cannot access this endpoint')
    refused(t, await developer({ ...bearer(sdkToken), ...good }), 'SDK tokens cannot access this endpoint')
    const remove = (headers: Record<string, string>) =>
      app.request('DELETE', `/api/v1/users/${user}`, { auth: 'none', headers })
    await bad(await remove(good))
    refused(t, await remove(bearer(sdkToken)), 'SDK tokens cannot access this endpoint')
  })

  t.test('SDK: the token of that user or an API key', async (t) => {
    t.equal((await sdk(bearer(sdkToken))).status, 202)
    t.equal((await sdk(bearer(sdkToken), user.toUpperCase())).status, 202)
    t.equal((await sdk({ Authorization: sdkToken })).status, 202, 'as older SDKs send it')
    refused(t, await sdk({ Authorization: sdkToken }, other), 'Token does not match user_id', 403)
    t.equal((await sdk(good)).status, 202)
    t.equal((await sdk({ 'X-Open-Wearables-API-Key': app.apiKey })).status, 202, 'the header of released SDKs')
    const none = 'Authentication required: provide SDK token or API key'
    refused(t, await sdk({}), none)
    refused(t, await sdk(apiKey('')), none)
    refused(t, await sdk(bearer(developerToken)), none)
    for (const scheme of ['Basic', 'Token', 'Bearer,']) {
      refused(t, await sdk({ Authorization: `${scheme} ${sdkToken}` }), none)
    }
    t.equal((await sdk({ ...bearer(developerToken), ...good })).status, 202)
    const expired = await signAccessToken(keys, 'sdk', user, { lifetimeSeconds: -1 })
    for (const token of [...Object.values(invalid), expired, await signAccessToken(foreign, 'sdk', user)]) {
      refused(t, await sdk(bearer(token)), none)
      t.equal((await sdk({ ...bearer(token), ...good })).status, 202, 'is ignored beside a good key')
    }
    refused(t, await sdk(unknownKey), 'Invalid or missing API key')
    refused(t, await sdk(bearer(sdkToken), other), 'Token does not match user_id', 403)
    refused(t, await sdk({ ...bearer(sdkToken), ...good }, other), 'Token does not match user_id', 403)
    const gone = randomUUID()
    refused(t, await sdk(bearer(await app.sdkToken(gone)), gone), none)
  })

  t.test('KEY+SDK: the token of that user, a developer token or an API key', async (t) => {
    const end = (headers: Record<string, string>, id = user) =>
      app.request('DELETE', `/api/v1/users/${id}/connections/apple`, { auth: 'none', headers })
    await app.db.query(`insert into connection (user_id, provider) values ($1, 'apple')`, [user])
    t.equal((await end(bearer(sdkToken))).status, 204)
    t.equal((await end(bearer(developerToken))).status, 204)
    t.equal((await end(good)).status, 204)
    t.equal((await end({ 'X-Open-Wearables-API-Key': app.apiKey })).status, 204, 'the header of released SDKs')
    const none = 'Authentication required: provide JWT token or API key'
    refused(t, await end({}), none)
    for (const token of Object.values(invalid)) {
      refused(t, await end(bearer(token)), none)
      t.equal((await end({ ...bearer(token), ...good })).status, 204, 'is ignored beside a good key')
    }
    refused(t, await end(unknownKey), 'Invalid or missing API key')
    refused(t, await end(bearer(sdkToken), other), 'Token does not match user_id', 403)
    refused(t, await end({ ...bearer(sdkToken), ...good }, other), 'Token does not match user_id', 403)
    const gone = randomUUID()
    const noUser = 'Authentication required: provide SDK token or API key'
    refused(t, await end(bearer(await app.sdkToken(gone)), gone), noUser)
  })

  t.test('an SDK token issued by an application that is gone is none', async (t) => {
    const token = await signAccessToken(keys, 'sdk', user, { appId: `app_${'0'.repeat(32)}` })
    refused(t, await sdk(bearer(token)), 'Authentication required: provide SDK token or API key')
  })

  t.test('a credential in the wrong place, or of the wrong kind, is told what is needed', async (t) => {
    const hints = async (ask: (headers: Record<string, string>) => Promise<TestAnswer>) =>
      Promise.all(
        [
          {},
          bearer('x'),
          bearer(app.apiKey),
          { Authorization: app.apiKey },
          { 'X-API-Key': app.apiKey },
          { apikey: 'something' },
          good,
          unknownKey,
        ].map(async (headers) => (await ask(headers)).body.hint),
      )
    const place = (name: string) => `Send the API key in the header X-Service-API-Key, not in ${name}.`
    const misplaced = [place('Authorization'), place('Authorization'), place('X-API-Key'), place('apikey')]
    t.strictSame(await hints(key), [undefined, undefined, ...misplaced, undefined, undefined])
    t.strictSame(await hints((headers) => sdk(headers)), [undefined, undefined, ...misplaced, undefined, undefined])
    const login =
      'This route requires a login; an API key is not enough. Log in with POST /api/v1/auth/login and send Authorization: Bearer <access_token>.'
    t.strictSame(await hints(developer), [undefined, undefined, ...Array(6).fill(login)])
    t.match((await key(bearer(app.apiKey))).body, { detail: 'Authentication required: provide JWT token or API key' })
    t.notMatch(JSON.stringify((await key(bearer(app.apiKey))).body), app.apiKey)
  })

  t.test('the guard speaks before anything else is looked at', async (t) => {
    refused(t, await get('/api/v1/users?limit=0')({}), 'Authentication required: provide JWT token or API key')
    const broken = await app.request('POST', '/api/v1/users', {
      auth: 'none',
      body: '{',
      headers: { 'Content-Type': 'x' },
    })
    t.equal(broken.status, 401)
    t.equal((await get('/api/v1/users/x')({})).status, 401)
    const none = 'Authentication required: provide SDK token or API key'
    refused(t, await sdk({}, 'x'), none)
    refused(t, await sdk(bearer(sdkToken), 'x'), 'Token does not match user_id', 403)
    refused(t, await sdk(bearer(sdkToken), `${user}%00`), 'Token does not match user_id', 403)
    refused(t, await sdk(bearer(sdkToken), `${other}%00`), 'Token does not match user_id', 403)
    t.equal((await sdk(good, 'x')).status, 422)
    const batch = (id: string) =>
      app.request('GET', `/api/v1/sdk/users/${id}/sync/batches/x?y=1`, { auth: { bearer: sdkToken } })
    t.match((await batch(user)).body.detail, [{ loc: ['path', 'batch_id'] }, { loc: ['query', 'y'] }])
    refused(t, await batch(other), 'Token does not match user_id', 403)
  })

  t.test('PUBLIC: anything, even what is no credential', async (t) => {
    for (const path of ['/', '/healthz', '/openapi.json', '/docs']) t.equal((await get(path)(bearer('x'))).status, 200)
  })
})

t.test('the header of the API key can be configured', async (t) => {
  const app = await startTestApp(t, engine, { apiKeyHeaders: ['x-first-key', 'x-second-key'] })
  const ask = (headers: Record<string, string>) => app.request('GET', '/api/v1/users', { auth: 'none', headers })
  t.equal((await ask({ 'X-First-Key': app.apiKey })).status, 200)
  t.equal((await ask({ 'X-Second-Key': app.apiKey })).status, 200)
  t.equal((await ask({ 'X-First-Key': '', 'X-Second-Key': app.apiKey })).status, 200)
  t.equal((await ask({ 'X-Service-API-Key': app.apiKey })).status, 401)
})
