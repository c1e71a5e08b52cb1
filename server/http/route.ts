import type { Readable } from 'node:stream'
import type Router from '@koa/router'
import type { Context } from 'koa'
import { koaBody } from 'koa-body'
import type { Static, TSchema } from 'typebox'
import { Type } from 'typebox'
import { cancelledBy, gated } from '../db/database.ts'
import type { Dependencies } from '../dependencies.ts'
import { AppError, errors, type Issue } from '../errors.ts'
import type { Limits, Share } from '../limits.ts'
import { requireAcceptable } from './accept.ts'
import { contentEncoding } from './encoding.ts'
import { type Auth, authenticate, type Guard, requireOwner } from './guards.ts'
import { jsonDepth, jsonProblem, MAX_JSON_DEPTH } from './json.ts'
import { atPace } from './pace.ts'
import { type Check, compile, compileQuery } from './validate.ts'

/** Size limit of a JSON or form body (D-37). */
const BODY_LIMIT_BYTES = 1024 * 1024

/** Maximum of fields in a query; Node's parser silently drops all others. */
const MAX_QUERY_FIELDS = 1_000

/** The input of a handler: everything checked, converted and typed by the route's schemas. */
export interface Input<P extends TSchema, Q extends TSchema, B extends TSchema> {
  params: Static<P>
  query: Static<Q>
  body: Static<B>
  auth: Auth
  ctx: Context
}

/** An answer other than plain JSON with the route's status. */
export class Reply {
  readonly status: number
  readonly type: string
  readonly body: string | Buffer | Readable | null
  readonly headers: Record<string, string>
  constructor(
    status: number,
    type: string,
    body: string | Buffer | Readable | null,
    headers: Record<string, string> = {},
  ) {
    this.status = status
    this.type = type
    this.body = body
    this.headers = headers
  }
}

interface Definition<P extends TSchema, Q extends TSchema, B extends TSchema> {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** OpenAPI form: `/api/v1/users/{user_id}`. */
  path: string
  operationId: string
  summary: string
  description?: string
  tag: string
  guard: Guard
  params?: P
  query?: Q
  /**
   * For addresses that providers call: unknown parameters of the query are ignored, since they append their own; HEAD
   * answers 200 without the handler; and no other page learns of the address.
   */
  openQuery?: boolean
  /** The query schema for some requests: another format of the answer can allow more. */
  queryVariant?: { applies(ctx: Context): boolean; schema: Q }
  body?: B
  /** `json` unless the body may also be a form, or is `bytes`: the handler reads the stream itself. */
  bodyKind?: 'json' | 'form or json' | 'bytes'
  /** A missing JSON body counts as `{}`. */
  bodyOptional?: boolean
  /** Some failures have a different answer here: the login answers 401 to an incomplete form. */
  onInvalid?: () => AppError
  /**
   * Whose connections the handler uses: by default those of `read`, or of `write` if it is not a GET. `own` takes them
   * from a gate by itself, or needs none.
   */
  share?: Share | 'own'
  /** The same if it depends on the query. */
  shareOf?(query: Static<Q>): Share
  /** Success status, by default 200. */
  status?: number
  response?: TSchema
  /** Content type of the success answer, by default JSON. */
  produces?: string
  /** When it answers 303 instead, with the address in `Location`. */
  redirects?: string
  example?: unknown
  /** Other content types of the success answer. */
  alsoProduces?: Record<string, { schema: TSchema; example?: unknown }>
  /** Headers of the success answer, with their descriptions. */
  headers?: Record<string, string>
  /** Whether answers have an ETag, so that a client that holds the answer gets 304. */
  revalidated?: boolean
  bodyExample?: unknown
  /** Error statuses besides those that guard, body and path imply; with a schema if the body is not `{"detail"}`. */
  errors?: Record<number, string | { description: string; schema: TSchema }>
}

/** A route with its handler, for the router to mount and the description to describe. */
export interface Route extends Definition<TSchema, TSchema, TSchema> {
  handle(ctx: Context, deps: Dependencies): Promise<void>
}

const Nothing = Type.Object({})

/**
 * Declares a route once: method, path, guard, schemas, description and handler. The wrapper authenticates (401), lets a
 * phone through to its own user only (403), then reports all errors of path, query and body together (422), then runs
 * the handler and answers.
 */
