// Access tokens that are refreshed once, whoever asks for them, and what becomes of a grant when that fails.
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type Database, openDatabase } from '../../server/db/database.ts'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { AppError, errors } from '../../server/errors.ts'
import { openAccount } from '../../server/intake/pulls/account.ts'
import type { OAuthParts } from '../../server/oauth/parts.ts'
import { type AccessTokens, openAccessTokens } from '../../server/oauth/refresh.ts'
import { openRefreshAhead } from '../../server/oauth/refresh-ahead.ts'
import { storeLeftBehind } from '../../server/oauth/refreshed.ts'
import { reseal } from '../../server/oauth/reseal.ts'
import { openVault } from '../../server/vault.ts'
import type { TestApp } from '../support/app.ts'
import { connectAccount, connectionEvents, startCloudApp } from '../support/clouds.ts'
import { type Fault, type OAuthProvider, startProvider } from '../support/oauth-provider.ts'
import { connectPerson, startSimulated } from '../support/people.ts'
import { createUser, oneEngine } from '../support/sdk.ts'

const ANOTHER_KEY = 'b5a41d35f1c8b6a0e9d7c5b8d2f6c0b9'

interface World {
  app: TestApp
  provider: OAuthProvider
  grant: string
  user: string
  tokens: AccessTokens
}

async function connected(t: Test, engine: Parameters<typeof startCloudApp>[1]): Promise<World> {
  const provider = await startProvider(t, 'polar')
  const app = await startCloudApp(t, engine, [provider])
  const user = await createUser(app)
  const grant = await connectAccount(app, provider, user)
  return { app, provider, grant, user, tokens: openAccessTokens(app.deps.oauth) }
}

/** Refreshes what is due once. */
function refreshAhead(parts: OAuthParts, tokens: AccessTokens): Promise<void> {
  const ahead = openRefreshAhead(parts, tokens)
  ahead.begin()
  return ahead.idle()
}

/** The access token is over since a second. */
const expire = (app: TestApp, grant: string) =>
  app.db.query(`update provider_grant set access_until = now() - interval '1 second' where id = $1`, [grant])
/** Whatever a grant waits for has come. */
const comeDue = (app: TestApp, grant: string) =>
  app.db.query('update provider_grant set refresh_due_at = now() where id = $1', [grant])
const grantOf = (app: TestApp, grant: string) =>
  app.db.one<{
    state: string
    version: number
    refresh_doubt: number
    refusals: number
    due_s: number | null
    held: boolean
  }>(
    `select state, version, refresh_doubt, refusals, date_part('epoch', refresh_due_at - now()) as due_s,
            coalesce(refresh_held_until > now(), false) as held
     from provider_grant where id = $1`,
    [grant],
  )
const statusOf = async (app: TestApp, user: string) =>
  app.db.one<{ status: string; status_reason: string | null }>(
    'select status, status_reason from connection where user_id = $1',
    [user],
  )

/** What callers get: the token, or the error's text. */
const got = (work: Promise<{ token: string }>): Promise<string> =>
  work.then(
    ({ token }) => token,
    (error: unknown) => {
      if (error instanceof AppError) return `${error.status} ${error.detail}`
      throw error
    },
  )

const answering =
  (status: number, json: object): Fault =>
  ({ path }, response) => {
    if (path !== '/token') return false
    response.writeHead(status).end(JSON.stringify(json))
    return true
  }
/** What callers get until a refusal is confirmed. */
const DOUBTED = '503 Polar has refused the access of this connection. It is asked again before the connection ends.'
const INVALID_GRANT = answering(400, { error: 'invalid_grant' })

/** The provider does what it was asked to, and the answer is lost. */
function losingAnswers(times: number): Fault {
  let lost = 0
  return ({ path }, response) => {
    if (path !== '/token' || lost === times) return false
    lost += 1
    response.end = () => {
      response.socket?.destroy()
      return response
    }
    return false
  }
}

/** Something that is waited for. */
function later(): { happen(): void; happened: Promise<void> } {
  let happen = () => {}
  const happened = new Promise<void>((resolve) => {
    happen = resolve
  })
  return { happen, happened }
}

