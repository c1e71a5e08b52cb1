import { promisify } from 'node:util'
import { brotliDecompress, gunzip } from 'node:zlib'
import { Client, type Dispatcher, Pool } from 'undici'
import { parseExactJson } from '../../workers/exact-json.ts'
import { inflated } from '../deflate.ts'
import type { Answer, Form } from '../providers/provider.ts'

/** Time for a whole request, from its connection to the end of the answer (contract 12.10). */
export const REQUEST_MS = 30_000
const CONNECT_MS = 10_000

/** Time that an answer already received has to be read when this process was asleep as its time ended. */
const GRACE_MS = 250

/** Largest answer, decoded: 32 MiB. */
const ANSWER_BYTES = 32 * 1024 * 1024

/** A request to a provider, with everything that it sends. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: URL
  readonly headers: Form
  readonly body?: string
  /** Not a connection that others used: there, the end of an idle connection would look like a lost answer. */
  readonly ownConnection?: boolean
  /** HTTP/2 where the server offers it (ALPN, RFC 7301), otherwise HTTP/1.1. */
  readonly http2?: boolean
}

/** An answer with its body as it was received, decompressed. */
export interface Received extends Answer {
  readonly body: Buffer
}

/** A request without an answer that can be used; the message says why, without any address. */
export class NoAnswer extends Error {
  /** Whether the provider may have received the request. */
  readonly sent: boolean

  constructor(message: string, sent: boolean, cause?: unknown) {
    super(message, { cause })
    this.name = 'NoAnswer'
    this.sent = sent
  }
}

/** The only HTTP client that providers are asked with. */
export interface Http {
  /** Follows no redirect. @throws NoAnswer */
  send(request: HttpRequest): Promise<Received>
  /** Lets requests end. */
  close(): Promise<void>
}

const limitsOf = (http2: boolean) => ({
  pipelining: 1,
  connect: { timeout: CONNECT_MS },
  // Each request has one limit for its whole duration.
  headersTimeout: 0,
  bodyTimeout: 0,
  allowH2: http2,
})

/** Opens the HTTP client of this process; `requestMs` is the time for one request. */
export function openHttp(requestMs = REQUEST_MS): Http {
  const pools = new Map<string, Pool>()
  const poolOf = (origin: string, http2: boolean) => {
    const key = `${origin} ${http2}`
    const known = pools.get(key)
    if (known) return known
    // As many connections as there are requests: with fewer, requests wait behind those that a provider does not answer.
    const pool = new Pool(origin, limitsOf(http2))
    pools.set(key, pool)
    return pool
  }
  return {
    async send(request) {
      const { url, http2 = false } = request
      const own = request.ownConnection ? new Client(url.origin, limitsOf(http2)) : undefined
      try {
        return await received(await exchange(own ?? poolOf(url.origin, http2), request, requestMs))
      } finally {
        await own?.destroy()
      }
    },
    close: async () => {
      await Promise.all([...pools.values()].map((pool) => pool.close()))
    },
  }
}

interface RawAnswer {
  status: number
  headers: Form
  body: Buffer
}

function exchange(connections: Dispatcher, request: HttpRequest, requestMs: number): Promise<RawAnswer> {
  const { method, url, headers, body } = request
  return new Promise((resolve, reject) => {
    const options = { method, path: `${url.pathname}${url.search}`, headers: { ...headers }, body: body ?? null }
    connections.dispatch(options, new Exchange(requestMs, resolve, reject))
  })
}

/** One request on its way: the events from undici become one answer or one failure. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #resolve: (answer: RawAnswer) => void
  readonly #reject: (reason: NoAnswer) => void
  #timer: NodeJS.Timeout
  #controller: Dispatcher.DispatchController | undefined
  #failed = false
  #status = 0
  #headers: Form = {}
  readonly #chunks: Buffer[] = []
  #bytes = 0

  constructor(requestMs: number, resolve: (answer: RawAnswer) => void, reject: (reason: NoAnswer) => void) {
    this.#resolve = resolve
    this.#reject = reject
    // The clock of a process that slept runs out before it reads what arrived meanwhile: that is read first.
    this.#timer = setTimeout(() => {
      this.#timer = setTimeout(() => this.#timeIsOver(), GRACE_MS)
    }, requestMs)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // It waited for a connection too long: nobody may be asked any more.
    if (this.#failed) controller.abort(new Error('too late'))
    else this.#controller = controller
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) return
    this.#status = status
    this.#headers = Object.fromEntries(Object.entries(headers).map(([name, value = '']) => [name, String(value)]))
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#failed) return
    // A copy: the chunk is a view of the socket's buffer.
    this.#chunks.push(Buffer.from(chunk))
    this.#bytes += chunk.length
    if (this.#bytes <= ANSWER_BYTES) return
    this.#fail(TOO_LARGE)
    controller.abort(new Error(TOO_LARGE))
  }

  onResponseEnd(): void {
    clearTimeout(this.#timer)
    this.#resolve({ status: this.#status, headers: this.#headers, body: Buffer.concat(this.#chunks) })
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#fail(reasonOf(error, this.#status), error)
  }

  #timeIsOver(): void {
    const reason = 'there was no complete answer in time'
    this.#fail(reason)
    this.#controller?.abort(new Error(reason))
  }

  #fail(message: string, cause?: Error): void {
    if (this.#failed) return
    this.#failed = true
    clearTimeout(this.#timer)
    this.#reject(new NoAnswer(message, this.#controller !== undefined, cause))
  }
}

const TOO_LARGE = `the answer is larger than ${ANSWER_BYTES} bytes`

const REASONS: Record<string, string> = {
  ENOTFOUND: 'its name could not be resolved',
  EAI_AGAIN: 'its name could not be resolved',
  ECONNREFUSED: 'the connection was refused',
  EHOSTUNREACH: 'it cannot be reached',
  ENETUNREACH: 'it cannot be reached',
  ETIMEDOUT: 'the connection could not be opened in time',
  UND_ERR_CONNECT_TIMEOUT: 'the connection could not be opened in time',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer were too large',
}

function reasonOf(error: Error, status: number): string {
  // Of several addresses that were tried, the first.
  const { code = '' } = (error instanceof AggregateError ? error.errors[0] : error) as { code?: string }
  return REASONS[code] ?? `the connection ended ${status ? 'in the middle of the answer' : 'before the answer'}`
}

const DECODERS: Record<string, (body: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>> = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: inflated,
  br: promisify(brotliDecompress),
}

async function received({ status, headers, body }: RawAnswer): Promise<Received> {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? ''
  const decode = body.length > 0 ? DECODERS[encoding] : undefined
  const decoded = decode ? await decode(body, { maxOutputLength: ANSWER_BYTES }).catch(cannotDecode) : body
  const parsed = parseExactJson(decoded)
  // Neither what is not JSON, nor what is too deep to be read safely.
  return { status, headers, body: decoded, json: typeof parsed === 'string' ? undefined : parsed.value }
}

function cannotDecode(error: { code?: string }): never {
  throw new NoAnswer(error.code === 'ERR_BUFFER_TOO_LARGE' ? TOO_LARGE : 'the answer is damaged', true, error)
}
