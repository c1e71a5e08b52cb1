import { DAILY_TOTAL_OFFSET, seriesById } from '../server/catalogue/series.ts'
import type { BatchEvents, DayCounts, EventItem, SampleColumns } from '../server/ingest/columns.ts'

const DAY_MS = 86_400_000

/**
 * Counts the items of an upload by type and day of UTC. A series and its daily totals are one type; nutrients that name a
 * meal count as nutrients of meals, stages of sleep as sleep.
 */
export function dayCounts(samples: readonly SampleColumns[], events: BatchEvents): DayCounts {
  const types = new Map<string, Map<number, number>>()
  const daysOf = (type: string) => {
    const days = types.get(type) ?? new Map<number, number>()
    types.set(type, days)
    return days
  }
  for (const { seriesId, timeMs } of samples) {
    addDays(daysOf(seriesById.get(seriesId % DAILY_TOTAL_OFFSET)?.type ?? 'unknown'), timeMs)
  }
  const kinds: readonly (readonly [type: string, items: readonly EventItem[]])[] = [
    ['sleep', events.sleep],
    ['workout', events.workouts],
    ['meal', events.meals],
    ['meal_nutrient', events.nutrients],
    ['menstrual_cycle', events.cycles],
    ['activity', events.activities],
  ]
  for (const [type, items] of kinds) {
    if (items.length > 0)
      addDays(
        daysOf(type),
        items.map(({ startMs }) => startMs),
      )
  }
  return Object.fromEntries(
    [...types].map(([type, days]) => [
      type,
      Object.fromEntries([...days].map(([day, items]) => [new Date(day * DAY_MS).toISOString().slice(0, 10), items])),
    ]),
  )
}

/** Runs of one day are counted together: samples ascend. */
function addDays(days: Map<number, number>, timeMs: ArrayLike<number>): void {
  let start = 0
  while (start < timeMs.length) {
    const day = Math.floor((timeMs[start] as number) / DAY_MS)
    const nextMs = (day + 1) * DAY_MS
    let end = start + 1
    while (end < timeMs.length && (timeMs[end] as number) >= nextMs - DAY_MS && (timeMs[end] as number) < nextMs)
      end += 1
    days.set(day, (days.get(day) ?? 0) + end - start)
    start = end
  }
}
