import type { Client } from 'openapi-fetch'
import type { components, paths } from './schema.d.ts'

/** The named objects of the API. */
export type Schemas = components['schemas']

/** A request that failed, in a sentence for a person. */
export class Failure extends Error {
  readonly status: number
  readonly requestId: string | null
  constructor(status: number, message: string, requestId: string | null) {
    super(message)
    this.status = status
    this.requestId = requestId
  }
}

/** What a request holds beside its method and path. */
interface Asking {
  params?: { path?: Record<string, string>; query?: Record<string, unknown> }
  body?: unknown
  headers?: Record<string, string>
  signal?: AbortSignal
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

const methods: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/**
 * Every route of the API, with the types of openapi-fetch, whose code would be four times as long as this; of the forms of
 * an answer the JSON one.
 */
export const api = Object.fromEntries(
  methods.map((method) => [method, (path: string, asking?: Asking) => send(method, path, asking)]),
) as unknown as Pick<Client<paths, 'application/json'>, Method>

/** The header makes the cookie of the sign-in count. */
async function send(method: Method, path: string, { params, body, headers, signal }: Asking = {}) {
  const query = Object.entries(params?.query ?? {}).flatMap(([name, values]) =>
    [values].flat().flatMap((value) => (value === undefined ? [] : [[name, String(value)]])),
  )
  const where = path.replace(/{(\w+)}/g, (_, name) => encodeURIComponent(params?.path?.[name] ?? ''))
  const response = await fetch(where + (query.length > 0 ? `?${new URLSearchParams(query)}` : ''), {
    method,
    headers: { 'X-Pulsebase-Console': '1', ...(body ? { 'Content-Type': 'application/json' } : {}), ...headers },
    ...(body ? { body: JSON.stringify(body) } : {}),
    ...(signal && { signal }),
  })
  const text = await response.text()
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  const received = isJson && text ? JSON.parse(text) : text || undefined
  return { [response.ok ? 'data' : 'error']: received, response }
}

/** What is called when a request finds that the sign-in has ended. */
let signedOut = () => {}

/** Sets what happens when a request finds that the sign-in has ended. */
export function onSignedOut(handle: () => void): void {
  signedOut = handle
}

interface Received<T> {
  data?: T
  error?: unknown
  response: Response
}

/**
 * The body of an answer. Throws a Failure when the service cannot be reached or answers an error; a request that was
 * given up throws the browser's AbortError.
 */
export async function answered<T>(request: Promise<Received<T>>): Promise<T> {
  const { data, error, response } = await request.catch((problem: unknown) => {
    if (problem instanceof DOMException && problem.name === 'AbortError') throw problem
    throw new Failure(0, 'The service cannot be reached.', null)
  })
  if (response.ok) return data as T
  const failure = new Failure(response.status, sentence(error, response.status), response.headers.get('x-request-id'))
  if (response.status === 401) signedOut()
  throw failure
}

function sentence(error: unknown, status: number): string {
  const { detail, hint } = (error ?? {}) as { detail?: unknown; hint?: string }
  if (typeof detail === 'string') return hint ? `${detail}. ${hint}` : detail
  if (Array.isArray(detail)) return detail.map(({ loc, msg }) => `${loc.slice(1).join('.')}: ${msg}`).join('; ')
  return `The service answered ${status}.`
}
