// Signing in to the web console: the cookie, its header, codes that work once, and every way a sign-in ends.
import t from 'tap'
import { newConsoleCode } from '../../server/api/console/codes.ts'
import { routes } from '../../server/api/index.ts'
import { ownTasks } from '../../server/jobs.ts'
import { startTestApp, type TestAnswer, type TestApp } from '../support/app.ts'
import { exchange } from '../support/exchange.ts'
import { createUser, importerOf, oneEngine } from '../support/sdk.ts'
import { engines } from '../support/servers.ts'

const [engine] = engines()
if (!engine) throw new Error('no engine')

const PATH = '/api/v1/console/session'
const FROM_CONSOLE = { 'X-Pulsebase-Console': '1' }

const signIn = (app: TestApp, body: object, headers: Record<string, string> = FROM_CONSOLE) =>
  app.request('POST', PATH, { auth: 'none', body, headers })
const withPassword = (app: TestApp) => {
  const { email, password } = app.developer
  return signIn(app, { email, password })
}
const cookieIn = (answer: TestAnswer) => answer.headers.get('set-cookie')?.split(';')[0] ?? ''
/** The headers of a page of the console that was signed in. */
const signedIn = async (app: TestApp) => ({ ...FROM_CONSOLE, Cookie: cookieIn(await withPassword(app)) })
const ask = (app: TestApp, headers: Record<string, string>, path = PATH) =>
  app.request('GET', path, { auth: 'none', headers })
const signOut = (app: TestApp, headers: Record<string, string>, query = '') =>
  app.request('DELETE', `${PATH}${query}`, { auth: 'none', headers })

