// Providers tell ten thousand things to a service that is killed again and again: none that it answered with 200 is lost,
// and no event is recorded twice.
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import { createTestDatabase } from '../../support/app.ts'
import { connectPerson } from '../../support/people.ts'
import { createUser, eachEngine } from '../../support/sdk.ts'
import type { Engine } from '../../support/servers.ts'
import { freePort, onDatabase, type Service, startService } from '../../support/service.ts'
import { type Json, type Playing, play } from '../../support/simulator.ts'
import { openTestDatabase } from '../../support/webhooks.ts'
import { nothingLeft, sent, storedOf, subscribeToAll, TOLD } from './days-told.ts'

const PEOPLE = 13
const DAYS = 20
const MANY = 1_000_000
const PATIENCE_MS = 300_000
const DEVELOPER = { username: 'admin@localhost', password: 'correct horse battery staple' }

/** A service on a port of its own that it has again after each start, and its people. */
interface Told {
  readonly simulator: Playing
  readonly db: ReturnType<typeof openTestDatabase>
  readonly users: ReadonlyMap<string, string>
  service: Service
  start(): Promise<Service>
}

eachEngine(t, 'ten thousand notices, and a process that is killed again and again', async (t: Test, engine: Engine) => {
  const at = Date.now()
  const [undisturbed, killed] = [await startTold(t, engine), await startTold(t, engine)]
  for (let day = 0; day < DAYS; day += 1) {
    await nextDay(undisturbed)
    await nextDay(killed, 100 + ((day * 7_919) % 10) * 120)
  }
  const notices: Json[] = (await killed.simulator.control('GET', 'notices')).body
  t.comment(`${notices.length} notices, sent ${await sent(killed)} times; ${await sent(undisturbed)} without kills`)
  t.ok(notices.length >= 10_000, `${notices.length} notices`)
  const left = notices.filter(({ state }) => state !== 'taken')
  t.strictSame(
    left.slice(0, 5).map(({ topic, state, due, attempts }) => ({ topic, state, due, attempts })),
    [],
    `${left.length} were not taken in the end`,
  )
  const different: string[] = []
  const edited = new Set<string>()
  for (const [person, user] of undisturbed.users) {
    const truth = (await killed.simulator.control('GET', `truth?person=${person}`)).body
    for (const sleep of truth.sleeps)
      if (sleep.edited) edited.add(`${killed.users.get(person)} ${Date.parse(sleep.end)}`)
    const told = toldOf(truth)
    const expected = new Set((await storedOf(undisturbed, user)).flatMap(told))
    const stored = new Set((await storedOf(killed, killed.users.get(person) ?? '')).flatMap(told))
    t.ok(expected.size > 1_000, `${person} has data`)
    const missing = [...expected].filter((line) => !stored.has(line)).map((line) => `- ${line}`)
    const wrong = [...stored].filter((line) => !expected.has(line)).map((line) => `+ ${line}`)
    different.push(...[...missing, ...wrong].filter((line) => isOver(line.slice(2), at - 1.5 * 86_400_000)))
  }
  t.strictSame(
    different.slice(0, 20).map((line) => line.slice(0, 300)),
    [],
    `${different.length} rows are different`,
  )
  t.ok((await killed.db.one<{ n: number }>('select count(*) as n from event')).n > 1_000, 'events were recorded')
  const twice = await killed.db.query<{ key: string }>(
    'select key from event group by type, key, data having count(*) > 1',
  )
  // An edited sleep of WHOOP is another one, which takes the place of the first: its scores go, and come again.
  const wrongly = twice.filter(({ key }) => {
    const [, user, , , at = ''] = key.split('.')
    return !edited.has(`${user} ${Date.parse(at.replaceAll('_', ':'))}`)
  })
  t.strictSame(wrongly, [], `none of them twice, but for ${twice.length} of edited sleeps`)
})

/** The longest that somebody cuts off a night, and the pace of what is measured in it (simulator/truth/sleep.ts). */
const MOST_CUT_MS = 40 * 60_000
const PACE_MS = 300_000

/**
 * Each world knows what it was when it asked: without what Polar does not tell, that an exercise was edited or deleted, and
 * without what was measured in the part of a night that an edit has cut off, which stays where it was fetched before.
 */
