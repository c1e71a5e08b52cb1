import { DAY_MS } from '../time.ts'
import type { Json, Listed, Out, Part } from './part.ts'

/** Longer gaps between items prove nothing: a page may leave out weeks. */
const FAR_MS = 7 * DAY_MS

/** `args` of a request whose answer, if it has no further page, lists every item that begins in [fromMs, untilMs). */
export const listing = (fromMs: number, untilMs: number): { listed: Json } => ({
  listed: [fromMs, untilMs],
})

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
  let loMs = edges[0] ?? 0
  for (const [place, ms] of edges.entries()) {
    const nextMs = edges[place + 1]
    if (nextMs !== undefined && nextMs - ms <= FAR_MS) continue
    for (; loMs < ms; loMs += DAY_MS) for (const one of marked) out.only(one, loMs, Math.min(loMs + DAY_MS, ms))
    loMs = nextMs ?? ms
  }
}

/** The span that a page lists completely, epoch milliseconds; undefined if there are further pages, or if the request had no `listing`. */
export function boundsOf({ args, body }: Part): readonly [fromMs: number, untilMs: number] | undefined {
  const listed = (args as { listed?: unknown } | null)?.listed
  const more = (body as { next_token?: unknown } | null)?.next_token
  if (!Array.isArray(listed) || more) return undefined
  const [fromMs, untilMs] = listed
  return typeof fromMs === 'number' && typeof untilMs === 'number' && fromMs < untilMs ? [fromMs, untilMs] : undefined
}
