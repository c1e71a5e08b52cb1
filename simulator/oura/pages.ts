import { createHash } from 'node:crypto'
import { json, type Reply } from '../http.ts'
import type { ApiCall } from '../provider.ts'

/** What a `next_token` holds: where to go on, and for which request it is good. */
type Place = [at: number, request: string, gap: boolean]

/**
 * One page of a collection. Between the first and second page lies an empty one: callers have to go on until
 * `next_token` is null.
 */
export function pageOf<Entry>(call: ApiCall, entries: readonly Entry[], show: (entry: Entry) => unknown): Reply {
  const { query, settings, path } = call
  const place = placeOf(call)
  if (!place) return json(400, { detail: 'next_token does not belong to this request' })
  const [at, request, gap] = place
  const end = gap ? at : Math.min(at + settings.page_size, entries.length)
  const more = end < entries.length
  const following: Place = [end, request, more && at === 0 && !gap]
  let next = more ? encode(following) : null
  if (call.nextPage === 'itself') next = query.get('next_token') ?? encode([0, request, false])
  if (call.nextPage === 'elsewhere') next = `https://elsewhere.example${path}?next_token=1`
  return json(200, { data: entries.slice(at, end).map(show), next_token: next })
}

function placeOf({ query, path }: ApiCall): Place | undefined {
  const own = new URLSearchParams([...query].filter(([name]) => name !== 'next_token'))
  own.sort()
  const request = createHash('sha256').update(`${path}?${own}`).digest('base64url').slice(0, 12)
  const token = query.get('next_token')
  if (token === null) return [0, request, false]
  try {
    const place = JSON.parse(Buffer.from(token, 'base64url').toString()) as Place
    return Array.isArray(place) && Number.isInteger(place[0]) && place[1] === request ? place : undefined
  } catch {
    return undefined
  }
}

function encode(place: Place): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}
