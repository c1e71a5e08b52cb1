import { groupBy } from '../batch/group-by.ts'
import type { Database } from '../db/database.ts'
import type { Bodies } from './bodies.ts'
import type { StoredEvent } from './body.ts'
import { type Due, enqueue, enqueueFeed, type Lane, type Wanted, wantedOf } from './lane.ts'
import { messageId } from './message-id.ts'

/** Events up to this size are read with their deliveries, larger ones only when they are sent. */
const INLINE_BYTES = 16_384

/** Positions of the feed that one look at it covers, for each endpoint: at most, and at least. */
export const REACH = 5_000
export const LEAST_REACH = 50

/** Positions that it covers for all endpoints together. */
export const LOOK_AT = 20_000

/** Positions of the feed with nothing for an endpoint after which its place is stored. */
export const STORED_EVERY = 1_000

interface DueRow extends Omit<StoredEvent, 'data'> {
  endpoint_id: number
  event_id: number
  uid: string
  attempts: number
  manual: boolean
  /** Once per event, and null when it is large. */
  data: Buffer | null
}

/** What is ahead of an endpoint: `found` has `event,position,uid` of each, separated by blanks, null for nothing. */
export interface FeedRow {
  endpoint_id: number
  found: string | null
  /** Where the look at the feed ended, and where the feed does. */
  read_to: number
  last: number
}

type Sink = Pick<Bodies, 'add' | 'has'>

/** Queues due deliveries in the lanes of their endpoints, as many as each wants; reads nothing if none does. */
export async function readDue(db: Database, processId: number, lanes: Iterable<Lane>, bodies: Sink): Promise<void> {
  const wanted = Array.from(lanes, (lane) => ({ lane, wanted: wantedOf(lane) }))
  const rows = wanted.filter(({ wanted: { fresh, retries } }) => fresh + retries > 0)
  if (rows.length > 0) await readRows(db, processId, rows, bodies)
  const feed = wanted.filter(({ wanted: { feed } }) => feed > 0)
  if (feed.length > 0) await readFeed(db, processId, feed, bodies)
}

type WantedOfLane = { lane: Lane; wanted: Wanted }

const dueOf = ({ event_id, uid, attempts, manual }: DueRow, position: number | null): Due => {
  return { eventId: event_id, position, messageId: messageId(uid), attempts, manual }
}

async function readRows(db: Database, processId: number, wanted: WantedOfLane[], bodies: Sink): Promise<void> {
  const known = wanted.flatMap(({ lane }) => Array.from(lane.known.keys(), (event) => ({ endpoint: lane.id, event })))
  const readAt = performance.now()
  const rows = await db.query<DueRow>(DUE, [
    processId,
    wanted.map(({ lane }) => lane.id),
    wanted.map(({ wanted: { fresh } }) => fresh),
    wanted.map(({ wanted: { retries } }) => retries),
    INLINE_BYTES,
    known.map(({ endpoint }) => endpoint),
    known.map(({ event }) => event),
  ])
  const got = groupBy(rows, ({ endpoint_id }) => endpoint_id)
  for (const { event_id, data, ...event } of rows) if (data) bodies.add(event_id, { ...event, data })
  for (const { lane, wanted: asked } of wanted)
    enqueue(
      lane,
      (got.get(lane.id) ?? []).map((row) => dueOf(row, null)),
      asked,
      readAt,
    )
}

async function readFeed(db: Database, processId: number, wanted: WantedOfLane[], bodies: Sink): Promise<void> {
  const from = new Map(wanted.map(({ lane }) => [lane.id, lane.readTo]))
  // What is read again after it was dropped.
  const known = wanted.flatMap(({ lane }) =>
    Array.from(lane.known).flatMap(([event, position]) =>
      position === null || position > (lane.readTo ?? 0) ? [{ endpoint: lane.id, event }] : [],
    ),
  )
  const readAt = performance.now()
  const rows = await db.query<FeedRow>(FEED, [
    processId,
    wanted.map(({ lane }) => lane.id),
    wanted.map(({ wanted: { feed } }) => feed),
    wanted.map(({ lane }) => lane.readTo ?? 0),
    Math.min(REACH, Math.max(LEAST_REACH, Math.floor(LOOK_AT / wanted.length))),
    known.map(({ endpoint }) => endpoint),
    known.map(({ event }) => event),
  ])
  const got = new Map(rows.map(({ found, ...row }) => [row.endpoint_id, { ...row, due: dueOfFeed(found) }]))
  await readEvents(
    db,
    [...got.values()].flatMap(({ due }) => due.map(({ eventId }) => eventId)),
    bodies,
  )
  for (const { lane, wanted: asked } of wanted) {
    const ahead = got.get(lane.id)
    // Without one, the lease is lost, the endpoint disabled, or the feed empty.
    if (!ahead) lane.more.feed = false
    else {
      const { due, last } = ahead
      const isFull = due.length === asked.feed
      const readTo = isFull ? (due.at(-1)?.position ?? ahead.read_to) : ahead.read_to
      enqueueFeed(lane, from.get(lane.id), { due, readTo, more: isFull || readTo < last }, readAt)
    }
  }
}

