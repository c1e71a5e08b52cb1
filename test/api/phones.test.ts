// How phones sign in, stay signed in and sign out, by an application, a developer or a code (contract 9.6 to 9.8).
import { readFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { signAccessToken } from '../../server/http/tokens.ts'
import { startTestApp, type TestAnswer, type TestApp } from '../support/app.ts'
import { body, createUser, heartRate, oneEngine, startImports, upload } from '../support/sdk.ts'
import { engines } from '../support/servers.ts'
import { runs } from '../support/thorough.ts'

const [engine] = engines()
if (!engine) throw new Error('no engine')
const app = await startTestApp(t, engine)

interface Tokens {
  access_token: string
  refresh_token: string
}

const BAD_APP = { detail: 'Invalid app credentials' }
const BAD_REFRESH = { detail: 'Invalid or revoked refresh token' }
const BAD_CODE = { detail: 'Invalid or expired invitation code' }
const NO_CREDENTIAL = { detail: 'Authentication required: provide SDK token or API key' }
const notFound = (user: string) => ({ detail: `User with ID: ${user} not found.` })
const NOBODY = '00000000-0000-4000-8000-000000000000'

type Auth = 'key' | 'developer' | 'none' | { bearer: string }

const newApplication = async (app: TestApp): Promise<{ app_id: string; app_secret: string }> => {
  const { app_id, app_secret } = (
    await app.request('POST', '/api/v1/applications', { auth: 'developer', body: { name: 'Pulse' } })
  ).body
  return { app_id, app_secret }
}
const issue = (app: TestApp, userId: string, credentials: unknown, auth: Auth = 'none') =>
  app.request('POST', `/api/v1/users/${userId}/token`, {
    auth,
    ...(credentials !== undefined && { body: credentials }),
  })
const invite = (app: TestApp, userId: string, auth: Auth = 'developer') =>
  app.request('POST', `/api/v1/users/${userId}/invitation-code`, { auth })
const redeem = (app: TestApp, code: unknown) =>
  app.request('POST', '/api/v1/invitation-code/redeem', { auth: 'none', body: { code } })
const refresh = (app: TestApp, refresh_token: string) =>
  app.request('POST', '/api/v1/token/refresh', { auth: 'none', body: { refresh_token } })
const revoke = (app: TestApp, refresh_token: string) =>
  app.request('POST', '/api/v1/token/revoke', { auth: 'none', body: { refresh_token } })
const sync = (app: TestApp, userId: string, bearer: string) =>
  upload(app, userId, body([heartRate(Date.parse('2026-02-24T08:30:00Z'), 62)]), { auth: { bearer } })

/** Moves time 61 seconds on, so that a rotated token is no longer answered. */
const endGrace = (app: TestApp) =>
  app.db.query(`update refresh_token set rotated_at = rotated_at - interval '61 seconds' where rotated_at is not null`)

const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())

function areTokens(t: Test, { status, body, headers }: TestAnswer, userId: string, appId: string): Tokens {
  t.equal(status, 200)
  t.equal(headers.get('cache-control'), 'private, no-store')
  t.match(body, { token_type: 'bearer', refresh_token: /^rt-[0-9a-f]{32}$/, expires_in: 3600 })
  const claims = claimsOf(body.access_token)
  t.match(claims, { sub: userId, scope: 'sdk', app_id: appId })
  t.equal(claims.exp - claims.iat, 3600)
  return body
}

function refused(t: Test, answer: TestAnswer, status: number, expected: object): void {
  t.equal(answer.status, status)
  // The advice on what to send instead is tested with the guards.
  const { hint, ...body } = answer.body
  t.strictSame(body, expected)
}

