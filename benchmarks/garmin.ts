import type { Client } from 'pg'
import { waitUntil } from '../server/db/embedded/processes.ts'
import { Callbacks } from '../simulator/garmin/callbacks.ts'
import { garmin } from '../simulator/garmin/index.ts'
import { type Item, userIdOf } from '../simulator/garmin/items.ts'
import { bundled, Push } from '../simulator/garmin/pushes.ts'
import { type SummaryType, styleOf, types } from '../simulator/garmin/types.ts'
import type { Bundle, Sent, Told } from '../simulator/notices/notices.ts'
import { type Subscription, Subscriptions } from '../simulator/notices/subscriptions.ts'
import { livePerson, type Person } from '../simulator/truth/person.ts'
import { persona } from '../simulator/truth/personas.ts'
import { DATA_START_MS, seededRandom, shuffle } from './generate.ts'
import type { Request } from './requests.ts'
import type { Service } from './service.ts'

// Pushes of Garmin's as the simulator makes them, and accounts that send them.

const DAY_MS = 86_400_000
const SLOT_MS = 3 * 3_600_000
const PATIENCE_MS = 3_600_000
const FIRST_DAY = Math.floor(DATA_START_MS / DAY_MS)
const SEED = 17
const CLIENT = 'bench-garmin'
const SECRET = 'an address that nobody knows'

/** Settings of a service that takes pushes, and asks nobody. */
export const GARMIN_SETTINGS = {
  ...{ GARMIN_CLIENT_ID: CLIENT, GARMIN_CLIENT_SECRET: 'bench', GARMIN_WEBHOOK_PATH_SECRET: SECRET },
  ...{ GARMIN_API_URL: 'http://127.0.0.1:9', GARMIN_TOKEN_URL: 'http://127.0.0.1:9/token' },
}

/** As the simulator has them, but heart rate by the minute, and at most two lists of records in a body. */
const simulated = garmin().settings
const SETTINGS = { ...simulated, own: { ...simulated.own, heart_rate_seconds: 60, records_together: 2 } }
const callbacks = new Callbacks()

/** The person with this number; always the same. */
export function personOf(number: number, days: number): Person {
  const span = { firstDay: FIRST_DAY, lastDay: FIRST_DAY + days }
  return livePerson(persona(SEED, number, span), span)
}

/**
 * What is told of so many days of a person that were asked for: each day of each type, what comes by the quarter of an hour
 * in stretches of three hours as a watch brings it. All of it is told at `atMs`.
 */
export function pushesOf(person: Person, days: number, atMs: number): Push[] {
  const style = styleOf(SETTINGS)
  const asked = types.filter(({ backfill }) => backfill !== undefined)
  const told = (type: SummaryType, day: number) =>
    stretches(type, type.items(person, person.day(day), atMs, style)).map(
      (items) => new Push({ atMs, key: type.key, person, family: type.family, items }, callbacks),
    )
  const numbers = Array.from({ length: days }, (_, day) => FIRST_DAY + day)
  return numbers.flatMap((day) => asked.flatMap((type) => told(type, day)))
}

function stretches({ family }: SummaryType, items: readonly Item[]): Item[][] {
  const found = new Map<number, Item[]>()
  for (const item of items) {
    const place = family === 'slot' ? Math.floor(item.startMs / SLOT_MS) : 0
    const stretch = found.get(place) ?? []
    found.set(place, stretch)
    stretch.push(item)
  }
  return [...found.values()]
}

/** After the last of so many days, and what became known of it later; epoch ms. */
export const afterDays = (days: number): number => DATA_START_MS + (days + 10) * DAY_MS

/** A body, and where accounts stand in it: those of other people's have the same length. */
export interface PushBody {
  readonly text: Buffer
  readonly accounts: readonly { readonly at: number; readonly account: string }[]
}

/** The month of several people as bodies, in no order; one push in twenty comes twice, now and then several in one body. */
export function monthOf(people: readonly Person[], days: number): PushBody[] {
  const atMs = afterDays(days)
  const random = seededRandom(SEED)
  const told = people.flatMap((person) =>
    pushesOf(person, days, atMs).flatMap((notice): Told[] => {
      const one = { person: person.key, notice }
      return random() < 0.05 ? [one, one] : [one]
    }),
  )
  const accounts = people.map(userIdOf)
  return shuffle(bundled(told, SETTINGS), random).map((bundle) => bodyOf(bundle, accounts))
}

