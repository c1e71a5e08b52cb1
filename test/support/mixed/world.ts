// People of the simulator as `npm run simulate -- --connect` connects them, a service in a process of its own, and somebody
// who receives its webhooks.
import type { Test } from 'tap'
import type { Database } from '../../../server/db/database.ts'
import { dealt } from '../../../simulator/connect.ts'
import { createTestDatabase } from '../app.ts'
import { connectPerson, pullsUntil } from '../people.ts'
import { createUser } from '../sdk.ts'
import type { Engine } from '../servers.ts'
import { freePort, onDatabase, type Service, startService } from '../service.ts'
import { type Playing, play } from '../simulator.ts'
import type { linesOf } from '../truth-of-all.ts'
import { createEndpoint, openTestDatabase } from '../webhooks.ts'
import { keepWhatGoes } from './gone.ts'
import { type Inbox, openInbox } from './inbox.ts'
import { Phones } from './phones.ts'
import { subscribeAll } from './subscribed.ts'

export const DAY_MS = 86_400_000
const MANY = 1_000_000
const EACH = 3

export type Provider = keyof typeof linesOf

/** How large a world is. */
export interface Size {
  readonly people: number
  /** Days of before the consents, days with faults, and days without any at the end. */
  readonly past: number
  readonly days: number
  readonly quiet: number
  readonly seed: number
}

/** Somebody who is connected. */
export interface Member {
  readonly person: string
  readonly user: string
  readonly providers: readonly Provider[]
}

export interface World {
  readonly size: Size
  readonly simulator: Playing
  readonly service: Service
  readonly db: Database
  readonly inbox: Inbox
  readonly phones: Phones
  readonly members: readonly Member[]
  /** When the people gave their consents. */
  readonly consentMs: number
  /** Moves the people's lives to that instant; tokens and signatures go by the clock of this machine. */
  moveTo(ms: number): Promise<void>
}

const SETTINGS = {
  ...{ OUTGOING_WEBHOOKS_ENABLED: 'true', WEBHOOKS_ALLOW_HTTP: 'true', WEBHOOKS_ALLOW_NETWORKS: '127.0.0.0/8' },
  ...{ HISTORICAL_SYNC_ON_CONNECT: 'false', SYNC_TRIGGERS_PER_HOUR: '100000' },
  // Pulls are made when the people's lives have gone on.
  ...{ SYNC_INTERVAL_SECONDS: '604800', RECONCILE_INTERVAL_SECONDS: '604800' },
}

/** Starts all of it, and connects everybody. */
export async function startWorld(t: Test, engine: Engine, size: Size): Promise<World> {
  let machineMs = Date.now()
  const simulator = await play(t, {
    ...{ now: () => machineMs, people: size.people, seed: size.seed },
    days: size.past + size.days + size.quiet + 10,
  })
  const moveTo = async (ms: number) => {
    machineMs = Date.now()
    await simulator.control('POST', 'clock', { now: new Date(ms).toISOString() })
  }
  await liftLimits(simulator)
  const consentMs = machineMs - (size.days + size.quiet) * DAY_MS
  await moveTo(consentMs)
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  await keepWhatGoes(db)
  await pullsUntil(db, consentMs)
  const inbox = await openInbox(t, size.seed)
  await createEndpoint(db, `${inbox.origin}/`)
  const port = String(await freePort())
  const service = await startService(t, { ...onDatabase(url), ...simulator.env, ...SETTINGS, PORT: port })
  // As if they had said so: before Strava does, few requests are made in a quarter of an hour; Suunto never does.
  await db.query(
    `insert into rate_budget (provider, seconds, provider_limit)
     values ('strava', 900, $1), ('strava', 86400, $1), ('suunto', 1, $1)`,
    [MANY],
  )
  await subscribeAll({ service, simulator })
  const members = await connectAll({ service, simulator })
  // Before: of nights longer ago than a month before the consent Withings is not asked for the stages.
  await knownForLong(db)
  const days = size.past + size.days + size.quiet
  for (const { user, providers } of members)
    for (const provider of providers) if (provider !== 'garmin') await askForPast(service, { user, provider, days })
  await db.query(`update stream_cursor set begun_at = begun_at - make_interval(days => $1)`, [size.days + size.quiet])
  return { size, simulator, service, db, inbox, phones: new Phones(size.seed), members, consentMs, moveTo }
}

async function liftLimits(simulator: Playing): Promise<void> {
  const settings = Object.keys((await simulator.control('GET', 'settings')).body)
  for (const provider of settings)
    await simulator.control('POST', 'settings', { provider, limits: Array.from({ length: 5 }, () => MANY) })
  // Otherwise Polar shows nothing of the past, and heart rates of each quarter of a minute are most of what is stored.
  await simulator.control('POST', 'settings', { provider: 'polar', own: { old_exercises: true } })
  // Pauses after failures are not waited for, and so the one that Withings wants between two calls cannot be either.
  await simulator.control('POST', 'settings', { provider: 'withings', own: { repeat_seconds: 0 } })
  await simulator.control('POST', 'settings', {
    provider: 'garmin',
    own: { heart_rate_seconds: 60, detail_seconds: 60 },
  })
}

/** Polar lists whatever was uploaded since; it tells that people have registered by the consent. */
export const knownForLong = (db: Database) =>
  db.query(
    `update provider_grant set granted_at = granted_at - interval '1 year' where granted_at > now() - interval '1 day'`,
  )

async function connectAll({ service, simulator }: Pick<World, 'service' | 'simulator'>): Promise<Member[]> {
  const people = (await simulator.control('GET', 'people')).body
  const { body: listed } = await service.request('GET', '/api/v1/oauth/providers?enabled_only=true&cloud_only=true')
  const offered = Object.keys(people[0].accounts).filter((name) =>
    listed.some(({ provider }: { provider: string }) => provider === name),
  ) as Provider[]
  const members: Member[] = []
  for (const [index, { key: person }] of people.entries()) {
    const user = await createUser(service)
    const providers = dealt(offered, index, EACH) as Provider[]
    for (const provider of providers) await connectPerson(service, { user, provider, person })
    members.push({ person, user, providers })
  }
  return members
}

/** Asks for so many days of a connection's past. */
export async function askForPast(
  service: Service,
  { user, provider, days }: { user: string; provider: Provider; days: number },
): Promise<void> {
  const path = `/api/v1/providers/${provider}/users/${user}/sync/historical?days=${days}`
  const { status, body } = await service.request('POST', path)
  if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`)
}