oneEngine(t, 'a phone from its first token to its last', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const user = await createUser(app)
  const application = await newApplication(app)
  const first = areTokens(t, await issue(app, user, application), user, application.app_id)
  t.equal((await sync(app, user, first.access_token)).status, 202)
  const second = areTokens(t, await refresh(app, first.refresh_token), user, application.app_id)
  t.equal((await sync(app, user, second.access_token)).status, 202)
  t.equal((await revoke(app, second.refresh_token)).status, 204)
  refused(t, await refresh(app, second.refresh_token), 401, BAD_REFRESH)
  refused(t, await revoke(app, second.refresh_token), 404, { detail: 'Refresh token not found' })
})

t.test('tokens for a phone', async (t) => {
  const user = await createUser(app)
  const application = await newApplication(app)

  t.test('are issued to a developer, without a body', async (t) => {
    const appId = `admin:${app.developer.id}`
    areTokens(t, await issue(app, user, undefined, 'developer'), user, appId)
    areTokens(t, await issue(app, user, {}, 'developer'), user, appId)
    areTokens(t, await issue(app, user, { app_id: null, app_secret: null }, 'developer'), user, appId)
    areTokens(t, await issue(app, user.toUpperCase(), undefined, 'developer'), user, appId)
  })

  t.test('are issued to an application, whatever else comes with the request', async (t) => {
    for (const auth of ['key', 'developer', 'none', { bearer: 'x' }, { bearer: await app.sdkToken(user) }] as const) {
      areTokens(t, await issue(app, user, application, auth), user, application.app_id)
    }
  })

  t.test('are refused to wrong credentials', async (t) => {
    const other = await newApplication(app)
    const wrong = [
      { ...application, app_secret: `secret_${'0'.repeat(64)}` },
      { ...application, app_secret: other.app_secret },
      { ...application, app_secret: application.app_secret.toUpperCase() },
      { ...application, app_secret: application.app_secret.slice(0, -1) },
      { ...application, app_id: `app_${'0'.repeat(32)}` },
      { ...application, app_id: application.app_id.toUpperCase() },
      { app_id: "' or true --", app_secret: 'x' },
    ]
    for (const credentials of wrong) {
      refused(t, await issue(app, user, credentials), 401, BAD_APP)
      refused(t, await issue(app, NOBODY, credentials), 401, BAD_APP)
    }
    refused(t, await issue(app, user, wrong[0], 'developer'), 401, BAD_APP)
  })

  t.test('need credentials', async (t) => {
    const detail = 'Either app credentials (app_id, app_secret) or admin authentication (Bearer token) is required'
    const { app_id, app_secret } = application
    for (const credentials of [undefined, {}, { app_id }, { app_secret }, { app_id, app_secret: '' }]) {
      refused(t, await issue(app, user, credentials), 400, { detail })
      refused(t, await issue(app, user, credentials, 'key'), 400, { detail })
    }
  })

  t.test('are for developers that are still there, and not for phones', async (t) => {
    const expired = await signAccessToken(app.deps.keys, 'developer', app.developer.id, { lifetimeSeconds: -1 })
    for (const bearer of ['x', expired, await signAccessToken(app.deps.keys, 'developer', NOBODY)]) {
      refused(t, await issue(app, user, undefined, { bearer }), 401, { detail: 'Could not validate credentials' })
    }
    const own = (await issue(app, user, application)).body.access_token
    refused(t, await issue(app, user, undefined, { bearer: own }), 401, {
      detail: 'SDK tokens cannot access this endpoint',
    })
  })

  t.test('are for users that there are', async (t) => {
    refused(t, await issue(app, NOBODY, application), 404, notFound(NOBODY))
    refused(t, await issue(app, NOBODY, undefined, 'developer'), 404, notFound(NOBODY))
    t.equal((await issue(app, 'x', application)).status, 422)
    for (const credentials of [{ app_id: 1 }, [], 'x', '{'])
      t.equal((await issue(app, user, credentials)).status > 400, true)
  })

  t.test('open the uploads of their user and nothing else', async (t) => {
    const other = await createUser(app)
    const { code } = (await invite(app, user)).body
    const all = [
      (await issue(app, user, application)).body,
      (await issue(app, user, undefined, 'developer')).body,
      (await redeem(app, code)).body,
    ]
    for (const { access_token: bearer, refresh_token } of all) {
      t.equal((await sync(app, user, bearer)).status, 202)
      refused(t, await sync(app, other, bearer), 403, { detail: 'Token does not match user_id' })
      const noKey = { detail: 'Authentication required: provide JWT token or API key' }
      for (const path of ['', '/connections', '/data-sources', '/timeseries', '/summaries/data']) {
        refused(t, await app.request('GET', `/api/v1/users/${user}${path}`, { auth: { bearer } }), 401, noKey)
      }
      const batches = (id: string) => app.request('GET', `/api/v1/sdk/users/${id}/sync/batches`, { auth: { bearer } })
      t.equal((await batches(user)).status, 200)
      refused(t, await batches(other), 403, { detail: 'Token does not match user_id' })
      refused(
        t,
        await app.request('DELETE', `/api/v1/users/${user}/connections/apple/data`, { auth: { bearer } }),
        401,
        noKey,
      )
      const noDeveloper = { detail: 'SDK tokens cannot access this endpoint' }
      refused(t, await invite(app, user, { bearer }), 401, noDeveloper)
      refused(t, await app.request('GET', '/api/v1/auth/me', { auth: { bearer } }), 401, noDeveloper)
      refused(t, await app.request('DELETE', `/api/v1/users/${user}`, { auth: { bearer } }), 401, noDeveloper)
      refused(t, await app.request('POST', '/api/v1/auth/logout', { auth: { bearer } }), 401, noDeveloper)
      t.equal((await app.request('GET', '/api/v1/users', { auth: { bearer: refresh_token } })).status, 401)
    }
  })
})

