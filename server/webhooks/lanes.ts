import type { Database } from '../db/database.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { VERSION } from '../version.ts'
import type { AddressGuard } from './address-guard.ts'
import { openRecorder } from './attempts.ts'
import { openBodies, UnreadableEvent } from './bodies.ts'
import { coalesce } from './coalesce.ts'
import { type Answer, post } from './deliver.ts'
import {
  type Due,
  dropQueues,
  enqueue,
  isWary,
  type Lane,
  type LeasedEndpoint,
  openLane,
  takeDue,
  updateLane,
  wantedOf,
} from './lane.ts'
import { messageId } from './message-id.ts'
import { signature } from './sign.ts'

/** How long an endpoint stays with a process that does not renew, by the clock of the database. */
const LEASE_SECONDS = 30
const RENEW_MS = 10_000

/** Calls in flight, of this process; those to endpoints that only fail may be half of them. */
const CALLS = 50
const WARY_CALLS = 25

/** Attempts that may wait to be recorded; no more calls are made while the database does not take them. */
const UNRECORDED = 1_000

/** Events up to this size are read with their deliveries, larger ones when they are sent. */
const INLINE_BYTES = 16_384

/** Time that calls in flight get at the end. */
const DRAIN_MS = 4_000

const USER_AGENT = `Pulsebase/${VERSION}`

const UNREADABLE = 'This version of Pulsebase cannot read the event.'

interface LanesOptions {
  db: Database
  /** Decrypts the secrets of endpoints. */
  key: Uint8Array
  guard: AddressGuard
  /** Id of this process among the living. */
  processId(): number
  metrics: Metrics
  log: Logger
}

/** Delivers what is due. */
export interface Lanes {
  /** Something may have become due, or an endpoint may have changed. */
  wake(): void
  /** Begins no more calls and gives those in flight some seconds; what they leave is due again. */
  stop(): Promise<void>
}

/**
 * Starts to deliver. Endpoints are leased from the database, so that each is served by one process at a time; a call is
 * made without anything being written before, and recorded after it. Whether something is due is decided by the clock of
 * the database; only `hook-timestamp` is of this process.
 */
