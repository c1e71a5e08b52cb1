// Checks answers and events against the API description, field for field.
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { routes } from '../../server/api/index.ts'
import { openApiDocument } from '../../server/http/openapi.ts'

type Json = { [key: string]: Json } & { $ref?: string }

/** A received answer; `body` is parsed if it is JSON. */
export interface Answer {
  status: number
  headers: Headers
  body: unknown
}

/** The description of a service configured as in the tests. */
export const described = openApiDocument(routes, {
  apiBaseUrl: 'http://localhost:8000',
  apiKeyHeaders: ['X-Service-API-Key'],
}) as Json

/** The same, but objects have only the described fields. */
function closed(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(closed)
  if (typeof part !== 'object' || part === null) return part
  const entries = Object.entries(part).map(([key, value]) => [key, key === 'example' ? value : closed(value)])
  const fields = Object.fromEntries(entries)
  return 'properties' in fields && !('additionalProperties' in fields) && typeof fields.properties === 'object'
    ? { ...fields, additionalProperties: false }
    : fields
}

// An independent oracle: the service checks with another library. A process compiles hundreds of schemas and checks few
// answers with each, so compiling must be fast.
const QUICK = { inlineRefs: false, code: { optimize: false } }
const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false, ...QUICK })
formats.default(ajv, ['date', 'date-time', 'email', 'uri', 'uuid'])
ajv.addFormat('binary', true)
ajv.addSchema(closed(described) as object, 'api')

const pointer = (places: readonly (string | number)[]) =>
  places.map((place) => encodeURIComponent(String(place).replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')

const checks = new Map<string, ValidateFunction>()

/** The mismatches between `value` and the schema at a place in the description. */
export function misfits(value: unknown, ...places: (string | number)[]): string[] {
  const schema = places.reduce<Json | undefined>((part, place) => part?.[place], described)
  // Most answers share a few schemas: each is compiled once.
  const ref = `api${schema?.$ref ?? `#/${pointer(places)}`}`
  const check = checks.get(ref) ?? ajv.compile({ $ref: ref })
  checks.set(ref, check)
  if (check(value)) return []
  return (check.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  )
}

/** The described path of a request, the one with the fewest parameters first. */
const templates = Object.keys(described.paths as object)
  .map((path) => ({
    path,
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}/*$`),
    open: path.split('{').length,
  }))
  .sort((a, b) => a.open - b.open)

/** The place of the component that a part of the description refers to; undefined if it is no reference. */
const placeOf = (part: Json | undefined) => part?.$ref?.slice('#/'.length).split('/')

/** A part of the description, or the component it refers to. */
export function resolved<Part extends { $ref?: string }>(part: Part | undefined): Part | undefined {
  const place = placeOf(part as Json | undefined)
  return place ? (place.reduce<Json | undefined>((at, name) => at?.[name], described) as Part | undefined) : part
}

/** The undescribed parts of an answer; none for a path or method that is not ours, or after a defect (500). */
export function undescribed(method: string, target: string, answer: Answer): string[] {
  const url = new URL(target, 'http://localhost')
  const path = templates.find(({ pattern }) => pattern.test(url.pathname))?.path
  const operation =
    path === undefined ? undefined : (described.paths?.[path]?.[method.toLowerCase()] as Json | undefined)
  if (path === undefined || !operation || answer.status === 500) return []
  const answered = operation.responses?.[answer.status]
  const response = resolved(answered)
  const name = `${method} ${path} ${answer.status}`
  if (!response) return [`${name} is not described`]
  const type = (answer.headers.get('content-type') ?? '').split(';')[0] as string
  if (!response.content) return answer.body === '' ? [] : [`${name} is described without a body`]
  if (!response.content[type]) return [`${name} is described as ${Object.keys(response.content)}, not ${type}`]
  const missing = ['ETag', 'Retry-After'].filter(
    (header) => response.headers?.[header] && answer.status !== 503 && !answer.headers.has(header),
  )
  const own = ['paths', path, method.toLowerCase(), 'responses', answer.status]
  const place = [...(placeOf(answered) ?? own), 'content', type, 'schema']
  return [
    ...missing.map((header) => `${name} has no ${header}`),
    ...misfits(answer.body, ...place).map((problem) => `${name}: ${problem}`),
  ]
}

/** The undescribed parts of an event's body. */
export function undescribedEvent(body: { type: string }): string[] {
  const place = ['webhooks', body.type, 'post', 'requestBody', 'content', 'application/json', 'schema']
  return misfits(body, ...place).map((problem) => `${body.type}: ${problem}`)
}