t.test('wrong app credentials are limited, right ones never', async (t) => {
  const strict = await app.another({ loginAttemptsPerMinute: 3 })
  await app.db.query('delete from throttle')
  const user = await createUser(app)
  const application = await newApplication(app)
  const wrong = { ...application, app_secret: 'x' }
  for (let n = 0; n < 5; n += 1) t.equal((await issue(strict, user, application)).status, 200)
  for (let n = 0; n < 3; n += 1) refused(t, await issue(strict, user, wrong), 401, BAD_APP)
  const limited = await issue(strict, user, wrong)
  t.equal(limited.status, 429)
  t.match(limited.body.detail, /^Too many attempts\. Try again in \d+ seconds\.$/)
  t.ok(Number(limited.headers.get('retry-after')) > 0)
  t.equal((await issue(strict, user, application)).status, 200, 'another phone of the same network')
  t.equal((await issue(strict, user, undefined, 'developer')).status, 200)
})

t.test('refresh tokens of a phone', async (t) => {
  const user = await createUser(app)
  const application = await newApplication(app)
  const session = async (): Promise<Tokens> => (await issue(app, user, application)).body

  t.test('keep kind, user and application', async (t) => {
    const { code } = (await invite(app, user)).body
    const invited = (await redeem(app, code)).body
    areTokens(t, await refresh(app, invited.refresh_token), user, `invite:${app.developer.id}`)
    const admin = (await issue(app, user, undefined, 'developer')).body
    const renewed = areTokens(t, await refresh(app, admin.refresh_token), user, `admin:${app.developer.id}`)
    areTokens(t, await refresh(app, renewed.refresh_token), user, `admin:${app.developer.id}`)
  })

  t.test('are stored as hashes, for 30 days from each rotation', async (t) => {
    const { refresh_token } = await session()
    await app.db.query(`update refresh_token set expires_at = now() + interval '1 minute' where rotated_at is null`)
    const next = (await refresh(app, refresh_token)).body
    const rows = await app.db.query<{ days: number; text: string }>(
      `select round(date_part('epoch', expires_at - now()) / 86400)::int4 as days, t::text as text
       from refresh_token t order by created_at desc limit 1`,
    )
    t.equal(rows[0]?.days, 30)
    t.notOk(rows[0]?.text.includes(next.refresh_token.slice(3)))
    await app.db.query(`update refresh_token set expires_at = now() where rotated_at is null`)
    refused(t, await refresh(app, next.refresh_token), 401, BAD_REFRESH)
  })

  t.test('answer a lost refresh again, with the same refresh token', async (t) => {
    const first = await session()
    const lost = areTokens(t, await refresh(app, first.refresh_token), user, application.app_id)
    await app.db.query(`update refresh_token set rotated_at = rotated_at - interval '55 seconds'`)
    const again = areTokens(t, await refresh(app, first.refresh_token), user, application.app_id)
    t.equal(again.refresh_token, lost.refresh_token)
    t.equal((await sync(app, user, again.access_token)).status, 202)
    t.equal((await refresh(app, again.refresh_token)).status, 200)
  })

  // What is sent, and the token that it is answered with, a new letter for a new one; `…` are ten minutes.
  const SPENT: readonly [what: string, story: string][] = [
    ['the answer is lost, and asked for ten minutes later', 'a>b … a>c c>d … d>e'],
    ['it is lost again and again', 'a>b … a>c … a>d … a>e e>f'],
    ['it is lost, and asked for at once', 'a>b a>b b>c'],
    ['the later answer is asked for at once', 'a>b … a>c a>c c>d a>d'],
    ['it is lost later on', 'a>b b>c … c>d … c>e e>f'],
    ['its successor was used, then it comes back: a theft', 'a>b b>c … a>401 c>401'],
    ['its successor was used, once it was asked for again', 'a>b … a>c c>d … a>401 d>401'],
    ['it comes back from two generations ago', 'a>b b>c c>d … a>401 d>401'],
    ['two hold it: the phone got its answer after all', 'a>b … a>c b>401 c>401'],
    ['two hold it: the phone went on', 'a>b … a>c c>d b>401 d>401'],
    ['two hold the next one', 'a>b b>c … b>d c>401 d>401'],
    ['after it was taken for stolen', 'a>b b>c … a>401 … b>401'],
  ]

  t.test('answer once more while their successor is unused, and end with their family when it was used', async (t) => {
    const wrong: string[] = []
    for (const [what, story] of SPENT) {
      const tablet = await session()
      const tokens = new Map([['a', (await session()).refresh_token]])
      const found: string[] = []
      for (const step of story.split(' ')) {
        if (step === '…') {
          await app.db.query(`update refresh_token set rotated_at = rotated_at - interval '10 minutes'`)
          found.push(step)
          continue
        }
        const [sent = '', wanted = ''] = step.split('>')
        const { status, body } = await refresh(app, tokens.get(sent) ?? '')
        const known = [...tokens].find(([, token]) => token === body.refresh_token)?.[0]
        if (status === 200 && !known) tokens.set(wanted, body.refresh_token)
        found.push(
          `${sent}>${status === 200 ? (known ?? (tokens.get(wanted) === body.refresh_token ? wanted : '?')) : status}`,
        )
      }
      if (found.join(' ') !== story) wrong.push(`${what}: ${found.join(' ')}`)
      if ((await refresh(app, tablet.refresh_token)).status !== 200) wrong.push(`${what}: another phone`)
    }
    t.strictSame(wrong, [])
  })

  t.test('survive ten refreshes at the same time, in two processes', async (t) => {
    const other = await app.another()
    const { refresh_token } = await session()
    const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => refresh(n % 2 ? app : other, refresh_token)))
    const tokens = answers.map((answer) => areTokens(t, answer, user, application.app_id).refresh_token)
    t.equal(new Set(tokens).size, 1, 'whichever answer the phone keeps')
    await endGrace(app)
    t.equal((await refresh(app, tokens[0] as string)).status, 200)
  })

  t.test('are not issued while their family is being revoked', async (t) => {
    for (let run = 0; run < runs(3, 5); run += 1) {
      const first = await session()
      const second = (await refresh(app, first.refresh_token)).body
      const third = (await refresh(app, second.refresh_token)).body
      await endGrace(app)
      // The thief's old token and the phone's new one, at the same time.
      const [reused, renewed] = await Promise.all([
        refresh(app, first.refresh_token),
        refresh(app, third.refresh_token),
      ])
      refused(t, reused, 401, BAD_REFRESH)
      if (renewed.status === 200) refused(t, await refresh(app, renewed.body.refresh_token), 401, BAD_REFRESH)
      else refused(t, renewed, 401, BAD_REFRESH)
    }
  })

  t.test('are not spent by a refresh that the database did not finish', async (t) => {
    const { refresh_token } = await session()
    const holder = await app.db.pool.connect()
    await holder.query('begin')
    await holder.query('select 1 from refresh_token where rotated_at is null for update')
    const cut = refresh(app, refresh_token)
    const waiting = `select pid from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like 'update refresh_token%'`
    let pid: number | undefined
    while (pid === undefined) pid = (await app.db.query<{ pid: number }>(waiting))[0]?.pid
    await app.db.query('select pg_terminate_backend($1)', [pid])
    t.equal((await cut).status, 503, 'on which a phone keeps its session')
    await holder.query('commit')
    holder.release()
    const renewed = await refresh(app, refresh_token)
    t.equal(renewed.status, 200)
    await endGrace(app)
    t.equal((await refresh(app, renewed.body.refresh_token)).status, 200)
  })

  t.test('end with the user', async (t) => {
    const doomed = await createUser(app)
    const phone = (await issue(app, doomed, application)).body
    const { code } = (await invite(app, doomed)).body
    t.equal((await app.request('DELETE', `/api/v1/users/${doomed}`, { auth: 'developer' })).status, 200)
    refused(t, await refresh(app, phone.refresh_token), 401, BAD_REFRESH)
    refused(t, await sync(app, doomed, phone.access_token), 401, NO_CREDENTIAL)
    refused(t, await redeem(app, code), 404, BAD_CODE)
    t.equal((await refresh(app, (await session()).refresh_token)).status, 200)
  })

  t.test('are not issued to a user that is being deleted, and nobody waits for anybody in a circle', async (t) => {
    for (let run = 0; run < runs(3, 5); run += 1) {
      const doomed = await createUser(app)
      const phone = (await issue(app, doomed, application)).body
      const { code } = (await invite(app, doomed)).body
      const [deleted, ...others] = await Promise.all([
        app.request('DELETE', `/api/v1/users/${doomed}`, { auth: 'developer' }),
        refresh(app, phone.refresh_token),
        issue(app, doomed, application),
        redeem(app, code),
        invite(app, doomed),
      ])
      t.equal(deleted.status, 200)
      for (const { status, body } of others) {
        t.ok([200, 201, 401, 404].includes(status), String(status))
        if (body.refresh_token) refused(t, await refresh(app, body.refresh_token), 401, BAD_REFRESH)
        if (body.code) refused(t, await redeem(app, body.code), 404, BAD_CODE)
      }
    }
  })

  t.test('are none of a developer\u2019s business, and his are none of theirs', async (t) => {
    const form = new URLSearchParams({ username: app.developer.email, password: app.developer.password })
    const login = (await app.request('POST', '/api/v1/auth/login', { auth: 'none', body: form })).body
    const phone = await session()
    const logout = await app.request('POST', '/api/v1/auth/logout', {
      auth: { bearer: login.access_token },
      body: { refresh_token: phone.refresh_token },
    })
    t.equal(logout.status, 200)
    t.equal((await refresh(app, phone.refresh_token)).status, 200, 'a logout ends no session of a phone')
    const renewed = (await refresh(app, login.refresh_token)).body
    t.match(claimsOf(renewed.access_token), { scope: 'developer', sub: app.developer.id })
    t.equal((await app.request('GET', '/api/v1/auth/me', { auth: { bearer: renewed.access_token } })).status, 200)
  })
})