/** A push alone in a body. */
export const bodyAlone = (push: Push): PushBody =>
  placed(Buffer.from(JSON.stringify({ [push.topic]: push.rows() })), [userIdOf(push.person)])

const pushed: Subscription = new Subscriptions().add({ url: '', topics: null }, 0)
const sent: Sent = { nowMs: 0, address: '', remember() {} }

const bodyOf = ({ notice }: Bundle, accounts: readonly string[]): PushBody =>
  placed(Buffer.from(JSON.stringify(notice.body(pushed, sent))), accounts)

function placed(text: Buffer, accounts: readonly string[]): PushBody {
  const places = accounts.flatMap((account) => {
    const found: { at: number; account: string }[] = []
    for (let at = text.indexOf(account); at >= 0; at = text.indexOf(account, at + account.length))
      found.push({ at, account })
    return found
  })
  return { text, accounts: places }
}

/** The account of somebody who lives exactly as another one does; the first of them is that one. */
export const twinOf = (account: string, twin: number): string => `${String(twin).padStart(8, '0')}${account.slice(8)}`

/** A body about twins of those whom it is about. */
export function ofTwins({ text, accounts }: PushBody, twin: number): Buffer {
  const copy = Buffer.from(text)
  for (const { at, account } of accounts) copy.write(twinOf(account, twin), at)
  return copy
}

/** The request that brings a body. */
export const pushRequest = (body: Buffer): Request => ({
  method: 'POST',
  path: `/api/v1/providers/garmin/webhooks?k=${encodeURIComponent(SECRET)}`,
  headers: { 'content-type': 'application/json', 'garmin-client-id': CLIENT },
  body,
})

const SCOPE = 'ACTIVITY_EXPORT HEALTH_EXPORT HISTORICAL_DATA_EXPORT MCT_EXPORT'

/** Makes a user who has connected an account, as if that had been an hour ago; returns the user and the grant. */
export async function connectAccount(service: Pick<Service, 'createUser'>, db: Client, account: string) {
  const user = await service.createUser()
  const { rows } = await db.query<{ grant_id: string }>(
    `with granted as (
       insert into provider_grant (provider, account_id, scope, granted_at)
       values ('garmin', $2, $3, now() - interval '1 hour') returning id
     )
     insert into connection (user_id, provider, grant_id, provider_user_id, scope, created_at)
     select $1, 'garmin', id, $2, $3, now() - interval '1 hour' from granted
     returning grant_id`,
    [user, account, SCOPE],
  )
  return { user, grant: rows[0]?.grant_id as string }
}

/** As if all of the past had been asked for, and Garmin had begun to send it: it goes on for a day at least. */
export async function askForPast(db: Client, { user, grant }: { user: string; grant: string }, days: number) {
  const streams = types.flatMap(({ key, backfill }) => (backfill === undefined ? [] : [key]))
  const hi = new Date(afterDays(days))
  await db.query('select start_backfill($1, $2, $3, $4, $5)', [
    ...[grant, user, streams, new Date(DATA_START_MS - DAY_MS), hi],
  ])
  await db.query(`update backfill_part set state = 'asked', asked_at = now(), attempted = true where grant_id = $1`, [
    grant,
  ])
  await db.query(`update sync_task set due_at = now() + interval '1 day' where grant_id = $1`, [grant])
  await db.query(`update provider_grant set history_at = now() + interval '1 day' where id = $1`, [grant])
}

const LEFT_SQL = `
  select exists (select from notification where due_at <= now() and state <> 'malformed') as unopened,
         exists (select from upload where status = 'queued' and user_id = any ($1)) as queued`

/** Waits until all pushes are opened, and everything of some users is imported; returns how long that took, in seconds. */
export async function readable(db: Client, users: readonly string[]): Promise<number> {
  const started = performance.now()
  const isDone = async () => {
    const [left] = (await db.query<{ unopened: boolean; queued: boolean }>(LEFT_SQL, [users])).rows
    return left?.unopened === false && !left.queued
  }
  if (!(await waitUntil(isDone, PATIENCE_MS, 50))) throw new Error('something is never imported')
  return (performance.now() - started) / 1000
}