const dueOfFeed = (found: string | null): Due[] =>
  (found?.split(' ') ?? []).map((one) => {
    const [event, position, uid = ''] = one.split(',')
    return { eventId: Number(event), position: Number(position), messageId: messageId(uid), attempts: 0, manual: false }
  })

/** Reads events that several endpoints are about to get, once. */
async function readEvents(db: Database, ids: number[], bodies: Sink): Promise<void> {
  const missing = [...new Set(ids)].filter((id) => !bodies.has(id))
  if (missing.length === 0) return
  const events = await db.query<StoredEvent & { id: number }>(
    `select id, type, user_id, scope, packed, data from event where id = any ($1) and octet_length(data) <= $2`,
    [missing, INLINE_BYTES],
  )
  for (const { id, ...event } of events) bodies.add(id, event)
}

/** Events ahead of endpoint `n`, with `read_to`: where a look at them behind position `after` ends. */
export const lookBehind = (after: string, reach: string) => `
  cross join lateral (
    select greatest(${after}, lower(n.ahead) - 1, (select min(e.position) from event e) - 1) as position
  ) start
  cross join lateral (
    select greatest(start.position, least(start.position + ${reach}, newest.position)) as position
  ) reached`

/** What endpoint `n` gets of the event `e` that such a look sees. */
export const IS_AHEAD = `e.position > start.position and e.position <= reached.position
  and e.position <@ n.ahead and gets(n, e)
  and not exists (select from delivery d where d.event_id = e.id and d.endpoint_id = n.id)`

/** The last position of the feed; nothing while it is empty. */
export const NEWEST = '(select max(e.position) as position from event e having max(e.position) is not null) newest'

/** Deliveries of leased endpoints that are ahead of them in the feed; those of `known` are already in hand. */
export const FEED = `
  select n.id as endpoint_id, reached.position as read_to, newest.position as last,
         (select string_agg(concat_ws(',', ahead.id, ahead.position, ahead.uid), ' ' order by ahead.position)
          from (
            select e.id, e.position, e.uid
            from event e
            where ${IS_AHEAD} and (n.id, e.id) not in (select * from unnest($6::int4[], $7::int8[]))
            order by e.position
            limit wanted.feed
          ) ahead) as found
  from ${NEWEST}
  cross join unnest($2::int4[], $3::int4[], $4::int8[]) as wanted (endpoint_id, feed, after)
  join endpoint n
    on n.id = wanted.endpoint_id and n.process_id = $1 and n.leased_until > now() and n.disabled_at is null
  ${lookBehind('wanted.after', '$5')}`

const due = (condition: string, limit: string) => `
  (select d.event_id, d.attempts, d.manual, d.due_at
   from delivery d
   where d.endpoint_id = n.id
     and d.state = 'waiting'
     and ${condition}
     and d.due_at <= now()
     and (d.endpoint_id, d.event_id) not in (select * from unnest($6::int4[], $7::int8[]))
   order by d.due_at, d.event_id
   limit ${limit})`

/** Due deliveries of leased endpoints; those of `known` are already in hand. */
export const DUE = `
  select n.id as endpoint_id, d.event_id, d.attempts, d.manual, e.uid, e.type, e.user_id, e.scope, e.packed,
         case
           when octet_length(e.data) <= $5 and row_number() over (partition by e.id order by n.id) = 1 then e.data
         end as data
  from unnest($2::int4[], $3::int4[], $4::int4[]) as wanted (endpoint_id, fresh, retries)
  join endpoint n
    on n.id = wanted.endpoint_id and n.process_id = $1 and n.leased_until > now() and n.disabled_at is null
  cross join lateral (${due('d.attempts = 0', 'wanted.fresh')}
    union all ${due('d.attempts > 0', 'wanted.retries')}) d
  join event e on e.id = d.event_id
  order by d.due_at, d.event_id`