oneEngine(t, 'an invitation code', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const user = await createUser(app)
  const before = Date.now()
  const answer = await invite(app, user)
  t.equal(answer.status, 201)
  t.equal(answer.headers.get('cache-control'), 'private, no-store')
  t.match(answer.body, { id: /^[0-9a-f-]{36}$/, code: /^[ABCDEFGHJKLMNPQRSTUVWXYZ2-9]{8}$/, user_id: user })
  t.strictSame(Object.keys(answer.body).sort(), ['code', 'created_at', 'expires_at', 'id', 'user_id'])
  const { code, created_at, expires_at } = answer.body
  t.equal(Math.round((Date.parse(expires_at) - Date.parse(created_at)) / 1000), 7 * 86_400)
  t.ok(Date.parse(created_at) >= before && Date.parse(created_at) <= Date.now())
  const [stored] = await app.db.query<{ text: string }>('select c::text as text from invitation_code c')
  t.notOk(stored?.text.includes(code))

  const redeemed = await redeem(app, code)
  const tokens = areTokens(t, redeemed, user, `invite:${app.developer.id}`)
  t.equal(redeemed.body.user_id, user)
  t.equal((await sync(app, user, tokens.access_token)).status, 202)
  refused(t, await redeem(app, code), 404, BAD_CODE)
})

