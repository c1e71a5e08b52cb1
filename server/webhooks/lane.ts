import type { Vault } from '../vault.ts'
import type { AddressGuard } from './address-guard.ts'
import { CALLS_PER_ENDPOINT, type Connections, connectionsTo } from './post.ts'
import { openSecret, readSecret } from './secrets.ts'

/** Failures in a row after which an endpoint gets one call at a time, until one succeeds. */
const WARY_AFTER = 5

/** One of this many calls is a retry, while new deliveries wait as well. */
const RETRY_EVERY = 5

/** New deliveries that are read ahead, fewer if they stay waiting and more if they are sent quickly; and retries. */
const WINDOW = { min: 10, max: 200 }
const RETRIES_AHEAD = 20

/** Deliveries read longer ago are read again: they may have been withdrawn since, or their event deleted. */
const STALE_MS = 1_000

/** A delivery that is due. */
export interface Due {
  eventId: number
  /** Where it was found in the feed; null: it has a row. */
  position: number | null
  messageId: string
  attempts: number
  manual: boolean
}

/** A stored endpoint, leased by this process. */
export interface LeasedEndpoint {
  id: number
  uid: string
  url: string
  filter_types: string[] | null
  filter_scope: string | null
  user_id: string | null
  secret: Buffer
  key_id: number | null
  /** Only while the former secret signs as well. */
  former_secret: Buffer | null
  former_key_id: number | null
}

/** An endpoint that this process delivers to. */
export interface Lane {
  id: number
  uid: string
  url: string
  path: string
  /** The guard's error in the URL itself. */
  problem: string | undefined
  connections: Connections
  /** The current one first. */
  secrets: string[]
  /** Whether the lease is held and the endpoint enabled. */
  served: boolean
  fresh: Due[]
  retries: Due[]
  /** Events whose deliveries are queued, in flight or not recorded yet, with their positions if they are from the feed. */
  known: Map<number, number | null>
  /** Position up to which the feed was read: what is to be delivered of it is known or recorded. Undefined: not yet read. */
  readTo: number | undefined
  inFlight: number
  retriesInFlight: number
  /** Calls begun so far. */
  calls: number
  /** Failures since the last success. */
  failures: number
  /** New deliveries read ahead. */
  window: number
  /** Whether there may be more to read: new deliveries that have rows, retries, and the feed. */
  more: Record<keyof Wanted, boolean>
  readAt: number
  usedAt: number
  /** The stored values that the above was made from. */
  made: { target: string; secrets: string }
}

/** How many deliveries to read. */
export interface Wanted {
  fresh: number
  retries: number
  feed: number
}

/** Starts to serve an endpoint, from a position of the feed on. Throws if its secret cannot be read. */
export function openLane(
  endpoint: LeasedEndpoint,
  readTo: number | undefined,
  vault: Vault,
  guard: AddressGuard,
): Lane {
  const secrets = secretsOf(endpoint, vault)
  const url = new URL(endpoint.url)
  return {
    id: endpoint.id,
    uid: endpoint.uid,
    url: endpoint.url,
    path: url.pathname + url.search,
    problem: guard.problem(endpoint.url),
    connections: connectionsTo(url, guard),
    secrets,
    served: true,
    fresh: [],
    retries: [],
    known: new Map(),
    readTo,
    inFlight: 0,
    retriesInFlight: 0,
    calls: 0,
    failures: 0,
    window: WINDOW.min,
    more: { fresh: true, retries: true, feed: true },
    readAt: 0,
    usedAt: performance.now(),
    made: { target: targetOf(endpoint), secrets: sealedOf(endpoint) },
  }
}

const targetOf = ({ url, filter_types, filter_scope, user_id }: LeasedEndpoint) =>
  JSON.stringify([url, filter_types, filter_scope, user_id])

const sealedOf = ({ secret, former_secret }: LeasedEndpoint) =>
  `${secret.toString('base64')} ${former_secret?.toString('base64')}`

function secretsOf(endpoint: LeasedEndpoint, vault: Vault): string[] {
  const { uid, secret, key_id, former_secret, former_key_id } = endpoint
  const current = openSecret(vault, uid, { keyId: key_id, sealed: secret })
  const former = former_secret && readSecret(vault, uid, { keyId: former_key_id, sealed: former_secret })
  return former ? [current, former] : [current]
}

