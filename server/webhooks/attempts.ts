import { groupBy } from '../batch/group-by.ts'
import type { Database } from '../db/database.ts'
import type { Logger } from '../log.ts'
import { type Coalesced, coalesce } from './coalesce.ts'
import { type Due, type Lane, placeOf } from './lane.ts'
import type { Answer } from './post.ts'
import { delayAfter } from './schedule.ts'

/** Attempts that are recorded by one statement: at most, and as many as are waited for, but not long. */
const AT_ONCE = 500
const ENOUGH = 250
const WAIT_MS = 10

/** How long an endpoint may fail without a success before it is disabled (contract 10.6). */
const PATIENCE = '5 days'

/** A call that ended. */
export interface Attempt {
  lane: Lane
  due: Due
  /** Address it went to. */
  url: string
  answer: Answer
  /** When it began, on the monotonic clock of this process. */
  startedAt: number
}

/** Records attempts in batches. */
export interface Recorder extends Coalesced {
  add(attempt: Attempt): void
  /** Attempts that are not recorded yet. */
  size(): number
}

/** Calls `recorded` with attempts once they are stored. */
export function openRecorder(db: Database, log: Logger, recorded: (attempts: Attempt[]) => void): Recorder {
  const waiting: Attempt[] = []
  let timer: NodeJS.Timeout | undefined
  async function recordSome(): Promise<void> {
    const batch = waiting.slice(0, AT_ONCE)
    if (batch.length === 0) return
    const disabled = await record(db, batch)
    waiting.splice(0, batch.length)
    recorded(batch)
    for (const { uid, disabled_reason } of disabled)
      log.warn({ endpoint: uid, reason: disabled_reason }, 'an endpoint was disabled')
    if (waiting.length > 0) wakeSoon()
  }
  function wakeSoon(): void {
    if (waiting.length >= ENOUGH) recording.wake()
    else
      timer ??= setTimeout(() => {
        timer = undefined
        recording.wake()
      }, WAIT_MS)
  }
  const failed = (error: unknown) =>
    log.warn({ err: error, attempts: waiting.length }, 'cannot record deliveries yet, trying again')
  const recording = coalesce(recordSome, failed)
  return {
    ...recording,
    add(attempt) {
      waiting.push(attempt)
      wakeSoon()
    },
    size: () => waiting.length,
    async stop() {
      clearTimeout(timer)
      await recording.stop()
      try {
        while (waiting.length > 0) await recordSome()
      } catch (error) {
        failed(error)
      }
      clearTimeout(timer)
    },
  }
}

function record(db: Database, attempts: Attempt[]): Promise<{ uid: string; disabled_reason: string }[]> {
  const now = performance.now()
  const column = (value: (attempt: Attempt) => string) => attempts.map(value)
  const plain = (value: (attempt: Attempt) => number | boolean | null) => literal(attempts.map(value))
  const places = Array.from(
    groupBy(attempts, ({ lane }) => lane),
    ([lane, of]) => ({ lane, place: placeOf(lane, new Set(of.map(({ due }) => due.eventId))) }),
  )
  return db.query(
    `select uid, disabled_reason
     from record_attempts($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
    [
      plain(({ lane }) => lane.id),
      plain(({ due }) => due.eventId),
      plain(({ due }) => due.attempts),
      plain(({ due }) => due.position),
      column(({ url }) => url),
      plain(({ answer }) => answer.outcome === 'delivered'),
      plain(({ answer }) => answer.status),
      column(({ answer }) => answer.text),
      plain(({ answer }) => answer.durationMs),
      plain(({ startedAt }) => (now - startedAt) / 1000),
      plain(({ due }) => due.manual),
      plain(({ due, answer }) => delayAfter(due.attempts + 1, answer.retryAfterSeconds, Math.random()) ?? null),
      places.map(({ lane }) => lane.id),
      places.map(({ place: [place] }) => place),
      places.map(({ place: [, begun] }) => `{${begun.map((position) => `[${position},${position}]`).join(',')}}`),
      PATIENCE,
    ],
  )
}

/** An array as the database reads it; the driver would escape each value. */
const literal = (values: (number | boolean | null)[]) => `{${values.map((value) => value ?? 'null').join(',')}}`
