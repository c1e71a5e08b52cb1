import pg from 'pg'
import type { ParcelPart } from '../../../workers/parcel.ts'
import { databaseUnavailable, type Queryable } from '../../db/database.ts'
import type { Logger } from '../../log.ts'
import type { OAuthParts } from '../../oauth/parts.ts'
import { fits, type Lease, type Outcome, sizeOf, storeParcel } from './parcel.ts'
import type { TaskRow } from './task.ts'

/** What storing works with. */
export interface StoreMeans {
  readonly db: Queryable
  readonly log: Logger
  readonly parts: Pick<OAuthParts, 'metrics'>
}

/** What became of a task, with its answers. */
interface Piece {
  readonly kind: TaskRow['kind']
  readonly parts: readonly ParcelPart[]
  readonly outcome: Outcome
}

/** What a turn brought and is not stored yet: answers and outcomes of tasks of one run, which are imported together. */
export class Gathered {
  readonly #means: StoreMeans
  readonly #lease: Lease
  #runKey = ''
  #pieces: Piece[] = []
  #parts = 0
  #bytes = 0
  /** The person's zone, as pages name it; null: not known. */
  zone: string | null
  /** Another process has the grant, or a task was cancelled: nothing of this turn is stored any more. */
  lost = false

  constructor(means: StoreMeans, lease: Lease, zone: string | null) {
    this.#means = means
    this.#lease = lease
    this.zone = zone
  }

  /** Adds the outcome of a task, and its answers; stores what was there before if that is of another run or would not fit. */
  async add(
    { kind, run_key: runKey }: Pick<TaskRow, 'kind' | 'run_key'>,
    parts: ParcelPart[],
    outcome: Outcome,
  ): Promise<void> {
    const bytes = sizeOf(parts)
    const isFull = !fits(this.#parts + parts.length, this.#bytes + bytes)
    if (this.#pieces.length > 0 && (this.#runKey !== runKey || isFull)) await this.flush()
    this.#runKey = runKey
    this.#pieces.push({ kind, parts, outcome })
    this.#parts += parts.length
    this.#bytes += bytes
  }

  /** Stores what was gathered. */
  async flush(): Promise<void> {
    const pieces = this.#pieces
    this.#pieces = []
    this.#parts = 0
    this.#bytes = 0
    if (pieces.length > 0) await this.#store(pieces)
  }

  /**
   * What cannot be stored for what it says fails its stream, and no other; asked for again, it would be refused again, and
   * keep everything of the grant from being stored.
   */
  async #store(pieces: readonly Piece[]): Promise<void> {
    if (this.lost) return
    const { db, log } = this.#means
    const { provider } = this.#lease
    const parts = pieces.flatMap((piece) => piece.parts)
    const outcomes = pieces.map(({ outcome }) => outcome)
    try {
      this.lost = !(await storeParcel(db, this.#lease, { runKey: this.#runKey, parts, outcomes, zone: this.zone }))
    } catch (error) {
      const [piece] = pieces
      if (!isOfData(error) || !piece || (pieces.length === 1 && isRefused(piece.outcome))) throw error
      if (pieces.length > 1) {
        for (const one of pieces) await this.#store([one])
        return
      }
      // Without its message, which may repeat what was measured.
      const { code } = error as { code?: string }
      log.error({ code, provider, stream: piece.outcome.stream }, 'answers of a provider cannot be stored')
      return this.#store([{ ...piece, parts: [], outcome: refused(piece) }])
    }
    if (!this.lost) for (const outcome of outcomes) this.#note(outcome)
  }

  #note({ stream, report, failing, waits }: Outcome): void {
    const { provider, grantId: grant } = this.#lease
    const { parts, log } = this.#means
    const outcome = report ? (report.code ?? report.status) : failing ? 'later' : undefined
    if (outcome === undefined) return
    parts.metrics.pulls.labels(provider, outcome).inc()
    if (outcome === 'success') return
    const reason = (report?.error ?? waits ?? '').slice(0, REASON_CHARACTERS)
    log.warn({ provider, grant, stream, outcome, reason }, 'a stream could not be pulled')
  }
}

/** Of a reason, in the log; reports have more of it. */
const REASON_CHARACTERS = 300

const REFUSED = 'The answers cannot be stored'

const isRefused = ({ report }: Outcome) => report?.error === REFUSED

/** Nothing of it is stored: the cursor stays where it was before. */
const refused = ({ kind, outcome: { id, stream } }: Piece): Outcome => ({
  ...{ id, stream, answers: 0, ended: true, report: { status: 'failed', code: 'wrong', error: REFUSED } },
  ...(kind === 'pull' && { cursor: { failing: true } }),
})

// Data exception, check violation, limit of a program exceeded: the same again fails again.
const OF_DATA = /^(22...|23514|54...)$/

const isOfData = (error: unknown) =>
  error instanceof pg.DatabaseError
    ? !databaseUnavailable(error) && OF_DATA.test(error.code ?? '')
    : error instanceof RangeError
