import { Counter, Gauge, type Registry } from 'prom-client'
import type { Transaction } from './db/database.ts'
import { Gate, type GateLimits } from './gate.ts'
import { type Place, shareOf } from './shares.ts'
import { SharingGate } from './sharing-gate.ts'

const MIB = 1024 * 1024

// How many connections of the API each kind of request may hold at once, so that none starves another.

/** For one statement each. */
const SHORT = {
  // Looking up the caller's credential; every request needs it, so nearly all may wait.
  guard: { what: 'requests', capacity: 2, perKey: 2, waiting: 1000, waitMs: 3_000, retrySeconds: 2 },
  // Logins, tokens and sign-ups: a login waits long for its hash.
  login: { what: 'logins', capacity: 2, perKey: 2, waiting: 200, waitMs: 3_000, retrySeconds: 5 },
  // Accepting an upload; between the statements threads read its body.
  upload: { what: 'uploads', capacity: 3, perKey: 2, waiting: 500, waitMs: 5_000, retrySeconds: 5 },
  // Storing notices of providers, many with one statement.
  inbox: { what: 'notices', capacity: 2, perKey: 2, waiting: 1000, waitMs: 3_000, retrySeconds: 5 },
  // Pages of events for live streams.
  stream: { what: 'streams', capacity: 1, perKey: 1, waiting: 1000, waitMs: 5_000, retrySeconds: 5 },
  // Counts for `/metrics`.
  metrics: { what: 'requests', capacity: 1, perKey: 1, waiting: 20, waitMs: 5_000, retrySeconds: 2 },
} satisfies Record<string, GateLimits>

/** For as long as its handler runs if it is a read, else for a transaction. */
const LONG = {
  // Reads of a page.
  read: { what: 'requests', capacity: 6, perKey: 5, waiting: 200, waitMs: 3_000, retrySeconds: 2 },
  // Reads that compute: summaries, totals, coverage, statistics, counts of buckets, the best sources of a range.
  report: { what: 'reports', capacity: 3, perKey: 2, waiting: 100, waitMs: 5_000, retrySeconds: 3 },
  // Pages of more than a thousand samples.
  bulk: { what: 'large pages', capacity: 3, perKey: 2, waiting: 60, waitMs: 5_000, retrySeconds: 5 },
  // Changes, per user if the path names one.
  write: { what: 'changes', capacity: 4, perKey: 2, waiting: 100, waitMs: 3_000, retrySeconds: 3 },
  // Requests that may take minutes: deleting all of a user or of a connection, or an endpoint; recovering deliveries.
  long: { what: 'deletions', capacity: 3, perKey: 2, waiting: 100, waitMs: 5_000, retrySeconds: 5 },
  // Changes, deletions, logins and uploads that found a lock taken (db/changes.ts), by turns; per kind and user.
  locked: {
    ...{ what: 'changes of the same data', capacity: 3, perKey: 1, waiting: 500, waitingPerKey: 20 },
    ...{ waitMs: 5_000, retrySeconds: 5 },
  },
} satisfies Record<string, GateLimits>

const CONNECTIONS = { ...SHORT, ...LONG }

/** Connections besides these: two that listen, and one that cancels the statement of a client that hung up. */
const OTHER_CONNECTIONS = 3

/** Other limits, for all callers together and for one: bodies in memory (bytes) and their parsing (threads). */
const BODIES = {
  // JSON and forms of at most 64 KiB, compressed 4 KiB: accepted however many large ones there are.
  smallRequests: {
    what: 'requests',
    capacity: 32 * MIB,
    perKey: 8 * MIB,
    waiting: 500,
    waitMs: 3_000,
    retrySeconds: 2,
  },
  // Larger ones, and those of an unknown length; each counts as 1 MiB, the most that one may have.
  largeRequests: {
    what: 'requests',
    capacity: 32 * MIB,
    perKey: 4 * MIB,
    waiting: 100,
    waitMs: 5_000,
    retrySeconds: 5,
  },
  // Bodies of at most 1 MiB, compressed 64 KiB: accepted however many large ones there are.
  smallBodies: { what: 'uploads', capacity: 64 * MIB, perKey: 2 * MIB, waiting: 500, waitMs: 5_000, retrySeconds: 5 },
  // Larger bodies: 32 MiB per user. The phone is not read from while it waits.
  largeBodies: { what: 'uploads', capacity: 128 * MIB, perKey: 32 * MIB, waiting: 100, waitMs: 8_000, retrySeconds: 5 },
  // Notices of providers; what does not fit is refused at once, since they send it again. Per address.
  notices: { what: 'notices', capacity: 64 * MIB, perKey: 32 * MIB, waiting: 0, waitMs: 1_000, retrySeconds: 10 },
  // Small bodies that threads parse.
  parses: { what: 'uploads', capacity: 4, perKey: 2, waiting: 500, waitMs: 5_000, retrySeconds: 5 },
} satisfies Record<string, GateLimits>

