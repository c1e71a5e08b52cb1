import createClient from 'openapi-fetch'
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

/**
 * Every route of the API with its types, of the forms of an answer the JSON one. The header makes the cookie of the sign-in
 * count.
 */
export const api = createClient<paths, 'application/json'>({ headers: { 'X-Pulsebase-Console': '1' } })

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
