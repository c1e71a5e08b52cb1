// How a person connects a provider: every way that the provider can send their browser back (contract 6.4 to 6.6).
import { SignJWT } from 'jose'
import t, { type Test } from 'tap'
import type { TestAnswer, TestApp } from '../support/app.ts'
import { authorize, callBack, connectAccount, connectionEvents, startCloudApp } from '../support/clouds.ts'
import { type Asked, type OAuthProvider, startProvider } from '../support/oauth-provider.ts'
import { createUser, oneEngine } from '../support/sdk.ts'

const NOBODY = '00000000-0000-4000-8000-000000000000'
const HTML = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

const locationOf = ({ headers }: TestAnswer) => headers.get('location') ?? ''
/** What the page that the browser is sent to says went wrong. */
const messageOf = (answer: TestAnswer) => new URL(locationOf(answer), 'http://us').searchParams.get('message')

/** What a callback ended in. */
function outcomeOf(answer: TestAnswer): string {
  const location = locationOf(answer)
  if (location.startsWith('/api/v1/oauth/error')) return `${answer.status} error: ${messageOf(answer)}`
  if (location.startsWith('/api/v1/oauth/success')) return `${answer.status} success`
  if (location) return `${answer.status} ${location}`
  return `${answer.status} ${answer.body.detail ?? ''}`.trim()
}

interface Case {
  name: string
  /** Does what is special, and returns the callback's path; everything else is as usual. */
  path(context: Context): Promise<string> | string
  outcome: string
  connected?: true
  /** Token requests; 1 by default. */
  exchanged?: number
}

interface Context {
  app: TestApp
  provider: OAuthProvider
  other: OAuthProvider
  user: string
  /** The usual callback, of a person who consents. */
  usual(): string
  authorizationUrl: string
  state: string
}

const answering =
  (path: string, status: number, body: string) => (asked: Asked, response: import('node:http').ServerResponse) => {
    if (asked.path !== path) return false
    response.writeHead(status).end(body)
    return true
  }

