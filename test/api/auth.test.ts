import crypto, { type ScryptOptions } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import t, { type Test } from 'tap'
import { bootstrapAccounts } from '../../server/api/auth/bootstrap.ts'
import { createPasswords } from '../../server/api/auth/passwords.ts'
import { openDatabase } from '../../server/db/database.ts'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { verifyAccessToken } from '../../server/http/tokens.ts'
import { CHEAP_HASHES, createTestDatabase, startTestApp, type TestAnswer, type TestApp } from '../support/app.ts'
import { engines } from '../support/servers.ts'
import { LOOKS_INSIDE, ofOneProcess } from '../support/several.ts'
import { runs } from '../support/thorough.ts'

const [engine] = engines()
if (!engine) throw new Error('no engine')

const login = (app: TestApp, form: Record<string, string>): Promise<TestAnswer> =>
  app.request('POST', '/api/v1/auth/login', { auth: 'none', body: new URLSearchParams(form) })
const credentials = ({ developer }: TestApp) => ({ username: developer.email, password: developer.password })
const me = (app: TestApp, bearer: string) => app.request('GET', '/api/v1/auth/me', { auth: { bearer } })
const refresh = (app: TestApp, refresh_token: unknown) =>
  app.request('POST', '/api/v1/token/refresh', { auth: 'none', body: { refresh_token } })
const revoke = (app: TestApp, refresh_token: unknown) =>
  app.request('POST', '/api/v1/token/revoke', { auth: 'none', body: { refresh_token } })
/** Moves time 61 seconds on, so that a rotated token is no longer answered. */
const endGrace = (app: TestApp) =>
  app.db.query(`update refresh_token set rotated_at = rotated_at - interval '61 seconds' where rotated_at is not null`)

const HINT = 'Send username (the email address) and password, as a form or as JSON.'
const BAD_LOGIN = { detail: 'Incorrect email or password' }
const BAD_REFRESH = { detail: 'Invalid or revoked refresh token' }
const NOT_VALID = { detail: 'Could not validate credentials' }

const app = await startTestApp(t, engine)
const { passwords } = app.deps

/** The options of every scrypt call from now on, until the test ends. */
function hearScrypt(t: Test): ScryptOptions[] {
  const { scrypt } = crypto
  const heard: ScryptOptions[] = []
  const set = (replacement: typeof scrypt) => {
    crypto.scrypt = replacement
    syncBuiltinESMExports()
  }
  const hear = (...args: Parameters<typeof scrypt>) => {
    heard.push(args[3])
    scrypt(...args)
  }
  set(Object.assign(hear, scrypt) as typeof scrypt)
  t.teardown(() => set(scrypt))
  return heard
}

