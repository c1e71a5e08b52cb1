import type { ParcelPart } from '../../../workers/parcel.ts'
import type { Received } from '../../provider-client/http.ts'
import type { Json } from '../../providers/part.ts'
import type { Provider, Request, Stream, Window } from '../../providers/provider.ts'
import { isStorableJson } from '../../text.ts'
import { DAY_MS, isoInstant } from '../../time.ts'
import type { Lane } from './budget.ts'
import { fits, hashOf, type Outcome, sizeOf } from './parcel.ts'
import { delaySeconds } from './verdicts.ts'
import { leftAfter, type Span, windowOf } from './windows.ts'
import { objectOf, type WishRow } from './wishes.ts'

/** Pages of a window that are asked for; no provider needs so many. */
const MAX_PAGES = 500

/** Largest request that is stored with its answer, or to be made later: bytes of JSON. */
const MAX_REQUEST_BYTES = 256 * 1024

/** How long a stream that was refused for want of a permission is left alone. */
const CLOSED_SECONDS = 86_400

/** How long a task is tried again that fails for reasons that may pass. */
const GIVE_UP_DAYS = { pull: 1, sync: 1, notice: 1, object: 1, history: 7, backfill: 7 } as const

/** Notices come before what they name can be asked for: what is not there is asked for again after so long. */
const MISSING_SECONDS: readonly number[] = [60, 600]

const SAME_PAGE = 'The provider names the same page again and again'
const BAD_PAGE = 'The provider named a next page that cannot be asked for'

/** A task as its row says it; instants as ISO text. */
export interface TaskRow {
  readonly id: number
  readonly kind: 'pull' | 'sync' | 'history' | 'notice' | 'object' | 'backfill'
  readonly stream: string
  /** A thing that is asked for, by its kind; null: spans of the stream are. */
  readonly object: string | null
  readonly args: Json
  readonly generation: number
  readonly run_key: string
  readonly lane: Lane
  readonly lo: string
  readonly hi: string | null
  readonly reach_days: number | null
  readonly options: Readonly<Record<string, Json>>
  readonly position: {
    readonly request?: Request
    readonly pages?: number
    readonly missing?: number
    readonly skipped?: string
  } | null
  readonly attempts: number
  readonly failing_since: string | null
  /** Of the cursor, as hexadecimal text. */
  readonly last_hash: string | null
}

/**
 * What a task asks for; a single thing is asked for as a stream of which there is only now. Undefined: this version of the
 * connector has no such stream or thing.
 */
export function streamOf(provider: Provider, { stream: name, object, args }: TaskRow): Stream | undefined {
  const stream = provider.streams?.find((one) => one.name === name)
  if (object === null) return stream
  const kind = objectOf(provider, object)
  if (!stream || !kind) return undefined
  const { request, next, follow, emptyOn404 } = kind
  return {
    ...{ name, family: stream.family, windowDays: 1, historyDays: 0, overlapHours: 0 },
    first: (_, state) => request(args, state),
    ...(next && { next }),
    ...(follow && { follow }),
    ...(emptyOn404 && { emptyOn404 }),
  }
}

/** Why a stream failed in a sync: error codes of its report. */
export type FailureCode = 'not_permitted' | 'wrong' | 'gave_up' | 'retired'

/** A stream that is being asked for: what is left, and what answers came that are not stored yet. */
export class Task {
  readonly row: TaskRow
  readonly stream: Stream
  readonly #parts: ParcelPart[] = []
  #bytes = 0
  #span: Span
  #request: Request | null
  #pages: number
  /** Nothing of it was stored before. */
  #isWhole: boolean
  /** Up to there, in epoch milliseconds, windows of a pull were asked for whole; undefined: none was. */
  #coveredMs: number | undefined
  #hasMoved = false
  /** Why a request of the span could not be used, the first one. */
  #skipped: string | undefined
  /** What is to be asked for because of the answers that are kept, by kind and key. */
  readonly #wishes = new Map<string, WishRow>()
  readonly #untilMs: number

