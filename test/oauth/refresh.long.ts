// Refreshing in processes of their own, which are killed and put to sleep at the worst moments.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { signalProcess, waitUntil } from '../../server/db/embedded/processes.ts'
import { openAccessTokens } from '../../server/oauth/refresh.ts'
import type { TestApp } from '../support/app.ts'
import { connectAccount, startCloudApp } from '../support/clouds.ts'
import { type OAuthProvider, startProvider } from '../support/oauth-provider.ts'
import { createUser, eachEngine, oneEngine } from '../support/sdk.ts'
import type { Engine } from '../support/servers.ts'
import { compiledFile, onDatabase, THIS_RUN } from '../support/service.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** Of one token request. */
const TOKEN_MS = 1_000

interface World {
  app: TestApp
  provider: OAuthProvider
  grant: string
}

async function world(t: Test, engine: Engine): Promise<World> {
  const provider = await startProvider(t, 'polar')
  const app = await startCloudApp(t, engine, [provider])
  return { app, provider, grant: await connectAccount(app, provider, await createUser(app)) }
}

const expire = (app: TestApp) => app.db.query(`update provider_grant set access_until = now() - interval '1 second'`)
const holdEnds = (app: TestApp) =>
  app.db.query(`update provider_grant set refresh_held_until = now() - interval '1 second'`)

/** A process that can refresh, once it is ready. */
async function startRefresher(t: Test, { app, provider }: World): Promise<ChildProcess> {
  const { PATH = '' } = process.env
  const { clientId: CLIENT_ID = '', clientSecret: CLIENT_SECRET = '' } = provider.config
  const env = { PATH, ...THIS_RUN, ...onDatabase(app.databaseUrl), DATA_DIR: app.deps.config.dataDir }
  const child = spawn(process.execPath, compiledFile('test/support/refreshing-main.ts'), {
    cwd: ROOT,
    env: { ...env, ORIGIN: provider.origin, CLIENT_ID, CLIENT_SECRET },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  await once(child, 'message')
  return child
}

async function ask(child: ChildProcess, grant: string, callers: number): Promise<string[]> {
  const answer = once(child, 'message')
  child.send({ callers, grant })
  return (await answer)[0]
}

eachEngine(t, '200 callers in 4 processes make one token request', async (t, engine) => {
  const one = await world(t, engine)
  const { app, provider, grant } = one
  const children = await Promise.all(Array.from({ length: 4 }, () => startRefresher(t, one)))
  provider.fault = async ({ path }) => {
    if (path === '/token') await new Promise((resolve) => setTimeout(resolve, TOKEN_MS))
    return false
  }
  const durations: number[] = []
  for (let round = 1; round <= 5; round += 1) {
    await expire(app)
    const before = provider.tokenRequests().length
    const started = performance.now()
    const got = (await Promise.all(children.map((child) => ask(child, grant, 50)))).flat()
    durations.push(performance.now() - started)
    t.equal(provider.tokenRequests().length - before, 1)
    t.ok(got.length === 200 && new Set(got).size === 1 && provider.accepts(got[0] ?? ''))
  }
  const median = durations.sort((a, b) => a - b)[2] ?? 0
  t.comment(`${(median / TOKEN_MS).toFixed(2)} × one token request`)
})

oneEngine(t, 'a holder that is killed after it sent costs nothing where the old token lives on', async (t, engine) => {
  const one = await world(t, engine)
  const { app, provider, grant } = one
  const holder = await startRefresher(t, one)
  provider.tokens.rotates = false
  await expire(app)
  let asked = 0
  provider.fault = async ({ path }) => {
    if (path !== '/token') return false
    asked += 1
    if (asked === 1) {
      holder.kill('SIGKILL')
      await once(holder, 'exit')
    }
    return false
  }
  holder.send({ callers: 1, grant })
  await once(holder, 'exit')
  await holdEnds(app)
  const { token } = await openAccessTokens(app.deps.oauth).access(grant)
  t.ok(provider.accepts(token))
  t.equal(asked, 2)
})

oneEngine(t, 'a holder that sleeps for a minute has its answer read when it wakes', async (t, engine) => {
  const one = await world(t, engine)
  const { app, provider, grant } = one
  const holder = await startRefresher(t, one)
  await expire(app)
  let asked = 0
  provider.fault = ({ path }) => {
    if (path !== '/token') return false
    asked += 1
    if (asked === 1) signalProcess(holder.pid ?? 0, 'SIGSTOP')
    return false
  }
  const answer = once(holder, 'message')
  holder.send({ callers: 1, grant })
  await waitUntil(async () => asked === 1, 10_000, 10)
  // Longer than its request may take, and than it holds the grant.
  await new Promise((resolve) => setTimeout(resolve, 60_000))
  await t.rejects(openAccessTokens(app.deps.oauth).access(grant), { code: 'access_doubted' })
  signalProcess(holder.pid ?? 0, 'SIGCONT')
  const [got] = (await answer)[0] as string[]
  t.ok(provider.accepts(got ?? ''), 'it had the only pair that works')
  const { token } = await openAccessTokens(app.deps.oauth).access(grant)
  t.equal(token, got)
})
