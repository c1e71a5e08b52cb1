// DATABASE_READ_URL: reads of a user are answered by streaming replicas, exactly, and by the primary where they cannot.
import { createServer } from 'node:net'
import t, { type Test } from 'tap'
import { routes as apiRoutes } from '../../server/api/index.ts'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { startTestApp } from '../support/app.ts'
import { runner, samsung } from '../support/golden-weeks.ts'
import { counts, readsOf, replicaUsed, writeAndRead } from '../support/replica-reads.ts'
import { body, createUser, heartRate, importBody, oneEngine, startImports } from '../support/sdk.ts'
import { type Replicated, startReplicated } from '../support/standby.ts'

const TIMES = 'start_time=2026-02-27&end_time=2026-03-10'

oneEngine(t, 'a standby', async (t, engine) => {
  const servers = await startReplicated(t, engine)

  await t.test('what was written is read, whatever it does', async (t) => {
    const primary = await startTestApp(t, servers.primary)
    await servers.caughtUp()
    await servers.delayReplay(150)
    const app = await primary.another({ databaseReadUrls: [servers.atStandby(primary.databaseUrl)] })
    await startImports(t, app)
    await replicaUsed(app)
    await writeAndRead(t, app, servers, 60)
    const fallbacks = await counts(app, 'pulsebase_replica_fallbacks_total')
    t.ok((fallbacks.behind ?? 0) > 20 && (fallbacks.unavailable ?? 0) > 20, JSON.stringify(fallbacks))
    t.notOk(fallbacks.error, 'no statement failed')
    t.ok(((await counts(app, 'pulsebase_reads_total'))['1'] ?? 0) > 10)
    await servers.delayReplay(0)
  })

  await t.test('answers every read as the primary does', (t) => answersEverything(t, servers))
})

/** Ends with the promotion of the standby. */
async function answersEverything(t: Test, servers: Replicated): Promise<void> {
  const primary = await startTestApp(t, servers.primary)
  await startImports(t, primary)
  const user = await createUser(primary)
  for (const upload of [...samsung(), ...runner()]) await importBody(primary, user, upload)
  await servers.caughtUp()
  const app = await primary.another({ databaseReadUrls: [servers.atStandby(primary.databaseUrl)] })
  await replicaUsed(app)

  await t.test('every route', async (t) => {
    const reads = await readsOf(primary, user)
    const routes = apiRoutes.filter(({ fromReplicas }) => fromReplicas).map(({ path }) => path)
    t.strictSame(
      Object.keys(reads)
        .map((path) => `/api/v1/users/{user_id}/${path}`)
        .sort(),
      routes.sort(),
    )
    let asked = 0
    for (const [path, queries] of Object.entries(reads)) {
      for (const query of queries) {
        const address = `/api/v1/users/${user}/${path.replace(/\{.*/, '')}${query}`
        for (const accept of ['application/json', 'text/csv']) {
          const [own, other] = await Promise.all(
            [app, primary].map((one) => one.request('GET', address, { headers: { accept } })),
          )
          asked += own?.status === 406 ? 0 : 1
          t.strictSame([own?.status, own?.body], [other?.status, other?.body], `${accept} of ${address}`)
        }
      }
    }
    t.strictSame(await counts(app, 'pulsebase_replica_fallbacks_total'), {})
    t.strictSame(await counts(app, 'pulsebase_reads_total'), { 1: asked })
  })

  await t.test('who is not there, is not there', async (t) => {
    const nobody = await app.request('GET', `/api/v1/users/0b0c9d4e-6d3b-4f0e-9a55-2f4f3f1f6c11/timeseries?${TIMES}`)
    t.equal(nobody.status, 404)
    const newcomer = await createUser(app)
    t.equal((await app.request('GET', `/api/v1/users/${newcomer}/timeseries?${TIMES}`)).status, 200)
  })

  await t.test('its state is known', async (t) => {
    const { body } = await app.request('GET', '/readyz', { auth: 'none' })
    t.strictSame(body.replicas, [{ unavailable: null }])
    t.match(await app.deps.metrics.registry.metrics(), /^pulsebase_replica_available\{replica="1"\} 1$/m)
  })

  await t.test('one that stops is out of use before anybody reads, and in use once it is back', async (t) => {
    const state = () => app.deps.replicas?.states()[0]?.unavailable
    // One of a newcomer may have been answered by the primary, above.
    const before = await counts(app, 'pulsebase_replica_fallbacks_total')
    await servers.stopStandby()
    t.ok(await waitUntil(async () => state() === 'it does not answer', 5_000, 10), `${state()}`)
    await servers.startStandby()
    t.ok(await waitUntil(async () => state() === null, 20_000, 10), `${state()}`)
    t.strictSame(await counts(app, 'pulsebase_replica_fallbacks_total'), before)
  })

  await t.test('one that is promoted is not asked any more', async (t) => {
    await servers.promote()
    const page = () => app.request('GET', `/api/v1/users/${user}/timeseries?${TIMES}&limit=1`)
    const noticed = async () => {
      t.equal((await page()).status, 200)
      return app.deps.replicas?.states()[0]?.unavailable === 'it is not a standby'
    }
    t.ok(await waitUntil(noticed, 20_000, 10))
  })
}

oneEngine(t, 'replicas that cannot be used', async (t, engine) => {
  const primary = await startTestApp(t, engine)
  await startImports(t, primary)
  const user = await createUser(primary)
  await importBody(primary, user, body([heartRate(Date.UTC(2026, 2, 1), 60)]))
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  t.teardown(() => silent.close())
  await new Promise((resolve) => silent.once('listening', resolve))
  const { port } = silent.address() as { port: number }
  const address = (change: (url: URL) => void) => {
    const url = new URL(primary.databaseUrl)
    change(url)
    return url.href
  }
  const urls = {
    'it does not answer': address((url) => {
      url.port = String(port)
    }),
    'it is not a standby': primary.databaseUrl,
    'it has no such database': address((url) => {
      url.pathname = '/nowhere'
    }),
    'it refuses the login': address((url) => {
      url.username = 'nobody'
    }),
    'it is one of another database': address((url) => {
      url.pathname = '/postgres'
    }),
  }
  const app = await primary.another({ databaseReadUrls: Object.values(urls) })
  const states = () => app.deps.replicas?.states().map(({ unavailable }) => unavailable)
  const tried = async () => JSON.stringify(states()) === JSON.stringify(Object.keys(urls))
  t.ok(await waitUntil(tried, 20_000, 10), JSON.stringify(states()))
  const { status, body: page } = await app.request('GET', `/api/v1/users/${user}/timeseries?${TIMES}`)
  t.strictSame([status, page.data.length], [200, 1])
  t.strictSame(await counts(app, 'pulsebase_replica_fallbacks_total'), { unavailable: 1 })
  t.strictSame(await counts(app, 'pulsebase_reads_total'), { primary: 1 })
})