oneEngine(t, 'a sign-in', async (t, engine) => {
  const app = await startTestApp(t, engine)

  await t.test('is a cookie that scripts cannot read and other sites do not send', async (t) => {
    const answer = await withPassword(app)
    t.equal(answer.status, 201)
    t.match(answer.body, { developer: { email: app.developer.email }, signed_in_at: /Z$/, ends_at: /Z$/ })
    const [cookie = '', ...flags] = (answer.headers.get('set-cookie') ?? '').split('; ')
    t.match(cookie, /^pulsebase=[\w-]{43}$/)
    t.strictSame(flags, ['Path=/', 'Max-Age=2592000', 'HttpOnly', 'SameSite=Strict'])
    const stored = await app.db.one<{ text: string }>('select s::text as text from console_session s')
    t.notMatch(stored.text, cookie.slice('pulsebase='.length), 'its hash is stored')
    const headers = { ...FROM_CONSOLE, Cookie: `other=1; ${cookie}` }
    t.match((await ask(app, headers)).body, { developer: { id: app.developer.id } })
    t.equal((await ask(app, headers, '/api/v1/auth/me')).status, 200)
  })

  await t.test('ends after 7 days without use, or 30', async (t) => {
    const set = (column: string, days: number) =>
      app.db.query(`update console_session set ${column} = now() - make_interval(days => $1)`, [days])
    const headers = await signedIn(app)
    await set('used_at', 6)
    t.equal((await ask(app, headers)).status, 200)
    const left = await app.db.one<{ fresh: boolean }>(
      `select bool_or(used_at > now() - interval '1 minute') as fresh from console_session`,
    )
    t.ok(left.fresh, 'use extends it')
    await set('created_at', 29)
    const { body } = await ask(app, headers)
    t.ok(Date.parse(body.ends_at) - Date.now() < 86_400_000, 'to 30 days at most')
    await set('created_at', 31)
    t.equal((await ask(app, headers)).status, 204)
    t.equal((await ask(app, headers, '/api/v1/users')).status, 401)
    const idle = await signedIn(app)
    await set('used_at', 8)
    t.equal((await ask(app, idle)).status, 204)
    t.equal((await ask(app, idle, '/api/v1/auth/me')).status, 401)
    await newConsoleCode(app.db, app.developer.id)
    await app.db.query(`update console_code set expires_at = now() - interval '1 second'`)
    const { log, config: settings } = app.deps
    const tasks = ownTasks(
      { url: app.databaseUrl, db: app.db, importer: importerOf(app), settings, concurrency: 1, log },
      { processId: '00000000-0000-4000-8000-000000000000' } as never,
    )
    await tasks.prune?.({}, {} as never)
    t.strictSame(await app.db.query('select 1 from console_session union all select 1 from console_code'), [])
  })

  await t.test('by a code, works once and for 15 minutes', async (t) => {
    const code = await newConsoleCode(app.db, app.developer.id)
    const both = await Promise.all([signIn(app, { code }), signIn(app, { code })])
    t.strictSame(both.map(({ status }) => status).sort(), [201, 401])
    t.match((await signIn(app, { code })).body, { detail: 'Invalid or expired code' })
    const late = await newConsoleCode(app.db, app.developer.id)
    const left = await app.db.one<{ seconds: number }>(
      `select date_part('epoch', expires_at - now()) as seconds from console_code`,
    )
    t.ok(Math.abs(left.seconds - 15 * 60) < 60)
    await app.db.query(`update console_code set expires_at = now() - interval '1 second'`)
    t.equal((await signIn(app, { code: late })).status, 401)
    t.equal((await signIn(app, { code: '' })).status, 401)
  })

  await t.test('ends here, or in every browser', async (t) => {
    const [here, there] = [await signedIn(app), await signedIn(app)]
    const out = await signOut(app, here)
    t.equal(out.status, 204)
    t.equal(out.headers.get('clear-site-data'), '"cache"')
    t.equal(out.headers.get('set-cookie'), 'pulsebase=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict')
    t.strictSame([(await ask(app, here)).status, (await ask(app, there)).status], [204, 200])
    t.equal((await signOut(app, here)).status, 401)
    const again = await signedIn(app)
    t.equal((await signOut(app, there, '?everywhere=true')).status, 204)
    t.strictSame([(await ask(app, again)).status, (await ask(app, there)).status], [204, 204])
  })

  await t.test('ends when somebody else signs in to the same browser', async (t) => {
    const headers = await signedIn(app)
    const { email, password } = app.developer
    t.equal((await signIn(app, { email, password: 'wrong' }, headers)).status, 401)
    t.equal((await ask(app, headers)).status, 200, 'not while nobody does')
    t.equal((await signIn(app, { email, password }, headers)).status, 201)
    t.equal((await ask(app, headers)).status, 204)
  })

  await t.test('ends with a new password, and so do codes; logins go on as before', async (t) => {
    const headers = await signedIn(app)
    const code = await newConsoleCode(app.db, app.developer.id)
    const body = { password: 'staple of the horse' }
    const changed = await app.request('PATCH', '/api/v1/auth/me', { auth: 'none', body, headers })
    t.equal(changed.status, 200, 'the way back for whoever lost the old one')
    t.equal((await ask(app, headers)).status, 204)
    t.equal((await signIn(app, { code })).status, 401)
    t.equal((await withPassword(app)).status, 401)
    t.equal((await signIn(app, { email: app.developer.email.toUpperCase(), ...body })).status, 201)
  })

  await t.test('goes with its developer', async (t) => {
    const { id } = await app.db.one<{ id: string }>(
      `insert into developer (email, password_hash) values ('other@example.org', 'x') returning id`,
    )
    const headers = {
      ...FROM_CONSOLE,
      Cookie: cookieIn(await signIn(app, { code: await newConsoleCode(app.db, id) })),
    }
    t.match((await ask(app, headers)).body.developer, { id })
    await app.db.query('delete from developer where id = $1', [id])
    t.equal((await ask(app, headers)).status, 204)
  })
})

t.test('the cookie alone opens no route at all, and with the header those of a login', async (t) => {
  const app = await startTestApp(t, engine, { outgoingWebhooksEnabled: true, eventFeedEnabled: true })
  const headers = await signedIn(app)
  const { Cookie } = headers
  const user = await createUser(app)
  const guarded = routes.filter(({ guard }) => guard !== 'public')
  t.ok(guarded.length > 100, `${guarded.length} routes`)
  const opened: string[] = []
  const closed: string[] = []
  for (const route of guarded) {
    // Its answer never ends.
    if (route.operationId === 'streamSyncEvents') continue
    const name = `${route.method} ${route.path}`
    const path = route.path.replace('{user_id}', user).replace(/\{\w+\}/, 'x')
    // Ends this sign-in, or removes what the others ask for.
    const ends = ['signOutOfConsole', 'deleteUser'].includes(route.operationId)
    for (const alone of [{ Cookie }, { Cookie, 'X-Pulsebase-Console': '0' }, FROM_CONSOLE]) {
      const { status } = await app.request(route.method, path, { auth: 'none', headers: alone })
      if (status !== 401 && !(route.guard === 'app or developer' && status === 400)) opened.push(`${name} ${status}`)
    }
    if (ends) continue
    const { status } = await app.request(route.method, path, { auth: 'none', headers })
    if ((status === 401) !== (route.guard === 'sdk')) closed.push(`${name} ${status}`)
  }
  t.strictSame(opened, [])
  t.strictSame(closed, [])
  t.equal((await ask(app, { Cookie })).status, 204, 'nor does it say who is signed in')
  const hint = (await ask(app, { Cookie }, '/api/v1/users')).body.hint
  t.equal(hint, 'The cookie of the console counts only with the header X-Pulsebase-Console: 1.')
  t.equal((await app.request('GET', PATH, { headers: FROM_CONSOLE })).status, 204, 'a token is no sign-in')
  t.equal((await app.request('DELETE', PATH, { auth: 'developer' })).status, 401)
  const forged = { ...FROM_CONSOLE, Cookie: `pulsebase=${'A'.repeat(43)}` }
  t.equal((await ask(app, forged, '/api/v1/users')).status, 401)
  t.equal((await app.request('GET', '/api/v1/users', { headers: forged })).status, 200, 'a key beside it counts')
})