/** The most that one place may take of each: a process has to have so much, however many there are. */
const LARGEST: Record<keyof typeof BODIES, number> = {
  smallRequests: MIB / 16,
  largeRequests: MIB,
  smallBodies: MIB,
  largeBodies: 32 * MIB,
  notices: 32 * MIB,
  parses: 1,
}

/** Largest upload that counts as small, by its encoding: a compressed one unpacks to many times its size. */
export const smallBodyBytes = (encoding: string): number => (encoding === 'identity' ? MIB : MIB / 16)

/** A kind of request that shares connections. */
export type Share = keyof typeof CONNECTIONS

/** Every limit on what requests hold of this process and of the database, and on how long they wait. */
export interface Limits {
  gates: Record<Share | keyof typeof BODIES, GateLimits>
  /** Connections of those that take one for a statement each, together. */
  shortConnections: number
  /** Time after which a statement of a request is cancelled. */
  statementMs: number
  /** Time after which a statement that waits for somebody else's lock fails. */
  lockMs: number
  /** Of a change, the time it waits in its place before others get a turn. */
  lockTurnMs: number
  /** Time that the probe of the database waits to connect, and for its answer. */
  probeMs: number
  /** A body that brings less than `bytes` in `windowMs`, or is not complete after `totalMs`, is given up. */
  bodyPace: { bytes: number; windowMs: number; totalMs: number }
  /** The same of a notice, which is small. */
  noticePace: { bytes: number; windowMs: number; totalMs: number }
  /** Answers in memory that their clients have not taken yet: bytes in total, and of one caller. */
  answers: { bytes: number; perCaller: number }
  /** Time a client has to take an answer: a base for any, and a rate beyond. */
  answerPace: { ms: number; bytesPerSecond: number }
}

const sumOf = (gates: Record<string, GateLimits>, names: Iterable<string> = Object.keys(gates)) =>
  [...names].reduce((sum, name) => sum + (gates[name]?.capacity ?? 0), 0)

export const LIMITS: Limits = {
  gates: { ...CONNECTIONS, ...BODIES },
  shortConnections: sumOf(SHORT),
  statementMs: 10_000,
  lockMs: 4_000,
  lockTurnMs: 50,
  probeMs: 1_000,
  // In total less than the 300 s after which Node answers 408: released SDKs lose data that is answered with a 4xx.
  bodyPace: { bytes: 10_240, windowMs: 20_000, totalMs: 240_000 },
  noticePace: { bytes: 1_024, windowMs: 5_000, totalMs: 15_000 },
  answers: { bytes: 256 * MIB, perCaller: 128 * MIB },
  answerPace: { ms: 30_000, bytesPerSecond: 64 * 1024 },
}

/** Time of each statement of a request of the gate `long`: years of samples take longer than a read may. */
const LONG_STATEMENT_MS = 600_000

/** Lets the statements of this transaction take minutes. */
export async function allowMinutes(tx: Transaction): Promise<void> {
  await tx.query(`select set_config('statement_timeout', $1, true)`, [String(LONG_STATEMENT_MS)])
}

/** Lets the statements of this transaction wait for locks: it has those that are held for long. */
export async function allowWaiting(tx: Transaction): Promise<void> {
  await tx.query(`select set_config('lock_timeout', $1, true)`, [String(LIMITS.lockMs)])
}

