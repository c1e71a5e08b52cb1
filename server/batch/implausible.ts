import { IMPLAUSIBLE_OFFSET, type SeriesType, storedSeries } from '../catalogue/series.ts'
import type { Batch } from './columns.ts'

/** Values of one series type outside its plausible range, which is in `unit`. */
interface Implausible extends Pick<SeriesType, 'type' | 'unit' | 'lowest' | 'highest'> {
  items: number
}

/** How many items and parts of items have implausible values, by series type, the most frequent first. */
export function implausibleOf(
  batch: Pick<Batch, 'samples' | 'derived' | 'events' | 'implausibleParts'>,
): Implausible[] {
  const { samples, derived, events, implausibleParts } = batch
  const counts = new Map<SeriesType, number>()
  const add = (seriesId: number, items: number) => {
    const stored = storedSeries(seriesId)
    if (stored?.isImplausible) counts.set(stored.series, (counts.get(stored.series) ?? 0) + items)
  }
  for (const { seriesId, timeMs } of [...samples, ...derived]) add(seriesId, timeMs.length)
  for (const { seriesId } of events.nutrients) add(seriesId, 1)
  for (const [id, items] of Object.entries(implausibleParts)) add(Number(id) + IMPLAUSIBLE_OFFSET, items)
  return [...counts]
    .map(([{ type, unit, lowest, highest }, items]) => ({ type, unit, lowest, highest, items }))
    .sort((a, b) => b.items - a.items || (a.type < b.type ? -1 : 1))
}