t.test('invitation codes', async (t) => {
  await app.db.query('delete from invitation_code')
  const user = await createUser(app)

  t.test('that are unknown, used, replaced or expired look alike', async (t) => {
    refused(t, await redeem(app, 'ABCD2345'), 404, BAD_CODE)
    const first = (await invite(app, user)).body
    const second = (await invite(app, user)).body
    t.not(second.id, first.id)
    refused(t, await redeem(app, first.code), 404, BAD_CODE)
    t.equal((await redeem(app, second.code)).status, 200)
    refused(t, await redeem(app, second.code), 404, BAD_CODE)
    const third = (await invite(app, user)).body
    await app.db.query('update invitation_code set expires_at = now() where user_id = $1', [user])
    refused(t, await redeem(app, third.code), 404, BAD_CODE)
    t.equal((await redeem(app, (await invite(app, user)).body.code)).status, 200, 'the next one works')
  })

  t.test('of other users stay open', async (t) => {
    const other = await createUser(app)
    const mine = (await invite(app, user)).body
    const theirs = (await invite(app, other)).body
    t.equal((await redeem(app, mine.code)).body.user_id, user)
    t.equal((await redeem(app, theirs.code)).body.user_id, other)
  })

  t.test('let one of ten phones in that come at once', async (t) => {
    const other = await app.another()
    for (let run = 0; run < runs(2, 3); run += 1) {
      const { code } = (await invite(app, user)).body
      const before = await sessions(app)
      const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => redeem(n % 2 ? app : other, code)))
      t.strictSame(answers.map(({ status }) => status).sort(), [200, ...Array(9).fill(404)])
      t.equal(await sessions(app), before + 1)
    }
  })

  t.test('have one form only', async (t) => {
    const { code } = (await invite(app, user)).body
    for (const bad of [code.toLowerCase(), ` ${code}`, `${code}A`, code.slice(1), '', 'ABCD0123', `${code}\n`]) {
      const answer = await redeem(app, bad)
      t.equal(answer.status, 422, JSON.stringify(bad))
      t.match(answer.body.detail, [{ type: 'string_pattern_mismatch', loc: ['body', 'code'] }])
    }
    for (const bad of [null, 12345678, {}]) t.equal((await redeem(app, bad)).status, 422)
    t.equal((await app.request('POST', '/api/v1/invitation-code/redeem', { auth: 'none' })).status, 422)
    t.equal((await redeem(app, code)).status, 200, 'none of that used it')
  })

  t.test('that expired are cleared away every night', async (t) => {
    const other = await createUser(app)
    await invite(app, user)
    await invite(app, other)
    await app.db.query(`update invitation_code set expires_at = now() - interval '1 second' where user_id = $1`, [user])
    const jobs = await startImports(t, app)
    await jobs.enqueue('prune', 'cron:prune')
    const left = async () => app.db.query<{ user_id: string }>('select user_id from invitation_code')
    t.ok(await waitUntil(async () => (await left()).length === 1, 60_000, 10))
    t.strictSame(await left(), [{ user_id: other }])
  })

  t.test('are made by developers, for users that there are', async (t) => {
    t.match(await invite(app, user, 'key'), { status: 401, body: { detail: 'Could not validate credentials' } })
    refused(t, await invite(app, user, 'none'), 401, { detail: 'Could not validate credentials' })
    refused(t, await invite(app, NOBODY), 404, notFound(NOBODY))
    t.equal((await invite(app, 'x')).status, 422)
  })
})