t.test('signing in', async (t) => {
  const { email, password } = (await startTestApp(t, engine)).developer

  await t.test('needs the header, so that no other page can do it', async (t) => {
    const app = await startTestApp(t, engine)
    t.match(await signIn(app, { email, password }, {}), {
      status: 403,
      body: { detail: 'This request needs the header X-Pulsebase-Console: 1' },
    })
    const form = await app.request('POST', PATH, {
      auth: 'none',
      body: new URLSearchParams({ email, password }),
      headers: FROM_CONSOLE,
    })
    t.equal(form.status, 415)
    for (const incomplete of [{}, { email }, { password }]) {
      t.match(await signIn(app, incomplete), { status: 401, body: { hint: 'Send email and password.' } })
    }
  })

  await t.test('is limited like a login, with passwords and codes', async (t) => {
    const app = await startTestApp(t, engine, { loginAttemptsPerMinute: 4, loginAttemptsPerAccount: 3 })
    const statuses: number[] = []
    for (let n = 0; n < 4; n += 1) statuses.push((await signIn(app, { email, password: 'x' })).status)
    t.strictSame(statuses, [401, 401, 401, 429])
    t.equal((await app.request('POST', '/api/v1/auth/login', { auth: 'none', body: { email, password } })).status, 429)
    const code = await newConsoleCode(app.db, app.developer.id)
    const refused = await signIn(app, { code })
    t.equal(refused.status, 429)
    t.ok(Number(refused.headers.get('retry-after')) > 0)
    await app.db.query(`update throttle set expires_at = now() - interval '1 second'`)
    t.equal((await signIn(app, { code })).status, 201, 'a refused attempt does not use the code up')
  })

  await t.test('sets a cookie for TLS where the service is reached through it', async (t) => {
    const app = await startTestApp(t, engine, { apiBaseUrl: 'https://health.example.org' })
    const answer = await withPassword(app)
    t.match(answer.headers.get('set-cookie'), /^__Host-pulsebase=[\w-]{43}; Path=\/; .*; Secure$/)
    t.equal((await ask(app, { ...FROM_CONSOLE, Cookie: cookieIn(answer) })).status, 200)
    const plain = cookieIn(answer).replace('__Host-', '')
    t.equal((await ask(app, { ...FROM_CONSOLE, Cookie: plain })).status, 204)
  })

  await t.test('is not offered where the console is off', async (t) => {
    const app = await startTestApp(t, engine)
    const headers = await signedIn(app)
    const off = await app.another({ consoleEnabled: false })
    t.notOk(PATH in (await off.request('GET', '/openapi.json')).body.paths)
    t.equal((await exchange(off.url + PATH, { headers })).status, 404)
    t.equal((await ask(off, headers, '/api/v1/users')).status, 401)
  })
})

t.test('a page of another origin can never send the header', async (t) => {
  for (const corsOrigins of [['*'], ['https://app.example.org']]) {
    const app = await startTestApp(t, engine, { corsOrigins })
    const preflight = await app.request('OPTIONS', '/api/v1/users', {
      auth: 'none',
      headers: {
        Origin: 'https://app.example.org',
        'Access-Control-Request-Method': 'GET',
        'Access-Control-Request-Headers': 'x-pulsebase-console,content-type, X-Pulsebase-Console',
      },
    })
    t.equal(preflight.status, 204)
    t.equal(preflight.headers.get('access-control-allow-headers'), 'content-type')
    await app.close()
  }
})