const CASES: Case[] = [
  { name: 'a consent', path: ({ usual }) => usual(), outcome: '303 success', connected: true },
  {
    name: 'parameters that nobody knows',
    path: ({ provider, authorizationUrl }) =>
      provider.consent(authorizationUrl, { more: { iss: provider.origin, session_state: 'x', 'a[]': '1' } }),
    outcome: '303 success',
    connected: true,
  },
  {
    name: 'an error of the provider',
    path: ({ state }) =>
      `/api/v1/oauth/polar/callback?error=access_denied&error_description=No%20%3Cthanks%3E&state=${state}`,
    outcome: '303 error: access_denied: No <thanks>',
    exchanged: 0,
  },
  {
    name: 'an error without a word, and a long one',
    path: () => `/api/v1/oauth/polar/callback?error=${'e'.repeat(500)}`,
    outcome: `303 error: ${'e'.repeat(200)}`,
    exchanged: 0,
  },
  {
    name: 'nothing at all',
    path: () => '/api/v1/oauth/polar/callback',
    outcome: '303 error: Missing OAuth parameters',
    exchanged: 0,
  },
  {
    name: 'no code',
    path: ({ state }) => `/api/v1/oauth/polar/callback?state=${state}`,
    outcome: '303 error: Missing OAuth parameters',
    exchanged: 0,
  },
  {
    name: 'a state that nobody created',
    path: ({ usual, state }) => usual().replace(state, 'x'.repeat(43)),
    outcome: '400 Invalid or expired state parameter',
    exchanged: 0,
  },
  {
    name: 'a state that is too old',
    async path({ app, usual }) {
      await app.db.query(`update oauth_state set expires_at = now() - interval '1 second'`)
      return usual()
    },
    outcome: '400 Invalid or expired state parameter',
    exchanged: 0,
  },
  {
    name: 'a state that was used',
    async path({ app, usual, state }) {
      await callBack(app, `/api/v1/oauth/polar/callback?error=x&state=${state}`)
      return usual()
    },
    outcome: '400 Invalid or expired state parameter',
    exchanged: 0,
  },
  {
    name: 'the state of another provider',
    async path({ app, other, usual, user, state }) {
      const { body } = await authorize(app, other, user)
      return usual().replace(state, body.state)
    },
    outcome: '400 Provider mismatch in state',
    exchanged: 0,
  },
  {
    name: 'a user who was deleted',
    async path({ app, usual, user }) {
      await app.request('DELETE', `/api/v1/users/${user}`, { auth: 'developer' })
      return usual()
    },
    outcome: '400 Invalid or expired state parameter',
    exchanged: 0,
  },
  {
    name: 'a provider that was disabled',
    async path({ app, usual }) {
      await app.request('PUT', '/api/v1/oauth/providers', { auth: 'developer', body: { providers: { polar: false } } })
      return usual()
    },
    outcome: "400 Provider 'polar' is disabled",
    exchanged: 0,
  },
  {
    name: 'a provider without a sign-in',
    path: ({ usual }) => usual().replace('/polar/', '/apple/'),
    outcome: "400 Provider 'apple' does not support OAuth",
    exchanged: 0,
  },
  {
    name: 'a provider without a connector',
    path: ({ usual }) => usual().replace('/polar/', '/garmin/'),
    outcome: "400 Provider 'garmin' is not configured",
    exchanged: 0,
  },
  {
    name: 'a code that is refused, with the code in the reason',
    path: ({ usual }) => usual().replace(/code=[^&]+/, 'code=stolen%2Bcode'),
    outcome: '400 Failed to exchange authorization code: invalid_grant: of [cut]',
  },
  {
    name: 'a page in place of tokens',
    path({ provider, usual }) {
      provider.fault = answering('/token', 200, '<html>Welcome</html>')
      return usual()
    },
    outcome: '400 Failed to exchange authorization code: the answer has status 200 and no tokens',
  },
  {
    name: 'a provider that cannot answer',
    path({ provider, usual }) {
      provider.fault = answering('/token', 503, '')
      return usual()
    },
    outcome: '500 Token exchange failed: the answer has status 503 and no tokens',
  },
  {
    name: 'an answer that is lost',
    path({ provider, usual }) {
      provider.fault = ({ path }, response) => {
        if (path === '/token') response.socket?.destroy()
        return path === '/token'
      }
      return usual()
    },
    outcome: '500 Token exchange failed: the connection ended before the answer',
  },
  {
    name: 'numbers as text, no type of token, names as a list',
    path({ provider, usual }) {
      const odd = {
        access_token: 'odd',
        expires_in: '3600',
        refresh_token: null,
        scope: ['x:read'],
        id_token: 'no JWT',
      }
      provider.fault = (asked, response) => {
        if (asked.path === '/me') response.end('{"id":"odd"}')
        return asked.path === '/me' || answering('/token', 200, JSON.stringify(odd))(asked, response)
      }
      return usual()
    },
    outcome: '303 success',
    connected: true,
  },
  {
    name: 'an account that is said at the second time',
    path({ provider, usual }) {
      let times = 0
      provider.fault = (asked, response) => {
        if (asked.path === '/me') times += 1
        return times === 1 && answering('/me', 500, '')(asked, response)
      }
      return usual()
    },
    outcome: '303 success',
    connected: true,
  },
  {
    name: 'an account that is never said',
    path({ provider, usual }) {
      provider.fault = answering('/me', 500, '')
      return usual()
    },
    outcome: '303 error: Polar granted access, but did not say whose. Nothing was connected. Please connect again.',
  },
  {
    name: 'an account whose id is too long',
    path({ provider, usual }) {
      provider.tokens.id = 'x'.repeat(256)
      return usual()
    },
    outcome: '303 error: Polar granted access, but did not say whose. Nothing was connected. Please connect again.',
  },
  {
    name: 'an account whose id no database takes',
    path({ provider, usual }) {
      provider.tokens.id = 'ada\0'
      return usual()
    },
    outcome: '303 error: Polar granted access, but did not say whose. Nothing was connected. Please connect again.',
  },
  {
    name: 'a name and permissions that no database takes',
    path({ provider, usual }) {
      const answers: Record<string, string> = {
        '/token': JSON.stringify({ access_token: 'strange', scope: 'x:read \0 \ud800' }),
        '/me': JSON.stringify({ id: 'strange', name: 'Name \0 \ud800' }),
      }
      provider.fault = ({ path }, response) => {
        if (path in answers) response.end(answers[path])
        return path in answers
      }
      return usual()
    },
    outcome: '303 success',
    connected: true,
  },
  {
    name: 'an account without an id, where the connector goes on without',
    path({ provider, usual }) {
      provider.tokens.id = ''
      return usual()
    },
    outcome: '303 success',
    connected: true,
  },
  {
    name: 'a consent without what is needed',
    path: ({ provider, authorizationUrl }) => provider.consent(authorizationUrl, { scope: 'x:sleep' }),
    outcome: '303 error: Nothing was connected. Connect again, and on the page of Polar allow your readings.',
  },
  {
    name: 'the same, said in the callback alone',
    path({ provider, authorizationUrl }) {
      provider.tokens.scopeInAnswer = false
      return provider.consent(authorizationUrl, { more: { scope: 'x:sleep' } })
    },
    outcome: '303 error: Nothing was connected. Connect again, and on the page of Polar allow your readings.',
  },
]

