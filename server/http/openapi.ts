import type { TSchema } from 'typebox'
import { VERSION } from '../version.ts'
import { describedEvents, EVENTS_TAG } from '../webhooks/described.ts'
import { type Components, openComponents, pascalCase } from './components.ts'
import { CONSOLE_HEADER, cookieName } from './console-cookie.ts'
import { type Guard, SDK_KEY_HEADER } from './guards.ts'
import type { Route } from './route.ts'
import { ErrorBody, ValidationBody } from './schema.ts'

/** The address of the service, and the headers that may carry an API key, the documented one first. */
export interface Served {
  apiBaseUrl: string
  apiKeyHeaders: readonly string[]
}

interface ObjectSchema {
  properties?: Record<string, TSchema & { default?: unknown; description?: string; type?: string }>
  required?: string[]
}

const header = (name: string) => ({ $ref: `#/components/headers/${name}` })

const HEADERS = {
  'X-Request-Id': text('Id of the request: the one it was sent with, or a new one'),
  ETag: text('Changes when the answer does; send it as If-None-Match'),
  'Retry-After': { description: 'Seconds to wait before the next attempt', schema: { type: 'integer', minimum: 0 } },
  'WWW-Authenticate': text('`Bearer` where an access token of a developer is required'),
}

function text(description: string) {
  return { description, schema: { type: 'string' } }
}

/** Describes every route as an OpenAPI 3.1 document; the TypeBox schemas are its schemas. */
export function openApiDocument(routes: readonly Route[], served: Served): object {
  const components = openComponents()
  const paths: Record<string, Record<string, Operation>> = {}
  for (const route of routes) {
    const methods = paths[route.path] ?? {}
    methods[route.method.toLowerCase()] = operation(route, components, served)
    paths[route.path] = methods
  }
  const webhooks = describedEvents(components)
  const answers = shareAnswers(Object.values(paths).flatMap((methods) => Object.values(methods)))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Pulsebase',
      version: VERSION,
      description: 'Wearable and health data of many providers in one schema: upload, read, push.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: served.apiBaseUrl, description: 'This instance (API_BASE_URL)' }],
    tags: [...new Set([...routes.map((route) => route.tag), EVENTS_TAG])].map((name) => ({ name })),
    paths,
    webhooks,
    components: {
      schemas: byName(components.schemas),
      responses: byName(answers),
      headers: HEADERS,
      securitySchemes: securitySchemes(served),
    },
  }
}

const byName = (parts: Record<string, object>) =>
  Object.fromEntries(Object.entries(parts).sort(([a], [b]) => (a < b ? -1 : 1)))

interface Answer {
  description: string
  headers?: object
  content?: object
}

interface Operation extends Record<string, unknown> {
  responses: Record<string, Answer | { $ref: string }>
}

/**
 * Puts references in place of the failures, and of "not modified", that several operations describe alike, and returns
 * these by name: what they say up to a colon or semicolon. Throws an Error when two different ones have one name.
 */
function shareAnswers(operations: readonly Operation[]): Record<string, Answer> {
  const uses = new Map<string, { responses: Operation['responses']; status: string; answer: Answer }[]>()
  for (const { responses } of operations) {
    for (const [status, answer] of Object.entries(responses)) {
      if (status.startsWith('2') || '$ref' in answer) continue
      const text = JSON.stringify(answer)
      uses.set(text, [...(uses.get(text) ?? []), { responses, status, answer }])
    }
  }
  const shared: Record<string, Answer> = {}
  for (const alike of uses.values()) {
    const [first, second] = alike
    if (!first || !second) continue
    const name = pascalCase(first.answer.description.split(/[:;(]/)[0] as string)
    if (shared[name]) throw new Error(`two answers are called ${name}`)
    shared[name] = first.answer
    for (const { responses, status } of alike) responses[status] = { $ref: `#/components/responses/${name}` }
  }
  return shared
}

function operation(route: Route, components: Components, served: Served): Operation {
  const name = pascalCase(route.operationId)
  const body = requestBody(route, components)
  return {
    operationId: route.operationId,
    summary: route.summary,
    ...(route.description && { description: route.description }),
    tags: [route.tag],
    security: security(route.guard, served),
    parameters: [
      ...parameters(route.params, 'path', components),
      ...parameters(route.query, 'query', components),
      ...(route.revalidated
        ? [{ name: 'If-None-Match', in: 'header', required: false, ...text('ETag of the answer you have') }]
        : []),
    ],
    ...(body && { requestBody: body }),
    responses: responses(route, name, components),
  }
}

function parameters(schema: TSchema | undefined, place: 'path' | 'query', { refer }: Components): object[] {
  const { properties = {}, required = [] } = (schema ?? {}) as ObjectSchema
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: place,
    required: place === 'path' || (required.includes(name) && property.default === undefined),
    ...(property.description && { description: property.description }),
    schema: refer(property, pascalCase(name)),
    ...(property.type === 'array' && { style: 'form', explode: true }),
  }))
}