oneEngine(t, '200 callers of an expired token share one request', async (t, engine) => {
  const { app, provider, grant } = await connected(t, engine)
  await expire(app, grant)
  const slow = later()
  provider.fault = async ({ path }) => {
    if (path === '/token') await slow.happened
    return false
  }
  // Four of these know as little of each other as four processes; refresh.long.ts has real ones.
  const databases = Array.from({ length: 4 }, () => open(t, app.databaseUrl))
  const processes = databases.map((db) => openAccessTokens({ ...app.deps.oauth, db }))
  const calls = processes.flatMap((tokens) => Array.from({ length: 50 }, () => tokens.access(grant)))
  await waitUntil(async () => provider.tokenRequests().length > 1, 10_000, 10)
  slow.happen()
  const answers = await Promise.all(calls)
  t.equal(provider.tokenRequests().length, 2, 'one for the code, one refresh')
  const [first] = answers
  t.equal(new Set(answers.map(({ token }) => token)).size, 1)
  t.ok(first && provider.accepts(first.token), 'the token that they got works')
  t.equal(first?.version, 2)
})

function open(t: Test, url: string): Database {
  const db = openDatabase({ url, name: 'callers', maxConnections: 2, statementTimeoutMs: 10_000, onError() {} })
  t.teardown(() => db.end())
  return db
}

oneEngine(t, 'a token is refreshed when it has to be, and no sooner', async (t, engine) => {
  const { app, provider, grant, tokens } = await connected(t, engine)
  const first = await tokens.access(grant)
  t.equal(provider.tokenRequests().length, 1)
  const renewed = await tokens.renew(grant, first.version)
  t.not(renewed.token, first.token, 'the provider refused the first one')
  t.strictSame(await tokens.renew(grant, first.version), renewed, 'somebody else has refreshed already')
  t.equal(provider.tokenRequests().length, 2)
  await app.db.query(`update provider_grant set access_until = now() + interval '4 minutes'`)
  const held = await app.db.query(
    `update provider_grant set refresh_held_until = now() + interval '40 seconds' returning 1`,
  )
  t.equal(held.length, 1)
  t.strictSame(await tokens.access(grant), renewed, 'while somebody refreshes it, what is valid is used')
  await app.db.query('update provider_grant set refresh_held_until = null')
  provider.fault = answering(503, {})
  t.strictSame(await got(tokens.access(grant)), '500 Token refresh failed: the answer has status 503 and no tokens')
  t.strictSame(await tokens.access(grant), renewed, 'and while the provider cannot')
  provider.fault = undefined
  provider.tokens.rotates = false
  await comeDue(app, grant)
  const third = await tokens.access(grant)
  await expire(app, grant)
  t.ok(provider.accepts((await tokens.access(grant)).token), 'a refresh token that is not repeated is kept')
  t.not(third.token, renewed.token)
})

/** What a refresh ends in, at the first attempt and at the next ones, when the provider always answers like this. */
const FAILURES: [name: string, fault: Fault, attempts: string[], status: string][] = [
  [
    'invalid_grant, always',
    INVALID_GRANT,
    [`${DOUBTED}, 60 s`, '401 Refresh token rejected for polar; reconnection required, -'],
    'revoked refresh_failed',
  ],
  [
    'our secret is wrong',
    answering(401, { error: 'invalid_client' }),
    ['400 Failed to refresh token: invalid_client, 1800 s', '400 Failed to refresh token: invalid_client, 1800 s'],
    'active null',
  ],
  [
    'invalid_request, which says nothing about the token at most providers',
    answering(400, { error: 'invalid_request' }),
    ['400 Failed to refresh token: invalid_request, 1800 s', '400 Failed to refresh token: invalid_request, 1800 s'],
    'active null',
  ],
  [
    'too many requests',
    (asked, response) => {
      if (asked.path === '/token') response.writeHead(429, { 'retry-after': '600' }).end()
      return asked.path === '/token'
    },
    ['500 Token refresh failed: the answer has status 429 and no tokens, 600 s'],
    'active null',
  ],
  [
    'a page in place of tokens',
    answering(200, { welcome: true }),
    ['400 Failed to refresh token: the answer has status 200 and no tokens, 1800 s'],
    'active null',
  ],
]

