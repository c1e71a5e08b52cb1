import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { ConfigError } from '../config.ts'

/**
 * Time that running requests get to finish, out of the 19 s until the process ends: a phone on a slow network would use
 * all of it.
 */
const DRAIN_MS = 12_000
const POLL_MS = 100

/** What to do about an address that cannot be listened on, by the error's code. */
const REMEDIES: Readonly<Record<string, (port: number, host: string) => ConfigError>> = {
  EADDRINUSE: (port, host) =>
    new ConfigError('PORT', `${port} is in use on ${host}: stop what listens there or set another`),
  EACCES: (port) => new ConfigError('PORT', `${port} is not allowed to this user: set one above 1023`),
  EADDRNOTAVAIL: (_, host) =>
    new ConfigError('HOST', `${host} is not an address of this machine: 0.0.0.0 is all of them`),
  ENOTFOUND: (_, host) =>
    new ConfigError('HOST', `${host} is not the name of an address: 0.0.0.0 is all of this machine`),
}

/** A server of the application, which refuses a request without a host itself: Node.js would answer with an empty body. */
export const openServer = (application: RequestListener): Server =>
  createServer({ requireHostHeader: false }, application)

/** Whether a request lacks the header that HTTP/1.1 requires (RFC 9112, 3.2). */
export const lacksHost = ({ httpVersion, headers }: IncomingMessage): boolean =>
  httpVersion === '1.1' && headers.host === undefined

/** Listens on a port. @throws ConfigError that names PORT or HOST when it cannot */
export function listen(server: Server, port: number, host: string): Promise<void> {
  // A phone on a slow network may take minutes for 32 MiB; headers have to come at once.
  server.requestTimeout = 300_000
  server.headersTimeout = 20_000
  server.keepAliveTimeout = 65_000
  server.on('clientError', answerUnreadable)
  server.on('checkContinue', continueWhenRead)
  server.on('checkExpectation', refuseExpectation)
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(REMEDIES[error.code ?? '']?.(port, host) ?? error)
    })
    server.listen(port, host, resolve)
  })
}

/** Requests whose clients wait for 100 Continue before they send the body. */
const waiting = new WeakSet<IncomingMessage>()

/** Whether the client still waits to be asked for the body that it announced: it sends none when it is answered now. */
export const awaitsContinue = (request: IncomingMessage): boolean =>
  // Clients need not wait for ever (RFC 9110, 10.1.1); curl does for a second.
  waiting.has(request) && request.readableLength === 0

/**
 * Asks for a body that waits for 100 Continue (RFC 9110, 10.1.1) only when it is about to be read, so that a refused upload
 * is never sent.
 */
function continueWhenRead(this: Server, request: IncomingMessage, response: ServerResponse): void {
  waiting.add(request)
  // What follows an answer to a body that never came could be that body, or the next request.
  const { shouldKeepAlive } = response
  response.shouldKeepAlive = false
  const read = request._read
  request._read = (size) => {
    request._read = read
    // Node.js drops the rest of a body once it is answered.
    if (!response.headersSent) {
      waiting.delete(request)
      response.shouldKeepAlive = shouldKeepAlive
      if (request.readableLength === 0) response.writeContinue()
    }
    read.call(request, size)
  }
  this.emit('request', request, response)
}

/** Headers of answers that the application does not see. */
const UNSEEN = [
  ['Content-Type', 'application/json'],
  ['Cache-Control', 'private, no-store'],
  ['X-Content-Type-Options', 'nosniff'],
] as const

function refuseExpectation(_: IncomingMessage, response: ServerResponse): void {
  response.statusCode = 417
  response.shouldKeepAlive = false
  for (const [name, value] of UNSEEN) response.setHeader(name, value)
  response.end(JSON.stringify({ detail: 'The only expectation that can be met is 100-continue.' }))
}

/** Status and text for requests that Node.js cannot read; everything else is no HTTP. */
const UNREADABLE: Readonly<Record<string, readonly [status: string, detail: string]>> = {
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    'The address and headers together may have 16 KiB. Send less in the query.',
  ],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['413 Payload Too Large', 'The extensions of the chunks are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request arrived too slowly.'],
}

/** Answers what the application never sees, in the form of its errors; Node.js would send an empty body. */
function answerUnreadable(error: NodeJS.ErrnoException, stream: Duplex): void {
  const socket = stream as Socket & { _httpMessage?: ServerResponse | null }
  // An answer that has begun would be damaged.
  if (!socket.writable || socket._httpMessage?.headersSent) return void socket.destroy(error)
  const [status, detail] = UNREADABLE[error.code ?? ''] ?? ['400 Bad Request', 'This is not a request of HTTP/1.1.']
  const body = JSON.stringify({ detail })
  const common = UNSEEN.map(([name, value]) => `${name}: ${value}`)
  const headers = ['Connection: close', ...common, `Content-Length: ${Buffer.byteLength(body)}`]
  socket.write(`HTTP/1.1 ${[status, ...headers].join('\r\n')}\r\n\r\n${body}`)
  socket.destroySoon()
}

/**
 * Lets running requests finish; a connection is closed as soon as it is idle, kept alive or not. `cutOff` is called if
 * some do not finish in time and are cut off.
 */
export async function closeServer(server: Server, cutOff: () => void): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  const idle = setInterval(() => server.closeIdleConnections(), POLL_MS)
  const late = setTimeout(() => {
    cutOff()
    server.closeAllConnections()
  }, DRAIN_MS)
  await closed
  clearInterval(idle)
  clearTimeout(late)
}
