import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type Router from '@koa/router'
import Koa, { type Context, type Next } from 'koa'
import { consoleRoutes } from './api/console/index.ts'
import { healthRoutes } from './api/health/index.ts'
import { routes } from './api/index.ts'
import { HELD } from './db/changes.ts'
import { databaseUnavailable, lockTimedOut } from './db/database.ts'
import type { Dependencies } from './dependencies.ts'
import { AppError, errors } from './errors.ts'
import { clientAddresses } from './http/client-address.ts'
import { consoleRouter } from './http/console.ts'
import { CONSOLE_HEADER } from './http/console-cookie.ts'
import { docsRouter } from './http/docs.ts'
import { errorBody } from './http/error-body.ts'
import { type FailurePage, htmlOf, PAGE_HEADERS, PAGE_TYPE, wantsPage } from './http/page.ts'
import { mount, type Route } from './http/route.ts'
import { SegmentRouter } from './http/segments.ts'
import { awaitsContinue, lacksHost } from './http/server.ts'

/** A client that left during its answer, or sent something other than HTTP: not a defect of ours. */
const CLIENT_FAULT = /^(EPIPE|ECONNRESET|ERR_STREAM_PREMATURE_CLOSE|ERR_HTTP_REQUEST_TIMEOUT|HPE_\w+)$/

/** Builds the Koa application; it does not listen. A process that only runs jobs offers probes and metrics alone. */
export function buildApp(deps: Dependencies): Koa {
  const offered = offeredRoutes(deps)
  const app = new Koa()
  app.on('error', (error) => {
    if (!CLIENT_FAULT.test(error.code ?? '')) deps.log.error({ err: error }, 'response failed')
  })
  app.use(answerAndLog(deps))
  if (deps.config.corsOrigins.length > 0) app.use(cors(deps.config.corsOrigins))
  const router = new SegmentRouter({ sensitive: true })
  router.use(docsRouter(offered, deps.config).routes())
  if (deps.console) router.use(consoleRouter(deps.console).routes())
  mount(router, offered, deps)
  app.use(withoutTrailingSlash)
  app.use(router.routes())
  app.use(methodOrPathUnknown(router))
  return app
}

/** The routes of this process: probes and metrics alone if it only runs jobs. */
function offeredRoutes({ config, console }: Dependencies): readonly Route[] {
  if (config.role === 'worker') return healthRoutes
  return console ? routes : routes.filter((route) => !consoleRoutes.includes(route))
}

/** Sets the default headers of an answer: most contain a person's data. */
function setDefaultHeaders(res: ServerResponse): void {
  res.setHeader('Cache-Control', 'private, no-store')
  res.setHeader('X-Content-Type-Options', 'nosniff')
}

/** The client's address, request id, timing, and the one place where an error becomes an answer. */
function answerAndLog(deps: Dependencies) {
  const clientAddress = clientAddresses(deps.config.trustedProxies)
  return async (ctx: Context, next: Next) => {
    const started = performance.now()
    const { headers, socket } = ctx.req
    ctx.request.ip = clientAddress(socket.remoteAddress, headers['x-forwarded-for'])
    const given = headers['x-request-id']
    const requestId = typeof given === 'string' && /^[\x21-\x7e]{1,128}$/.test(given) ? given : randomUUID()
    ctx.res.setHeader('X-Request-Id', requestId)
    setDefaultHeaders(ctx.res)
    try {
      if (lacksHost(ctx.req)) throw errors.badRequest('The request has no Host header.')
      await next()
    } catch (error) {
      // There is nothing to wait for from a client that sends nothing.
      if (!(error instanceof AppError && error.code === 'body_too_slow')) await discardBody(ctx.req)
      answerError(ctx, error, deps, requestId)
    }
    const seconds = (performance.now() - started) / 1000
    const route = typeof ctx._matchedRoute === 'string' ? ctx._matchedRoute : 'none'
    deps.metrics.httpSeconds.labels(ctx.method, route, String(ctx.status)).observe(seconds)
  }
}

function refuse(ctx: Context, error: AppError): void {
  ctx.status = error.status
  ctx.set(error.headers)
  const pageOf: FailurePage | undefined = ctx.state.failurePage
  if (pageOf === undefined || !wantsPage(ctx)) {
    ctx.body = errorBody(error)
    return
  }
  ctx.set(PAGE_HEADERS)
  ctx.type = PAGE_TYPE
  ctx.body = htmlOf(pageOf(error, ctx))
}