t.test('login', async (t) => {
  t.test('answers with tokens that work', async (t) => {
    const answer = await login(app, credentials(app))
    t.equal(answer.status, 200)
    t.match(answer.body, {
      access_token: /^[\w-]+\.[\w-]+\.[\w-]+$/,
      token_type: 'bearer',
      refresh_token: /^rt-[0-9a-f]{32}$/,
      expires_in: 3600,
    })
    t.strictSame(Object.keys(answer.body).sort(), ['access_token', 'expires_in', 'refresh_token', 'token_type'])
    t.equal(answer.headers.get('cache-control'), 'private, no-store')
    t.equal((await me(app, answer.body.access_token)).body.email, app.developer.email)
    const claims = JSON.parse(Buffer.from(answer.body.access_token.split('.')[1], 'base64url').toString())
    t.equal(claims.sub, app.developer.id)
    t.equal(claims.exp - claims.iat, 3600)
  })

  t.test('takes the email in any case, and what OAuth clients send along', async (t) => {
    const form = {
      grant_type: 'password',
      scope: '',
      client_id: 'x',
      client_secret: 'y',
      password: app.developer.password,
    }
    t.equal((await login(app, { ...form, username: ' Developer@Example.ORG ' })).status, 200)
  })

  t.test('says the same about every failure', async (t) => {
    const forms: Record<string, string>[] = [
      { ...credentials(app), password: 'wrong' },
      { username: 'nobody@example.org', password: app.developer.password },
      { username: app.developer.email },
      { password: 'x' },
      {},
      { username: '', password: '' },
      { ...credentials(app), grant_type: 'client_credentials' },
      { 'username[a]': 'b', password: 'c' },
    ]
    for (const form of forms) {
      const answer = await login(app, form)
      t.equal(answer.status, 401, JSON.stringify(form))
      const { hint, ...body } = answer.body
      t.strictSame(body, BAD_LOGIN)
      t.equal(answer.headers.get('www-authenticate'), 'Bearer')
      t.equal(
        hint,
        form.username && form.password && !form.grant_type ? undefined : form.username === '' ? undefined : HINT,
      )
    }
  })

  t.test('takes JSON as well, and the email under its own name', async (t) => {
    const { username: email, password } = credentials(app)
    const send = (body: unknown, headers = {}) =>
      app.request('POST', '/api/v1/auth/login', { auth: 'none', body, headers })
    for (const body of [
      { username: email, password },
      { email, password },
      { email: 'x', username: email, password },
    ]) {
      t.equal((await send(body)).status, 200, Object.keys(body).join())
      t.equal((await send(new URLSearchParams(body as Record<string, string>))).status, 200, 'as a form')
    }
    for (const body of [{ email }, { password }, { email, password: 1 }, [], 'x', { email: null, password }]) {
      const answer = await send(JSON.stringify(body), { 'Content-Type': 'application/json' })
      t.match([answer.status, answer.body], [401, { ...BAD_LOGIN, hint: HINT }], JSON.stringify(body))
    }
    t.match([await send({ email, password: 'wrong' })], [{ status: 401, body: BAD_LOGIN }])
    const text = await send('x', { 'Content-Type': 'text/plain' })
    t.equal(text.status, 415)
    t.match(text.body.detail, 'application/x-www-form-urlencoded or application/json')
  })

  t.test('does the same work when there is no such account', ofOneProcess(LOOKS_INSIDE), async (t) => {
    await app.db.query('insert into developer (email, password_hash) values ($1, $2)', [
      'known@example.org',
      await passwords.hash('a password of somebody'),
    ])
    const heard = hearScrypt(t)
    for (const username of ['known@example.org', 'nobody@example.org'])
      t.equal((await login(app, { username, password: 'wrong wrong wrong' })).status, 401)
    const [known, unknown, ...more] = heard
    t.ok(known)
    t.strictSame([unknown, more], [known, []])
  })

  t.test('gives access tokens that carry a scope and nothing secret', async (t) => {
    const token = await verifyAccessToken(app.deps.keys, (await login(app, credentials(app))).body.access_token)
    t.match(token, { scope: 'developer', developerId: app.developer.id })
  })
})