  constructor(row: TaskRow, stream: Stream, nowMs: number) {
    this.row = row
    this.stream = stream
    this.#untilMs = row.hi === null ? nowMs : Date.parse(row.hi)
    this.#span = { loMs: Math.min(Date.parse(row.lo), this.#untilMs), hiMs: this.#untilMs }
    this.#request = row.position?.request ?? null
    this.#pages = row.position?.pages ?? 0
    this.#skipped = row.position?.skipped
    this.#isWhole = row.position?.request === undefined
  }

  get window(): Window {
    return windowOf(this.stream, this.row.kind === 'history', this.#span)
  }

  /** The request for the next page of a window under way; null: it has not begun. */
  get request(): Request | null {
    return this.#request
  }

  /** Whether there is something to store of it: answers, or where it goes on. */
  get hasMoved(): boolean {
    return this.#hasMoved
  }

  /** Whether an answer still fits in the parcel with those that are kept. */
  takes(asked: Request, answer: Received): boolean {
    const bytes = sizeOf([this.#part(asked, answer, null)])
    return this.#parts.length === 0 || fits(this.#parts.length + 1, this.#bytes + bytes)
  }

  /** Keeps an answer until it is stored, with all that its mapping may know. */
  keep(asked: Request, answer: Received, zone: string | null): void {
    this.#hasMoved = true
    this.#pages += 1
    if (answer.body.length === 0) return
    const part = this.#part(asked, answer, zone)
    this.#parts.push(part)
    this.#bytes += sizeOf([part])
  }

  #part({ args = null }: Request, { body }: Received, zone: string | null): ParcelPart {
    return { stream: this.stream.name, args, atMs: Date.now(), zone, body }
  }

  /** Notes what else is to be asked for because of an answer that is kept. */
  follow(wishes: readonly WishRow[]): void {
    for (const wish of wishes) this.#wishes.set(`${wish.kind} ${wish.key} ${wish.lo ?? ''}`, wish)
  }

  /** Goes on with a request for a further page; returns why not, undefined: it does. */
  turnPage(asked: Request, next: Request): string | undefined {
    const json = JSON.stringify(next)
    if (this.#pages >= MAX_PAGES || JSON.stringify(asked) === json) return SAME_PAGE
    if (!isStorableJson(json) || Buffer.byteLength(json) > MAX_REQUEST_BYTES) return BAD_PAGE
    this.#request = next
    return undefined
  }

  /** Notes that an answer cannot be used: what comes after it is asked for all the same, and the cursor stays before it. */
  skip(why: string): void {
    this.#hasMoved = true
    this.#pages += 1
    this.#skipped ??= why
  }

  /** Ends the window under way; false when it was the last one. */
  nextWindow(): boolean {
    const left = leftAfter(this.window, this.row.kind === 'history', this.#span)
    this.#request = null
    this.#pages = 0
    this.#hasMoved = true
    if (!left) return false
    if (this.#skipped === undefined) this.#coveredMs = left.loMs
    this.#span = left
    return true
  }

  /** The answers that came, for storing: from then on they are. */
  takeParts(): ParcelPart[] {
    this.#bytes = 0
    this.#hasMoved = false
    return this.#parts.splice(0)
  }

  /** It goes on in another turn, where it stopped. */
  paused(): Outcome {
    this.#isWhole = false
    return {
      ...{ ...this.#place(), ...this.#wished(), answers: this.#parts.length },
      ...(this.row.attempts > 0 && { attempts: 0 }),
    }
  }

  /** All of it is asked and stored. An answer like the last one is not stored again. */
  done(): Outcome {
    if (this.#skipped !== undefined) return this.failed('wrong', this.#skipped)
    const { kind, reach_days: reach } = this.row
    const hash = this.#isWhole && kind === 'pull' ? hashOf(this.#parts) : undefined
    const isUnchanged = hash !== undefined && hash === this.row.last_hash
    if (isUnchanged) {
      this.takeParts()
      this.#wishes.clear()
    }
    const cursor = {
      covered_until: isoInstant(this.#untilMs),
      ...(reach !== null && { week: true, month: reach === 28 }),
      ...(hash !== undefined && { hash }),
      ...(isUnchanged && ({ unchanged: true } as const)),
    }
    const ended = this.#ended({ status: 'success' })
    return kind === 'pull' ? { ...ended, cursor } : ended
  }

  /** It will not be tried again. */
  failed(code: FailureCode, error: string): Outcome {
    const ended = this.#ended({ status: 'failed', code, error })
    const closed = code === 'not_permitted' ? { closed_seconds: CLOSED_SECONDS, closed_why: code } : {}
    // Notices do not end for that.
    const isNoticed = this.row.kind === 'notice' || this.row.kind === 'object'
    if (isNoticed && code === 'not_permitted') return { ...ended, cursor: { failing: true, ...closed } }
    if (this.row.kind !== 'pull') return ended
    // The windows before are stored with it: the next pull begins with the one that failed.
    const covered = this.#coveredMs === undefined ? {} : { covered_until: isoInstant(this.#coveredMs) }
    return { ...ended, cursor: { failing: true, ...covered, ...closed } }
  }

  /** It failed, and is tried again: after so many seconds, else after a delay that grows; or it has failed for too long. */
  later(why: string, afterSeconds: number | null): Outcome {
    const { kind, attempts, failing_since: since } = this.row
    if (since !== null && Date.now() - Date.parse(since) > GIVE_UP_DAYS[kind] * DAY_MS)
      return this.failed('gave_up', why)
    const failures = attempts + 1
    const dueMs = Math.round(Date.now() + delaySeconds(failures, afterSeconds) * 1000)
    const waits = `${why}; tried again at ${isoInstant(dueMs)}`
    const due = { due_at: isoInstant(dueMs), attempts: Math.min(failures, 32_767), failing: true, waits } as const
    return { ...this.#place(), ...this.#wished(), answers: this.#parts.length, ...due }
  }

  /**
   * The provider does not have the thing that is asked for: it is asked for again, twice; `missing` is what follows when
   * it is not there then either.
   */
  absent({ gone, wish, lost }: { gone?: string; wish?: WishRow | undefined; lost?: string }): Outcome {
    const { id, generation, position, args } = this.row
    const stream = this.stream.name
    const misses = position?.missing ?? 0
    const seconds = MISSING_SECONDS[misses]
    // Of several requests for it the first ones alone are of no use.
    this.takeParts()
    this.#wishes.clear()
    if (seconds !== undefined) {
      const due = isoInstant(Date.now() + seconds * 1000)
      const waits = `The provider does not have it yet; tried again at ${due}`
      return { id, stream, generation, answers: 0, position: { missing: misses + 1 }, due_at: due, waits }
    }
    if (gone !== undefined) {
      this.#hasMoved = true
      this.#parts.push({ stream, args, atMs: Date.now(), zone: null, body: Buffer.alloc(0), gone })
    }
    if (wish) this.follow([wish])
    return lost === undefined ? this.#ended({ status: 'success' }) : this.failed('gave_up', lost)
  }

  #ended(report: NonNullable<Outcome['report']>): Outcome {
    const { id, generation } = this.row
    const ended = {
      id,
      stream: this.stream.name,
      generation,
      answers: this.#parts.length,
      ended: true,
      report,
    } as const
    return { ...ended, ...this.#wished() }
  }

  #wished(): Pick<Outcome, 'wishes'> {
    const wishes = [...this.#wishes.values()]
    this.#wishes.clear()
    return wishes.length > 0 ? { wishes } : {}
  }

  #place(): Pick<Outcome, 'id' | 'stream' | 'generation' | 'lo' | 'hi' | 'position'> {
    const { loMs, hiMs } = this.#span
    // Nothing of it is there: it is asked for as of then.
    const isUntouched = this.#isWhole && this.#parts.length === 0
    const span = isUntouched ? {} : { lo: isoInstant(loMs), hi: isoInstant(hiMs) }
    const { id, generation, position: before } = this.row
    const noted = {
      ...(before?.missing !== undefined && !this.#request && { missing: before.missing }),
      ...(this.#skipped !== undefined && { skipped: this.#skipped }),
      ...(this.#request && { request: this.#request as unknown as Json, pages: this.#pages }),
    }
    const position = Object.keys(noted).length > 0 ? noted : null
    return { id, stream: this.stream.name, generation, ...span, position }
  }
}
