import type { EventName } from '../catalogue/events.ts'
import type { Config } from '../config.ts'
import type { Queryable } from '../db/database.ts'

/** The settings that decide whether events are recorded. */
export type EventSettings = Pick<Config, 'outgoingWebhooksEnabled' | 'eventFeedEnabled'>

/** Whether a kind of event is wanted. */
export type Wanted = (name: string) => boolean

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
  const { names } = await db.one<{ names: string[] | null }>('select wanted_events($1) as names', [userId])
  if (names === null) return () => true
  const wanted = new Set(names)
  return wanted.size > 0 ? (name) => wanted.has(name) : undefined
}

/** An event to be recorded. */
export interface NewEvent {
  userId: string
  provider: string
  name: EventName
  /** The fact that it reports (contract 10.4, "Idempotency key"). */
  key: string
  /** JSON, or `packed` samples. */
  data: Uint8Array
  packed: boolean
}

// All data in one parameter, which the driver sends unchanged; an array of bytes would go as text of twice the size.
const RECORD_SQL = `
  with recorded as (
    insert into event (type, key, user_id, provider, data, packed)
    select e.type, e.key, e.user_id, e.provider, substring($1::bytea from e.at for e.size), e.packed
    from unnest($2::text[], $3::text[], $4::uuid[], $5::text[], $6::int4[], $7::int4[], $8::bool[])
      with ordinality as e (type, key, user_id, provider, at, size, packed, place)
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
  ])
}