t.test('login is throttled', async (t) => {
  const app = await startTestApp(t, engine, { loginAttemptsPerAccount: 3 })
  t.beforeEach(() => app.db.query('delete from throttle'))

  t.test('per account, for all processes together', async (t) => {
    const other = await app.another()
    const started = Date.now()
    for (let run = 0; run < 5; run += 1)
      t.equal((await login(app, credentials(app))).status, 200, 'success does not count')
    t.equal((await login(app, { ...credentials(app), password: 'wrong' })).status, 401)
    t.equal((await login(other, { ...credentials(app), password: 'wrong' })).status, 401)
    t.equal((await login(app, credentials(app))).status, 200)
    t.equal(
      (await login(other, { ...credentials(app), username: app.developer.email.toUpperCase(), password: 'x' })).status,
      401,
    )
    for (const process of [app, other]) {
      const answer = await login(process, credentials(app))
      t.equal(answer.status, 429)
      const seconds = Number(answer.headers.get('retry-after'))
      t.ok(seconds <= 900 && seconds >= 899 - (Date.now() - started) / 1000, `${seconds} s`)
      t.strictSame(answer.body, { detail: `Too many attempts. Try again in ${seconds} seconds.` })
    }
    t.equal((await login(app, { username: 'nobody@example.org', password: 'x' })).status, 401, 'other accounts go on')
    await app.db.query(`update throttle set expires_at = now() - interval '1 second'`)
    t.equal((await login(app, credentials(app))).status, 200, 'a new window begins')
  })

  t.test('per account, also for guesses at the same time', async (t) => {
    const guesses = Array.from({ length: 10 }, (_, n) => login(app, { ...credentials(app), password: `guess ${n}` }))
    const statuses = (await Promise.all(guesses)).map((answer) => answer.status).sort()
    t.strictSame(statuses, [401, 401, 401, 429, 429, 429, 429, 429, 429, 429])
  })

  t.test('per account that does not exist, in the same way', async (t) => {
    const statuses: number[] = []
    for (let guess = 0; guess < 4; guess += 1)
      statuses.push((await login(app, { username: 'nobody@example.org', password: 'x' })).status)
    t.strictSame(statuses, [401, 401, 401, 429])
  })

  t.test('per address, whatever the outcome', async (t) => {
    const strict = await app.another({ loginAttemptsPerMinute: 2 })
    t.equal((await login(strict, credentials(app))).status, 200)
    t.equal((await login(strict, { username: 'a@example.org', password: 'x' })).status, 401)
    const answer = await login(strict, { username: 'b@example.org', password: 'x' })
    t.equal(answer.status, 429)
    t.ok(Number(answer.headers.get('retry-after')) <= 60)
    t.equal((await me(strict, await app.developer.token())).status, 200, 'only the login is limited')
  })

  t.test('windows that are over are cleared, and no name or address is kept', async (t) => {
    await app.db.query(
      `insert into throttle (key, attempts, expires_at)
       select decode(md5(n::text), 'hex'), 1, now() - interval '1 minute' from generate_series(1, 15) n`,
    )
    await login(app, { username: 'a@example.org', password: 'x' })
    t.strictSame(await app.db.query('select count(*) as count from throttle where expires_at < now()'), [{ count: 0 }])
    const keys = await app.db.query<{ key: string }>(`select convert_from(key, 'utf8') as key from throttle order by 1`)
    t.match(keys, [{ key: /^login account \d+$/ }, { key: /^login address \d+$/ }])
  })
})

t.test('the developer reads and changes its own account', async (t) => {
  const app = await startTestApp(t, engine)
  const patch = (body: unknown, bearer: string) => app.request('PATCH', '/api/v1/auth/me', { auth: { bearer }, body })
  const bearer = await app.developer.token()
  const first = (await me(app, bearer)).body
  t.strictSame(Object.keys(first).sort(), ['created_at', 'email', 'first_name', 'id', 'last_name', 'updated_at'])
  t.match(first, { id: app.developer.id, email: app.developer.email, first_name: null, last_name: null })

  const named = await patch({ first_name: 'Ada', last_name: 'Lovelace', unknown: 1 }, bearer)
  t.equal(named.status, 200)
  t.match(named.body, { first_name: 'Ada', last_name: 'Lovelace', email: app.developer.email })
  t.match((await patch({ last_name: null }, bearer)).body, { first_name: 'Ada', last_name: null })
  t.match((await patch({}, bearer)).body, { first_name: 'Ada', last_name: null })
  t.strictSame((await patch({ email: 'Ada@EXAMPLE.org' }, bearer)).body.email, 'Ada@example.org')

  await app.db.query(`insert into developer (email, password_hash) values ('grace@example.org', 'x')`)
  const taken = await patch({ email: 'Grace@example.org', first_name: 'No' }, bearer)
  t.equal(taken.status, 409)
  t.strictSame(taken.body, { detail: 'A developer with this email already exists' })
  t.equal((await me(app, bearer)).body.first_name, 'Ada')

  const invalid = await patch({ email: 'x', password: 'short', first_name: 'x'.repeat(101) }, bearer)
  t.equal(invalid.status, 422)
  t.strictSame(
    invalid.body.detail.map(({ type, loc }: { type: string; loc: string[] }) => [type, loc.join('.')]),
    [
      ['string_too_long', 'body.first_name'],
      ['value_error', 'body.email'],
      ['string_too_short', 'body.password'],
    ],
  )

  const session = (await login(app, { username: 'ada@example.org', password: app.developer.password })).body
  t.equal((await patch({ password: 'a brand new password' }, session.access_token)).status, 200)
  t.equal((await me(app, session.access_token)).status, 401, 'a new password ends the session')
  t.equal((await refresh(app, session.refresh_token)).status, 401)
  t.equal((await login(app, { username: 'ada@example.org', password: 'a brand new password' })).status, 200)

  await app.db.query('delete from developer where id = $1', [app.developer.id])
  const gone = await me(app, await app.developer.token())
  t.equal(gone.status, 401)
  t.strictSame(gone.body, NOT_VALID)
})