oneEngine(t, 'a browser comes back from a provider', async (t, engine) => {
  const provider = await startProvider(t, 'polar')
  const other = await startProvider(t, 'strava', { client: 'basic', pkce: false })
  const app = await startCloudApp(t, engine, [provider, other], { identifyMs: 1_200 })
  const usualTokens = { ...provider.tokens }
  const wrong: string[] = []
  for (const { name, path, outcome, connected = false, exchanged = 1 } of CASES) {
    await app.db.query('delete from provider_setting')
    const user = await createUser(app)
    const { body } = await authorize(app, provider, user)
    const authorizationUrl = body.authorization_url
    const usual = () => provider.consent(authorizationUrl)
    const callback = await path({ app, provider, other, user, usual, authorizationUrl, state: body.state })
    const before = provider.tokenRequests().length + other.tokenRequests().length
    const answer = await callBack(app, callback)
    const made = provider.tokenRequests().length + other.tokenRequests().length - before
    provider.fault = undefined
    provider.tokens = { ...usualTokens }
    const stored = await app.db.query(`select status from connection where user_id = $1 and status = 'active'`, [user])
    const found = `${outcomeOf(answer)}, ${stored.length > 0}, ${made} exchanged`
    const expected = `${outcome}, ${connected}, ${exchanged} exchanged`
    if (found !== expected) wrong.push(`${name}: ${found} instead of ${expected}`)
    const { headers } = answer
    if (!headers.get('cache-control')?.includes('no-store')) wrong.push(`${name}: may be kept`)
    if (headers.get('referrer-policy') !== 'no-referrer') wrong.push(`${name}: tells the next page its address`)
  }
  t.strictSame(wrong, [])
  await t.test('refused consents left nothing', async (t) => {
    const grants = await app.db.query<{ account: string | null }>(
      'select account_id as account from provider_grant order by 1',
    )
    t.strictSame(
      grants.map(({ account }) => account),
      ['ada', 'odd', 'strange', null],
    )
    t.equal(provider.asked.filter(({ method }) => method === 'DELETE').length, 0, 'the account has a live grant')
  })
})

oneEngine(t, 'a connection as developers see it', async (t, engine) => {
  const provider = await startProvider(t, 'polar')
  const app = await startCloudApp(t, engine, [provider])
  const [user, friend] = [await createUser(app), await createUser(app)]
  const { body } = await authorize(app, provider, user)
  const asked = new URL(body.authorization_url)
  t.equal(`${asked.origin}${asked.pathname}`, `${provider.origin}/authorize`)
  t.match(Object.fromEntries(asked.searchParams), {
    ...{ response_type: 'code', client_id: 'client of polar', scope: 'x:read x:sleep', state: body.state },
    redirect_uri: `${app.deps.config.apiBaseUrl}/api/v1/oauth/polar/callback`,
    ...{ code_challenge: /^[\w-]{43}$/, code_challenge_method: 'S256' },
  })
  t.match(body.state, /^[\w-]{43}$/)
  const callback = provider.consent(body.authorization_url, { scope: 'x:read' })
  const head = await app.request('HEAD', callback, { auth: 'none' })
  t.equal(head.status, 200, 'a probe of the address uses nothing up')
  const landed = await callBack(app, callback)
  t.equal(locationOf(landed), `/api/v1/oauth/success?provider=polar&user_id=${user}`)
  const read = (path: string, headers = {}) => app.request('GET', path, { auth: 'none', headers })
  t.strictSame((await read(locationOf(landed))).body, {
    ...{ success: true, message: 'Successfully connected to polar', user_id: user, provider: 'polar' },
  })
  const page = await read(locationOf(landed), HTML)
  t.match(page.body, '<h1>Polar is connected</h1>')
  t.match(page.headers.get('content-security-policy'), "default-src 'none'")
  const hostile = await read('/api/v1/oauth/error?message=%3Cscript%3Ealert(1)%3C/script%3E', HTML)
  t.notMatch(hostile.body, /script|alert/, 'a page shows no text that anybody may have written')
  t.match(hostile.body, '<h1>Nothing was connected</h1>')
  t.strictSame((await read('/api/v1/oauth/error')).body, { success: false, message: 'OAuth authentication failed' })

  await connectAccount(app, provider, friend)
  const [connection] = (await app.request('GET', `/api/v1/users/${user}/connections`)).body
  t.match(connection, {
    ...{
      provider: 'polar',
      provider_user_id: 'ada',
      provider_username: 'Name of ada',
      scope: 'x:read',
      status: 'active',
    },
    ...{ last_synced_at: /Z$/, linked_user_ids: [friend] },
  })
  t.strictSame(
    (await connectionEvents(app)).map(({ type, data }) => [type, data.user_id, data.provider]),
    [
      ['connection.created', user, 'polar'],
      ['connection.created', friend, 'polar'],
    ],
  )
  const { grants } = await app.db.one<{ grants: number }>('select count(*) as grants from provider_grant')
  t.equal(grants, 1, 'both share the grant of the account')
})