oneEngine(t, 'a refresh that fails costs a connection only when the provider has confirmed it', async (t, engine) => {
  const { app, provider, grant, user, tokens } = await connected(t, engine)
  const wrong: string[] = []
  for (const [name, fault, attempts, status] of FAILURES) {
    await connectAccount(app, provider, user)
    await expire(app, grant)
    provider.fault = fault
    for (const expected of attempts) {
      const said = await got(tokens.access(grant))
      const { due_s } = await grantOf(app, grant)
      const found = `${said}, ${due_s === null ? '-' : `${Math.round(due_s)} s`}`
      if (found !== expected) wrong.push(`${name}: ${found} instead of ${expected}`)
      await comeDue(app, grant)
    }
    const after = await statusOf(app, user)
    const found = `${after.status} ${after.status_reason}`
    if (found !== status) wrong.push(`${name}: ${found} instead of ${status}`)
    provider.fault = undefined
  }
  t.strictSame(wrong, [])
  const metrics = await app.deps.metrics.registry.metrics()
  const counted = [...metrics.matchAll(/^pulsebase_token_refreshes_total\{.*outcome="(\w+)"\} (\d+)$/gm)]
  t.strictSame(Object.fromEntries(counted.map(([, outcome, count]) => [outcome, Number(count)])), {
    ...{ refused: 1, revoked: 1, misconfigured: 5, unavailable: 1 },
  })
  t.match(metrics, 'pulsebase_provider_requests_total{provider="polar",status="429"} 1')
  const revoked = (await connectionEvents(app)).filter(({ type }) => type === 'connection.revoked')
  t.strictSame(
    revoked.map(({ data }) => data.reason),
    ['refresh_failed'],
  )
})

oneEngine(t, 'one invalid_grant that was a mistake costs nothing', async (t, engine) => {
  const { app, provider, grant, user, tokens } = await connected(t, engine)
  await expire(app, grant)
  provider.fault = INVALID_GRANT
  t.equal(await got(tokens.access(grant)), DOUBTED)
  provider.fault = undefined
  t.equal(await got(tokens.access(grant)), DOUBTED, 'not before its time')
  await comeDue(app, grant)
  await refreshAhead(app.deps.oauth, tokens)
  t.match(await grantOf(app, grant), { state: 'live', version: 2, refusals: 0, due_s: null, held: false })
  t.equal((await statusOf(app, user)).status, 'active')
})

oneEngine(t, 'an answer that is lost is asked for again with the same token', async (t, engine) => {
  const { app, provider, grant, user, tokens } = await connected(t, engine)
  await t.test('where the provider allows it, nobody notices', async (t) => {
    provider.tokens.rotates = false
    await expire(app, grant)
    provider.fault = losingAnswers(1)
    t.ok(provider.accepts(await got(tokens.access(grant))))
    t.match(await grantOf(app, grant), { version: 2, refresh_doubt: 0 })
  })
  await t.test('where the old one is dead, the grant ends after more refusals than usual', async (t) => {
    provider.tokens.rotates = true
    await expire(app, grant)
    provider.fault = losingAnswers(1)
    const waits: number[] = []
    for (let attempt = 0; (await statusOf(app, user)).status === 'active' && attempt < 10; attempt += 1) {
      await got(tokens.access(grant))
      const { due_s } = await grantOf(app, grant)
      if (due_s !== null) waits.push(Math.round(due_s))
      await comeDue(app, grant)
    }
    t.strictSame(waits, [60, 300, 900])
  })
})

oneEngine(t, 'a refresh token that WHOOP no longer takes ends the connection', async (t, engine) => {
  const { app, simulator } = await startSimulated(t, engine, {
    ...{ world: { people: 1, days: 10 }, historicalSyncOnConnect: false },
  })
  const tokens = openAccessTokens(app.deps.oauth)
  // Both answers of its token endpoint: to a token that was used before, and to one of a grant that has ended.
  const ends: [how: string, path: string, body: object, waits: number[]][] = [
    ['the answer that had its successor was lost', 'faults', { kind: 'rotated_lost', times: 1 }, [60, 300, 900]],
    ['the person took the access back', 'revoke', { person: 'ana' }, [60]],
  ]
  const found: unknown[] = []
  for (const [how, path, body] of ends) {
    const user = await createUser(app)
    await connectPerson(app, { user, provider: 'whoop', person: 'ana' })
    const { id } = await app.db.one<{ id: string }>(`select id from provider_grant where state = 'live'`)
    await expire(app, id)
    await simulator.control('POST', path, { provider: 'whoop', ...body })
    const waits: number[] = []
    let said = ''
    for (let attempt = 0; (await statusOf(app, user)).status === 'active' && attempt < 10; attempt += 1) {
      said = await got(tokens.access(id))
      const { due_s } = await grantOf(app, id)
      if (due_s !== null) waits.push(Math.round(due_s))
      await comeDue(app, id)
    }
    found.push([how, waits, said, await statusOf(app, user)])
  }
  const revoked = { status: 'revoked', status_reason: 'refresh_failed' }
  t.strictSame(
    found,
    ends.map(([how, , , waits]) => [
      ...[how, waits, '401 Refresh token rejected for whoop; reconnection required', revoked],
    ]),
  )
})

