// Requests of the tests. Those of `fetch` take three times the processor time, which is most of what a small one costs.
import { request } from 'undici'
import { PROCESSES } from './several.ts'

/** What is sent. */
export interface Sent {
  method?: string
  headers?: ConstructorParameters<typeof Headers>[0]
  body?: string | Uint8Array | URLSearchParams
}

/** What is answered. */
export interface Received {
  status: number
  headers: Headers
  text: string
}

/** Sends a request as `fetch` does, with its content types, and reads the answer; redirects are not followed. */
export async function exchange(url: string | URL, { method = 'GET', headers, body }: Sent = {}): Promise<Received> {
  const sent = new Headers(headers)
  if (!sent.has('accept')) sent.set('accept', '*/*')
  const isForm = body instanceof URLSearchParams
  const type = isForm ? 'application/x-www-form-urlencoded;charset=UTF-8' : 'text/plain;charset=UTF-8'
  if ((isForm || typeof body === 'string') && !sent.has('content-type')) sent.set('content-type', type)
  const answer = await request(url, {
    method: method as 'GET',
    headers: Object.fromEntries(sent),
    // A connection each: they go to one process after the other.
    reset: PROCESSES > 1,
    ...(body !== undefined && { body: isForm ? body.toString() : body }),
  })
  const received = new Headers()
  for (const [name, value = []] of Object.entries(answer.headers))
    for (const one of [value].flat()) received.append(name, one)
  return { status: answer.statusCode, headers: received, text: await answer.body.text() }
}
