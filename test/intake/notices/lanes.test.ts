// Nobody waits long for what others send: a push that takes long is stored and opened beside the others, and while one person has
// many, few of them are opened at once.
import t, { type Test } from 'tap'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import { laneOf, openDue } from '../../../server/intake/notices/open.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { notify, openMeans, startOpeningNotices } from '../../support/notices.ts'
import { createUser, oneEngine } from '../../support/sdk.ts'
import type { Engine } from '../../support/servers.ts'

const KEY = 'unguessable'
const garmin = { clientId: 'consumer', clientSecret: 'hush', more: { WEBHOOK_PATH_SECRET: KEY } }
const START = Date.UTC(2026, 2, 9) / 1000

async function started(t: Test, engine: Engine) {
  const app = await startTestApp(t, engine, { providers: { garmin } })
  const push = async (account: string, number: number, more = '') => {
    const weighing = { userId: account, summaryId: `${account}-${number}`, measurementTimeInSeconds: START + number }
    const body = JSON.stringify({ bodyComps: [{ ...weighing, weightInGrams: 70_000, more }] })
    const { status } = await notify(app, 'garmin', body, {
      ...{ headers: { 'garmin-client-id': 'consumer' }, query: `?k=${KEY}` },
    })
    if (status !== 200) throw new Error(`answered ${status}`)
  }
  return { app, push }
}

async function connect({ db }: TestApp, user: string, account: string): Promise<void> {
  await db.query(
    `with granted as (
       insert into provider_grant (provider, account_id, scope, granted_at)
       values ('garmin', $2, 'HEALTH_EXPORT', now() - interval '1 hour') returning id
     )
     insert into connection (user_id, provider, grant_id, provider_user_id, scope, created_at)
     select $1, 'garmin', id, $2, 'HEALTH_EXPORT', now() - interval '1 hour' from granted`,
    [user, account],
  )
}

oneEngine(t, 'a small push does not wait for a large one', async (t, engine) => {
  const { app, push } = await started(t, engine)
  const user = await createUser(app)
  await connect(app, user, 'anna')
  const left = async () =>
    (await app.db.query<{ bytes: number }>('select octet_length(body) as bytes from notification')).map((n) => n.bytes)
  // Somebody is reading large ones, and does not come to an end.
  const reading = await app.db.pool.connect()
  await reading.query(`begin; select pg_advisory_xact_lock(hashtextextended('notices:garmin large', 0))`)
  await push('anna', 1, 'x'.repeat(1_200_000))
  await push('anna', 2)
  await startOpeningNotices(t, app)
  const smallIsOpen = async () => (await left()).every((bytes) => bytes > 1_000_000)
  t.ok(await waitUntil(smallIsOpen, 20_000, 20), 'the small one is open')
  t.equal((await left()).length, 1, 'the large one waits')
  await reading.query('rollback')
  reading.release()
  t.ok(await waitUntil(async () => (await left()).length === 0, 20_000, 20), 'and is opened then')
  t.equal((await app.db.query('select from upload')).length, 1, 'what it says is imported with the other')
})

oneEngine(t, 'a small push is answered while a large one is being stored', async (t, engine) => {
  const { app, push } = await started(t, engine)
  const stored = async () => (await app.db.query('select from notification')).length
  // Another process is storing a large one, and does not come to an end.
  const storing = await app.db.pool.connect()
  await storing.query(`begin; select pg_advisory_xact_lock(hashtextextended('receive large notices', 0))`)
  const large = push('anna', 1, 'x'.repeat(1_200_000))
  const waits = `select from pg_stat_activity where wait_event = 'advisory' and query like 'select receive_notices%'`
  t.ok(await waitUntil(async () => (await app.db.query(waits)).length > 0, 10_000, 5), 'the large one waits')
  await push('anna', 2)
  t.equal(await stored(), 1, 'the small one is stored')
  await storing.query('rollback')
  storing.release()
  await large
  t.equal(await stored(), 2, 'and then the large one')
})

oneEngine(t, 'of few people little is opened at once', async (t, engine) => {
  const { app, push } = await started(t, engine)
  for (const account of ['anna', 'bert']) await connect(app, await createUser(app), account)
  const means = openMeans(t, app)
  const lane = laneOf('garmin', 'rest')
  const before = lane.bytes
  await push('anna', 0)
  await openDue(means, laneOf('garmin', 'first'))
  for (let number = 1; number < 22; number += 1) await push('anna', number)
  t.equal(await openDue(means, lane), 'all')
  t.ok(lane.bytes < before)
  for (const account of ['anna', 'bert']) await push(account, 50)
  t.equal(await openDue(means, lane), 'all')
  t.equal(lane.bytes, before)
})