oneEngine(t, 'a refresh takes away nothing that was granted', async (t, engine) => {
  const { app, provider, grant, tokens } = await connected(t, engine)
  const scope = () => app.db.query('select scope from provider_grant')
  const before = await scope()
  const answers: unknown[] = []
  // Some name the scope that was sent with the refresh alone; some know another word for it.
  for (const said of ['x:sleep', 'offline', '', '\0']) {
    await expire(app, grant)
    provider.fault = answering(200, { access_token: `access ${said}`, refresh_token: 'refresh', scope: said })
    answers.push([await got(tokens.access(grant)), await scope()])
  }
  t.strictSame(
    answers,
    ['x:sleep', 'offline', '', '\0'].map((said) => [`access ${said}`, before]),
  )
})

oneEngine(t, 'who was overtaken while it slept may have the only pair that works', async (t, engine) => {
  const { app, provider, grant, tokens } = await connected(t, engine)
  await expire(app, grant)
  const woken = later()
  const seen = provider.tokenRequests().length
  // The provider has rotated; its answer is read late.
  provider.fault = async ({ path }, response) => {
    if (path !== '/token' || provider.tokenRequests().length > seen + 1) return false
    const end = response.end.bind(response)
    response.end = (body: unknown) => {
      void woken.happened.then(() => end(body))
      return response
    }
    return false
  }
  const sleeper = got(tokens.access(grant))
  await waitUntil(async () => provider.tokenRequests().length > seen, 10_000, 10)
  await app.db.query(`update provider_grant set refresh_held_until = now() - interval '1 second'`)
  t.equal(await got(openAccessTokens(app.deps.oauth).access(grant)), DOUBTED)
  t.match(await grantOf(app, grant), { refresh_doubt: 1, refusals: 1 })
  woken.happen()
  t.ok(provider.accepts(await sleeper), 'its pair is stored')
  t.match(await grantOf(app, grant), { state: 'live', version: 2, refresh_doubt: 0, refusals: 0, held: false })
})

oneEngine(t, 'a refreshed pair outlives the loss of the database, in a file that shows nothing', async (t, engine) => {
  const { app, provider, grant } = await connected(t, engine)
  const { dataDir } = app.deps.config
  const files = async () => (await readdir(dataDir)).filter((name) => /^refreshed-.*\.json$/.test(name))
  await expire(app, grant)
  let away = true
  const lost = Object.assign(new Error('gone'), { code: '57P01' })
  const flaky = (text: string) => away && /set key_id = \$3/.test(text)
  const { saving } = app.deps.oauth
  const parts: OAuthParts = {
    ...app.deps.oauth,
    saving: { ...saving, query: (text, params) => (flaky(text) ? Promise.reject(lost) : saving.query(text, params)) },
  }
  const tokens = openAccessTokens(parts)
  await t.rejects(tokens.access(grant), /gone/)
  t.ok(await waitUntil(async () => (await files()).length === 1, 10_000, 10))
  const path = join(dataDir, (await files())[0] ?? '')
  t.equal((await stat(path)).mode & 0o777, 0o600)
  const text = await readFile(path, 'utf8')
  t.strictSame(
    [...provider.issued].filter((secret) => text.includes(secret)),
    [],
  )
  away = false
  await tokens.idle()
  t.strictSame(await files(), [], 'stored as soon as it is back')
  t.ok(provider.accepts(await got(openAccessTokens(app.deps.oauth).access(grant))))

  await t.test('and the end of the process', async (t) => {
    await expire(app, grant)
    away = true
    await t.rejects(openAccessTokens(parts).access(grant), /gone/)
    t.ok(await waitUntil(async () => (await files()).length === 1, 10_000, 10))
    await storeLeftBehind(app.deps.oauth)
    t.strictSame(await files(), [])
    t.ok(provider.accepts(await got(openAccessTokens(app.deps.oauth).access(grant))))
    away = false
  })
})

