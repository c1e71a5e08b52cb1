// What a provider sends piece by piece of a person becomes few imports: while an upload waits, it takes more.
import { brotliDecompressSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import { decodeParcel } from '../../../workers/parcel.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { notify, openAll, openMeans } from '../../support/notices.ts'
import { createUser, oneEngine, startImports, storedSamples } from '../../support/sdk.ts'
import type { Engine } from '../../support/servers.ts'

const START = Date.UTC(2026, 2, 9, 23) / 1000
const KEY = 'unguessable'
const garmin = { clientId: 'consumer', clientSecret: 'hush', more: { WEBHOOK_PATH_SECRET: KEY } }

/** Connects users with one account of Garmin, without a consent. */
async function connected(app: TestApp, account: string, count = 1): Promise<string[]> {
  const users = await Promise.all(Array.from({ length: count }, () => createUser(app)))
  await app.db.query(
    `with granted as (
       insert into provider_grant (provider, account_id, scope, granted_at)
       values ('garmin', $2, 'HEALTH_EXPORT', now() - interval '1 hour') returning id
     )
     insert into connection (user_id, provider, grant_id, provider_user_id, scope, created_at)
     select u, 'garmin', id, $2, 'HEALTH_EXPORT', now() - interval '1 hour' from granted, unnest($1::uuid[]) u`,
    [users, account],
  )
  return users
}

async function started(t: Test, engine: Engine) {
  const app = await startTestApp(t, engine, { providers: { garmin } })
  const means = openMeans(t, app)
  /** Tells of heart rates after so many seconds, and opens it. */
  const tell = async (account: string, values: Record<number, number>) => {
    const summary = { userId: account, summaryId: `d${Object.keys(values)}`, startTimeInSeconds: START }
    const times = { startTimeOffsetInSeconds: 3_600, timeOffsetHeartRateSamples: values }
    const headers = { 'garmin-client-id': 'consumer' }
    const body = JSON.stringify({ dailies: [{ ...summary, ...times }] })
    const { status } = await notify(app, 'garmin', body, { headers, query: `?k=${KEY}` })
    if (status !== 200) throw new Error(`answered ${status}`)
    await openAll(means, 'garmin')
  }
  const uploads = () =>
    app.db.query<{ id: string; user_id: string; status: string; parts: number }>(
      `select id, user_id, status, (select count(*) from upload_part p where p.upload_id = u.id) as parts
       from upload u order by seq`,
    )
  const imported = async () => {
    const isImported = async () => (await uploads()).every(({ status }) => status !== 'queued')
    if (!(await waitUntil(isImported, 20_000, 20))) throw new Error('it was not imported')
  }
  const values = async (user: string) => (await storedSamples(app.db, user)).map(({ value }) => value)
  return { app, tell, uploads, imported, values }
}

oneEngine(t, 'notices that come while an upload waits are imported with it', async (outer, engine) => {
  const t = outer
  const { app, tell, uploads, imported, values } = await started(t, engine)
  const [anna, alan] = (await connected(app, 'shared', 2)).sort() as [string, string]
  const [bert] = (await connected(app, 'bert')) as [string]
  await tell('shared', { 0: 61 })
  await tell('bert', { 0: 71 })
  await tell('shared', { 15: 62 })
  await tell('shared', { 15: 63, 30: 64 })
  const waiting = await uploads()
  t.strictSame(
    waiting.map(({ user_id, parts }) => [user_id, parts]),
    [
      [anna, 2],
      [alan, 2],
      [bert, 0],
    ],
  )
  t.strictSame(
    await app.db.query('select pending from sync_run'),
    [1, 1, 1].map((pending) => ({ pending })),
    'each run waits for one upload',
  )

  await t.test('by a process that takes over from one that died when it began', async (t) => {
    await app.db.query('select close_upload($1)', [waiting[0]?.id ?? ''])
    await tell('shared', { 45: 65 })
    t.strictSame(
      (await uploads()).map(({ user_id, parts }) => [user_id, parts]),
      [
        [anna, 2],
        [alan, 3],
        [bert, 0],
        [anna, 0],
      ],
      'an upload whose import has begun takes nothing more',
    )
    await startImports(outer, app)
    await imported()
    t.strictSame(await Promise.all([anna, alan, bert].map(values)), [[61, 63, 64, 65], [61, 63, 64, 65], [71]])
    t.strictSame(await app.db.query(`select user_id from sync_run where status = 'in_progress'`), [], 'no run is left')
  })

  await t.test('and are one body, which can be imported again', async (t) => {
    const stored = await app.db.query<{ body: Buffer; user_id: string }>(
      `select b.body, u.user_id from upload u join upload_body b using (user_id, sha256) order by u.seq`,
    )
    const parts = stored.map(({ body }) => decodeParcel(brotliDecompressSync(body))?.length)
    t.strictSame(parts, [3, 4, 1, 1])
    t.strictSame(await app.db.query('select from upload_part'), [], 'and nothing besides')
    t.equal((await app.db.query('select from upload_body')).length, 4)
    await app.db.query('delete from sample')
    const path = `/api/v1/sdk/users/${alan}/sync/batches/${waiting[1]?.id}/import`
    t.equal((await app.request('POST', path)).status, 202)
    await imported()
    t.strictSame(await values(alan), [61, 63, 64, 65])
  })
})

oneEngine(t, 'an upload takes no more than fits in a parcel, nor what belongs to another run', async (t, engine) => {
  const { app, tell, uploads, imported, values } = await started(t, engine)
  const [anna] = (await connected(app, 'anna')) as [string]
  await tell('anna', { 0: 61 })
  await app.db.query('update upload set open_bytes = 4 * 1024 * 1024 - 10')
  await tell('anna', { 15: 62 })
  await tell('anna', { 30: 63 })
  t.strictSame(
    (await uploads()).map(({ parts }) => parts),
    [0, 1],
  )
  await app.db.query(`update upload set sync_type = 'historical'`)
  await tell('anna', { 45: 64 })
  t.strictSame(
    (await uploads()).map(({ parts }) => parts),
    [0, 1, 0],
  )
  await startImports(t, app)
  await imported()
  t.strictSame(await values(anna), [61, 62, 63, 64])
})