t.test('logout', async (t) => {
  const logout = (bearer: string, body?: unknown) =>
    app.request('POST', '/api/v1/auth/logout', { auth: { bearer }, ...(body !== undefined && { body }) })
  const session = (await login(app, credentials(app))).body
  const bare = await logout(session.access_token)
  t.equal(bare.status, 200)
  t.strictSame(bare.body, { message: 'Successfully logged out' })
  t.equal((await me(app, session.access_token)).status, 200, 'the access token is for the client to drop')
  const renewed = (await refresh(app, session.refresh_token)).body
  t.equal((await logout(session.access_token, { refresh_token: renewed.refresh_token })).status, 200)
  t.equal((await refresh(app, renewed.refresh_token)).status, 401)
  t.equal((await logout(session.access_token, { refresh_token: renewed.refresh_token })).status, 200, 'again')

  const [grace] = await app.db.query<{ id: string }>(
    `insert into developer (email, password_hash) values ('grace@example.org', $1) returning id`,
    [await passwords.hash('a password of grace')],
  )
  t.ok(grace)
  const hers = (await login(app, { username: 'grace@example.org', password: 'a password of grace' })).body
  t.equal((await logout(session.access_token, { refresh_token: hers.refresh_token })).status, 200)
  t.equal((await refresh(app, hers.refresh_token)).status, 200, 'nobody logs somebody else out')
})

