// A year of three people, pulled by a service that is killed again and again, is the same year; hardly anything is asked
// for twice.
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { loadConfig } from '../../../server/config.ts'
import type { Database } from '../../../server/db/database.ts'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import { createTestDatabase } from '../../support/app.ts'
import { eachEngine } from '../../support/sdk.ts'
import type { Engine } from '../../support/servers.ts'
import { onDatabase, type Service, startService } from '../../support/service.ts'
import { type Playing, play } from '../../support/simulator.ts'
import { openTestDatabase } from '../../support/webhooks.ts'

const PEOPLE = 3
const DAYS = 365
const KILLS = 20
const MANY = 1_000_000

/** Everything that is stored of each person, but for when it was stored; what profiles say carries the time of the answer. */
const ROWS_SQL = `
  select u.external_user_id as person, d.provider, 'sample ' || t.type as what, count(*) as rows,
         round(sum(s.value)::numeric, 3)::text as value, sum(date_part('epoch', s.ts))::text as times
  from sample s join data_source d on d.id = s.source_id join app_user u on u.id = d.user_id
  join series_type t on t.id = s.series_id
  where t.type not in ('weight', 'height')
  group by 1, 2, 3
  union all
  select u.external_user_id, d.provider, 'workout', count(*), round(sum(w.calories_kcal)::numeric, 3)::text, sum(date_part('epoch', w.start_at))::text
  from workout w join data_source d on d.id = w.source_id join app_user u on u.id = d.user_id
  group by 1, 2
  union all
  select u.external_user_id, p.provider, 'score ' || p.category, count(*), round(sum(p.value)::numeric, 3)::text, sum(date_part('epoch', p.recorded_at))::text
  from health_score p join app_user u on u.id = p.user_id
  where p.provider <> 'internal'
  group by 1, 2, 3
  order by 1, 2, 3`

/** Starts a service on a database of its own, with the simulator's providers. */
function starter(t: Test, database: string, simulator: Playing): () => Promise<Service> {
  return () =>
    startService(t, {
      ...onDatabase(database),
      ...simulator.env,
      HISTORICAL_SYNC_ON_CONNECT: 'false',
      UPLOAD_RETENTION_DAYS: '1',
    })
}

async function connectEverybody(service: Service, simulator: Playing): Promise<string[]> {
  const users: string[] = []
  for (const { key } of (await simulator.control('GET', 'people')).body) {
    const user = (await service.request('POST', '/api/v1/users', { body: { external_user_id: key } })).body.id
    for (const provider of ['oura', 'whoop']) {
      const asked = await service.request('GET', `/api/v1/oauth/${provider}/authorize?user_id=${user}`)
      const url = new URL(asked.body.authorization_url)
      url.searchParams.set('auto', key)
      const consent = await fetch(url, { redirect: 'manual' })
      const { pathname, search } = new URL(consent.headers.get('location') ?? '')
      await service.request('GET', pathname + search)
      const { status } = await service.request(
        'POST',
        `/api/v1/providers/${provider}/users/${user}/sync/historical?days=${DAYS}`,
      )
      if (status !== 200) throw new Error(`${status}`)
    }
    users.push(user)
  }
  return users
}

const left = async (db: Database) =>
  (
    await db.one<{ n: number }>(
      `select (select count(*) from sync_task) + (select count(*) from upload where status = 'queued') as n`,
    )
  ).n

const requests = async ({ control }: Playing) =>
  (await control('GET', 'log')).body.filter(({ method }: { method: string }) => method === 'GET').length

eachEngine(t, 'a year, and a process that is killed again and again', async (t: Test, engine: Engine) => {
  const now = Date.now()
  const simulator = await play(t, { now: () => now, people: PEOPLE, days: DAYS + 5 })
  for (const provider of ['oura', 'whoop'])
    await simulator.control('POST', 'settings', { provider, limits: [MANY, MANY] })
  t.ok(loadConfig(simulator.env).providers.oura)

  const whole = await createTestDatabase(t, engine)
  const undisturbed = await starter(t, whole, simulator)()
  await connectEverybody(undisturbed, simulator)
  const wholeDb = openTestDatabase(t, whole)
  t.ok(await waitUntil(async () => (await left(wholeDb)) === 0, 600_000, 200))
  await undisturbed.stop()
  const expected = await wholeDb.query(ROWS_SQL)
  t.ok(expected.length > 50, `${expected.length} kinds of rows`)
  const once = await requests(simulator)

  await simulator.control('DELETE', 'log')
  const broken = await createTestDatabase(t, engine)
  const start = starter(t, broken, simulator)
  const db = openTestDatabase(t, broken)
  let service = await start()
  await connectEverybody(service, simulator)
  let kills = 0
  for (; kills < KILLS && (await left(db)) > 0; kills += 1) {
    await delay(100 + ((kills * 7_919) % 10) * 150)
    await service.kill()
    service = await start()
  }
  t.ok(await waitUntil(async () => (await left(db)) === 0, 600_000, 200))
  await service.stop()
  t.strictSame(await db.query(ROWS_SQL), expected)
  const asked = await requests(simulator)
  t.ok(asked <= 1.1 * once + 50 * kills, `${asked} requests with ${kills} kills, ${once} without`)
  t.comment(`${asked} requests with ${kills} kills, ${once} without`)
  const failed = await db.query(
    `select provider, scope, status, error from sync_run where status <> 'success' and scope = 'historical'`,
  )
  t.strictSame(failed, [])
})