export function route<
  P extends TSchema = typeof Nothing,
  Q extends TSchema = typeof Nothing,
  B extends TSchema = typeof Nothing,
>(definition: Definition<P, Q, B>, handler: (input: Input<P, Q, B>, deps: Dependencies) => Promise<unknown>): Route {
  const checkParams = compile(definition.params ?? Nothing, 'text')
  const { openQuery = false } = definition
  const checkQuery = compileQuery(definition.query ?? Nothing, openQuery)
  const variant = definition.queryVariant
  const checkVariant = variant && compileQuery(variant.schema)
  const readBody = bodyReader(definition as Definition<TSchema, TSchema, TSchema>)
  const produced = [definition.produces ?? 'application/json', ...Object.keys(definition.alsoProduces ?? {})]
  return {
    ...definition,
    async handle(ctx, deps) {
      if (openQuery) {
        ctx.set('Referrer-Policy', 'no-referrer')
        if (ctx.method === 'HEAD') return respond(ctx, 200, '')
      }
      const auth = await authenticate(definition.guard, ctx, deps)
      if (definition.method === 'GET') requireAcceptable(ctx.get('accept'), produced)
      const issues: Issue[] = []
      const params = checkParams(ctx.params, ['path'], issues)
      requireOwner(auth, params)
      const check = checkVariant && variant?.applies(ctx) ? checkVariant : checkQuery
      countQueryFields(ctx.querystring, issues)
      const query = check(ctx.query, ['query'], issues)
      const body = await readBody(ctx, issues, deps.limits)
      if (issues.length > 0) throw definition.onInvalid?.() ?? errors.invalid(issues)
      const input = { params, query, body, auth, ctx } as Input<P, Q, B>
      const share = definition.shareOf?.(input.query) ?? definition.share
      const caller = callerOf(auth, ctx)
      const user = (input.params as { user_id?: string }).user_id
      const result = await inShare(
        share ?? (definition.method === 'GET' ? 'read' : 'write'),
        { caller, user, ctx, deps },
        (admitted) => handler(input, admitted),
      )
      respond(ctx, definition.status ?? 200, result)
      deps.answers.sending(caller, ctx.response.length ?? 0, ctx.res)
    },
  }
}

function countQueryFields(querystring: string, issues: Issue[]): void {
  const count = querystring.split('&').length
  if (count <= MAX_QUERY_FIELDS) return
  const msg = `A query should have at most ${MAX_QUERY_FIELDS} fields, not ${count}`
  const ctx = { max_length: MAX_QUERY_FIELDS, actual_length: count }
  issues.push({ type: 'too_long', loc: ['query'], msg, input: null, ctx })
}

/** The party that shares fairly with others: a key, a developer, a phone's user, or an address. */
function callerOf(auth: Auth, ctx: Context): string {
  switch (auth.kind) {
    case 'key':
      return auth.keyId
    case 'developer':
      return auth.developerId
    case 'sdk':
      return auth.userId
    default:
      return ctx.ip
  }
}

interface Asking {
  caller: string
  /** The user in its path. */
  user: string | undefined
  ctx: Context
  deps: Dependencies
}

/** Runs a request once its share has a free connection. @throws AppError overloaded, client_left */
async function inShare(
  share: Share | 'own',
  { caller, user, ctx, deps }: Asking,
  work: (deps: Dependencies) => Promise<unknown>,
): Promise<unknown> {
  if (share === 'own') return work(deps)
  const gate = deps.gates[share]
  // A login waits for its hash, and holds no connection meanwhile.
  if (share === 'login') return work({ ...deps, db: gated(deps.db, gate) })
  const changes = share === 'write' || share === 'long'
  // Changes of one user wait for each other, whoever the caller is.
  const leave = await gate.enter(changes && user ? user : caller, { client: ctx.res })
  try {
    if (share === 'bulk') deps.answers.admit(caller)
    const cancellable = share === 'bulk' || share === 'report'
    return await work(cancellable ? { ...deps, db: cancelledBy(deps.db, ctx.res) } : deps)
  } finally {
    leave()
  }
}

