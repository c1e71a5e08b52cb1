/** A record that knows its zone: epoch ms, minutes east of UTC. */
export interface Zoned {
  ms: number
  zone: number
}

/**
 * The record nearest to an instant, which one without a zone takes that of: the earlier one of two that are equally near, and
 * of one instant the one with the smallest offset. Straight-line code, shared with no service.
 */
export function nearestZone(records: readonly Zoned[], ms: number): Zoned | undefined {
  return records.reduce<Zoned | undefined>((best, one) => {
    if (!best) return one
    const [apart, bestApart] = [Math.abs(one.ms - ms), Math.abs(best.ms - ms)]
    const isEarlier = one.ms < best.ms || (one.ms === best.ms && one.zone < best.zone)
    return apart < bestApart || (apart === bestApart && isEarlier) ? one : best
  }, undefined)
}