function answerError(ctx: Context, error: unknown, deps: Dependencies, requestId: string): void {
  const log = (err: unknown) =>
    deps.log.error({ err, requestId, method: ctx.method, route: ctx._matchedRoute }, 'request failed')
  setDefaultHeaders(ctx.res)
  ctx.type = 'application/json'
  if (error instanceof AppError) {
    if (error.cause) log(error.cause)
    refuse(ctx, error)
  } else if ((error as { code?: string }).code === STATEMENT_TIMEOUT) {
    refuse(ctx, tookTooLong(ctx.method))
  } else if (lockTimedOut(error)) {
    refuse(ctx, errors.overloaded(HELD, 5))
  } else if (databaseUnavailable(error)) {
    log(error)
    refuse(ctx, errors.overloaded('The database is not available. Try again in a moment.', 1))
  } else {
    log(error)
    refuse(ctx, errors.internal())
  }
  // The rest of a refused body is too large to discard: the connection cannot be used again.
  if (!ctx.req.complete) ctx.set('Connection', 'close')
}

/** SQLSTATE of a statement that exceeded its time limit. */
const STATEMENT_TIMEOUT = '57014'

/** 503 for a request that was too expensive, not wrong. */
function tookTooLong(method: string): AppError {
  switch (method) {
    case 'GET':
    case 'HEAD':
      return errors.overloaded('The query took too long. Ask for less, such as a shorter time range.', 1)
    case 'DELETE':
      return errors.overloaded('The deletion took too long. Nothing was deleted; please retry.', 5)
    default:
      return errors.overloaded('The change took too long. Nothing was changed; please retry.', 5)
  }
}

/** Rest of a refused body that is read and discarded before the answer, and the time that may take. */
const DISCARD_BYTES = 64 * 1024 * 1024
const DISCARD_MS = 10_000

/**
 * Lets the client finish sending: most read the answer only then, and closing a connection with unread bytes
 * resets it, so that a phone would see a network error instead of its 401 or 413.
 */
function discardBody(req: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    if (req.complete || req.destroyed || awaitsContinue(req)) return resolve()
    let left = DISCARD_BYTES
    const done = () => {
      clearTimeout(timer)
      req.off('data', count).off('end', done).off('close', done).pause()
      resolve()
    }
    const count = (chunk: Buffer) => {
      left -= chunk.length
      if (left < 0) done()
    }
    const timer = setTimeout(done, DISCARD_MS)
    // A decompressor that gave up would block it.
    req.unpipe()
    req.on('data', count).on('end', done).on('close', done).resume()
  })
}

/** Allows pages of these origins to call the API. With `*` any page may, but without browser credentials. */
function cors(origins: string[]) {
  const any = origins.includes('*')
  return async (ctx: Context, next: Next) => {
    const origin = ctx.get('origin')
    if (origins.length > 0 && !any) ctx.vary('Origin')
    if (!origin || !(any || origins.includes(origin))) return next()
    ctx.set('Access-Control-Allow-Origin', any ? '*' : origin)
    if (!any) ctx.set('Access-Control-Allow-Credentials', 'true')
    ctx.set(
      'Access-Control-Expose-Headers',
      'ETag, Retry-After, X-Next-Cursor, X-Previous-Cursor, X-Request-Id, X-Total-Count',
    )
    if (ctx.method !== 'OPTIONS' || !ctx.get('access-control-request-method')) return next()
    ctx.set('Access-Control-Allow-Methods', 'GET, POST, PUT, PATCH, DELETE')
    ctx.set('Access-Control-Allow-Headers', withoutConsole(ctx.get('access-control-request-headers')))
    ctx.status = 204
  }
}

/** The header that makes the cookie of the console count belongs to its own page. */
const withoutConsole = (names: string) =>
  names
    .split(',')
    .filter((name) => name.trim().toLowerCase() !== CONSOLE_HEADER.toLowerCase())
    .join(',')

/** Both spellings of a path are the same route (contract 1.1). */
function withoutTrailingSlash(ctx: Context, next: Next): Promise<void> {
  const { path } = ctx
  // An expression for it takes the square of the slashes that stand elsewhere.
  let end = path.length
  while (end > 1 && path[end - 1] === '/') end -= 1
  if (end < path.length) ctx.path = path.slice(0, end)
  return next()
}

function methodOrPathUnknown(router: Router) {
  return async (ctx: Context) => {
    const matched = router.match(ctx.path, ctx.method).path
    if (matched.length === 0) throw errors.noRoute()
    // A literal path is none of those it could be an id of.
    const parameters = Math.min(...matched.map((layer) => layer.paramNames.length))
    const own = matched.filter((layer) => layer.paramNames.length === parameters)
    throw errors.wrongMethod([...new Set(own.flatMap((layer) => layer.methods))].sort().join(', '))
  }
}