t.test('refresh tokens', async (t) => {
  const session = async () => (await login(app, credentials(app))).body

  t.test('rotate', async (t) => {
    const first = await session()
    const answer = await refresh(app, first.refresh_token)
    t.equal(answer.status, 200)
    t.match(answer.body, { token_type: 'bearer', refresh_token: /^rt-[0-9a-f]{32}$/, expires_in: 3600 })
    t.not(answer.body.refresh_token, first.refresh_token)
    t.equal(answer.headers.get('cache-control'), 'private, no-store')
    t.equal((await me(app, answer.body.access_token)).status, 200)
    t.equal((await refresh(app, answer.body.refresh_token)).status, 200)
  })

  t.test('are stored as hashes, for 30 days from each rotation', async (t) => {
    const { refresh_token } = await session()
    await app.db.query(`update refresh_token set expires_at = now() + interval '1 minute' where rotated_at is null`)
    await refresh(app, refresh_token)
    const rows = await app.db.query<{ days: number; text: string }>(
      `select round(date_part('epoch', expires_at - now()) / 86400)::int4 as days, t::text as text
       from refresh_token t order by created_at desc limit 1`,
    )
    t.equal(rows[0]?.days, 30)
    t.notOk(rows[0]?.text.includes(refresh_token.slice(3)))
  })

  t.test('answer again for 60 seconds, since the answer may have been lost', async (t) => {
    const first = await session()
    const lost = (await refresh(app, first.refresh_token)).body
    const again = await refresh(app, first.refresh_token)
    t.equal(again.status, 200)
    t.equal((await me(app, again.body.access_token)).status, 200)
    t.equal(again.body.refresh_token, lost.refresh_token, 'the family has one head')
    const next = (await refresh(app, again.body.refresh_token)).body
    t.equal(
      (await refresh(app, first.refresh_token)).body.refresh_token,
      next.refresh_token,
      'the head, however far it is',
    )
    t.equal((await refresh(app, next.refresh_token)).status, 200)
  })

  t.test('revoke the family when an old one is used after that', async (t) => {
    const first = await session()
    const other = await session()
    const second = (await refresh(app, first.refresh_token)).body
    const third = (await refresh(app, second.refresh_token)).body
    await endGrace(app)
    const reused = await refresh(app, first.refresh_token)
    t.equal(reused.status, 401)
    t.strictSame(reused.body, BAD_REFRESH)
    t.equal((await refresh(app, third.refresh_token)).status, 401, 'whoever holds the newest one has to log in')
    t.equal((await refresh(app, other.refresh_token)).status, 200, 'another login goes on')
  })

  t.test('survive ten refreshes at the same time', async (t) => {
    const other = await app.another()
    const { refresh_token } = await session()
    const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => refresh(n % 2 ? app : other, refresh_token)))
    for (const { status, body } of answers) {
      t.equal(status, 200)
      t.equal((await me(app, body.access_token)).status, 200)
    }
    const next = await Promise.all(answers.map(({ body }) => refresh(app, body.refresh_token)))
    t.ok(next.every(({ status }) => status === 200))
    await endGrace(app)
    t.equal((await refresh(app, next[7]?.body.refresh_token)).status, 200)
  })

  t.test('are not issued while they are being revoked', async (t) => {
    for (let run = 0; run < runs(2, 5); run += 1) {
      const { refresh_token } = await session()
      const [renewed, revoked] = await Promise.all([refresh(app, refresh_token), revoke(app, refresh_token)])
      t.equal(revoked.status, 204)
      if (renewed.status === 200) t.equal((await refresh(app, renewed.body.refresh_token)).status, 401)
      else t.equal(renewed.status, 401)
    }
  })

  t.test('expire', async (t) => {
    const { refresh_token } = await session()
    await app.db.query(`update refresh_token set expires_at = now() where rotated_at is null`)
    t.strictSame((await refresh(app, refresh_token)).body, BAD_REFRESH)
    t.equal((await revoke(app, refresh_token)).status, 404)
  })

  t.test('are revoked with their family, once', async (t) => {
    const first = await session()
    const second = (await refresh(app, first.refresh_token)).body
    const answer = await revoke(app, second.refresh_token)
    t.equal(answer.status, 204)
    t.equal(answer.body, '')
    t.equal((await refresh(app, second.refresh_token)).status, 401)
    t.equal((await refresh(app, first.refresh_token)).status, 401, 'the one before does not answer again')
    const again = await revoke(app, second.refresh_token)
    t.equal(again.status, 404)
    t.strictSame(again.body, { detail: 'Refresh token not found' })
  })

  t.test('that are none are refused', async (t) => {
    for (const token of [`rt-${'0'.repeat(32)}`, '', 'x', `rt-${'é'.repeat(32)}`]) {
      t.strictSame((await refresh(app, token)).body, BAD_REFRESH)
      t.equal((await revoke(app, token)).status, 404)
    }
    for (const token of [undefined, null, 1, {}]) {
      t.equal((await refresh(app, token)).status, 422)
      t.equal((await revoke(app, token)).status, 422)
    }
    const access = (await session()).access_token
    t.equal((await refresh(app, access)).status, 401)
  })
})