oneEngine(t, 'a state that twenty bring at the same time connects once', async (t, engine) => {
  const provider = await startProvider(t, 'polar')
  const app = await startCloudApp(t, engine, [provider])
  const { body } = await authorize(app, provider, await createUser(app))
  const callback = provider.consent(body.authorization_url)
  const answers = await Promise.all(Array.from({ length: 20 }, () => callBack(app, callback)))
  const outcomes = answers.map(outcomeOf).sort()
  t.strictSame(outcomes, ['303 success', ...Array(19).fill('400 Invalid or expired state parameter')])
  t.equal(provider.tokenRequests().length, 1)
})

oneEngine(t, 'a consent is not lost when others keep the service busy', async (t, engine) => {
  const provider = await startProvider(t, 'polar')
  const app = await startCloudApp(t, engine, [provider])
  const { deps } = app
  const user = await createUser(app)
  const places: (() => void)[] = []
  t.teardown(() => places.map((leave) => leave()))
  // Once the code is spent nobody else may change anything, and somebody has locked the data of this person.
  provider.fault = async ({ path }) => {
    const { capacity, perKey } = deps.limits.gates.write
    for (let n = 0; path === '/token' && n < capacity; n += 1)
      places.push(await deps.gates.write.enter(String(Math.floor(n / perKey))))
    return false
  }
  const { saving } = deps.oauth
  let attempts = 0
  const transaction: typeof saving.transaction = async (work, lockMs) => {
    attempts += 1
    if (attempts < 3) throw Object.assign(new Error('locked'), { code: '55P03' })
    return saving.transaction(work, lockMs)
  }
  Object.assign(deps.oauth, { saving: { ...saving, transaction } })
  await connectAccount(app, provider, user)
  t.equal(attempts, 3)
})

