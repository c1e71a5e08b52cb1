import { createHash } from 'node:crypto'
import t from 'tap'
import { allow, ask, askToken, CALLBACK, consentUrl, play, START, tokens } from '../support/simulator.ts'

const code = (value: string) => ({ grant_type: 'authorization_code', code: value, redirect_uri: CALLBACK })
const refresh = (value: string) => ({ grant_type: 'refresh_token', refresh_token: value })
const ME = { oura: '/v2/usercollection/personal_info', whoop: '/v2/user/profile/basic' }

t.test('a person chooses who they are and what may be read, or denies it', async (t) => {
  const simulator = await play(t)
  const url = consentUrl(simulator, 'oura', { state: '<s>' })
  const { status, body, headers } = await ask(url)
  t.equal(status, 200)
  t.match(headers.get('content-type'), 'text/html')
  t.match(body, /<option value="ana">Ana \w+ \(Europe\/Berlin\)<\/option>/)
  t.match(body, 'value="extapi:heartrate" checked> Heart rate')
  t.match(body, 'name="state" value="&#60;s&#62;"', 'what was sent is not markup')
  t.match(body, `action="${new URL(url).origin}/oura/oauth/v2/ext/oauth-authorize"`)
  const decide = async (more: [string, string][]) => {
    const form = new URLSearchParams([...new URL(url).searchParams, ...more])
    const answer = await ask(new URL('/oura/oauth/v2/ext/oauth-authorize', url).href, { method: 'POST', body: form })
    return new URL(answer.headers.get('location') ?? 'nowhere:')
  }
  const yes = await decide([
    ['person', 'bikash'],
    ['decision', 'allow'],
    ['granted', 'extapi:daily'],
  ])
  t.equal(yes.origin + yes.pathname, CALLBACK)
  t.match([...yes.searchParams.keys()], ['code', 'scope', 'state'])
  t.equal(yes.searchParams.get('scope'), 'extapi:daily')
  const { body: given } = await askToken(simulator, 'oura', code(yes.searchParams.get('code') ?? ''))
  t.equal(given.scope, 'extapi:daily')
  const no = await decide([
    ['person', 'ana'],
    ['decision', 'deny'],
  ])
  t.strictSame([no.searchParams.get('error'), no.searchParams.get('state')], ['access_denied', '<s>'])
})

t.test(
  'auto skips the page: by name, by number, the first; scopes can be left out, and consent be denied',
  async (t) => {
    const simulator = await play(t)
    const who = async (auto: string) => {
      const { access_token } = await tokens(simulator, 'whoop', { auto })
      return (await simulator.get('whoop', ME.whoop, access_token)).body.first_name
    }
    t.strictSame([await who('clara'), await who('2'), await who('person')], ['Clara', 'Bikash', 'Ana'])
    const some = await allow(simulator, 'oura', { without: 'spo2,stress' })
    t.notMatch(some.get('scope'), /spo2|stress/)
    t.match(some.get('scope'), 'extapi:daily')
    t.equal((await allow(simulator, 'whoop', { deny: '1' })).get('error'), 'access_denied')
    t.equal((await ask(consentUrl(simulator, 'oura', { auto: 'nobody' }))).status, 400)
  },
)

t.test('an application that is not registered is not led back', async (t) => {
  const simulator = await play(t)
  const status = async (more: Record<string, string>) => (await ask(consentUrl(simulator, 'whoop', more))).status
  t.strictSame(
    [
      await status({}),
      await status({ client_id: 'another' }),
      await status({ redirect_uri: 'https://elsewhere.example/callback' }),
      await status({ redirect_uri: 'http://localhost:8000/x#fragment' }),
      await status({ redirect_uri: '' }),
    ],
    [200, 400, 400, 400, 400],
  )
  await simulator.control('POST', 'settings', { provider: 'whoop', redirect_uris: [CALLBACK] })
  t.strictSame([await status({}), await status({ redirect_uri: `${CALLBACK}/` })], [200, 400], 'compared exactly')
})

