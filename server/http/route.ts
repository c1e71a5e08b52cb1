import type Router from '@koa/router'
import type { Context } from 'koa'
import type { Static, TSchema } from 'typebox'
import { Type } from 'typebox'
import { changing } from '../db/changes.ts'
import { cancelledBy } from '../db/database.ts'
import type { Dependencies } from '../dependencies.ts'
import { type AppError, errors, type Issue } from '../errors.ts'
import type { Share } from '../limits.ts'
import { requireAcceptable } from './accept.ts'
import { CSV_TYPE, type CsvForm, csvAnswers, csvDescription, csvHeaders } from './csv.ts'
import { type Auth, authenticate, type Guard, requireOwner } from './guards.ts'
import { admitBody, bodyReader } from './json-body.ts'
import type { FailurePage } from './page.ts'
import { respond } from './respond.ts'
import { compile, compileQuery } from './validate.ts'

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

interface Definition<P extends TSchema, Q extends TSchema, B extends TSchema> {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** OpenAPI form: `/api/v1/users/{user_id}`. */
  path: string
  /** Another path for the same, which is not described: that of old clients, or one that has a secret in it. */
  otherPath?: string
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
  /** Other statuses of success, and their bodies; without a schema there is none. */
  alsoAnswers?: Record<number, { description: string; schema?: TSchema; example?: unknown }>
  /** Whether replicas may answer: whatever it shows of the user in its path moves the user's revision as it changes. */
  fromReplicas?: boolean
  /** When it answers 303 instead, with the address in `Location`. */
  redirects?: string
  example?: unknown
  /** Other content types of the success answer. */
  alsoProduces?: Record<string, { schema: TSchema; example?: unknown }>
  /** What a browser gets in place of a JSON error; the client may accept text/html alone. */
  failurePage?: FailurePage
  /** Its list is also served as CSV, to clients that prefer it. */
  csv?: CsvForm
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
>(declared: Definition<P, Q, B>, handler: (input: Input<P, Q, B>, deps: Dependencies) => Promise<unknown>): Route {
  const definition = withCsv(declared)
  const csv = declared.csv && csvAnswers(declared.csv, declared.response)
  const checkParams = compile(definition.params ?? Nothing, 'text')
  const { openQuery = false } = definition
  const checkQuery = compileQuery(definition.query ?? Nothing, openQuery)
  const variant = definition.queryVariant
  const checkVariant = variant && compileQuery(variant.schema)
  const readBody = bodyReaderOf(definition)
  const produced = producedBy(definition)
  return {
    ...definition,
    async handle(ctx, deps) {
      ctx.state.failurePage = definition.failurePage
      if (openQuery && isProbe(ctx)) return respond(ctx, 200, '')
      const auth = await authenticate(definition.guard, ctx, deps)
      if (definition.method === 'GET') requireAcceptable(ctx.get('accept'), produced)
      const table = csv?.asked(ctx) ? csv : undefined
      const issues: Issue[] = []
      const params = checkParams(ctx.params, ['path'], issues)
      requireOwner(auth, params)
      const check = checkVariant && variant?.applies(ctx) ? checkVariant : checkQuery
      countQueryFields(ctx.querystring, issues)
      const query = check(ctx.query, ['query'], issues)
      const caller = callerOf(auth, ctx)
      const forgetBody = readBody && (await admitBody(ctx, caller, deps.gates))
      let result: unknown
      try {
        const body = await readBody?.(ctx, issues, deps.limits)
        if (issues.length > 0) throw definition.onInvalid?.() ?? errors.invalid(issues)
        const input = { params, query, body, auth, ctx } as Input<P, Q, B>
        const share = definition.shareOf?.(input.query) ?? definition.share
        const user = (input.params as { user_id?: string }).user_id
        result = await inShare(
          share ?? (definition.method === 'GET' ? 'read' : 'write'),
          { caller, user, ctx, deps, fromReplicas: definition.fromReplicas === true },
          (admitted) => handler(input, admitted),
        )
      } finally {
        forgetBody?.()
      }
      const answer = table ? table.reply(result, ctx) : result
      await respond(ctx, definition.status ?? 200, answer, { caller, answers: deps.answers })
    },
  }
}

function bodyReaderOf({ body, bodyKind = 'json', bodyOptional = false }: Definition<TSchema, TSchema, TSchema>) {
  if (!body || bodyKind === 'bytes') return undefined
  return bodyReader(body, { forms: bodyKind === 'form or json', optional: bodyOptional })
}

/** The definition of a route that also serves CSV, with all that this adds. */
function withCsv<D extends Definition<TSchema, TSchema, TSchema>>(definition: D): D {
  if (!definition.csv) return definition
  return {
    ...definition,
    alsoProduces: { ...definition.alsoProduces, [CSV_TYPE]: csvDescription },
    headers: { ...definition.headers, ...csvHeaders },
  }
}

/** The content types that a client may ask for. */
const producedBy = ({ produces = 'application/json', alsoProduces = {}, failurePage }: Omit<Route, 'handle'>) => [
  produces,
  ...Object.keys(alsoProduces),
  ...(failurePage ? ['text/html'] : []),
]

/** Whether an address that providers call is only probed; no other page learns of it. */
function isProbe(ctx: Context): boolean {
  ctx.set('Referrer-Policy', 'no-referrer')
  return ctx.method === 'HEAD'
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
  fromReplicas: boolean
}

/** Runs a request once its share has a free connection. @throws AppError overloaded, client_left */
async function inShare(
  share: Share | 'own',
  { caller, user, ctx, deps, fromReplicas }: Asking,
  work: (deps: Dependencies) => Promise<unknown>,
): Promise<unknown> {
  if (share === 'own') return work(deps)
  if (share === 'write' || share === 'long' || share === 'login') {
    // Changes of one user wait for each other, whoever the caller is. All logins are alike.
    const key = share === 'login' ? '' : (user ?? caller)
    return work({ ...deps, db: changing(deps.db, deps, { share, key, user, client: ctx.res }) })
  }
  const leave = await deps.gates[share].enter(caller, { client: ctx.res })
  try {
    if (share === 'bulk') deps.answers.admit(caller)
    const large = share === 'bulk' || share === 'report'
    const primary = large ? cancelledBy(deps.db, ctx.res) : deps.db
    if (!fromReplicas || !deps.replicas || user === undefined) return await work({ ...deps, db: primary })
    return await deps.replicas.read({ userId: user, client: ctx.res, large }, primary, (db) => work({ ...deps, db }))
  } finally {
    leave()
  }
}

/** Mounts routes; two hops from here to the SQL: wrapper, handler. */
export function mount(router: Router, routes: readonly Route[], deps: Dependencies): void {
  for (const one of routes) {
    const paths = [one.path, ...(one.otherPath ? [one.otherPath] : [])].map((path) =>
      path.replaceAll(/\{(\w+)\}/g, ':$1'),
    )
    router.register(paths, [one.method.toLowerCase() as 'get'], (ctx) => one.handle(ctx as unknown as Context, deps))
  }
}