oneEngine(t, 'who may begin, and where it may end', async (t, engine) => {
  const provider = await startProvider(t, 'polar')
  const app = await startCloudApp(t, engine, [provider], {
    oauthRedirectOrigins: ['https://app.example.org', 'http://localhost:3000'],
  })
  const user = await createUser(app)
  const allowed = 'https://app.example.org/done?a=%20b&c'
  const refusals: [string, number, unknown][] = [
    [`/nobody/authorize?user_id=${user}`, 422, /^Input should be 'apple'/],
    [`/Polar/authorize?user_id=${user}`, 422, /^Input should be 'apple'/],
    [`/internal/authorize?user_id=${user}`, 400, "Provider 'internal' does not support OAuth"],
    [`/samsung/authorize?user_id=${NOBODY}`, 400, "Provider 'samsung' does not support OAuth"],
    [`/garmin/authorize?user_id=${NOBODY}`, 400, "Provider 'garmin' is not configured"],
    ['/polar/authorize', 422, 'Field required'],
    [`/polar/authorize?user_id=${NOBODY}`, 404, `User with ID: ${NOBODY} not found.`],
    [`/polar/authorize?user_id=${user}&more=1`, 422, 'Extra inputs are not permitted'],
    ...[
      ...['/done', 'app.example.org', 'javascript:alert(1)', 'http://app.example.org/', 'https://evil.example/'],
      ...[
        'https://app.example.org@evil.example/',
        'https://u:p@app.example.org/',
        `${allowed}#x`,
        'http://localhost:4000/',
      ],
      ...[
        'https://app.example.org\\@evil.example',
        'https://app.example.org/\r\nX: y',
        'https://app.example.org.evil.example/',
      ],
    ].map((uri): [string, number, unknown] => [
      `/polar/authorize?user_id=${user}&redirect_uri=${encodeURIComponent(uri)}`,
      ...([400, /^Invalid redirect_uri: /] as const),
    ]),
  ]
  const wrong: string[] = []
  for (const [path, status, text] of refusals) {
    const { status: found, body } = await app.request('GET', `/api/v1/oauth${path}`)
    const said = typeof body.detail === 'string' ? body.detail : body.detail?.[0].msg
    if (found !== status || !(text instanceof RegExp ? text.test(said) : said === text))
      wrong.push(`${path}: ${found} ${said}`)
  }
  t.strictSame(wrong, [])
  const path = `/api/v1/oauth/polar/authorize?user_id=${user}`
  t.strictSame((await app.request('GET', path, { auth: 'none' })).status, 401)
  t.equal((await app.request('GET', path, { auth: 'developer' })).status, 200)
  t.equal((await app.request('GET', path, { auth: { bearer: await app.sdkToken(user) } })).status, 401)
  const { body } = await authorize(app, provider, user, `&redirect_uri=${encodeURIComponent(allowed)}`)
  const answer = await callBack(app, provider.consent(body.authorization_url))
  t.equal(locationOf(answer), allowed, 'exactly as it was asked for')
})

interface Failure {
  name: string
  status: number
  title: string
  /** Prepares a request that fails; returns its path. */
  path(context: Failing): Promise<string> | string
}

interface Failing {
  app: TestApp
  provider: OAuthProvider
  user: string
  /** Path and query of a new link. */
  link(): Promise<string>
  /** The usual callback, of a person who consents. */
  callback(): Promise<string>
}

/** In everything that a request can say. */
const MARK = 'zzmarkzz'

const FAILURES: Failure[] = [
  {
    ...{ name: 'a used link', status: 401, title: 'This link was already used' },
    async path({ app, link }) {
      const path = await link()
      await app.request('GET', path, { auth: 'none', headers: HTML })
      return path
    },
  },
  {
    ...{ name: 'an expired link', status: 401, title: 'This link has expired' },
    async path({ app, user }) {
      const claims = new SignJWT({ provider: 'polar' }).setProtectedHeader({ alg: 'HS256' }).setSubject(user)
      const token = await claims.setJti(NOBODY).setExpirationTime(1_000_000_000).sign(app.deps.keys.linkToken)
      return `/api/v1/oauth/polar/authorize?link_token=${token}`
    },
  },
  {
    ...{ name: 'an altered link', status: 401, title: 'This link does not work' },
    path: async ({ link }) => `${await link()}${MARK}`,
  },
  {
    ...{ name: 'a link for a user who was deleted', status: 404, title: 'This account no longer exists' },
    async path({ app, user, link }) {
      const path = await link()
      await app.request('DELETE', `/api/v1/users/${user}`, { auth: 'developer' })
      return path
    },
  },
  {
    ...{ name: 'no link', status: 401, title: 'This address is incomplete' },
    path: ({ user }) => `/api/v1/oauth/polar/authorize?user_id=${user}&redirect_uri=${MARK}`,
  },
  {
    ...{ name: 'an unknown provider', status: 422, title: 'This address does not work' },
    path: () => `/api/v1/oauth/${MARK}/callback?code=1&state=2`,
  },
  {
    ...{ name: 'a provider without a sign-in', status: 400, title: 'Samsung Health cannot be connected here' },
    path: () => '/api/v1/oauth/samsung/callback?code=1&state=2',
  },
  {
    ...{ name: 'a provider that is not set up', status: 400, title: 'Oura cannot be connected here' },
    path: () => '/api/v1/oauth/oura/callback?code=1&state=2',
  },
  {
    ...{ name: 'a provider that was disabled', status: 400, title: 'Polar cannot be connected now' },
    async path({ app, callback }) {
      const path = await callback()
      await app.request('PUT', '/api/v1/oauth/providers', { auth: 'developer', body: { providers: { polar: false } } })
      return path
    },
  },
  {
    ...{ name: 'a stale state', status: 400, title: 'This sign-in is over' },
    path: () => `/api/v1/oauth/polar/callback?code=${MARK}&state=${MARK}`,
  },
  {
    ...{ name: 'another browser', status: 400, title: 'This is another browser' },
    async path({ app, provider, link }) {
      const opened = await app.request('GET', await link(), { auth: 'none', headers: HTML })
      return provider.consent(locationOf(opened))
    },
  },
  {
    ...{ name: 'a refused code', status: 400, title: 'Polar did not complete the sign-in' },
    path: async ({ callback }) => (await callback()).replace(/code=[^&]+/, `code=${MARK}`),
  },
  {
    ...{ name: 'an exchange that failed', status: 500, title: 'Polar cannot be reached' },
    path({ provider, callback }) {
      provider.fault = answering('/token', 503, MARK)
      return callback()
    },
  },
  {
    ...{ name: 'a defect of ours', status: 500, title: 'Something went wrong here' },
    async path({ app, callback }) {
      const path = await callback()
      await app.db.query('alter table oauth_state rename to hidden_state')
      return path
    },
  },
]

