import { DAY_MS } from '../time.ts'
import type { Listed, Out } from './part.ts'

/** What lies further apart says nothing of what is between: a page may leave out weeks. */
const FAR_MS = 7 * DAY_MS

/**
 * Says that a page which lists its items by time (`timesMs`, as they stand there) has all there are between one and the
 * next: what is stored between them was moved or deleted. Says nothing of a page in another order, nor of an empty one.
 */
export function listedBetween(out: Out, timesMs: readonly number[], ...what: readonly Listed[]): void {
  const ascending = (timesMs[0] ?? 0) > (timesMs.at(-1) ?? 0) ? [...timesMs].reverse() : timesMs
  if (ascending.some((ms, place) => ms < (ascending[place - 1] ?? ms))) return
  let loMs = ascending[0] ?? 0
  for (const [place, ms] of ascending.entries()) {
    const nextMs = ascending[place + 1]
    if (nextMs !== undefined && nextMs - ms <= FAR_MS) continue
    for (; loMs < ms; loMs += DAY_MS) for (const one of what) out.only(one, loMs, Math.min(loMs + DAY_MS, ms))
    loMs = nextMs ?? ms
  }
}