t.test('requests that are wrong otherwise are told so', async (t) => {
  const simulator = await play(t)
  const error = async (provider: string, more: Record<string, string>) =>
    (await allow(simulator, provider, more)).get('error')
  t.equal(await error('whoop', { state: '1234567' }), 'invalid_state')
  t.equal(await error('oura', { state: '1' }), null)
  t.equal(await error('whoop', { response_type: 'token' }), 'unsupported_response_type')
  t.equal(await error('whoop', { scope: 'offline read:everything' }), 'invalid_scope')
  t.equal(await error('oura', { code_challenge: 'x', code_challenge_method: 'plain' }), 'invalid_request')
})

t.test("Oura's scopes begin with extapi:, others are passed over; none asks for all", async (t) => {
  const simulator = await play(t)
  const granted = async (scope: string) => (await allow(simulator, 'oura', { scope })).get('scope')
  t.equal(await granted('daily extapi:spo2 stress'), 'extapi:spo2')
  t.equal((await granted(''))?.split(' ').length, 11)
  // The old page turns old names into new ones, but loses two; its callback says who answers.
  const old = consentUrl(simulator, 'oura', { scope: 'daily stress heart_health', auto: 'ana' })
  const first = await ask(old.replace('/oauth/v2/ext/oauth-authorize', '/oauth/authorize'))
  const back = new URL((await ask(first.headers.get('location') ?? '')).headers.get('location') ?? 'nowhere:')
  t.equal(back.searchParams.get('scope'), 'extapi:daily')
  t.match(back.searchParams.get('iss'), /\/oura\/oauth\/v2\/ext\/oauth-anonymous$/)
})

t.test('a code works once, for ten minutes, for the address it was made for', async (t) => {
  const simulator = await play(t)
  const made = async (provider: string) => (await allow(simulator, provider)).get('code') ?? ''
  const wrong: string[] = []
  const expect = async (name: string, fields: Record<string, string>, expected: [number, string | undefined]) => {
    const { status, body } = await askToken(simulator, name.split(' ')[0] ?? '', fields)
    if (status !== expected[0] || body.error !== expected[1]) wrong.push(`${name}: ${status} ${JSON.stringify(body)}`)
  }
  for (const provider of ['oura', 'whoop']) {
    const used = await made(provider)
    await expect(`${provider} once`, code(used), [200, undefined])
    await expect(`${provider} twice`, code(used), [400, 'invalid_grant'])
    const elsewhere = await made(provider)
    await expect(`${provider} elsewhere`, { ...code(elsewhere), redirect_uri: `${CALLBACK}/` }, [400, 'invalid_grant'])
    await expect(`${provider} is spent by that`, code(elsewhere), [400, 'invalid_grant'])
    const stolen = await made(provider)
    await expect(`${provider} other secret`, { ...code(stolen), client_secret: 'x' }, [401, 'invalid_client'])
    const late = await made(provider)
    simulator.wait(599)
    const last = await made(provider)
    simulator.wait(1)
    await expect(`${provider} too late`, code(late), [400, 'invalid_grant'])
    simulator.wait(598)
    await expect(`${provider} in time`, code(last), [200, undefined])
    await expect(`${provider} other grant`, { grant_type: 'password' }, [400, 'unsupported_grant_type'])
  }
  t.strictSame(wrong, [])
  const [oura, whoop] = [await tokens(simulator, 'oura'), await tokens(simulator, 'whoop')]
  t.strictSame(
    [oura.expires_in, oura.token_type, whoop.expires_in, whoop.token_type],
    [86_400, 'bearer', 3600, 'bearer'],
  )
  const url = simulator.env.WHOOP_TOKEN_URL ?? ''
  t.equal((await ask(url, { method: 'POST', body: JSON.stringify(code('x')) })).status, 400, 'a form is wanted')
  t.equal((await ask(url)).status, 405)
})

t.test('PKCE with S256 is checked where it is used', async (t) => {
  const simulator = await play(t)
  const verifier = 'v'.repeat(43)
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  for (const provider of ['oura', 'whoop']) {
    const more = { code_challenge: challenge, code_challenge_method: 'S256' }
    const made = async () => code((await allow(simulator, provider, more)).get('code') ?? '')
    const status = async (fields: Record<string, string>) => (await askToken(simulator, provider, fields)).status
    t.strictSame(
      [
        await status({ ...(await made()), code_verifier: verifier }),
        await status({ ...(await made()), code_verifier: 'w'.repeat(43) }),
        await status(await made()),
      ],
      [200, 400, 400],
      provider,
    )
  }
})

