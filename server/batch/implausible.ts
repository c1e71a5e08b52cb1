import { type SeriesType, storedSeries } from '../catalogue/series.ts'
import type { Batch } from './columns.ts'

/** Values of one series type outside its plausible range, which is in `unit`. */
interface Implausible extends Pick<SeriesType, 'type' | 'unit' | 'lowest' | 'highest'> {
  items: number
}

/** How many items of a batch have implausible values, by series type, the most frequent first. */
export function implausibleOf({ samples, events }: Pick<Batch, 'samples' | 'events'>): Implausible[] {
  const counts = new Map<SeriesType, number>()
  const add = (seriesId: number, items: number) => {
    const stored = storedSeries(seriesId)
    if (stored?.isImplausible) counts.set(stored.series, (counts.get(stored.series) ?? 0) + items)
  }
  for (const { seriesId, timeMs } of samples) add(seriesId, timeMs.length)
  for (const { seriesId } of events.nutrients) add(seriesId, 1)
  return [...counts]
    .map(([{ type, unit, lowest, highest }, items]) => ({ type, unit, lowest, highest, items }))
    .sort((a, b) => b.items - a.items || (a.type < b.type ? -1 : 1))
}