function respond(ctx: Context, status: number, result: unknown): void {
  if (result instanceof Reply) {
    const { Vary, ...headers } = result.headers
    ctx.set(headers)
    if (Vary) ctx.vary(Vary)
    ctx.status = result.status
    if (result.body === null) return
    ctx.type = result.type
    ctx.body = result.body
    return
  }
  ctx.status = status
  if (status === 204) return
  // Koa turns a null body into 204: the JSON literal has to be sent as text.
  ctx.type = 'application/json'
  ctx.body = JSON.stringify(result)
}

type ReadBody = (ctx: Context, issues: Issue[], limits: Limits) => Promise<unknown>

function bodyReader(definition: Definition<TSchema, TSchema, TSchema>): ReadBody {
  const { body: schema, bodyKind = 'json', bodyOptional = false } = definition
  if (!schema || bodyKind === 'bytes') return async () => undefined
  const forms = bodyKind === 'form or json'
  const accepted = forms ? 'application/x-www-form-urlencoded or application/json' : 'application/json'
  const [checkJson, checkForm] = [compile(schema, 'json'), compile(schema, 'text')]
  const parse = koaBody({
    json: true,
    urlencoded: forms,
    text: false,
    multipart: false,
    jsonStrict: false,
    jsonLimit: BODY_LIMIT_BYTES,
    formLimit: BODY_LIMIT_BYTES,
    includeUnparsed: true,
    parsedMethods: ['POST', 'PUT', 'PATCH', 'DELETE'] as never,
    onError: (error) => {
      throw error
    },
  })
  return async (ctx, issues, { bodyPace }) => {
    const form = forms && ctx.is('urlencoded') !== false
    const check = form ? checkForm : checkJson
    if (!hasBody(ctx)) return missingBody(check, bodyOptional, issues)
    if (!form && !ctx.is('json')) throw errors.wrongMediaType(accepted)
    if (!contentEncoding(ctx.get('content-encoding'))) throw errors.wrongEncoding()
    try {
      await atPace(
        ctx.req,
        bodyPace,
        parse(ctx as never, async () => {}),
      )
    } catch (error) {
      if (error instanceof AppError) throw error
      const issue = parseFailure(error)
      issues.push(issue)
      return undefined
    }
    const { body, rawBody } = ctx.request as unknown as { body: unknown; rawBody?: string }
    if (body === undefined || rawBody === '') return missingBody(check, bodyOptional, issues)
    if (!form && rawBody !== undefined && jsonDepth(Buffer.from(rawBody)) > MAX_JSON_DEPTH) {
      issues.push(jsonProblem(rawBody))
      return undefined
    }
    return check(body, ['body'], issues)
  }
}

/** Whether the request announces a body at all. */
const hasBody = (ctx: Context) => ctx.get('transfer-encoding') !== '' || (ctx.request.length ?? 0) > 0

function missingBody(check: Check, optional: boolean, issues: Issue[]): unknown {
  if (optional) return check({}, ['body'], issues)
  issues.push({ type: 'missing', loc: ['body'], msg: 'Field required', input: null })
  return undefined
}

/** Malformed JSON becomes an issue; a body refused by the parser for its size or coding gets that status. */
function parseFailure(error: unknown): Issue {
  const { status, body, type } = error as { status?: number; body?: unknown; type?: string }
  if (status === 413) throw errors.tooLarge(BODY_LIMIT_BYTES)
  if (status === 415) throw errors.wrongEncoding()
  if (type === 'request.aborted' || type === 'request.size.invalid')
    throw errors.badRequest('The request body ended early.')
  if (status === 400 && typeof body === 'string') return jsonProblem(body)
  if (status === 400) throw errors.badRequest('The request body could not be read.')
  const code = (error as { code?: string }).code
  if (code?.startsWith('Z_')) throw errors.badRequest('The compressed request body is damaged.')
  throw error
}

/** Mounts routes; two hops from here to the SQL: wrapper, handler. */
export function mount(router: Router, routes: readonly Route[], deps: Dependencies): void {
  for (const one of routes) {
    const path = one.path.replaceAll(/\{(\w+)\}/g, ':$1')
    router.register(path, [one.method.toLowerCase() as 'get'], (ctx) => one.handle(ctx as unknown as Context, deps))
  }
}
