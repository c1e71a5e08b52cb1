import type { Database } from '../db/database.ts'
import type { Bodies } from './bodies.ts'
import type { StoredEvent } from './body.ts'
import { type Due, enqueue, type Lane, wantedOf } from './lane.ts'
import { messageId } from './message-id.ts'

/** Events up to this size are read with their deliveries, larger ones only when they are sent. */
const INLINE_BYTES = 16_384

interface DueRow extends Omit<StoredEvent, 'data'> {
  endpoint_id: number
  event_id: number
  uid: string
  attempts: number
  manual: boolean
  /** Once per event, and null when it is large. */
  data: Buffer | null
}

/** Queues due deliveries in the lanes of their endpoints, as many as each wants; reads nothing if none does. */
export async function readDue(
  db: Database,
  processId: number,
  lanes: Iterable<Lane>,
  bodies: Pick<Bodies, 'add'>,
): Promise<void> {
  const wanted = Array.from(lanes, (lane) => ({ lane, due: [] as Due[], ...wantedOf(lane) })).filter(
    ({ fresh, retries }) => fresh + retries > 0,
  )
  if (wanted.length === 0) return
  const known = wanted.flatMap(({ lane }) => Array.from(lane.known, (event) => ({ endpoint: lane.id, event })))
  const readAt = performance.now()
  const rows = await db.query<DueRow>(DUE, [
    processId,
    wanted.map(({ lane }) => lane.id),
    wanted.map(({ fresh }) => fresh),
    wanted.map(({ retries }) => retries),
    INLINE_BYTES,
    known.map(({ endpoint }) => endpoint),
    known.map(({ event }) => event),
  ])
  const got = new Map(wanted.map(({ lane, due }) => [lane.id, due]))
  for (const { endpoint_id, event_id, uid, attempts, manual, data, ...event } of rows) {
    got.get(endpoint_id)?.push({ eventId: event_id, messageId: messageId(uid), attempts, manual })
    if (data) bodies.add(event_id, { ...event, data })
  }
  for (const { lane, due, fresh, retries } of wanted) enqueue(lane, due, { fresh, retries }, readAt)
}

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
