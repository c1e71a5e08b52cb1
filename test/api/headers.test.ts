// The headers of answers: who may store them, how browsers may use them, and which origins may read them.
import t, { type Test } from 'tap'
import { routes } from '../../server/api/index.ts'
import { startTestApp, type TestAnswer } from '../support/app.ts'
import { createUser } from '../support/sdk.ts'
import { type Engine, engines } from '../support/servers.ts'

const [engine] = engines()
if (!engine) throw new Error('no engine')

/** Calls every route: some succeed, others fail, and an error may name a person too. */
async function askAll(t: Test, engine: Engine): Promise<{ name: string; answer: TestAnswer }[]> {
  const app = await startTestApp(t, engine, { outgoingWebhooksEnabled: true, eventFeedEnabled: true })
  const user = await createUser(app)
  const asked: { name: string; answer: TestAnswer }[] = []
  for (const route of routes) {
    // Has its own test: its answer never ends.
    if (route.operationId === 'streamSyncEvents') continue
    const path = route.path.replace('{user_id}', user).replace(/\{\w+\}/, 'x')
    const auth = route.guard === 'developer' ? 'developer' : 'key'
    const needs = (route.query as { required?: string[] } | undefined)?.required ?? []
    const query = new URLSearchParams(Object.fromEntries(needs.map((name) => [name, '2026-02-24'])))
    const last = route.operationId === 'deleteUser' ? 'none' : auth
    const answer = await app.request(route.method, `${path}?${query}`, { auth: last })
    asked.push({ name: `${route.method} ${path}`, answer })
  }
  for (const path of [
    '/docs',
    '/docs/start.js',
    '/docs/swagger-ui.css',
    '/openapi.json',
    '/static/provider-icons/oura.svg',
    '/nowhere',
  ])
    asked.push({ name: path, answer: await app.request('GET', path) })
  return asked
}

t.test('nobody on the way keeps what is personal, and no browser guesses what it is', async (t) => {
  const asked = await askAll(t, engine)
  t.ok(asked.filter(({ answer }) => answer.status === 200).length > 30, 'many of them are answered')
  const loud = asked.filter(({ name, answer }) => {
    const expected = /^\/(docs\/swagger|static)/.test(name)
      ? 'public, max-age=86400'
      : /^\/(docs\/|openapi)/.test(name)
        ? 'public, no-cache'
        : answer.headers.has('etag')
          ? 'private, no-cache'
          : 'private, no-store'
    return answer.headers.get('cache-control') !== expected
  })
  t.strictSame(
    loud.map(({ name, answer }) => `${name}: ${answer.headers.get('cache-control')}`),
    [],
  )
  t.strictSame(
    asked.filter(({ answer }) => answer.headers.get('x-content-type-options') !== 'nosniff').map(({ name }) => name),
    [],
  )
  const docs = asked.find(({ name }) => name === '/docs')?.answer
  t.match(docs?.headers.get('content-security-policy'), "frame-ancestors 'none'")
})

t.test('pages of other origins', async (t) => {
  const ask = async (corsOrigins: string[], origin: string) => {
    const app = await startTestApp(t, engine, { corsOrigins })
    const headers = { Origin: origin }
    const plain = await app.request('GET', '/api/v1/users', { headers })
    const preflight = await app.request('OPTIONS', '/api/v1/users', {
      auth: 'none',
      headers: {
        ...headers,
        'Access-Control-Request-Method': 'PATCH',
        'Access-Control-Request-Headers': 'x-service-api-key',
      },
    })
    await app.close()
    return { plain, preflight }
  }
  const listed = 'https://app.example.org'

  t.test('that are listed may call with the credentials of the browser', async (t) => {
    const { plain, preflight } = await ask([listed, 'https://other.example.org'], listed)
    for (const { headers } of [plain, preflight]) {
      t.equal(headers.get('access-control-allow-origin'), listed)
      t.equal(headers.get('access-control-allow-credentials'), 'true')
      t.match(headers.get('vary'), 'Origin')
    }
    t.equal(preflight.status, 204)
    t.equal(preflight.headers.get('access-control-allow-headers'), 'x-service-api-key')
  })

  t.test('may all call where * is set, and never with those credentials', async (t) => {
    for (const origins of [['*'], [listed, '*']]) {
      const { plain, preflight } = await ask(origins, listed)
      for (const { headers } of [plain, preflight]) {
        t.equal(headers.get('access-control-allow-origin'), '*')
        t.notOk(headers.has('access-control-allow-credentials'))
      }
      t.equal(preflight.status, 204)
    }
  })

  t.test('that are not listed may not, and no cache takes their answer for that of others', async (t) => {
    const { plain, preflight } = await ask([listed], 'https://evil.example.org')
    for (const { headers } of [plain, preflight]) {
      t.notOk(headers.has('access-control-allow-origin'))
      t.match(headers.get('vary'), 'Origin')
    }
    t.equal(preflight.status, 405)
  })
})
