import type { EventName } from '../catalogue/events.ts'
import { type Scope, scopes } from '../catalogue/scopes.ts'
import type { Config } from '../config.ts'
import type { Queryable } from '../db/database.ts'

/** The settings that decide whether events are recorded. */
export type EventSettings = Pick<Config, 'outgoingWebhooksEnabled' | 'eventFeedEnabled'>

/** Whether a kind of event is wanted; `scope` null: whatever its scope is. */
export type Wanted = (name: string, scope: Scope | null) => boolean

/**
 * Which events of a user to record: all of them for the feed, else those that an endpoint wants; undefined for none
 * (contract 10.4). Call it in the transaction that records them.
 */
export async function wantedEvents(
  db: Queryable,
  settings: EventSettings,
  userId: string,
): Promise<Wanted | undefined> {
  if (settings.eventFeedEnabled) return () => true
  if (!settings.outgoingWebhooksEnabled) return undefined
  const names = await db.one<Record<Scope, string[] | null>>('select live, historical from wanted_events($1)', [userId])
  if (scopes.every((scope) => names[scope]?.length === 0)) return undefined
  const isWanted = (name: string, scope: Scope) => names[scope] === null || names[scope].includes(name)
  return (name, scope) => (scope === null ? scopes.some((one) => isWanted(name, one)) : isWanted(name, scope))
}

/** An event to be recorded. */
export interface NewEvent {
  userId: string
  provider: string
  name: EventName
  /** The fact that it reports (contract 10.4, "Idempotency key"). */
  key: string
  /** Whether it is live or of the past; null = not known. */
  scope: Scope | null
  /** JSON, or `packed` samples. */
  data: Uint8Array
  packed: boolean
}

// All data in one parameter, which the driver sends unchanged; an array of bytes would go as text of twice the size.
const RECORD_SQL = `
  with recorded as (
    insert into event (type, key, user_id, provider, data, packed, scope)
    select e.type, e.key, e.user_id, e.provider, substring($1::bytea from e.at for e.size), e.packed, e.scope
    from unnest($2::text[], $3::text[], $4::uuid[], $5::text[], $6::int4[], $7::int4[], $8::bool[], $9::text[])
      with ordinality as e (type, key, user_id, provider, at, size, packed, scope, place)
    order by e.place
  )
  select pg_notify('event', '')`

/** Records events in the caller's transaction, in their order; they are sent once it is committed. */
export async function recordEvents(db: Queryable, events: readonly NewEvent[]): Promise<void> {
  if (events.length === 0) return
  const starts: number[] = []
  let size = 0
  for (const { data } of events) {
    starts.push(size + 1)
    size += data.byteLength
  }
  await db.query(RECORD_SQL, [
    Buffer.concat(events.map(({ data }) => data)),
    events.map(({ name }) => name),
    events.map(({ key }) => key.replaceAll(/[^A-Za-z0-9\-_.]/g, '_')),
    events.map(({ userId }) => userId),
    events.map(({ provider }) => provider),
    starts,
    events.map(({ data }) => data.byteLength),
    events.map(({ packed }) => packed),
    events.map(({ scope }) => scope),
  ])
}
