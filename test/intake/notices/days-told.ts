// People of the simulator whose providers tell of each day, in order or not.
import type { Test } from 'tap'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import type { TestApp } from '../../support/app.ts'
import { storedEvents } from '../../support/events.ts'
import { startOpeningNotices } from '../../support/notices.ts'
import { connectPerson, type Simulated, startPulling, startSimulated } from '../../support/people.ts'
import { createUser, storedSamples } from '../../support/sdk.ts'
import type { Engine } from '../../support/servers.ts'

export const TOLD = ['oura', 'whoop', 'strava', 'polar'] as const

/** More requests than a test makes, in the order of the limits of a provider. */
const MANY = 1_000_000

const PATIENCE_MS = 30_000

export interface Told extends Simulated {
  /** By person. */
  readonly users: ReadonlyMap<string, string>
  pullNow(): Promise<void>
}

/**
 * Connects people at all providers that notify, and subscribes to these. `at`: when it is, so that several simulators
 * play the same days.
 */
export async function startTold(
  t: Test,
  engine: Engine,
  { people, days, at }: { people: number; days: number; at: number },
): Promise<Told> {
  const simulated = await startSimulated(t, engine, {
    ...{ world: { people, days: days + 10, at }, historicalSyncOnConnect: false },
  })
  const { app, simulator } = simulated
  for (const provider of TOLD)
    await simulator.control('POST', 'settings', { provider, limits: [MANY, MANY, MANY, MANY] })
  const pulling = await startPulling(t, app)
  await startOpeningNotices(t, app)
  await simulator.control('POST', 'clock', { offset_seconds: -days * 86_400 })
  const users = new Map<string, string>()
  for (const { key } of (await simulator.control('GET', 'people')).body) users.set(key, await createUser(app))
  for (const [person, user] of users) for (const provider of TOLD) await connectPerson(app, { user, provider, person })
  await subscribeToAll(simulated)
  const told = { ...simulated, users, pullNow: () => pulling.pullNow() }
  await done(told)
  return told
}

/** Has all providers that notify send their notices to the service. */
export async function subscribeToAll({
  app,
  simulator,
}: {
  app: Pick<TestApp, 'url' | 'request'>
  simulator: Pick<Simulated['simulator'], 'control'>
}): Promise<void> {
  for (const provider of TOLD) {
    const url = `${app.url}/api/v1/providers/${provider}/webhooks`
    const path = `/api/v1/providers/${provider}/webhooks/subscriptions?callback_url=${encodeURIComponent(url)}`
    if (provider === 'whoop') await simulator.control('POST', 'subscriptions', { provider, url })
    else if ((await app.request('POST', path, { auth: 'developer' })).status !== 200) throw new Error(provider)
  }
}

/** Another day of the simulator: everything that it tells has come, and what follows from that is stored. */
export async function nextDay(told: Told): Promise<void> {
  await told.simulator.control('POST', 'clock', { advance_days: 1 })
  await told.simulator.control('POST', 'notices')
  await done(told)
}

/** Waits until nothing is left to open, to ask and to import; what is to be asked later is asked now. */
export async function done({ app }: Pick<Simulated, 'app'>): Promise<void> {
  if (await waitUntil(() => nothingLeft(app), PATIENCE_MS, 50)) return
  const tasks = await app.db.query('select kind, key, due_at, attempts, position from sync_task limit 5')
  throw new Error(`something is left: ${JSON.stringify(tasks)}`)
}

/** Whether nothing is left to open, to ask and to import; what is to be asked later is made due. */
export async function nothingLeft({ db }: Pick<TestApp, 'db'>): Promise<boolean> {
  // Whoever changes the tasks of a grant holds it (server/store/lock.ts).
  await db.query(
    `with held as (
       select g.id from provider_grant g
       where exists (
         select from sync_task s where s.grant_id = g.id and s.due_at > now() and s.due_at < 'infinity'
       ) or g.live_at > now()
       order by g.id
       for update
     ), due as (
       update sync_task s set due_at = now()
       from held
       where s.grant_id = held.id and s.due_at > now() and s.due_at < 'infinity'
     )
     update provider_grant g set live_at = now()
     from held
     where g.id = held.id and g.live_at > now()
       and exists (select from sync_task s where s.grant_id = g.id and s.lane = 'live')`,
  )
  const { left } = await db.one<{ left: number }>(
    `select (select count(*) from notification where state = 'waiting') + (select count(*) from sync_task)
            + (select count(*) from upload where status = 'queued')
            + (select count(*) from sync_run where status = 'in_progress') as left`,
  )
  return left === 0
}

/** Everything that is stored of a user, as text, without when it came and under which random id. */
export async function storedOf({ db }: Pick<TestApp, 'db'>, user: string): Promise<string[]> {
  const events = Object.entries(await storedEvents(db, user)).flatMap(([table, rows]) =>
    rows.map((row) =>
      JSON.stringify([table, { ...(row as object), session: undefined, answered_at: undefined, version: undefined }]),
    ),
  )
  // A height or a weight without a time is of when it was asked for, and of the zone that was known then.
  const samples = (await storedSamples(db, user)).map((sample) =>
    JSON.stringify(
      sample.type === 'height' || sample.type === 'weight' ? { ...sample, ts: undefined, zone: undefined } : sample,
    ),
  )
  return [...events, ...samples].sort()
}

/** How many notices the simulator has sent, each time counted. */
export async function sent({ simulator }: Pick<Simulated, 'simulator'>): Promise<number> {
  const { body } = await simulator.control('GET', 'notices')
  return body.reduce((sum: number, { attempts }: { attempts: unknown[] }) => sum + attempts.length, 0)
}