oneEngine(t, 'a refreshed pair is not given up', async (t, engine) => {
  const { app, provider } = await connected(t, engine)
  const { dataDir } = app.deps.config
  const { db, saving } = app.deps.oauth
  const nowhere = '/dev/null/nowhere'
  const why: [name: string, error: Error, dataDir: string][] = [
    ['the database restarts', Object.assign(new Error('gone'), { code: '57P01' }), dataDir],
    ['it is busy', errors.overloaded('Too many changes at once', 3), dataDir],
    ['something else is wrong', Object.assign(new Error('bad'), { code: '42883' }), dataDir],
    ['no file can be written', Object.assign(new Error('gone'), { code: '57P01' }), nowhere],
  ]
  const kept = why.map(async ([name, error, dir]) => {
    const grant = await connectAccount(app, provider, await createUser(app), { account: name })
    await expire(app, grant)
    let failures = 0
    const said: string[] = []
    const note = (_: unknown, message: string) => void said.push(message)
    const query: Database['query'] = (text, params) => {
      if (failures === 3 || !/set key_id = \$3/.test(text)) return saving.query(text, params)
      failures += 1
      return Promise.reject(error)
    }
    const parts = {
      ...{ ...app.deps.oauth, saving: { ...saving, query }, settings: { ...app.deps.config, dataDir: dir } },
      log: { error: note, warn: note, info: note } as unknown as OAuthParts['log'],
    }
    const tokens = openAccessTokens(parts)
    await tokens.access(grant).catch(() => {})
    await tokens.idle()
    const works = provider.accepts(await got(openAccessTokens(app.deps.oauth).access(grant)))
    return [name, works, failures, said]
  })
  const inFile = ['refreshed tokens cannot be stored yet, and are kept in a file', 'refreshed tokens are stored now']
  const inMemory = [
    'refreshed tokens can neither be stored nor written to DATA_DIR: they are lost if this process ends',
    'refreshed tokens are stored now',
  ]
  t.strictSame(
    await Promise.all(kept),
    why.map(([name, , dir]) => [name, true, 3, dir === nowhere ? inMemory : inFile]),
  )
  t.strictSame(await readdir(dataDir), [], 'no file is left')

  await t.test('nor refused by the limits of requests', async (t) => {
    const grant = await connectAccount(app, provider, await createUser(app), { account: 'busy' })
    await expire(app, grant)
    const query = () => Promise.reject(errors.overloaded('Too many changes at once', 3))
    const token = await got(openAccessTokens({ ...app.deps.oauth, db: { ...db, query } }).access(grant))
    t.ok(provider.accepts(token), token)
  })
})

oneEngine(t, 'a wrong key costs no connection, and a changed one opens what it should', async (t, engine) => {
  const { app, provider, grant, user } = await connected(t, engine)
  const { oauth, config } = app.deps
  const wrong = { ...oauth, vault: openVault(ANOTHER_KEY) }
  const tokens = openAccessTokens(wrong)
  const asked = provider.asked.length
  const unreadable = '503 The tokens of this connection were stored with another SECRET_KEY and cannot be read.'
  t.equal(await got(tokens.access(grant)), unreadable)
  await expire(app, grant)
  t.equal(await got(tokens.access(grant)), unreadable)
  await refreshAhead(wrong, tokens)
  t.equal(await reseal(wrong), false)
  t.match([await statusOf(app, user), await grantOf(app, grant)], [{ status: 'active' }, { state: 'live', version: 1 }])
  t.equal(provider.asked.length, asked, 'nobody is asked')

  const changed = { ...oauth, vault: openVault(ANOTHER_KEY, config.secretKey) }
  const keys = () => app.db.query<{ key_id: number }>('select distinct key_id from provider_grant')
  t.equal(await reseal(changed), false)
  t.strictSame(await keys(), [{ key_id: changed.vault.keyId }])
  t.ok(provider.accepts(await got(openAccessTokens(wrong).access(grant))), 'the new key alone is enough then')
})