/** However many processes there are, statements of each can go past one that takes long. */
const SHORT_LEAST = 2

/**
 * Limits of one of several processes behind a port: together they hold what one alone may, or the least that each of them
 * needs if that is more. That is a connection for each kind of request that may hold one for long, two for all kinds of
 * single statements by turns, and the memory for one body.
 */
export function limitsOf(place: Place): Limits {
  if (place.count === 1) return LIMITS
  const connections = Object.entries(CONNECTIONS).map(([name, gate]) => {
    const capacity = Math.max(1, shareOf(gate.capacity, place))
    // One is left to others where one caller may not have all.
    const most = gate.perKey < gate.capacity ? capacity - 1 : capacity
    return [name, { ...gate, capacity, perKey: Math.min(gate.perKey, Math.max(1, most)) }]
  })
  const bodies = Object.entries(BODIES).map(([name, gate]) => {
    const least = LARGEST[name as keyof typeof BODIES]
    const capacity = Math.max(least, shareOf(gate.capacity, place))
    return [name, { ...gate, capacity, perKey: Math.min(gate.perKey, Math.max(least, Math.floor(capacity / 2))) }]
  })
  const bytes = shareOf(LIMITS.answers.bytes, place)
  return {
    ...LIMITS,
    gates: Object.fromEntries([...connections, ...bodies]),
    shortConnections: Math.max(SHORT_LEAST, shareOf(LIMITS.shortConnections, place)),
    answers: { bytes, perCaller: Math.floor(bytes / 2) },
  }
}

/** Maximum of connections of the API under these limits; a process that only works serves probes and metrics. */
export function apiConnections({ gates, shortConnections }: Limits, onlyProbes = false): number {
  const short = Math.min(shortConnections, sumOf(gates, Object.keys(SHORT)))
  return short + (onlyProbes ? 0 : sumOf(gates, Object.keys(LONG))) + OTHER_CONNECTIONS
}

/** Maximum of connections to each replica: for every read that may be answered there, a cancellation and a trial. */
export const replicaConnections = ({ gates: { read, report, bulk } }: Limits): number =>
  read.capacity + report.capacity + bulk.capacity + 2

/** The gates of one process. */
export type Gates = Record<keyof Limits['gates'], Gate>

/** Gates of requests that somebody waits for who is no provider. */
const PEOPLE = ['read', 'report', 'bulk', 'write', 'upload'] as const
const LATELY_MS = 1_000

/** Whether anybody but providers was being answered within the last second. */
export const hasOthers = (gates: Gates): boolean =>
  PEOPLE.some((name) => gates[name].takenAt() > performance.now() - LATELY_MS)

/** Opens the gates and adds their use, waiting requests and refusals to the metrics. */
export function openGates({ gates, shortConnections }: Limits, registry: Registry): Gates {
  const registers = [registry]
  const labelNames = ['gate'] as const
  const refused = new Counter({
    name: 'pulsebase_gate_refused_total',
    help: 'Requests answered 503 because no place became free in time',
    labelNames,
    registers,
  })
  const isShared = shortConnections < sumOf(gates, Object.keys(SHORT))
  const { waitMs, retrySeconds } = SHORT.upload
  const turns = { what: 'requests', capacity: shortConnections, perKey: shortConnections, waitMs, retrySeconds }
  const shared = new Gate({ ...turns, waiting: Number.POSITIVE_INFINITY })
  const opened = Object.entries(gates).map(([name, limits]) => {
    // Shown from the start: a rate over a counter that appears with its first refusal misses that refusal.
    const count = refused.labels(name)
    count.inc(0)
    const refuse = () => count.inc()
    const gate = isShared && name in SHORT ? new SharingGate(limits, refuse, shared, name) : new Gate(limits, refuse)
    return [name, gate] as const
  })
  const show = (name: string, help: string, read: (gate: Gate) => number) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        for (const [gate, one] of opened) this.labels(gate).set(read(one))
      },
    })
  show('pulsebase_gate_held', 'Connections, or bytes of bodies, in use', (gate) => gate.held())
  show('pulsebase_gate_waiting', 'Requests that wait for a place', (gate) => gate.waiting())
  return Object.fromEntries(opened) as Gates
}
