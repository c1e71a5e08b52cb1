// A service that stops while a token endpoint is slow loses no pair of tokens, and begins nothing that it could lose.
import t, { type Test } from 'tap'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { openAccessTokens } from '../../server/oauth/refresh.ts'
import { connectAccount, startCloudApp } from '../support/clouds.ts'
import { startProvider } from '../support/oauth-provider.ts'
import { createUser, oneEngine } from '../support/sdk.ts'
import { type Engine, engines } from '../support/servers.ts'
import { freePort, onDatabase, startService } from '../support/service.ts'
import { inTestLong, THOROUGH } from '../support/thorough.ts'

const ACCOUNTS = 12
const WAIT_MS = 30_000

/** A service that refreshes the tokens of four accounts, each of which waits for its answer. */
async function startRefreshing(t: Test, engine: Engine, settings: Record<string, string> = {}) {
  const provider = await startProvider(t, 'oura')
  const app = await startCloudApp(t, engine, [provider])
  for (let n = 0; n < ACCOUNTS; n += 1)
    await connectAccount(app, provider, await createUser(app), { account: `account ${n}` })
  // Nothing else than the job below refreshes them.
  await app.db.query(`update provider_grant set access_until = now(), next_pull_at = 'infinity'`)
  const before = provider.tokenRequests().length
  const under = () => provider.tokenRequests().length - before
  const release: (() => void)[] = []
  provider.fault = async ({ path }) => {
    if (path === '/token') await new Promise<void>((resolve) => release.push(resolve))
    return false
  }
  const { clientId = '', clientSecret = '' } = provider.config
  const service = await startService(t, {
    ...onDatabase(app.databaseUrl),
    ...{ DATA_DIR: app.deps.config.dataDir, LOG_LEVEL: 'info' },
    ...{ OURA_CLIENT_ID: clientId, OURA_CLIENT_SECRET: clientSecret },
    ...{ OURA_TOKEN_URL: `${provider.origin}/token`, OURA_API_URL: provider.origin },
    ...settings,
  })
  await app.db.query(`select graphile_worker.add_job('refresh_grants')`)
  t.ok(await waitUntil(async () => under() === 4, WAIT_MS, 20))
  const stored = async () => (await app.db.query('select from provider_grant where version = 2')).length
  return { provider, app, service, under, release, stored }
}

oneEngine(t, 'tokens that are under way as the service stops', async (t, engine) => {
  const { provider, app, service, under, release, stored } = await startRefreshing(t, engine)
  const exited = service.stop()
  t.ok(await waitUntil(async () => service.output().includes('"stopping"'), WAIT_MS, 20))
  release.shift()?.()
  t.ok(await waitUntil(async () => (await stored()) === 1, WAIT_MS, 20))
  // Longer than anything else is waited for.
  if (THOROUGH) t.ok(await waitUntil(async () => service.output().includes('could not finish'), WAIT_MS, 20))
  t.ok(service.alive(), 'it waits for the others')
  for (const answer of release.splice(0)) answer()
  t.equal(await exited, 0)
  t.equal(under(), 4, 'none was begun after the signal')
  const grants = await app.db.query<{ id: string; version: number; clean: boolean }>(
    `select id, version, refresh_held_until is null and refresh_doubt = 0 as clean from provider_grant`,
  )
  t.equal(grants.filter(({ version }) => version === 2).length, 4, 'what was under way is stored')
  t.ok(grants.every(({ clean }) => clean))
  provider.fault = undefined
  const tokens = openAccessTokens(app.deps.oauth)
  for (const { id } of grants) t.ok(provider.accepts((await tokens.access(id)).token))
})

t.test(
  'several processes end within 20 s, and the one that waits for tokens stores them later',
  inTestLong,
  async (t) => {
    const several = { WEB_CONCURRENCY: '2', PORT: String(await freePort()) }
    const { service, under, release, stored } = await startRefreshing(t, engines()[0] as Engine, several)
    const startedMs = performance.now()
    t.equal(await service.stop(), 0)
    const seconds = (performance.now() - startedMs) / 1000
    t.ok(seconds > 17 && seconds < 20, `${seconds.toFixed(1)} s`)
    t.equal(await stored(), 0)
    for (const answer of release.splice(0)) answer()
    t.ok(await waitUntil(async () => (await stored()) === 4, WAIT_MS, 20))
    t.equal(under(), 4)
  },
)