function requestBody(route: Route, { refer }: Components): object | undefined {
  if (!route.body) return undefined
  const types =
    route.bodyKind === 'form or json' ? ['application/x-www-form-urlencoded', 'application/json'] : ['application/json']
  const schema = refer(route.body, `${pascalCase(route.operationId)}Request`)
  const media = { schema, ...(route.bodyExample !== undefined && { example: route.bodyExample }) }
  return { required: !route.bodyOptional, content: Object.fromEntries(types.map((type) => [type, media])) }
}

function responses(route: Route, name: string, components: Components): Record<string, Answer> {
  const content = (schema: TSchema) => ({
    'application/json': { schema: components.refer(schema, `${name}Error`) },
    ...(route.failurePage && { 'text/html': { schema: { type: 'string' } } }),
  })
  // Answers of one name are shared, so those with a page have another.
  const as = (text: string) =>
    route.failurePage ? `Page or JSON, ${text.charAt(0).toLowerCase()}${text.slice(1)}` : text
  const described: Record<string, Answer> = { [route.status ?? 200]: success(route, name, components) }
  if (route.revalidated)
    described[304] = {
      description: 'Not modified: the answer with that ETag still holds',
      headers: { ETag: header('ETag') },
    }
  for (const [code, { description, schema, example }] of Object.entries(route.alsoAnswers ?? {}))
    described[code] = {
      description,
      ...(schema && {
        content: { 'application/json': { schema: components.refer(schema, `${name}Result`), example } },
      }),
    }
  if (route.redirects) described[303] = { description: route.redirects, headers: { Location: text('Where to go') } }
  for (const [code, one] of Object.entries(errorsOf(route))) {
    const { description, schema } = typeof one === 'string' ? { description: one, schema: ErrorBody } : one
    const headers = errorHeaders(Number(code), route)
    described[code] = { description: as(description), ...(headers && { headers }), content: content(schema) }
  }
  // Unknown query parameters are refused everywhere.
  if (!route.onInvalid)
    described[422] = { description: as('Validation failures, the first 50 of them'), content: content(ValidationBody) }
  return described
}

function success(route: Route, name: string, { refer }: Components): Answer {
  const media = ({ schema, example }: { schema: TSchema; example?: unknown }) => ({
    schema: refer(schema, `${name}Result`),
    ...(example !== undefined && { example }),
  })
  const own = Object.entries(route.headers ?? {}).map(([name, description]) => [name, text(description)])
  return {
    description: 'Success',
    headers: {
      'X-Request-Id': header('X-Request-Id'),
      ...(route.revalidated && { ETag: header('ETag') }),
      ...Object.fromEntries(own),
    },
    ...(route.response && {
      content: {
        [route.produces ?? 'application/json']: media({ schema: route.response, example: route.example }),
        ...Object.fromEntries(Object.entries(route.alsoProduces ?? {}).map(([type, one]) => [type, media(one)])),
      },
    }),
  }
}

type Errors = NonNullable<Route['errors']>