t.test('phones are listed and signed out by developers', async (t) => {
  const user = await createUser(app)
  const other = await createUser(app)
  const application = await newApplication(app)
  const phones = (method: string, path = '', auth: Auth = 'developer', id = user) =>
    app.request(method, `/api/v1/users/${id}/phones${path}`, { auth })
  const list = async (id = user): Promise<{ id: string; app_id: string }[]> =>
    (await phones('GET', '', 'developer', id)).body

  t.strictSame(await list(), [])
  const lost = (await issue(app, user, application)).body
  const kept = (await redeem(app, (await invite(app, user)).body.code)).body
  const foreign = (await issue(app, other, undefined, 'developer')).body
  await issue(app, user, undefined, 'developer')
  const renewed = (await refresh(app, lost.refresh_token)).body

  const listed = await phones('GET')
  t.equal(listed.status, 200)
  const developer = app.developer.id
  t.strictSame(
    listed.body.map(({ app_id, application }: Record<string, string>) => [app_id, application]),
    [
      [application.app_id, 'Pulse'],
      [`admin:${developer}`, null],
      [`invite:${developer}`, null],
    ],
    'one line a phone, whoever renewed last first',
  )
  t.strictSame(Object.keys(listed.body[0]), ['id', 'app_id', 'application', 'renewed_at', 'expires_at'])
  t.notMatch(JSON.stringify(listed.body), 'rt-')

  const paged: unknown[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const page = await phones('GET', `?limit=1${cursor && `&cursor=${cursor}`}`)
    paged.push(...page.body)
    cursor = page.headers.get('x-next-cursor')
  }
  t.strictSame(paged, listed.body)
  const [first] = (await phones('GET', '?limit=1')).headers.get('x-next-cursor') ?? ''
  t.equal((await phones('GET', `?cursor=${first}`)).status, 400)
  t.equal((await phones('GET', '?limit=251')).status, 422)

  const { id } = listed.body[0]
  t.equal((await phones('DELETE', `/${id}`, 'developer', other)).status, 404, 'of another user')
  t.equal((await sync(app, user, renewed.access_token)).status, 202)
  t.equal((await phones('DELETE', `/${id}`)).status, 204)
  for (const token of [lost.access_token, renewed.access_token]) {
    refused(t, await sync(app, user, token), 401, NO_CREDENTIAL)
  }
  refused(t, await refresh(app, renewed.refresh_token), 401, BAD_REFRESH)
  refused(t, await phones('DELETE', `/${id}`), 404, { detail: 'Phone not found' })
  t.equal((await sync(app, user, kept.access_token)).status, 202)

  t.strictSame((await phones('DELETE')).body, { signed_out: 2 })
  refused(t, await sync(app, user, kept.access_token), 401, NO_CREDENTIAL)
  t.strictSame([await list(), (await list(other)).length], [[], 1])
  t.equal((await sync(app, other, foreign.access_token)).status, 202)
  t.strictSame((await phones('DELETE')).body, { signed_out: 0 })

  for (const [method, path] of [
    ['GET', ''],
    ['DELETE', ''],
    ['DELETE', `/${id}`],
  ] as const) {
    refused(t, await phones(method, path, 'developer', NOBODY), 404, notFound(NOBODY))
    refused(t, await phones(method, path, 'key'), 401, { detail: 'Could not validate credentials' })
  }
})

