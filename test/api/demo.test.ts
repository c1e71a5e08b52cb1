import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createUser, oneEngine, startImports } from '../support/sdk.ts'

const PATH = '/api/v1/demo'
const ask = (app: TestApp, method: string) => app.request(method, PATH, { auth: 'developer' })

/** Waits for a state, and returns the answer that has it. */
async function becomes(app: TestApp, state: string) {
  let answer = await ask(app, 'GET')
  await waitUntil(
    async () => {
      answer = await ask(app, 'GET')
      return answer.body.state === state
    },
    60_000,
    100,
  )
  return answer.body
}

oneEngine(t, 'the demo comes with one request and goes with another', async (t, engine) => {
  const app = await startTestApp(t, engine, { demoDays: 2 })
  await startImports(t, app)
  const other = await createUser(app)
  t.strictSame((await ask(app, 'GET')).body, { state: 'absent', progress: null, people: [], error: null })

  const begun = await ask(app, 'POST')
  t.equal(begun.status, 202)
  t.match(begun.body, { state: 'adding', error: null })
  t.equal((await ask(app, 'POST')).status, 202, 'asked twice, it is added once')
  const added = await becomes(app, 'present')
  t.match(added, { progress: null, error: null })
  t.strictSame(
    added.people.map(({ external_user_id, first_name }: Record<string, string>) => `${external_user_id} ${first_name}`),
    ['demo:ada Ada', 'demo:ben Ben', 'demo:cleo Cleo'],
  )
  const { id: ada } = await app.db.one<{ id: string }>(`select id from app_user where external_user_id = 'demo:ada'`)
  t.equal(added.people[0].user_id, ada)
  const stored = await app.db.one<{ n: number }>('select count(*) as n from sample')
  t.ok(stored.n > 1_000)

  const removing = await ask(app, 'DELETE')
  t.equal(removing.status, 202)
  t.equal(removing.body.state, 'removing')
  t.match(await becomes(app, 'absent'), { people: [], error: null })
  t.strictSame(await app.db.query('select id from app_user'), [{ id: other }], 'others stay')
  t.strictSame(await app.db.query('select id from application'), [])
  t.equal((await ask(app, 'DELETE')).status, 202, 'nothing to remove is no error')
  t.match(await becomes(app, 'absent'), { error: null })
})

oneEngine(t, 'removing ends adding', async (t, engine) => {
  const app = await startTestApp(t, engine, { demoDays: 300 })
  await startImports(t, app)
  await ask(app, 'POST')
  await waitUntil(async () => (await ask(app, 'GET')).body.people.length === 3, 60_000, 50)
  t.equal((await ask(app, 'DELETE')).status, 202)
  t.equal((await ask(app, 'POST')).status, 409, 'not while it is removed')
  t.match(await becomes(app, 'absent'), { people: [] })
})

oneEngine(t, 'a failure is told, and the next attempt begins anew', async (t, engine) => {
  const app = await startTestApp(t, engine, { demoDays: 1 })
  await startImports(t, app)
  await app.deps.demo.begin({ service: app.url, token: 'x', what: 'add' })
  await waitUntil(async () => (await ask(app, 'GET')).body.error !== null, 60_000, 50)
  t.match((await ask(app, 'GET')).body, { state: 'absent', error: /^401 / })
  t.match((await ask(app, 'POST')).body, { state: 'adding', error: null })
  await becomes(app, 'present')
})

oneEngine(t, 'only a login may, and nothing is asked for besides', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const user = await createUser(app)
  const phone = { bearer: await app.sdkToken(user) }
  for (const method of ['GET', 'POST', 'DELETE']) {
    t.equal((await app.request(method, PATH, { auth: 'none' })).status, 401, `${method} without a login`)
    t.equal((await app.request(method, PATH)).status, 401, `${method} with an API key`)
    t.equal((await app.request(method, PATH, { auth: phone })).status, 401, `${method} with the token of a phone`)
    const unknown = await app.request(method, `${PATH}?days=3`, { auth: 'developer' })
    t.equal(unknown.status, 422)
    t.match(unknown.body.detail, [{ loc: ['query', 'days'] }])
  }
  t.equal((await app.request('PUT', PATH, { auth: 'developer' })).status, 405)
  t.match((await ask(app, 'GET')).body, { state: 'absent' })
  t.strictSame(await app.db.query('select id from app_user'), [{ id: user }], 'nobody was added')
})

t.test('its thread is loaded as `npm start` loads it, not as these tests are', async (t) => {
  const script = `
    import { openDemo } from './server/demo.ts'
    const failed = (_, message) => undefined
    const demo = openDemo({ warn: failed })
    await demo.begin({ service: 'http://127.0.0.1:1', token: 'x', what: 'add' })
    const wait = () => demo.state().doing === null ? console.log(demo.state().error) : setImmediate(wait)
    wait()`
  const { NODE_OPTIONS: _, ...env } = process.env
  const cwd = fileURLToPath(new URL('../../', import.meta.url))
  const args = ['--import', './server/typescript.mjs', '--input-type=module', '-e', script]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, env })
  t.equal(stdout.trim(), 'fetch failed', 'it gets as far as the network')
})
