import { DAY_MS } from '../time.ts'
import { valueAt } from './answers.ts'
import type { Json, Listed, Out, Part } from './part.ts'
import type { Request } from './provider.ts'

/** Longer gaps between items prove nothing: a page may leave out weeks. */
const FAR_MS = 7 * DAY_MS

/** `args` of a request whose answer, if it has no further page, lists every item that begins in [fromMs, untilMs). */
export const listing = (fromMs: number, untilMs: number): { listed: Json } => ({
  listed: [fromMs, untilMs],
})

/**
 * The same of a request that finds items otherwise than by their start, so that beyond the span (of `untilMs`: beyond
 * `mostMs`) even what lies between two of them may be missing. A span that ends before it begins: a page says nothing.
 */
export const listingWithin = (fromMs: number, untilMs: number, mostMs = untilMs): { listed: Json; within: Json } => ({
  ...listing(fromMs, untilMs),
  within: [fromMs, mostMs],
})

/** The request for a further page, which is not all that is listed; `within` holds for it, too. */
export function furtherPage({ args, ...asked }: Request): Request {
  const within = valueAt(args, 'within') as Json | undefined
  return within === undefined ? asked : { ...asked, args: { within } }
}

/**
 * Marks the gaps between the items of a page, whose times are `timesMs` in the order of the page, as complete: anything
 * else stored there was moved or deleted. If the page is the only one (`listing`), the gaps before its first and after
 * its last item are complete, too. A page in another order and gaps of more than a week mark nothing. That nothing at all
 * is listed says so of workouts only: nobody deletes each night of a week, so something else is wrong there.
 */
export function listedBetween(out: Out, part: Part, timesMs: readonly number[], ...what: readonly Listed[]): void {
  const ascending = (timesMs[0] ?? 0) > (timesMs.at(-1) ?? 0) ? [...timesMs].reverse() : timesMs
  if (ascending.some((ms, place) => ms < (ascending[place - 1] ?? ms))) return
  const [fromMs, untilMs] = boundsOf(part) ?? [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  const [firstMs = untilMs, lastMs = fromMs] = [ascending[0], ascending.at(-1)]
  const edges = [...(fromMs < firstMs ? [fromMs] : []), ...ascending, ...(lastMs < untilMs ? [untilMs] : [])]
  const marked = timesMs.length > 0 ? what : what.filter((one) => one === 'workouts')
  const [leastMs, mostMs] = spanIn(part, 'within') ?? [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]
  let loMs = edges[0] ?? 0
  for (const [place, ms] of edges.entries()) {
    const nextMs = edges[place + 1]
    if (nextMs !== undefined && nextMs - ms <= FAR_MS) continue
    const hiMs = Math.min(ms, mostMs)
    for (loMs = Math.max(loMs, leastMs); loMs < hiMs; loMs += DAY_MS)
      for (const one of marked) out.only(one, loMs, Math.min(loMs + DAY_MS, hiMs))
    loMs = nextMs ?? ms
  }
}

/** `listedBetween` of a request with `listingWithin`; without that span, such as of a few hours, a page says nothing. */
export function listedWithin(out: Out, part: Part, timesMs: readonly number[], ...what: readonly Listed[]): void {
  if (spanIn(part, 'within')) listedBetween(out, part, timesMs, ...what)
}

/** The span that a page lists completely, epoch milliseconds; undefined if there are further pages, or if the request had no `listing`. */
export function boundsOf(part: Part): readonly [fromMs: number, untilMs: number] | undefined {
  const page = part.body as { next_token?: unknown; nextPageToken?: unknown } | null
  const span = page?.next_token || page?.nextPageToken ? undefined : spanIn(part, 'listed')
  return span && span[0] < span[1] ? span : undefined
}

function spanIn({ args }: Part, name: 'listed' | 'within'): readonly [fromMs: number, untilMs: number] | undefined {
  const span = (args as Record<string, unknown> | null)?.[name]
  if (!Array.isArray(span)) return undefined
  const [fromMs, untilMs] = span
  return typeof fromMs === 'number' && typeof untilMs === 'number' ? [fromMs, untilMs] : undefined
}
