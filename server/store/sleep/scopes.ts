import { groupBy } from '../../batch/group-by.ts'
import type { Scope } from '../../catalogue/scopes.ts'
import { firstEndingAfter, type Range, union } from './totals.ts'

/** A session of a source; epoch milliseconds. */
interface Place {
  sourceId: number
  startMs: number
  endMs: number
}

/**
 * Whether the events of rebuilt sessions are live or of the past, in their order. Once live data has changed a session, it
 * and what it becomes stay live, so that whoever got its event gets what becomes of it; null: one of before there were
 * scopes, which everybody got. `scope`: of what changed them now, null if nothing came.
 */
export function scopesOf(
  rebuilt: readonly Place[],
  old: readonly (Place & { scope: Scope | null })[],
  scope: Scope | null,
): (Scope | null)[] {
  if (scope === 'live') return rebuilt.map(() => scope)
  const ofScope = (wanted: Scope | null) => {
    const rows = groupBy(
      old.filter((one) => one.scope === wanted),
      ({ sourceId }) => sourceId,
    )
    const ranges = new Map(
      [...rows].map(([source, list]) => [source, union(list.map(({ startMs, endMs }): Range => [startMs, endMs]))]),
    )
    return ({ sourceId, startMs, endMs }: Place) => {
      const own = ranges.get(sourceId) ?? []
      return (own[firstEndingAfter(own, startMs)]?.[0] ?? Number.POSITIVE_INFINITY) < endMs
    }
  }
  const [wasLive, wasUnknown] = [ofScope('live'), ofScope(null)]
  return rebuilt.map((one) => (wasLive(one) ? 'live' : wasUnknown(one) ? null : 'historical'))
}