t.test('passwords', async (t) => {
  await t.test('are costly to guess', async (t) => {
    const costly = await createPasswords().hash('correct horse')
    t.match(costly, /^\$scrypt\$ln=15,r=8,p=3\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
    t.equal(await passwords.verify('correct horse', costly), true, 'whatever a new one costs')
  })

  const stored = await passwords.hash('correct horse')
  t.not(await passwords.hash('correct horse'), stored, 'salted')
  // More than run at the same time, in all orders.
  const guesses = ['correct horse', 'correct horsf', '', 'correct horse', 'Correct horse', 'correct horse ']
  t.strictSame(await Promise.all(guesses.map((guess) => passwords.verify(guess, stored))), [
    true,
    false,
    false,
    true,
    false,
    false,
  ])
  t.equal(
    await passwords.verify('caf\u00e9 caf\u00e9', await passwords.hash('cafe\u0301 cafe\u0301')),
    true,
    'composed or not',
  )
  t.equal(await passwords.verify('anything', undefined), false)
  await t.rejects(passwords.verify('anything', 'plain text'), /damaged/)
  const flood = await Promise.allSettled(
    Array.from({ length: 110 }, () => passwords.verify('x', '$scrypt$ln=10,r=8,p=1$AAAA$AAAA')),
  )
  const refused = flood.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  t.equal(refused.length, 68, 'two run and forty wait')
  t.match(refused[0], { status: 503, headers: { 'Retry-After': '5' } })
})

t.test('a password is hashed again when it is used, once new hashes cost more or less', async (t) => {
  const first = await startTestApp(t, engine)
  const costlier = createPasswords({ ...CHEAP_HASHES, ln: 6 })
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const held = { ...costlier, hash: async (password: string) => released.then(() => costlier.hash(password)) }
  const [cheap, slow] = [first, await first.another({ passwords: held })]
  const cost = async () =>
    (await first.db.one<{ ln: string }>(`select substring(password_hash from 'ln=[0-9]+') as ln from developer`)).ln
  const became = (ln: string) => waitUntil(async () => (await cost()) === ln, 20_000, 5)
  const statuses = async (...apps: TestApp[]) =>
    (await Promise.all(apps.map((one) => login(one, credentials(one))))).map(({ status }) => status)

  t.equal((await login(slow, { ...credentials(slow), password: 'wrong' })).status, 401)
  t.strictSame(await statuses(slow, slow, slow), [200, 200, 200], 'nobody waits for the new hash')
  t.equal(await cost(), 'ln=4')
  release()
  t.ok(await became('ln=6'), 'the client is long gone')
  const session = (await login(slow, credentials(slow))).body
  t.equal((await me(slow, session.access_token)).status, 200)
  t.strictSame(
    await statuses(cheap, slow, cheap, slow, cheap, slow),
    Array(6).fill(200),
    'whatever is replaced meanwhile',
  )
  t.equal((await refresh(slow, session.refresh_token)).status, 200, 'sessions go on')
})

t.test('the first accounts', async (t) => {
  const url = await createTestDatabase(t, engine)
  const db = openDatabase({ url, maxConnections: 10, statementTimeoutMs: 10_000, name: 'test', onError: () => {} })
  t.teardown(() => db.end())
  const { adminPassword: _, bootstrapApiKey: __, ...config } = { ...app.deps.config, adminEmail: 'admin@localhost' }

  const results = await Promise.all(Array.from({ length: 5 }, () => bootstrapAccounts(db, config, passwords)))
  const created = results.filter((result) => result.admin)
  t.equal(created.length, 1, 'one of several starters creates them')
  const first = created[0]
  t.match(first, {
    admin: { email: 'admin@localhost', password: /^.{20,}$/ },
    apiKey: /^sk-[0-9a-f]{32}$/,
    apiKeyGenerated: true,
    consoleCode: /^[\w-]{32}$/,
  })
  t.equal(results.filter((result) => Object.keys(result).length === 0).length, 4)
  const [developer] = await db.query<{ id: string; password_hash: string }>('select id, password_hash from developer')
  t.equal(await passwords.verify(first?.admin?.password ?? '', developer?.password_hash), true)
  t.strictSame(await db.query('select name, key_prefix, created_by from api_key'), [
    { name: 'Default', key_prefix: first?.apiKey?.slice(0, 9), created_by: developer?.id },
  ])

  await db.query('delete from api_key')
  const bootstrapApiKey = 'a key that somebody chose themselves'
  t.strictSame(await bootstrapAccounts(db, { ...config, bootstrapApiKey }, passwords), {
    apiKey: bootstrapApiKey,
    apiKeyGenerated: false,
  })
  await db.query('delete from developer')
  const withPassword = { ...config, adminPassword: 'given in the environment' }
  const { consoleCode, ...given } = await bootstrapAccounts(db, withPassword, passwords)
  t.strictSame(given, { admin: { email: 'admin@localhost' } }, 'a password that was given is not told again')
  t.match(consoleCode, /^[\w-]{32}$/)
  await db.query('delete from developer')
  t.strictSame(
    await bootstrapAccounts(db, { ...withPassword, consoleEnabled: false }, passwords),
    { admin: { email: 'admin@localhost' } },
    'nor a link to nothing',
  )
})

// The last test: it changes the password that the others log in with.
t.test('change of password', async (t) => {
  const change = (bearer: string, current: string, next: string, { confirm = next, service = app } = {}) =>
    service.request('POST', '/api/v1/auth/change-password', {
      auth: { bearer },
      body: { current_password: current, new_password: next, confirm_password: confirm },
    })

  t.test('refuses what is wrong', async (t) => {
    const bearer = await app.developer.token()
    const incorrect = await change(bearer, 'wrong', 'another long password')
    t.equal(incorrect.status, 400)
    t.strictSame(incorrect.body, { detail: 'Incorrect current password' })
    const mismatch = await change(bearer, app.developer.password, 'another long password', {
      confirm: 'another long passwort',
    })
    t.equal(mismatch.status, 422)
    t.strictSame(mismatch.body.detail, [
      {
        type: 'value_error',
        msg: 'Value error, The confirmation password does not match the new password',
        input: '[hidden]',
        loc: ['body', 'confirm_password'],
        ctx: { error: 'The confirmation password does not match the new password' },
      },
    ])
    const short = await change(bearer, app.developer.password, 'elevenchars')
    t.equal(short.status, 422)
    t.match(short.body.detail, [
      { type: 'string_too_short', msg: 'String should have at least 12 characters', ctx: { min_length: 12 } },
      { loc: ['body', 'confirm_password'] },
    ])
    t.equal((await me(app, bearer)).status, 200)
  })

  t.test('ends every session, and the ones opened right after it work', async (t) => {
    let password = app.developer.password
    // Twice, so that changes and logins happen in the same second.
    for (const next of ['the first new password', 'the second new password']) {
      const before = (await login(app, { username: app.developer.email, password })).body
      t.equal((await me(app, before.access_token)).status, 200)
      const answer = await change(before.access_token, password, next)
      t.equal(answer.status, 200)
      t.strictSame(answer.body, { message: 'Password updated successfully' })
      const old = await me(app, before.access_token)
      t.equal(old.status, 401)
      t.strictSame(old.body, NOT_VALID)
      t.equal((await refresh(app, before.refresh_token)).status, 401)
      t.equal((await login(app, { username: app.developer.email, password })).status, 401)
      const after = await login(app, { username: app.developer.email, password: next })
      t.equal(after.status, 200)
      t.equal((await me(app, after.body.access_token)).status, 200)
      const renewed = await refresh(app, after.body.refresh_token)
      t.equal((await me(app, renewed.body.access_token)).status, 200)
      t.equal((await me(app, after.body.access_token)).status, 200)
      password = next
    }
  })

  t.test('of two at the same time one wins', async (t) => {
    // Both are let in before the first new hash is done.
    const slow = await app.another({ passwords: createPasswords() })
    const password = 'the second new password'
    const { access_token } = (await login(app, { username: app.developer.email, password })).body
    const answers = await Promise.all([
      change(access_token, password, 'from the first browser', { service: slow }),
      change(access_token, password, 'from the second browser', { service: slow }),
    ])
    t.strictSame(answers.map((answer) => answer.status).sort(), [200, 400])
  })
})
