// `npm run webhooks:listen` as a developer runs it beside a running Pulsebase.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import type { Scope } from '../../server/catalogue/scopes.ts'
import { freePort } from '../../server/db/embedded/server.ts'
import { signature } from '../../server/webhooks/sign.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { fanOut, hooks, recordEvent, until } from '../support/endpoints.ts'
import { createUser } from '../support/sdk.ts'
import { engines } from '../support/servers.ts'
import { compiledFile, THIS_RUN } from '../support/service.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const [engine] = engines()
if (!engine) throw new Error('no engine')

const HERE = { webhooksAllowHttp: true, webhooksAllowNetworks: ['127.0.0.0/8'] }

/** Runs the command; `printed` returns its output so far. */
function listen(t: Test, app: TestApp, args: string[], env: Record<string, string> = {}) {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, [...compiledFile('server/webhooks/listen.ts'), '--url', app.url, ...args], {
    cwd: ROOT,
    env: { PATH, HOME, ...THIS_RUN, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit')
  t.teardown(() => child.kill('SIGKILL'))
  let printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      printed += chunk
    })
  return {
    printed: () => printed,
    says: (pattern: RegExp) => until(() => pattern.test(printed)),
    async end(signal?: 'SIGINT' | 'SIGTERM') {
      if (signal) child.kill(signal)
      return (await exited)[0] as number
    },
  }
}

const password = (app: TestApp) => ['--email', app.developer.email, '--password', app.developer.password]

t.test('prints what is delivered to a temporary endpoint, which goes with it', async (t) => {
  const app = await startTestApp(t, engine, { outgoingWebhooksEnabled: true, ...HERE })
  const user = await createUser(app)
  const run = listen(t, app, [
    ...password(app),
    '--types',
    'meal.created,steps.created',
    '--user',
    user,
    '--scope',
    'live',
    '--bodies',
  ])
  t.ok(await run.says(/listening at/))
  const [endpoint] = (await hooks(app, 'GET', '/endpoints')).body
  t.match(endpoint, {
    url: /^http:\/\/127\.0\.0\.1:\d+\/$/,
    filter_types: ['meal.created', 'steps.created'],
    filter_scope: 'live',
    user_id: user,
    description: 'npm run webhooks:listen',
  })
  t.match(run.printed(), `listening at ${endpoint.url} as ${endpoint.id}`)

  const { key } = (await hooks(app, 'GET', `/endpoints/${endpoint.id}/secret`)).body
  const body = Buffer.from(`{"type":"meal.created","data":{"user_id":"${user}","title":"Porridge"}}`)
  const deliver = async (secret: string, seconds = Math.floor(Date.now() / 1000)) => {
    const headers = {
      'hook-id': 'msg_1',
      'hook-timestamp': String(seconds),
      'hook-signature': signature([secret], 'msg_1', seconds, body),
    }
    return (await fetch(endpoint.url, { method: 'POST', headers, body })).status
  }
  t.equal(await deliver(key), 204)
  t.ok(await run.says(new RegExp(`^\\S+Z meal\\.created msg_1 user ${user} ${body.length} bytes$`, 'm')))
  t.ok(await run.says(/"title": "Porridge"/))
  t.equal(await deliver('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'), 401)
  t.equal(await deliver(key, Math.floor(Date.now() / 1000) - 301), 401)
  t.ok(await run.says(/(refused a delivery: its signature does not match\n){2}/))

  t.equal(await run.end('SIGINT'), 0)
  t.strictSame((await hooks(app, 'GET', '/endpoints')).body, [])
})

t.test('says which settings let deliveries reach this machine', async (t) => {
  const app = await startTestApp(t, engine, { outgoingWebhooksEnabled: true })
  const run = listen(t, app, ['--token', await app.developer.token()])
  t.equal(await run.end(), 1)
  t.match(run.printed(), 'WEBHOOKS_ALLOW_HTTP=true WEBHOOKS_ALLOW_NETWORKS=127.0.0.0/8')
  t.match(run.printed(), '--feed')
})

