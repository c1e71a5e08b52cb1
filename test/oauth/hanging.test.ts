// A token endpoint that never answers costs those who do not need it nothing.
import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import type { Jobs } from '../../server/queue.ts'
import type { TestApp } from '../support/app.ts'
import { connectAccount, startCloudApp, startGrantJobs } from '../support/clouds.ts'
import { type OAuthProvider, startProvider } from '../support/oauth-provider.ts'
import { body, createUser, heartRate, oneEngine, storedSamples, upload } from '../support/sdk.ts'
import type { Engine } from '../support/servers.ts'

const WAIT_MS = 20_000
const ACCOUNTS = 7
const NOON = Date.UTC(2026, 1, 24, 12)

interface World {
  app: TestApp
  jobs: Jobs
  /** Whose token endpoint does not answer. */
  silent: OAuthProvider
  /** Token requests without an answer. */
  waiting: ServerResponse[]
}

/** All access tokens are over: those of a provider that does not answer, and of one that does. */
async function start(t: Test, engine: Engine): Promise<World> {
  const silent = await startProvider(t, 'polar')
  const other = await startProvider(t, 'oura')
  const app = await startCloudApp(t, engine, [silent, other])
  for (let n = 0; n < ACCOUNTS; n += 1)
    await connectAccount(app, silent, await createUser(app), { account: `account ${n}` })
  await connectAccount(app, other, await createUser(app))
  await app.db.query('update provider_grant set access_until = now()')
  const waiting: ServerResponse[] = []
  silent.fault = ({ path }, response) => {
    if (path === '/token') waiting.push(response)
    return path === '/token'
  }
  const jobs = await startGrantJobs(t, app)
  // At the end of the test the provider is gone: nobody waits for it.
  t.teardown(() => {
    silent.fault = (_, response) => !!response.socket?.destroy()
    for (const response of waiting) response.socket?.destroy()
  })
  return { app, jobs, silent, waiting }
}

/** The clock strikes: a job is added, and somebody takes it. */
async function tick({ app, jobs }: World, name: string): Promise<void> {
  await jobs.enqueue(name, `cron:${name}`)
  const isTaken = async () =>
    (
      await app.db.query(
        `select from graphile_worker.jobs where key = $1 and locked_at is null and run_at <= now() and attempts = 0`,
        [`cron:${name}`],
      )
    ).length === 0
  await waitUntil(isTaken, 5_000, 20)
}

async function isImported({ app }: World): Promise<boolean> {
  const user = await createUser(app)
  await upload(app, user, body([heartRate(NOON, 60)]))
  return waitUntil(async () => (await storedSamples(app.db, user)).length === 1, WAIT_MS, 20)
}

oneEngine(t, 'tokens that are refreshed ahead of time', async (t, engine) => {
  const one = await start(t, engine)
  const { app, waiting } = one
  for (let minute = 0; minute < 4; minute += 1) await tick(one, 'refresh_grants')
  t.ok(await waitUntil(async () => waiting.length > 0, WAIT_MS, 20), 'one endpoint is silent')
  t.ok(await isImported(one), 'an upload is imported')
  const isRefreshed = async () =>
    (await app.db.query(`select from provider_grant where provider = 'oura' and version = 2`)).length === 1
  t.ok(await waitUntil(isRefreshed, WAIT_MS, 20), 'the other provider is asked')
  t.equal(waiting.length, 4, 'four at a time are asked for')
  await app.db.query(`update provider_grant set access_until = now() where provider = 'oura'`)
  await tick(one, 'refresh_grants')
  const again = async () =>
    (await app.db.query(`select from provider_grant where provider = 'oura' and version = 3`)).length === 1
  t.ok(await waitUntil(again, WAIT_MS, 20), 'also when it is due again')
  t.equal(waiting.length, 4)
})

oneEngine(t, 'grants that are looked at since a notice doubts them', async (t, engine) => {
  const one = await start(t, engine)
  const { app, waiting } = one
  await app.db.query(
    `with doubted as (
       update provider_grant set doubted_at = now() where provider = 'polar' returning id
     )
     select graphile_worker.add_job(
       'check_grant', json_build_object('grant_id', id, 'attempt', 1), job_key => 'check:' || id, max_attempts => 3)
     from doubted`,
  )
  t.ok(await waitUntil(async () => waiting.length > 0, WAIT_MS, 20), 'the endpoint is silent')
  t.ok(await isImported(one), 'an upload is imported')
})