oneEngine(t, 'grants are refreshed before somebody needs them', async (t, engine) => {
  const provider = await startProvider(t, 'polar', { refresh: { rotates: true, idleDays: 30 } })
  const app = await startCloudApp(t, engine, [provider])
  const grants: string[] = []
  for (const account of ['soon', 'a fifth', 'idle', 'fresh', 'waiting', 'ended']) {
    grants.push(await connectAccount(app, provider, await createUser(app), { account }))
  }
  const set = (account: string, fields: string) =>
    app.db.query(`update provider_grant set ${fields} where account_id = $1`, [account])
  await set('soon', `access_until = now() + interval '9 minutes'`)
  await set('a fifth', `access_until = now() + interval '4 hours', refreshed_at = now() - interval '20 hours'`)
  await set('idle', `access_until = now() + interval '90 days', refreshed_at = now() - interval '31 days'`)
  await set('waiting', `access_until = now(), refresh_due_at = now() + interval '1 minute'`)
  await set('ended', `access_until = now(), state = 'ended'`)
  let [running, most] = [0, 0]
  provider.fault = async ({ path }) => {
    if (path !== '/token') return false
    running += 1
    most = Math.max(most, running)
    await delay(20)
    running -= 1
    return false
  }
  await refreshAhead(app.deps.oauth, openAccessTokens(app.deps.oauth))
  const refreshed = await app.db.query<{ account_id: string }>(
    'select account_id from provider_grant where version > 1',
  )
  t.strictSame(new Set(refreshed.map(({ account_id }) => account_id)), new Set(['soon', 'a fifth', 'idle']))
  t.ok(most <= 4, 'four at a time at most')

  await t.test('an outage that looks like refusals revokes nobody', async (t) => {
    provider.fault = INVALID_GRANT
    for (let round = 0; round < 3; round += 1) {
      await app.db.query(
        `update provider_grant set access_until = now(), refresh_due_at = null, refreshed_at = now() - interval '1 hour'`,
      )
      await refreshAhead(app.deps.oauth, openAccessTokens(app.deps.oauth))
    }
    const ended = await app.db.query(`select from connection where status <> 'active'`)
    t.equal(ended.length, 0)
    await app.db.query(`update provider_grant set refused_since = now() - interval '25 hours', refresh_due_at = null`)
    await refreshAhead(app.deps.oauth, openAccessTokens(app.deps.oauth))
    const { revoked } = await app.db.one<{ revoked: number }>(
      `select count(*) as revoked from connection where status = 'revoked'`,
    )
    t.equal(revoked, 5, 'for a day at most')
  })
})

oneEngine(t, 'a token that an API refuses is renewed once an hour', async (t, engine) => {
  const { app, provider, grant: id, tokens } = await connected(t, engine)
  const account = openAccount({ parts: app.deps.oauth, tokens }, { id, provider: 'polar', issuer: null })
  const ask = async () => {
    const { status } = await account.ask({ path: '/me' })
    const { spent } = await app.db.one<{ spent: boolean }>(
      'select renewed_at is not null as spent from provider_grant where id = $1',
      [id],
    )
    return { status, spent, requests: provider.tokenRequests().length }
  }
  t.strictSame(await ask(), { status: 200, spent: false, requests: 1 })
  // Another process, whose refresh ends the token that this one knows.
  await openAccessTokens(app.deps.oauth).renew(id, 1)
  t.strictSame(await ask(), { status: 200, spent: false, requests: 2 }, 'one that was replaced is looked up again')
  provider.fault = ({ path }, response) => path === '/me' && !!response.writeHead(401).end()
  t.strictSame(await ask(), { status: 401, spent: true, requests: 3 })
  t.strictSame(await ask(), { status: 401, spent: true, requests: 3 })
})

oneEngine(t, 'a token that ends without a refresh token expires the connections', async (t, engine) => {
  const provider = await startProvider(t, 'polar')
  provider.tokens.refreshes = false
  const app = await startCloudApp(t, engine, [provider])
  const users = [await createUser(app), await createUser(app)]
  let grant = ''
  for (const user of users) grant = await connectAccount(app, provider, user)
  const tokens = openAccessTokens(app.deps.oauth)
  const { token, version } = await tokens.access(grant)
  t.equal(
    await got(tokens.renew(grant, version)),
    '502 The access token of this connection was refused by Polar. The connection is active; a new token is tried within an hour.',
  )
  t.equal(await got(tokens.access(grant)), token, 'one refusal does not end it')
  await expire(app, grant)
  t.equal(await got(tokens.access(grant)), '401 Token expired and no refresh token available for polar')
  for (const user of users)
    t.strictSame(await statusOf(app, user), { status: 'expired', status_reason: 'refresh_failed' })
  const metrics = await app.deps.metrics.registry.metrics()
  t.match(metrics, 'pulsebase_provider_grants{provider="polar",state="ended"} 1\n')
  t.equal(await got(tokens.access(grant)), '401 Polar authorization expired. Please re-authorize.')
  const revoked = (await connectionEvents(app)).filter(({ type }) => type === 'connection.revoked')
  t.strictSame(
    revoked.map(({ data }) => data.reason),
    ['refresh_failed', 'refresh_failed'],
  )
  t.equal(await connectAccount(app, provider, users[0] ?? ''), grant, 'a new consent continues the grant')
  t.strictSame(await statusOf(app, users[0] ?? ''), { status: 'active', status_reason: null })
})
