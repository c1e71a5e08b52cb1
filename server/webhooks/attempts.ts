import type { Database } from '../db/database.ts'
import type { Logger } from '../log.ts'
import { type Coalesced, coalesce } from './coalesce.ts'
import type { Due, Lane } from './lane.ts'
import type { Answer } from './post.ts'
import { delayAfter } from './schedule.ts'

/** Attempts that are recorded by one statement. */
const AT_ONCE = 500

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

/** Records attempts in batches: while one batch is being recorded, the next is collected. */
export interface Recorder extends Coalesced {
  add(attempt: Attempt): void
  /** Attempts that are not recorded yet. */
  size(): number
}

/** Calls `recorded` with attempts once they are stored. */
export function openRecorder(db: Database, log: Logger, recorded: (attempts: Attempt[]) => void): Recorder {
  const waiting: Attempt[] = []
  async function recordAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, AT_ONCE)
      const disabled = await record(db, batch)
      waiting.splice(0, batch.length)
      recorded(batch)
      for (const { uid, disabled_reason } of disabled)
        log.warn({ endpoint: uid, reason: disabled_reason }, 'an endpoint was disabled')
    }
  }
  const failed = (error: unknown) =>
    log.warn({ err: error, attempts: waiting.length }, 'cannot record deliveries yet, trying again')
  const recording = coalesce(recordAll, failed)
  return {
    ...recording,
    add(attempt) {
      waiting.push(attempt)
      recording.wake()
    },
    size: () => waiting.length,
    async stop() {
      await recording.stop()
      await recordAll().catch(failed)
    },
  }
}

function record(db: Database, attempts: Attempt[]): Promise<{ uid: string; disabled_reason: string }[]> {
  const now = performance.now()
  const column = <T>(value: (attempt: Attempt) => T) => attempts.map(value)
  return db.query(
    `select uid, disabled_reason from record_attempts($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [
      column(({ lane }) => lane.id),
      column(({ due }) => due.eventId),
      column(({ due }) => due.attempts),
      column(({ url }) => url),
      column(({ answer }) => answer.outcome === 'delivered'),
      column(({ answer }) => answer.status),
      column(({ answer }) => answer.text),
      column(({ answer }) => answer.durationMs),
      column(({ startedAt }) => (now - startedAt) / 1000),
      column(({ due }) => due.manual),
      column(({ due, answer }) => delayAfter(due.attempts + 1, answer.retryAfterSeconds, Math.random()) ?? null),
      PATIENCE,
    ],
  )
}
