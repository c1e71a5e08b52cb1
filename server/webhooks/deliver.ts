import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { VERSION } from '../version.ts'
import type { Recorder } from './attempts.ts'
import { type Bodies, UnreadableEvent } from './bodies.ts'
import { type Due, forgetDue, isWary, type Lane, takeDue, wantedOf } from './lane.ts'
import type { Leases } from './leases.ts'
import { type Answer, post } from './post.ts'
import { signature } from './sign.ts'

/** Calls in flight, of this process; at most half of them to endpoints that only fail. */
const CALLS = 50
const WARY_CALLS = 25

/** Attempts that may wait to be recorded; with more, no further calls are made until the database accepts them. */
const UNRECORDED = 1_000

/** Time that calls in flight get at shutdown. */
const DRAIN_MS = 4_000

const USER_AGENT = `Pulsebase/${VERSION}`

const UNREADABLE = 'This version of Pulsebase cannot read the event.'

/** Everything that calls need. */
export interface CallOptions {
  leases: Leases
  bodies: Bodies
  recorder: Recorder
  metrics: Metrics
  log: Logger
  /** A lane wants to read more. */
  wanting(): void
}

/** The calls to endpoints: a limited number at a time, one lane after the other. */
export class Calls {
  readonly #options: CallOptions
  #inFlight = 0
  #waryInFlight = 0
  #stopping = false
  #abandoned = false
  #drained: (() => void) | undefined

  constructor(options: CallOptions) {
    this.#options = options
  }

  /** Begins calls up to the limit, one for each endpoint in turn. */
  begin(): void {
    const { leases, recorder } = this.#options
    for (const lane of leases.lanes) {
      if (this.#stopping || this.#inFlight >= CALLS || recorder.size() >= UNRECORDED) return
      const wary = isWary(lane)
      const due = wary && this.#waryInFlight >= WARY_CALLS ? undefined : takeDue(lane)
      if (!due) continue
      // This loop returns to it.
      leases.putLast(lane)
      void this.#call(lane, due, wary)
    }
  }

  /** Begins no more calls, gives those in flight some seconds, and drops the rest, which are due again. */
  async stop(): Promise<void> {
    this.#stopping = true
    if (this.#inFlight > 0) {
      let late: NodeJS.Timeout | undefined
      await new Promise<void>((resolve) => {
        this.#drained = resolve
        late = setTimeout(resolve, DRAIN_MS)
      })
      clearTimeout(late)
    }
    this.#abandoned = true
  }

  async #call(lane: Lane, due: Due, wary: boolean): Promise<void> {
    this.#inFlight += 1
    if (wary) this.#waryInFlight += 1
    const { url } = lane
    const startedAt = performance.now()
    const answer = await this.#answer(lane, due)
    this.#inFlight -= 1
    if (wary) this.#waryInFlight -= 1
    lane.inFlight -= 1
    if (due.attempts > 0) lane.retriesInFlight -= 1
    if (this.#abandoned) return
    const { leases, recorder, metrics, wanting } = this.#options
    if (answer) {
      lane.failures = answer.outcome === 'delivered' ? 0 : lane.failures + 1
      metrics.deliveryAttempts.labels(answer.outcome).inc()
      metrics.deliverySeconds.observe(answer.durationMs / 1000)
      recorder.add({ lane, due, url, answer, startedAt })
    } else {
      forgetDue(lane, due)
      leases.forget(lane)
    }
    if (this.#inFlight === 0) this.#drained?.()
    this.begin()
    const { fresh, retries, feed } = wantedOf(lane)
    if (fresh + retries + feed > 0) wanting()
  }

  /**
   * The result of a call; undefined when there is no longer anything to deliver, or the body cannot be read for now.
   */
  async #answer(lane: Lane, due: Due): Promise<Answer | undefined> {
    try {
      return await this.#attempt(lane, due)
    } catch (error) {
      this.#options.log.warn({ err: error, event: due.messageId }, 'cannot read an event that is to be delivered')
      if (!(error instanceof UnreadableEvent)) return undefined
      // Another process may be able to, or this one after an update: it is retried like any other.
      return { outcome: 'unreadable_event', status: 0, text: UNREADABLE, durationMs: 0 }
    }
  }

  async #attempt(lane: Lane, { eventId, messageId }: Due): Promise<Answer | undefined> {
    const { problem, secrets, connections, path } = lane
    if (problem)
      return { outcome: 'forbidden_address', status: 0, text: `The URL of the endpoint ${problem}.`, durationMs: 0 }
    const body = await this.#options.bodies.of(eventId)
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
    return post(connections, { path, headers, body })
  }
}
