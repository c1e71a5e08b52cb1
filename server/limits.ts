import { Counter, Gauge, type Registry } from 'prom-client'
import type { Transaction } from './db/database.ts'
import { Gate, type GateLimits } from './gate.ts'

const MIB = 1024 * 1024

/**
 * How many connections of the API each kind of request may hold at once, so that none starves another. A read belongs
 * to one of these for as long as its handler runs; everything else takes a connection for each statement or transaction.
 */
const CONNECTIONS = {
  // Looking up the caller's credential. For one statement each; every request needs it, so nearly all may wait.
  guard: { what: 'requests', capacity: 2, perKey: 2, waiting: 1000, waitMs: 3_000, retrySeconds: 2 },
  // Logins, tokens and sign-ups. For one statement each, since a login waits long for its hash.
  login: { what: 'logins', capacity: 2, perKey: 2, waiting: 200, waitMs: 3_000, retrySeconds: 5 },
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
  // Any of the last four that found a lock taken (db/changes.ts), by turns; per kind and user.
  locked: {
    ...{ what: 'changes of the same data', capacity: 3, perKey: 1, waiting: 500, waitingPerKey: 20 },
    ...{ waitMs: 5_000, retrySeconds: 5 },
  },
  // Accepting an upload. For one statement each; between them threads read its body.
  upload: { what: 'uploads', capacity: 3, perKey: 2, waiting: 500, waitMs: 5_000, retrySeconds: 5 },
  // Storing notices of providers, many with one statement.
  inbox: { what: 'notices', capacity: 2, perKey: 2, waiting: 1000, waitMs: 3_000, retrySeconds: 5 },
  // Pages of events for live streams, for one statement each.
  stream: { what: 'streams', capacity: 1, perKey: 1, waiting: 1000, waitMs: 5_000, retrySeconds: 5 },
  // Counts for `/metrics`, for one statement each.
  metrics: { what: 'requests', capacity: 1, perKey: 1, waiting: 20, waitMs: 5_000, retrySeconds: 2 },
} satisfies Record<string, GateLimits>

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

/** Largest upload that counts as small, by its encoding: a compressed one unpacks to many times its size. */
export const smallBodyBytes = (encoding: string): number => (encoding === 'identity' ? MIB : MIB / 16)

/** A kind of request that shares connections. */
export type Share = keyof typeof CONNECTIONS

/** Every limit on what requests hold of this process and of the database, and on how long they wait. */
export interface Limits {
  gates: Record<Share | keyof typeof BODIES, GateLimits>
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

export const LIMITS: Limits = {
  gates: { ...CONNECTIONS, ...BODIES },
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

/** However many processes there are, each may have as many bytes of answers in memory. */
const ANSWERS_LEAST = 64 * MIB

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

/** Limits of one of so many processes behind a port: together they hold about what one alone may. */
export function limitsOfOne(processes: number): Limits {
  if (processes === 1) return LIMITS
  const share = (whole: number) => Math.ceil(whole / processes)
  const connections = Object.entries(CONNECTIONS).map(([name, gate]) => {
    // Of two, one is left to others where one caller may not have all.
    const capacity = Math.min(gate.capacity, Math.max(2, share(gate.capacity)))
    const most = gate.perKey < gate.capacity ? capacity - 1 : capacity
    return [name, { ...gate, capacity, perKey: Math.min(gate.perKey, Math.max(1, most)) }]
  })
  // Whatever one caller may send has to fit.
  const bodies = Object.entries(BODIES).map(([name, gate]) => [
    name,
    { ...gate, capacity: Math.max(gate.perKey, share(gate.capacity)) },
  ])
  const { answers } = LIMITS
  const bytes = Math.max(share(answers.bytes), ANSWERS_LEAST)
  return {
    ...LIMITS,
    gates: Object.fromEntries([...connections, ...bodies]),
    answers: { bytes, perCaller: Math.min(answers.perCaller, bytes) },
  }
}

/** Maximum of connections of the API under these limits. */
export function apiConnections({ gates }: Limits): number {
  const names = Object.keys(CONNECTIONS) as Share[]
  return names.reduce((sum, name) => sum + gates[name].capacity, 0) + OTHER_CONNECTIONS
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
export function openGates({ gates }: Limits, registry: Registry): Gates {
  const registers = [registry]
  const labelNames = ['gate'] as const
  const refused = new Counter({
    name: 'pulsebase_gate_refused_total',
    help: 'Requests answered 503 because no place became free in time',
    labelNames,
    registers,
  })
  const opened = Object.entries(gates).map(([name, limits]) => {
    // Shown from the start: a rate over a counter that appears with its first refusal misses that refusal.
    const count = refused.labels(name)
    count.inc(0)
    return [name, new Gate(limits, () => count.inc())] as const
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