t.test('Oura takes the client by Basic, too; WHOOP in the form only', async (t) => {
  const simulator = await play(t)
  const status = async (provider: string) => {
    const prefix = provider.toUpperCase()
    const { env } = simulator
    const login = Buffer.from(`${env[`${prefix}_CLIENT_ID`]}:${env[`${prefix}_CLIENT_SECRET`]}`).toString('base64')
    const body = new URLSearchParams(code((await allow(simulator, provider)).get('code') ?? ''))
    const headers = { authorization: `Basic ${login}` }
    return (await ask(env[`${prefix}_TOKEN_URL`] ?? '', { method: 'POST', body, headers })).status
  }
  t.strictSame([await status('oura'), await status('whoop')], [200, 401])
})

t.test('refresh tokens rotate: the old one is dead, and at WHOOP the access token with it', async (t) => {
  const simulator = await play(t)
  const works = async (provider: 'oura' | 'whoop', token: string) =>
    (await simulator.get(provider, ME[provider], token)).status === 200
  for (const provider of ['oura', 'whoop'] as const) {
    const first = await tokens(simulator, provider)
    simulator.wait(60)
    const { status, body: second } = await askToken(simulator, provider, refresh(first.refresh_token))
    t.equal(status, 200)
    t.strictSame([second.scope, await works(provider, second.access_token)], [first.scope, true])
    t.equal(await works(provider, first.access_token), provider === 'oura')
    const { status: again, body } = await askToken(simulator, provider, refresh(first.refresh_token))
    t.strictSame([again, body.error], [400, provider === 'oura' ? 'invalid_grant' : 'invalid_request'])
    t.ok(await works(provider, second.access_token), 'the new pair lives')
    simulator.wait(second.expires_in - 1)
    t.ok(await works(provider, second.access_token))
    simulator.wait(1)
    t.notOk(await works(provider, second.access_token), 'expired')
  }
  const { refresh_token } = await tokens(simulator, 'whoop', { scope: 'read:sleep' })
  t.equal(refresh_token, undefined, 'without offline there is none')
})

t.test('a grace for the old refresh token can be set, as some providers give it', async (t) => {
  const simulator = await play(t)
  await simulator.control('POST', 'settings', { provider: 'oura', grace_seconds: 60 })
  const status = async (token: string) => (await askToken(simulator, 'oura', refresh(token))).status
  const first = await tokens(simulator, 'oura')
  const second = (await askToken(simulator, 'oura', refresh(first.refresh_token))).body
  t.equal(await status(first.refresh_token), 200)
  t.equal(await status(first.refresh_token), 400, 'but not for the one before that')
  simulator.wait(60)
  t.equal(await status(second.refresh_token), 400)
})

t.test('consent ends by the application, in each way there is, and by the person', async (t) => {
  const simulator = await play(t)
  const { url, env } = simulator
  const client = { client_id: env.OURA_CLIENT_ID ?? '', client_secret: env.OURA_CLIENT_SECRET ?? '' }
  const post = (path: string, form: object) =>
    ask(url + path, { method: 'POST', body: new URLSearchParams({ ...form }) })
  const isOver = async (provider: 'oura' | 'whoop', given: { access_token: string; refresh_token: string }) => {
    const { status } = await simulator.get(provider, ME[provider], given.access_token)
    const { body } = await askToken(simulator, provider, refresh(given.refresh_token))
    return status === 401 && body.error === 'invalid_grant'
  }
  const ext = '/oura/oauth/v2/ext/oauth-revoke'
  const [one, two, three] = [
    await tokens(simulator, 'oura'),
    await tokens(simulator, 'oura'),
    await tokens(simulator, 'oura'),
  ]
  t.equal((await post(ext, { token: one.refresh_token, client_id: 'x' })).status, 401)
  t.equal((await post(ext, { token: one.refresh_token, ...client })).status, 200)
  t.equal((await post(ext, { token: one.refresh_token, ...client })).status, 200, 'also when there is nothing to end')
  t.equal((await post(`/oura/oauth/revoke?access_token=${two.access_token}`, {})).status, 200)
  t.strictSame([await isOver('oura', one), await isOver('oura', two), await isOver('oura', three)], [true, true, false])
  const [four, five, other] = [
    await tokens(simulator, 'whoop'),
    await tokens(simulator, 'whoop'),
    await tokens(simulator, 'whoop', { auto: 'bikash' }),
  ]
  const headers = { authorization: `Bearer ${four.access_token}` }
  const leave = () => ask(`${env.WHOOP_API_URL}/v2/user/access`, { method: 'DELETE', headers })
  t.strictSame([(await leave()).status, (await leave()).status], [204, 401])
  t.strictSame(
    [await isOver('whoop', four), await isOver('whoop', five), await isOver('whoop', other)],
    [true, true, false],
    'all that this person has allowed',
  )
  const six = await tokens(simulator, 'whoop', { auto: 'bikash' })
  t.equal((await simulator.control('POST', 'revoke', { provider: 'whoop', person: 'bikash' })).body.grants, 2)
  t.ok(await isOver('whoop', six))
})

