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

/** What differs from one database to the next: our ids, the scope that came first, and when something was stored. */
const OURS = `'{id,user_id,source_id,sleep_id,session,answered_at,created_at,changed_at,closed_at,scope}'::text[]`

/**
 * Everything that is stored of each person: nights with their parts, workouts and scores in every column, samples by their
 * series. What profiles say carries the time of the answer.
 */
const ROWS_SQL = `
  select u.external_user_id as person, d.provider, 'sample ' || t.type as what, count(*) as rows,
         round(sum(s.value)::numeric, 3)::text as value, sum(date_part('epoch', s.ts))::text as times
  from sample s join data_source d on d.id = s.source_id join app_user u on u.id = d.user_id
  join series_type t on t.id = s.series_id
  where t.type not in ('weight', 'height')
  group by 1, 2, 3
  union all
  select u.external_user_id, d.provider, 'night', 1, (to_jsonb(n) - ${OURS})::text, null
  from sleep n join data_source d on d.id = n.source_id join app_user u on u.id = d.user_id
  union all
  select u.external_user_id, d.provider, 'part of ' || n.start_at, 1, (to_jsonb(p) - ${OURS})::text, null
  from sleep_part p join data_source d on d.id = p.source_id join app_user u on u.id = d.user_id
  left join sleep n on n.id = p.sleep_id
  union all
  select u.external_user_id, d.provider, 'workout', 1, (to_jsonb(w) - ${OURS})::text, null
  from workout w join data_source d on d.id = w.source_id join app_user u on u.id = d.user_id
  union all
  select u.external_user_id, p.provider, 'score', 1,
         (to_jsonb(p) - ${OURS} || jsonb_build_object('night_at', n.start_at))::text, null
  from health_score p join app_user u on u.id = p.user_id left join sleep n on n.id = p.sleep_id
  where p.provider <> 'internal'
  order by 1, 2, 3, 5`

/** How many events tell of nights, workouts, scores and connections; those of samples depend on what one import brings. */
const TOLD_SQL = `
  select u.external_user_id as person, e.provider, e.type, e.scope, count(*) as events
  from event e join app_user u on u.id = e.user_id
  where e.key not like 'timeseries.%'
  group by 1, 2, 3, 4
  order by 1, 2, 3, 4`

const TWICE_SQL = 'select type, key, count(*) as times from event group by 1, 2 having count(*) > 1'

/** Starts a service on a database of its own, with the simulator's providers. */
function starter(t: Test, database: string, simulator: Playing): () => Promise<Service> {
  return () =>
    startService(t, {
      ...onDatabase(database),
      ...simulator.env,
      HISTORICAL_SYNC_ON_CONNECT: 'false',
      EVENT_FEED_ENABLED: 'true',
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

/** The first rows that only one of both has. */
function differences(found: readonly object[], expected: readonly object[]): string[] {
  const setOf = (rows: readonly object[]) => new Set(rows.map((row) => JSON.stringify(row)))
  const [ours, theirs] = [setOf(found), setOf(expected)]
  const without = (rows: Set<string>, others: Set<string>, sign: string) =>
    [...rows].filter((row) => !others.has(row)).map((row) => `${sign} ${row}`)
  const [missing, wrong] = [without(theirs, ours, '-'), without(ours, theirs, '+')]
  const more = found.length === expected.length ? [] : [`${found.length} rows instead of ${expected.length}`]
  return [...more, ...missing.slice(0, 10), ...wrong.slice(0, 10)]
}

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
  const expected = await wholeDb.query<{ what: string }>(ROWS_SQL)
  const stored = (what: string) => expected.filter((row) => row.what.startsWith(what)).length
  t.comment(
    `${['night', 'part of', 'workout', 'score', 'sample'].map((what) => `${stored(what)} × ${what}`).join(', ')}`,
  )
  t.ok(stored('night') > PEOPLE * DAYS && stored('part of') > PEOPLE * DAYS, 'nights of both providers')
  t.ok(stored('workout') > DAYS && stored('score') > PEOPLE * DAYS && stored('sample') > 20)
  const told = await wholeDb.query<{ events: number }>(TOLD_SQL)
  t.ok(told.reduce((sum, { events }) => sum + events, 0) > PEOPLE * DAYS, 'events are recorded')
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
  t.strictSame(differences(await db.query<{ what: string }>(ROWS_SQL), expected), [])
  t.strictSame(await db.query(TWICE_SQL), [], 'no event is recorded twice')
  t.strictSame(await db.query(TOLD_SQL), told)
  const asked = await requests(simulator)
  t.ok(asked <= 1.1 * once + 50 * kills, `${asked} requests with ${kills} kills, ${once} without`)
  t.comment(`${asked} requests with ${kills} kills, ${once} without`)
  const failed = await db.query(
    `select provider, scope, status, error from sync_run where status <> 'success' and scope = 'historical'`,
  )
  t.strictSame(failed, [])
})