function toldOf({ workouts, sleeps }: Json) {
  const starts = new Set(workouts.map(({ start }: Json) => Date.parse(start)))
  const edited: number[] = sleeps.filter((sleep: Json) => sleep.edited).map(({ start }: Json) => Date.parse(start))
  const isCutOff = (atMs: number) =>
    edited.some((startMs) => {
      // Polar tells times to the minute.
      const isOnPace = [startMs, startMs - (startMs % 60_000)].some((ms) => (ms - atMs) % PACE_MS === 0)
      return isOnPace && atMs < startMs && atMs >= startMs - MOST_CUT_MS - 60_000
    })
  return (line: string): string[] => {
    const stored = JSON.parse(line)
    if (!Array.isArray(stored)) return isCutOff(Date.parse(stored.ts)) ? [] : [line]
    const [kind, workout] = stored
    if (kind !== 'workout' || !workout.from.startsWith('polar / ')) return [line]
    return starts.has(Date.parse(workout.start_at)) ? [JSON.stringify([kind, { ...workout, type: undefined }])] : []
  }
}

async function startTold(t: Test, engine: Engine): Promise<Told> {
  // Its clock goes on: signatures that are older than five minutes are refused.
  const simulator = await play(t, { now: () => Date.now(), people: PEOPLE, days: DAYS + 10 })
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const settings = {
    ...{ ...onDatabase(url), ...simulator.env, HISTORICAL_SYNC_ON_CONNECT: 'false', EVENT_FEED_ENABLED: 'true' },
    PORT: String(await freePort()),
    // Pulls would find what was lost.
    ...{ SYNC_INTERVAL_SECONDS: '604800', RECONCILE_INTERVAL_SECONDS: '604800' },
  }
  const start = () => startService(t, settings)
  const service = await start()
  await db.query(
    `insert into rate_budget (provider, seconds, provider_limit) values ('strava', 900, $1), ('strava', 86400, $1)`,
    [MANY],
  )
  for (const provider of TOLD)
    await simulator.control('POST', 'settings', { provider, limits: Array(provider === 'strava' ? 4 : 2).fill(MANY) })
  await simulator.control('POST', 'clock', { offset_seconds: -DAYS * 86_400 })
  const users = new Map<string, string>()
  for (const { key } of (await simulator.control('GET', 'people')).body) users.set(key, await createUser(service))
  for (const [person, user] of users)
    for (const provider of TOLD) await connectPerson(service, { user, provider, person })
  const form = { body: new URLSearchParams(DEVELOPER).toString(), auth: 'none' } as const
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const login = await service.request('POST', '/api/v1/auth/login', { ...form, headers })
  const authorization = `Bearer ${login.body.access_token}`
  const request: Service['request'] = (method, path) =>
    service.request(method, path, { headers: { authorization }, auth: 'none' })
  await subscribeToAll({ app: { url: service.url, request }, simulator })
  const told = { simulator, db, users, service, start }
  const isPulled = async () => (await db.query('select from provider_grant where next_pull_at <= now()')).length === 0
  if (!(await waitUntil(isPulled, PATIENCE_MS, 200))) throw new Error('nobody is pulled')
  await settled(told)
  return told
}

/** Of the last day, each world knows what was there when it last asked. */
const isOver = (line: string, untilMs: number) => {
  const stored = JSON.parse(line)
  const { ts, start_at: start, recorded_at: recorded } = Array.isArray(stored) ? stored[1] : stored
  return Date.parse(ts ?? start ?? recorded) < untilMs
}

/** A day of notices; the service is killed that long after the first of them, in ms, and what failed is sent again. */
async function nextDay(told: Told, killAfterMs?: number): Promise<void> {
  const { simulator } = told
  await simulator.control('POST', 'clock', { advance_seconds: 82_800 })
  const sending = simulator.control('POST', 'notices')
  if (killAfterMs !== undefined) {
    await delay(killAfterMs)
    await told.service.kill()
    told.service = await told.start()
  }
  await sending
  await simulator.control('POST', 'clock', { advance_seconds: 3_600 })
  await simulator.control('POST', 'notices')
  await settled(told)
}

async function settled({ db }: Told): Promise<void> {
  if (!(await waitUntil(() => nothingLeft({ db }), PATIENCE_MS, 200))) throw new Error('something is left')
}