t.test('phones of an earlier version are signed out with their developer, too', async (t) => {
  const app = await startTestApp(t, engine)
  const user = await createUser(app)
  const join = async (email: string) => {
    const sql = `insert into developer (email, password_hash) values ($1, 'x') returning id`
    const { id } = await app.db.one<{ id: string }>(sql, [email])
    const bearer = await signAccessToken(app.deps.keys, 'developer', id)
    return { id, phone: (await issue(app, user, undefined, { bearer })).body as Tokens }
  }
  const [gone, grace] = [await join('gone@example.org'), await join('grace@example.org')]
  const form = new URLSearchParams({ username: app.developer.email, password: app.developer.password })
  const login = (await app.request('POST', '/api/v1/auth/login', { auth: 'none', body: form })).body
  const kept = [(await issue(app, user, await newApplication(app))).body, login]
  // As before: nothing refers to a developer.
  await app.db.query('alter table refresh_token drop column let_in_by')
  await app.db.query('delete from developer where id = $1', [gone.id])
  const file = new URL('../../sql/migrations/0026-phones-of-developers.sql', import.meta.url)
  await app.db.pool.query(await readFile(file, 'utf8'))
  const statuses = async (tokens: Tokens[]) => {
    const answers = await Promise.all(tokens.map(({ refresh_token }) => refresh(app, refresh_token)))
    return answers.map(({ status }) => status)
  }
  t.strictSame(await statuses([gone.phone, grace.phone, ...kept]), [401, 200, 200, 200])
  await app.db.query('delete from developer where id = $1', [grace.id])
  t.strictSame(await statuses([grace.phone, ...kept]), [401, 200, 200])
})

