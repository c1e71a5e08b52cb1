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
  /** Events whose deliveries are queued, in flight or not recorded yet. */
  known: Set<number>
  inFlight: number
  retriesInFlight: number
  /** Calls begun so far. */
  calls: number
  /** Failures since the last success. */
  failures: number
  /** New deliveries read ahead. */
  window: number
  /** Whether there may be more to read. */
  moreFresh: boolean
  moreRetries: boolean
  readAt: number
  usedAt: number
  /** The stored values that the above was made from. */
  made: { target: string; secrets: string }
}

/** Starts to serve an endpoint. Throws if its secret cannot be read. */
export function openLane(endpoint: LeasedEndpoint, vault: Vault, guard: AddressGuard): Lane {
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
    known: new Set(),
    inFlight: 0,
    retriesInFlight: 0,
    calls: 0,
    failures: 0,
    window: WINDOW.min,
    moreFresh: true,
    moreRetries: true,
    readAt: 0,
    usedAt: performance.now(),
    made: { target: targetOf(endpoint), secrets: sealedOf(endpoint) },
  }
}

const targetOf = ({ url, filter_types, user_id }: LeasedEndpoint) => JSON.stringify([url, filter_types, user_id])

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
  lane.moreFresh = true
  lane.moreRetries = true
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
  for (const { eventId } of [...lane.fresh, ...lane.retries]) lane.known.delete(eventId)
  lane.fresh = []
  lane.retries = []
}

/** How many deliveries of each kind to read now; none while there are enough. */
export function wantedOf(lane: Lane): { fresh: number; retries: number } {
  const wanted = (more: boolean, queue: Due[], ahead: number) =>
    lane.served && more && queue.length <= ahead / 2 ? ahead - queue.length : 0
  return {
    fresh: wanted(lane.moreFresh, lane.fresh, lane.window),
    retries: wanted(lane.moreRetries, lane.retries, RETRIES_AHEAD),
  }
}

/** Queues deliveries that were read on request. */
export function enqueue(lane: Lane, read: Due[], wanted: { fresh: number; retries: number }, readAt: number): void {
  const fresh = read.filter(({ attempts }) => attempts === 0)
  lane.moreFresh = wanted.fresh > 0 ? fresh.length === wanted.fresh : lane.moreFresh
  lane.moreRetries = wanted.retries > 0 ? read.length - fresh.length === wanted.retries : lane.moreRetries
  if (lane.moreFresh && lane.fresh.length === 0) lane.window = Math.min(WINDOW.max, lane.window * 2)
  for (const due of read) {
    lane.known.add(due.eventId)
    if (due.attempts > 0) lane.retries.push(due)
    else lane.fresh.push(due)
  }
  lane.readAt = readAt
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