export function startLanes({ db, key, guard, processId, metrics, log }: LanesOptions): Lanes {
  const lanes = new Map<number, Lane>()
  /** Endpoints whose secrets cannot be read, which is told once. */
  const unusable = new Set<number>()
  const bodies = openBodies(db)
  const recorder = openRecorder(db, log, (attempts) => {
    for (const { lane, due } of attempts) {
      lane.known.delete(due.eventId)
      forget(lane)
    }
    // There is room again.
    begin()
  })
  let inFlight = 0
  let waryInFlight = 0
  let drained: (() => void) | undefined
  let stopping = false
  let abandoned = false
  let renewedAt = performance.now()
  let changed = true

  const cycle = coalesce(
    async () => {
      if (performance.now() - renewedAt > RENEW_MS) await renew()
      if (changed) {
        changed = false
        await lease()
      }
      await read()
      begin()
    },
    (error) => {
      changed = true
      log.warn({ err: error }, 'cannot read what is to be delivered, trying again')
    },
  )

  /** Keeps the endpoints that were used of late, and lets go of the others. */
  async function renew(): Promise<void> {
    renewedAt = performance.now()
    const inUse = ({ usedAt, known }: Lane) => renewedAt - usedAt < RENEW_MS || known.size > 0
    const used = [...lanes.values()].filter(inUse).map(({ id }) => id)
    await db.query(RENEW, [processId(), used, LEASE_SECONDS])
    changed = true
  }

  async function lease(): Promise<void> {
    const endpoints = await db.query<LeasedEndpoint>(LEASE, [processId(), LEASE_SECONDS])
    const held = new Set<number>()
    for (const endpoint of endpoints) {
      held.add(endpoint.id)
      const lane = lanes.get(endpoint.id)
      try {
        if (lane) updateLane(lane, endpoint, key, guard)
        else lanes.set(endpoint.id, openLane(endpoint, key, guard))
        unusable.delete(endpoint.id)
      } catch (error) {
        held.delete(endpoint.id)
        if (!unusable.has(endpoint.id))
          log.error({ err: error, endpoint: endpoint.uid }, 'cannot deliver to an endpoint')
        unusable.add(endpoint.id)
      }
    }
    for (const lane of lanes.values()) {
      if (held.has(lane.id)) continue
      lane.served = false
      dropQueues(lane)
      forget(lane)
    }
  }

  function forget(lane: Lane): void {
    // At the end all connections are destroyed together.
    if (abandoned || lane.served || lane.known.size > 0) return
    lanes.delete(lane.id)
    void lane.connections.close()
  }

  async function read(): Promise<void> {
    const wanted = [...lanes.values()]
      .map((lane) => ({ lane, due: [] as Due[], ...wantedOf(lane) }))
      .filter(({ fresh, retries }) => fresh + retries > 0)
    if (wanted.length === 0) return
    const known = wanted.flatMap(({ lane }) => Array.from(lane.known, (event) => ({ endpoint: lane.id, event })))
    const readAt = performance.now()
    const rows = await db.query<DueRow>(DUE, [
      processId(),
      wanted.map(({ lane }) => lane.id),
      wanted.map(({ fresh }) => fresh),
      wanted.map(({ retries }) => retries),
      INLINE_BYTES,
      known.map(({ endpoint }) => endpoint),
      known.map(({ event }) => event),
    ])
    const got = new Map(wanted.map(({ lane, due }) => [lane.id, due]))
    for (const { endpoint_id, event_id, uid, attempts, manual, data, type, user_id, packed } of rows) {
      got.get(endpoint_id)?.push({ eventId: event_id, messageId: messageId(uid), attempts, manual })
      if (data) bodies.add(event_id, { type, user_id, data, packed })
    }
    for (const { lane, due, fresh, retries } of wanted) enqueue(lane, due, { fresh, retries }, readAt)
  }

  /** Begins calls while there is room, one for each endpoint in turn. */
  function begin(): void {
    for (const lane of lanes.values()) {
      if (stopping || inFlight >= CALLS || recorder.size() >= UNRECORDED) return
      const wary = isWary(lane)
      if (wary && waryInFlight >= WARY_CALLS) continue
      const due = takeDue(lane)
      if (!due) continue
      // To the end, where this loop comes by again.
      lanes.delete(lane.id)
      lanes.set(lane.id, lane)
      void call(lane, due, wary)
    }
  }

  async function call(lane: Lane, due: Due, wary: boolean): Promise<void> {
    inFlight += 1
    if (wary) waryInFlight += 1
    const { url } = lane
    const startedAt = performance.now()
    const answer = await attempt(lane, due).catch((error: unknown): Answer | undefined => {
      log.warn({ err: error, event: due.messageId }, 'cannot read an event that is to be delivered')
      if (!(error instanceof UnreadableEvent)) return undefined
      // Another process of ours may be able to, or this one after an update: it is tried again like any other.
      return { outcome: 'unreadable_event', status: 0, text: UNREADABLE, durationMs: 0 }
    })
    inFlight -= 1
    if (wary) waryInFlight -= 1
    lane.inFlight -= 1
    if (due.attempts > 0) lane.retriesInFlight -= 1
    if (abandoned) return
    if (answer) {
      lane.failures = answer.outcome === 'delivered' ? 0 : lane.failures + 1
      metrics.deliveryAttempts.labels(answer.outcome).inc()
      metrics.deliverySeconds.observe(answer.durationMs / 1000)
      recorder.add({ lane, due, url, answer, startedAt })
    } else {
      lane.known.delete(due.eventId)
      forget(lane)
    }
    if (inFlight === 0) drained?.()
    begin()
    const { fresh, retries } = wantedOf(lane)
    if (fresh + retries > 0) cycle.wake()
  }

  /** Undefined when there is nothing to deliver any more. */
  async function attempt(lane: Lane, { eventId, messageId }: Due): Promise<Answer | undefined> {
    const { problem, secrets, connections, path } = lane
    if (problem) {
      return { outcome: 'forbidden_address', status: 0, text: `The URL of the endpoint ${problem}.`, durationMs: 0 }
    }
    const body = await bodies.of(eventId)
    if (!body) return undefined
    const timestamp = Math.floor(Date.now() / 1000)
    const headers = {
      'content-type': 'application/json',
      'user-agent': USER_AGENT,
      'accept-encoding': 'identity',
      'hook-id': messageId,
      'hook-timestamp': String(timestamp),
      'hook-signature': signature(secrets, messageId, timestamp, body),
    }
    return post(connections, path, headers, body)
  }

  return {
    wake() {
      changed = true
      cycle.wake()
      if (recorder.size() > 0) recorder.wake()
    },
    async stop() {
      stopping = true
      await cycle.stop()
      if (inFlight > 0) {
        let late: NodeJS.Timeout | undefined
        await new Promise<void>((resolve) => {
          drained = resolve
          late = setTimeout(resolve, DRAIN_MS)
        })
        clearTimeout(late)
      }
      abandoned = true
      await Promise.all(Array.from(lanes.values(), ({ connections }) => connections.destroy()))
      await recorder.stop()
      await db.query('update endpoint set process_id = null, leased_until = null where process_id = $1', [processId()])
    },
  }
}

interface DueRow {
  endpoint_id: number
  event_id: number
  uid: string
  attempts: number
  manual: boolean
  /** Once per event, and null when it is large. */
  data: Buffer | null
  type: string
  user_id: string | null
  packed: boolean
}

// In the order of ids, as everybody locks several endpoints.
const RENEW = `
  update endpoint n
  set process_id = case when n.id = any ($2) then $1::int8 end,
      leased_until = case when n.id = any ($2) then now() + make_interval(secs => $3) end
  from (select id from endpoint where process_id = $1 order by id for no key update) held
  where n.id = held.id`

const ENDPOINT = `n.id, n.uid, n.url, n.filter_types, n.user_id, n.secret,
                  case when n.former_until > now() then n.former_secret end as former_secret`

const LEASE = `
  with free as materialized (
    select n.id
    from endpoint n
    where n.disabled_at is null
      and (n.process_id is null or n.leased_until <= now())
      and (exists (select from delivery d
                   where d.endpoint_id = n.id and d.state = 'waiting' and d.attempts = 0 and d.due_at <= now())
        or exists (select from delivery d
                   where d.endpoint_id = n.id and d.state = 'waiting' and d.attempts > 0 and d.due_at <= now()))
    for no key update skip locked
  ), leased as (
    update endpoint n
    set process_id = $1, leased_until = now() + make_interval(secs => $2)
    from free
    where n.id = free.id
    returning ${ENDPOINT}
  )
  select * from leased
  union all
  select ${ENDPOINT} from endpoint n where n.process_id = $1 and n.leased_until > now() and n.disabled_at is null`

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

/** What is due at endpoints that are leased; those of `known` are in hand already. */
export const DUE = `
  select n.id as endpoint_id, d.event_id, d.attempts, d.manual, e.uid, e.type, e.user_id, e.packed,
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