t.test('more phones than are signed out at once, while they renew their tokens', async (t) => {
  const user = await createUser(app)
  const phone = (await issue(app, user, undefined, 'developer')).body
  await app.db.query(
    `insert into refresh_token (user_id, app_id, let_in_by, family_id, token_hash, expires_at)
     select user_id, app_id, let_in_by, gen_random_uuid(), sha256(n::text::bytea), expires_at
     from refresh_token, generate_series(1, 250) n where user_id = $1`,
    [user],
  )
  const [renewed, signedOut] = await Promise.all([
    refresh(app, phone.refresh_token),
    app.request('DELETE', `/api/v1/users/${user}/phones`, { auth: 'developer' }),
  ])
  t.strictSame(signedOut.body, { signed_out: 251 })
  if (renewed.status === 200) refused(t, await refresh(app, renewed.body.refresh_token), 401, BAD_REFRESH)
  else refused(t, renewed, 401, BAD_REFRESH)
})

t.test('a phone that signs out is out at once', async (t) => {
  const user = await createUser(app)
  const phone = (await issue(app, user, undefined, 'developer')).body
  t.equal((await revoke(app, phone.refresh_token)).status, 204)
  refused(t, await sync(app, user, phone.access_token), 401, NO_CREDENTIAL)
})

t.test('redemptions are limited per address, wrong and right ones', async (t) => {
  const strict = await app.another({ loginAttemptsPerMinute: 3 })
  await app.db.query('delete from throttle')
  const user = await createUser(app)
  const { code } = (await invite(app, user)).body
  const statuses = (
    await Promise.all(['AAAAAAAA', 'BBBBBBBB', 'CCCCCCCC', 'DDDDDDDD'].map((bad) => redeem(strict, bad)))
  ).map(({ status }) => status)
  t.strictSame(statuses.sort(), [404, 404, 404, 429])
  const limited = await redeem(strict, code)
  t.equal(limited.status, 429)
  t.ok(Number(limited.headers.get('retry-after')) > 0)
  await app.db.query('update throttle set expires_at = now()')
  t.equal((await redeem(strict, code)).status, 200, 'the code was not used up')
})

const sessions = async (app: TestApp) =>
  (await app.db.one<{ n: number }>('select count(*) as n from refresh_token where user_id is not null')).n