/** Follows changes of an endpoint that is already served. Calls in flight go to the old address. */
export function updateLane(lane: Lane, endpoint: LeasedEndpoint, vault: Vault, guard: AddressGuard): void {
  lane.served = true
  lane.more = { fresh: true, retries: true, feed: true }
  const secrets = sealedOf(endpoint)
  if (secrets !== lane.made.secrets) lane.secrets = secretsOf(endpoint, vault)
  const target = targetOf(endpoint)
  if (target !== lane.made.target) {
    dropQueues(lane)
    if (endpoint.url !== lane.url) {
      const url = new URL(endpoint.url)
      void lane.connections.close()
      lane.connections = connectionsTo(url, guard)
      lane.url = endpoint.url
      lane.path = url.pathname + url.search
      lane.problem = guard.problem(endpoint.url)
      lane.failures = 0
    }
  } else if (performance.now() - lane.readAt > STALE_MS && lane.fresh.length + lane.retries.length > 0) {
    dropQueues(lane)
    lane.window = Math.max(WINDOW.min, lane.window >> 1)
  }
  lane.made = { target, secrets }
}

/** Drops deliveries that were read but not begun. */
export function dropQueues(lane: Lane): void {
  for (const due of [...lane.fresh, ...lane.retries]) forgetDue(lane, due)
  lane.fresh = []
  lane.retries = []
}

/** Drops a delivery that was read and not made: it is read again. */
export function forgetDue(lane: Lane, { eventId, position }: Due): void {
  lane.known.delete(eventId)
  if (position === null || lane.readTo === undefined) return
  lane.readTo = Math.min(lane.readTo, position - 1)
  lane.more.feed = true
}

/** How many deliveries of each kind to read now; none while there are enough. */
export function wantedOf({ served, more, fresh, retries, window }: Lane): Wanted {
  const wanted = (queue: Due[], ahead: number) => (served && queue.length <= ahead / 2 ? ahead - queue.length : 0)
  const isNew = wanted(fresh, window)
  return {
    fresh: more.fresh ? isNew : 0,
    retries: more.retries ? wanted(retries, RETRIES_AHEAD) : 0,
    feed: more.feed ? isNew : 0,
  }
}

/** Queues deliveries that have rows, which were read on request. */
export function enqueue(lane: Lane, read: Due[], wanted: Wanted, readAt: number): void {
  const fresh = read.filter(({ attempts }) => attempts === 0)
  if (wanted.fresh > 0) lane.more.fresh = fresh.length === wanted.fresh
  if (wanted.retries > 0) lane.more.retries = read.length - fresh.length === wanted.retries
  add(lane, read, lane.more.fresh, readAt)
}

/**
 * Queues deliveries of the feed, which were read on request behind `after`, up to a position. Ignores them if some from
 * before it are to be read again.
 */
export function enqueueFeed(
  lane: Lane,
  after: number | undefined,
  { due, readTo, more }: { due: Due[]; readTo: number; more: boolean },
  readAt: number,
): void {
  if (lane.readTo !== after) return
  lane.readTo = readTo
  lane.more.feed = more
  add(lane, due, more, readAt)
}

function add(lane: Lane, read: Due[], more: boolean, readAt: number): void {
  if (more && lane.fresh.length === 0) lane.window = Math.min(WINDOW.max, lane.window * 2)
  for (const due of read) {
    lane.known.set(due.eventId, due.position)
    if (due.attempts > 0) lane.retries.push(due)
    else lane.fresh.push(due)
  }
  lane.readAt = readAt
}

/**
 * The place of an endpoint in the feed once some deliveries are recorded: a position, and those up to it that are begun
 * and neither recorded nor among these. The queue is behind it.
 */
export function placeOf({ known, fresh, readTo = 0 }: Lane, recorded: ReadonlySet<number>): [number, number[]] {
  let place = readTo
  for (const { position } of fresh) if (position !== null && position <= place) place = position - 1
  const begun: number[] = []
  for (const [eventId, position] of known)
    if (position !== null && position <= place && !recorded.has(eventId)) begun.push(position)
  return [place, begun]
}

/** Whether it failed so often in a row that it gets one call at a time. */
export const isWary = (lane: Lane): boolean => lane.failures >= WARY_AFTER

/**
 * Takes the delivery to begin next; undefined when there is none or enough are in flight. New ones go before retries,
 * so a backlog of retries does not hold them up: retries get one call in five, and all but one slot when nothing is
 * new.
 */
export function takeDue(lane: Lane): Due | undefined {
  const limit = isWary(lane) ? 1 : CALLS_PER_ENDPOINT
  if (!lane.served || lane.inFlight >= limit) return undefined
  const retryMay = lane.retries.length > 0 && lane.retriesInFlight < Math.max(1, limit - 1)
  const retry = retryMay && (lane.fresh.length === 0 || lane.calls % RETRY_EVERY === RETRY_EVERY - 1)
  const due = retry ? lane.retries.shift() : lane.fresh.shift()
  if (!due) return undefined
  lane.calls += 1
  lane.inFlight += 1
  if (due.attempts > 0) lane.retriesInFlight += 1
  lane.usedAt = performance.now()
  return due
}