oneEngine(t, 'a person reads what went wrong and what to do, a program gets JSON', async (t, engine) => {
  const provider = await startProvider(t, 'polar')
  const app = await startCloudApp(t, engine, [provider])
  const wrong: string[] = []
  for (const [place, { name, status, title, path }] of FAILURES.entries()) {
    const further = place === 0 ? [HTML.accept, 'application/json, text/html'] : []
    for (const accept of ['text/html', '*/*', ...further]) {
      await app.db.query('delete from provider_setting')
      const user = await createUser(app)
      const link = async () => {
        const { body } = await linkFor(app, user, { provider: 'polar' })
        return body.url.slice(app.deps.config.apiBaseUrl.length) as string
      }
      const callback = async () => provider.consent((await authorize(app, provider, user)).body.authorization_url)
      const asked = await path({ app, provider, user, link, callback })
      const answer = await app.request('GET', String(asked), { auth: 'none', headers: { accept } })
      provider.fault = undefined
      await app.db.query('alter table if exists hidden_state rename to oauth_state')
      const isPage = accept.startsWith('text/html')
      const text = String(isPage ? answer.body : JSON.stringify(answer.body))
      const found = [answer.status, answer.headers.get('content-type')?.split(';')[0], answer.headers.get('vary')]
      const expected = [status, isPage ? 'text/html' : 'application/json', 'Accept']
      if (String(found) !== String(expected)) wrong.push(`${name}, ${accept}: ${found}`)
      if (!isPage) continue
      if (!text.includes(`<h1>${title}</h1>`)) wrong.push(`${name}: ${text}`)
      if (!/[Aa]sk |[Bb]egin again|tell whoever|try again/.test(text)) wrong.push(`${name}: says nothing to do`)
      const secrets = [MARK, user, ...provider.issued, ...(String(asked).match(/[\w.-]{25,}/g) ?? [])]
      if (secrets.some((secret) => text.includes(secret))) wrong.push(`${name}: repeats what it was sent`)
      if (!answer.headers.get('content-security-policy')?.includes("default-src 'none'")) wrong.push(`${name}: loads`)
    }
  }
  t.strictSame(wrong, [])

  await t.test('the page of a consent that was not enough', async (t) => {
    const { body } = await authorize(app, provider, await createUser(app))
    const landed = await callBack(app, provider.consent(body.authorization_url, { scope: 'x:sleep' }))
    const read = async (path: string) =>
      (await app.request('GET', path, { auth: 'none', headers: { accept: 'text/html' } })).body as string
    const said = 'Nothing was connected. Connect again, and on the page of Polar allow your readings.'
    t.match(await read(locationOf(landed)), `<p>${said}</p>`)
    t.notMatch(await read(locationOf(landed).replace('readings', 'password')), /password|readings/)
    const denied = await callBack(app, `/api/v1/oauth/polar/callback?error=access_denied&error_description=${MARK}`)
    t.notMatch(await read(locationOf(denied)), MARK)
    t.match(await read(locationOf(denied)), 'You did not allow access')
  })
  await t.test('a link that only takes pages leads on', async (t) => {
    const { body } = await linkFor(app, await createUser(app), { provider: 'polar' })
    const path = body.url.slice(app.deps.config.apiBaseUrl.length)
    const opened = await app.request('GET', path, { auth: 'none', headers: { accept: 'text/html' } })
    t.equal(opened.status, 303)
    const landed = await callBack(app, provider.consent(locationOf(opened)), {
      ...{ accept: 'text/html', cookie: opened.headers.get('set-cookie')?.split(';')[0] ?? '' },
    })
    t.match(locationOf(landed), /^\/api\/v1\/oauth\/success/)
  })
})