t.test('follows the event feed, and says where to go on', async (t) => {
  const app = await startTestApp(t, engine, { eventFeedEnabled: true })
  const user = await createUser(app)
  const first = await recordEvent(app.db, { user, data: { user_id: user } })
  await fanOut(app.db)
  const run = listen(t, app, ['--feed'], { BOOTSTRAP_API_KEY: app.apiKey })
  t.ok(await run.says(new RegExp(`workout\\.created ${first} user ${user} \\d+ bytes`)))
  const second = await recordEvent(app.db, { type: 'meal.created', data: { title: 'Tea' } })
  await fanOut(app.db)
  t.ok(await run.says(new RegExp(`meal\\.created ${second} user - \\d+ bytes`)))
  t.notMatch(run.printed(), 'Tea', 'not what was measured, unless --bodies asks for it')
  t.equal(await run.end('SIGTERM'), 0)
  const cursor = /continue with --after (\S+)/.exec(run.printed())?.[1] ?? ''

  const third = await recordEvent(app.db, { type: 'meal.created', data: { title: 'Cake' } })
  await fanOut(app.db)
  const next = listen(t, app, ['--feed', '--after', cursor, '--bodies', ...password(app)])
  t.ok(await next.says(/"title": "Cake"/))
  t.match(next.printed(), third)
  t.notMatch(next.printed(), second)
  t.equal(await next.end('SIGINT'), 0)
})

t.test('shows of the feed what is asked for', async (t) => {
  const app = await startTestApp(t, engine, { eventFeedEnabled: true })
  const [user, other] = [await createUser(app), await createUser(app)]
  const record = (type: string, of: string, scope: Scope = 'live') =>
    recordEvent(app.db, { type, user: of, scope, data: { user_id: of } })
  const unwanted = [
    await record('workout.created', user),
    await record('meal.created', other),
    await record('meal.created', user, 'historical'),
  ]
  const wanted = await record('meal.created', user)
  await fanOut(app.db)
  const filter = ['--types', 'meal.created,sleep.created', '--user', user, '--scope', 'live']
  const run = listen(t, app, ['--feed', ...filter], { BOOTSTRAP_API_KEY: app.apiKey })
  t.ok(await run.says(new RegExp(`meal\\.created ${wanted} user ${user}`)))
  for (const id of unwanted) t.notMatch(run.printed(), id)
  t.equal(await run.end('SIGINT'), 0)
})

t.test('says how it is used, to who asks and to who got it wrong', async (t) => {
  const app = await startTestApp(t, engine, { outgoingWebhooksEnabled: true })
  const [asked, short, wrong] = [listen(t, app, ['--help']), listen(t, app, ['-h']), listen(t, app, ['--nonsense'])]
  t.strictSame([await asked.end(), await short.end(), await wrong.end()], [0, 0, 1])
  t.match(asked.printed(), /^npm run webhooks:listen -- \[--port <port>\]/)
  const named = [...asked.printed().matchAll(/--[a-z]+/g)].map(([name]) => name)
  for (const name of [
    'url',
    'email',
    'password',
    'token',
    'key',
    'port',
    'types',
    'user',
    'scope',
    'bodies',
    'feed',
    'after',
  ])
    t.ok(named.includes(`--${name}`), name)
  t.equal(short.printed(), asked.printed())
  t.match(wrong.printed(), /--nonsense/)
  t.ok(wrong.printed().endsWith(`\n\n${asked.printed()}`), 'after what was wrong')
  t.strictSame((await hooks(app, 'GET', '/endpoints')).body, [], 'no endpoint was made')
})

t.test('says what is wrong with its arguments and credentials', async (t) => {
  const app = await startTestApp(t, engine, { outgoingWebhooksEnabled: true })
  const cases: [args: string[], said: RegExp][] = [
    [[], /Give --password or --token/],
    [['--email', 'x@example.org', '--password', 'wrong'], /Incorrect email or password/],
    [['--token', 'x'], /Could not validate credentials/],
    [['--feed', '--key', 'sk-x'], /Invalid or missing API key/],
    [['--feed', '--types', 'meal.eaten'], /Unknown event: meal\.eaten/],
    [['--feed', '--scope', 'past'], /Unknown scope: past/],
    [['--url', `http://127.0.0.1:${await freePort()}`, '--token', 'x'], /Could not listen: connect ECONNREFUSED/],
  ]
  for (const [args, said] of cases) {
    const run = listen(t, app, args)
    t.equal(await run.end(), 1)
    t.match(run.printed(), said)
  }
})