t.test("Oura's old host refuses new applications and spends their code; old ones it serves", async (t) => {
  const simulator = await play(t)
  const { env } = simulator
  const oldHost = { ...simulator, env: { ...env, OURA_TOKEN_URL: `${env.OURA_API_URL}/oauth/token` } }
  const value = (await allow(simulator, 'oura')).get('code') ?? ''
  t.equal((await askToken(oldHost, 'oura', code(value))).status, 401)
  t.equal((await askToken(simulator, 'oura', code(value))).body.error, 'invalid_grant')
  const given = await tokens(simulator, 'oura')
  const { status, body } = await askToken(oldHost, 'oura', refresh(given.refresh_token))
  t.strictSame([status, body.error], [400, 'invalid_request'])
  await simulator.control('POST', 'settings', { provider: 'oura', own: { old_application: true } })
  t.equal((await askToken(oldHost, 'oura', refresh(given.refresh_token))).status, 200)
})

t.test('an application that is not approved has few members', async (t) => {
  const simulator = await play(t)
  for (const [provider, error] of [
    ['oura', 'access_denied'],
    ['whoop', 'request_forbidden'],
  ] as const) {
    await simulator.control('POST', 'settings', { provider, member_limit: 1 })
    await tokens(simulator, provider)
    t.equal((await allow(simulator, provider, { auto: 'bikash' })).get('error'), error)
    t.ok((await allow(simulator, provider)).get('code'), 'members may come again')
  }
})

t.test('tokens outlive the simulator, and every secret is on the list', async (t) => {
  const simulator = await play(t)
  const first = await tokens(simulator, 'whoop')
  const { body: second } = await askToken(simulator, 'whoop', refresh(first.refresh_token))
  const { body: secrets } = await simulator.control('GET', 'secrets')
  const values = secrets.map(({ value }: { value: string }) => value)
  for (const value of [first.access_token, first.refresh_token, second.access_token, second.refresh_token])
    t.ok(values.includes(value))
  t.ok(values.includes(simulator.env.WHOOP_CLIENT_SECRET) && values.includes(simulator.env.OURA_CLIENT_SECRET))
  t.strictSame([...new Set(secrets.map(({ kind }: { kind: string }) => kind))].sort(), [
    'access',
    'client',
    'code',
    'refresh',
    'signing',
  ])
  const after = await play(t)
  t.equal((await after.get('whoop', ME.whoop, second.access_token)).body.first_name, 'Ana')
  t.equal((await askToken(after, 'whoop', refresh(second.refresh_token))).status, 200)
  t.equal((await after.get('whoop', ME.whoop, first.access_token)).status, 401, 'the dead stay dead')
  const another = await play(t, { seed: 8 })
  t.equal((await another.get('whoop', ME.whoop, second.access_token)).status, 401)
  t.equal((await after.get('whoop', ME.whoop, `${second.access_token}x`)).status, 401)
  t.equal(new Date(START).toISOString(), secrets[0].issued_at)
})