const linkFor = (app: TestApp, user: string, body: object): Promise<TestAnswer> =>
  app.request('POST', `/api/v1/users/${user}/link-tokens`, { body })

oneEngine(t, 'a link connects one person, in one browser, once', async (t, engine) => {
  const provider = await startProvider(t, 'polar')
  const app = await startCloudApp(t, engine, [provider])
  const user = await createUser(app)
  const follow = (url: string, headers: Record<string, string> = HTML) =>
    app.request('GET', url.slice(app.deps.config.apiBaseUrl.length), { auth: 'none', headers })
  const fresh = async (more = {}) => (await linkFor(app, user, { provider: 'polar', ...more })).body.url as string

  const made = await linkFor(app, user, { provider: 'polar', redirect_uri: 'https://app.example.org/done' })
  t.equal(made.status, 201)
  t.match(made.body, { provider: 'polar', expires_at: /Z$/ })
  const looked = await app.request('HEAD', made.body.url.slice(app.deps.config.apiBaseUrl.length), { auth: 'none' })
  t.equal(looked.status, 200, 'a scanner of mails does not use it up')
  const opened = await follow(made.body.url)
  t.equal(opened.status, 303)
  t.equal(opened.headers.get('referrer-policy'), 'no-referrer')
  const cookie = opened.headers.get('set-cookie') ?? ''
  t.match(cookie, /^pulsebase_oauth=[\w-]{43}; Path=\/; Max-Age=900; HttpOnly; SameSite=Lax$/)
  const held = cookie.split(';')[0] ?? ''
  const callback = provider.consent(locationOf(opened))
  t.equal(outcomeOf(await callBack(app, callback, { cookie: held })), '303 https://app.example.org/done')
  const elsewhere: [name: string, headers: Record<string, string>][] = [
    ['another browser', {}],
    ['a browser of somebody else', { cookie: `pulsebase_oauth=${'x'.repeat(43)}` }],
  ]
  for (const [name, headers] of elsewhere) {
    const stolen = await callBack(app, provider.consent(locationOf(await follow(await fresh()))), headers)
    t.equal(outcomeOf(stolen), '400 Invalid or expired state parameter', name)
  }
  const second = await follow(await fresh(), { ...HTML, cookie: held })
  t.match(second.headers.get('set-cookie'), held, 'a browser with two links open keeps one cookie')

  const asData = await follow(await fresh(), {})
  t.match(asData.body, { authorization_url: provider.origin, state: /^[\w-]{43}$/ })
  t.notOk(asData.headers.get('set-cookie'))
  const used = await follow(made.body.url)
  t.equal(used.status, 401)
  const url = await fresh()
  const sameTime = await Promise.all(Array.from({ length: 5 }, () => follow(url)))
  t.strictSame(sameTime.map(({ status }) => status).sort(), [303, 401, 401, 401, 401])
  const other = (await fresh()).replace('/polar/', '/strava/')
  const developer = await app.developer.token()
  const tokens = [
    '',
    'x',
    developer,
    await app.sdkToken(user),
    `${new URL(await fresh()).searchParams.get('link_token')}x`,
  ]
  for (const bad of [other, ...tokens.map((token) => url.replace(/=.*/, `=${token}`))]) {
    t.equal((await follow(bad)).status, 401)
  }
  const asKey = await app.request('GET', `/api/v1/users/${user}`, { auth: { bearer: made.body.link_token } })
  t.equal(asKey.status, 401, 'a link opens nothing else')
  await refusedLinks(t, app, user)
})

async function refusedLinks(t: Test, app: TestApp, user: string): Promise<void> {
  const refused: [string, object, number][] = [
    [user, { provider: 'apple' }, 400],
    [user, { provider: 'garmin' }, 400],
    [user, { provider: 'nobody' }, 422],
    [user, { provider: 'polar', redirect_uri: 'http://app.example.org' }, 400],
    [NOBODY, { provider: 'polar' }, 404],
  ]
  const found = await Promise.all(refused.map(async ([of, body]) => (await linkFor(app, of, body)).status))
  t.strictSame(
    found,
    refused.map(([, , status]) => status),
  )
}