/** The errors of a route besides 422: those that its guard, path and body imply, and those it declares. */
function errorsOf(route: Route): Errors {
  const implied = impliedErrors(route)
  const own = Object.entries(route.errors ?? {}).map(([code, one]): [string, Errors[number]] => {
    const other = implied[Number(code)]
    // These two have many causes, and one of a route replaces none of them.
    const isFurther = (code === '400' || code === '503') && typeof one === 'string' && typeof other === 'string'
    return [code, isFurther ? `${one}; ${other.charAt(0).toLowerCase()}${other.slice(1)}` : one]
  })
  return { ...implied, ...Object.fromEntries(own) }
}

function impliedErrors(route: Route): Errors {
  const own = route.path.includes('{user_id}')
  const isUpload = route.bodyKind === 'bytes'
  return {
    ...(route.body && !isUpload && { 400: 'The body cannot be read', 408: 'The body arrives too slowly' }),
    ...(route.guard !== 'public' && {
      401: route.guard === 'developer' ? 'No valid access token of a developer' : 'No valid credential',
    }),
    ...(route.guard.startsWith('sdk') && own && { 403: 'The token belongs to another user' }),
    ...(own && { 404: 'Unknown user' }),
    ...(route.method === 'GET' && { 406: 'None of the accepted media types; the text lists the available ones' }),
    ...(route.body && { 413: 'The body is too large', 415: 'Another media type or encoding' }),
    ...(route.tag !== 'Health' && { 503: 'Overloaded, or the database does not answer; retry' }),
  }
}

function errorHeaders(code: number, route: Route): object | undefined {
  if (code === 429 || code === 503) return { 'Retry-After': header('Retry-After') }
  if (code === 401 && route.guard === 'developer') return { 'WWW-Authenticate': header('WWW-Authenticate') }
  return undefined
}

/** Any one of them is enough. */
function security(guard: Guard, { apiKeyHeaders }: Served): object[] {
  const login = [{ bearer: [] }, { consoleCookie: [], consoleHeader: [] }]
  const keys = apiKeyHeaders.map((_, at) => ({ [keyScheme(at)]: [] }))
  const sdkKey = apiKeyHeaders.some((name) => name.toLowerCase() === SDK_KEY_HEADER) ? [] : [{ sdkApiKey: [] }]
  const credentials: Record<Guard, object[]> = {
    public: [],
    key: [...keys, ...login],
    developer: login,
    sdk: [{ sdkToken: [] }, ...keys, ...sdkKey],
    'sdk or key': [{ sdkToken: [] }, ...keys, ...sdkKey, ...login],
    'app or developer': [{}, ...login],
    'key or link token': [...keys, ...login, { linkToken: [] }],
  }
  return credentials[guard]
}

/** Name of the scheme of a header for keys. Not that of the header, which may be anything, such as `bearer`. */
const keyScheme = (at: number) => (at === 0 ? 'apiKey' : `apiKey${at + 1}`)

function securitySchemes({ apiBaseUrl, apiKeyHeaders }: Served): Record<string, object> {
  const key = (name: string, description: string) => ({ type: 'apiKey', in: 'header', name, description })
  const keys = apiKeyHeaders.map((name, at) => {
    return [
      keyScheme(at),
      key(name, at === 0 ? 'An API key of this instance' : 'An API key, in another header'),
    ] as const
  })
  const bearer = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }
  return {
    ...Object.fromEntries(keys),
    sdkApiKey: key('X-Open-Wearables-API-Key', 'An API key, in the header that released mobile SDKs send'),
    bearer: { ...bearer, description: "A developer's access token (POST /api/v1/auth/login)" },
    consoleCookie: {
      ...{ type: 'apiKey', in: 'cookie', name: cookieName({ apiBaseUrl }) },
      description: 'The sign-in of a browser (POST /api/v1/console/session), only together with `consoleHeader`',
    },
    consoleHeader: key(CONSOLE_HEADER, 'Always `1`: with it the cookie of the console counts'),
    linkToken: {
      ...{ type: 'apiKey', in: 'query', name: 'link_token' },
      description: 'A link for one person (POST /api/v1/users/{user_id}/link-tokens)',
    },
    sdkToken: { ...bearer, description: "A user's access token for phones (POST /api/v1/users/{user_id}/token)" },
  }
}
