import { type Dispatcher, Pool } from 'undici'
import { counted } from '../counted.ts'
import { type AddressGuard, RefusedAddress } from './address-guard.ts'
import { retryAfterSeconds } from './schedule.ts'

/** Calls in flight to one endpoint. */
export const CALLS_PER_ENDPOINT = 5

/** Time for a whole call, from the resolution of the name to the end of the answer (contract 10.6). */
const CALL_TIMEOUT_MS = 15_000
const CONNECT_TIMEOUT_MS = 10_000

/** Bytes of an answer that are read; the rest is not (contract 10). */
const ANSWER_BYTES = 20_000

/** Outcomes of calls, for the metrics. */
export type Outcome =
  | 'delivered'
  | 'refused_status'
  | 'timeout'
  | 'unreachable'
  | 'forbidden_address'
  | 'unreadable_event'

/** The result of one call. */
export interface Answer {
  outcome: Outcome
  /** 0 when there was none, or no complete one; then `text` says why. */
  status: number
  text: string
  durationMs: number
  /** The delay that the receiver requested with `Retry-After`. */
  retryAfterSeconds?: number
}

/** Connections to the address of one endpoint. */
export type Connections = Pool

/** Opens connections for an endpoint's URL, each guarded; close them when the endpoint is no longer served. */
export function connectionsTo(url: URL, guard: AddressGuard): Connections {
  return new Pool(url.origin, {
    connections: CALLS_PER_ENDPOINT,
    pipelining: 1,
    connect: { lookup: guard.lookup, timeout: CONNECT_TIMEOUT_MS },
    // Each call has one limit for its whole duration.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

/** The request to an endpoint. */
export interface Message {
  /** Path and query of its URL. */
  path: string
  headers: Record<string, string>
  body: Buffer
}

/**
 * Makes one call and never rejects. Success is a complete 2xx answer; redirects fail and are not followed. Compressed
 * answers are not decoded.
 */
export function post(connections: Connections, { path, headers, body }: Message): Promise<Answer> {
  return new Promise((resolve) => {
    connections.dispatch({ method: 'POST', path, headers, body }, new Call(resolve))
  })
}

/** One call in flight: the events from undici become one answer, which settles it. */
class Call {
  readonly #settled: (answer: Answer) => void
  readonly #started = performance.now()
  readonly #timer: NodeJS.Timeout
  #abort: ((reason: Error) => void) | undefined
  #done = false
  #status = 0
  #headers: Headers = {}
  readonly #chunks: Buffer[] = []
  #bytes = 0

  constructor(settled: (answer: Answer) => void) {
    this.#settled = settled
    this.#timer = setTimeout(() => {
      this.#settle('timeout', 0, `There was no complete answer within ${counted(CALL_TIMEOUT_MS / 1000, 'second')}.`)
      this.#abort?.(new Error('time is over'))
    }, CALL_TIMEOUT_MS)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#done) controller.abort(new Error('time is over'))
    else this.#abort = (reason) => controller.abort(reason)
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Headers): void {
    if (status < 200) return
    this.#status = status
    this.#headers = headers
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // A copy: the chunk is a view of the socket's buffer.
    if (!this.#done) this.#chunks.push(Buffer.from(chunk.subarray(0, ANSWER_BYTES - this.#bytes)))
    this.#bytes += chunk.length
    if (this.#bytes <= ANSWER_BYTES) return
    this.#answered()
    controller.abort(new Error('the rest is not wanted'))
  }

  onResponseEnd(): void {
    this.#answered()
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (error instanceof RefusedAddress)
      this.#settle('forbidden_address', 0, 'The address of the endpoint is not allowed.')
    else this.#settle('unreachable', 0, reasonOf(error, this.#status))
  }

  #answered(): void {
    const succeeded = this.#status >= 200 && this.#status < 300
    this.#settle(succeeded ? 'delivered' : 'refused_status', this.#status, textOf(this.#chunks, this.#headers))
  }

  #settle(outcome: Outcome, status: number, text: string): void {
    if (this.#done) return
    this.#done = true
    clearTimeout(this.#timer)
    const asked = outcome === 'delivered' ? undefined : one(this.#headers['retry-after'])
    const seconds = asked && retryAfterSeconds(asked, one(this.#headers.date), Date.now())
    const durationMs = Math.round(performance.now() - this.#started)
    this.#settled({
      ...{ outcome, status, text, durationMs },
      ...(typeof seconds === 'number' && { retryAfterSeconds: seconds }),
    })
  }
}

type Headers = Record<string, string | string[] | undefined>

const one = (value: string | string[] | undefined) => (Array.isArray(value) ? value[0] : value)

/** An answer as text that the database can store. */
function textOf(chunks: Buffer[], headers: Headers): string {
  const encoding = one(headers['content-encoding'])
  if (encoding && encoding.toLowerCase() !== 'identity' && chunks.length > 0) return 'The answer was compressed.'
  return Buffer.concat(chunks).toString('utf8').replaceAll('\0', '')
}

const REASONS: Record<string, string> = {
  ENOTFOUND: 'The name of the endpoint could not be resolved.',
  EAI_AGAIN: 'The name of the endpoint could not be resolved.',
  ECONNREFUSED: 'The connection was refused.',
  EHOSTUNREACH: 'The endpoint cannot be reached.',
  ENETUNREACH: 'The endpoint cannot be reached.',
  ETIMEDOUT: 'The connection could not be opened in time.',
  UND_ERR_CONNECT_TIMEOUT: 'The connection could not be opened in time.',
  UND_ERR_HEADERS_OVERFLOW: 'The headers of the answer were too large.',
}
const TLS_CODE = /^(ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|EPROTO$|HOSTNAME_MISMATCH$)/

/** The reason for a missing answer, without any address of ours or of the receiver's network. */
function reasonOf(error: Error, status: number): string {
  // Of several addresses that were tried, the first.
  const { code = '' } = (error instanceof AggregateError ? error.errors[0] : error) as { code?: string }
  if (TLS_CODE.test(code)) return `The TLS connection failed (${code}).`
  if (error.name === 'HTTPParserError') return 'The answer was not HTTP.'
  return REASONS[code] ?? `The connection ended ${status ? 'in the middle of the answer' : 'before the answer'}.`
}
