import { DAILY_TOTAL_OFFSET, seriesById } from '../catalogue/series.ts'
import { DAY_MS } from '../time.ts'
import type { BatchEvents, DayCounts, EventItem, RejectedDays, SampleColumns } from './columns.ts'

/**
 * Counts the items of an upload by type and UTC day, including the `rejected` ones. A series and its daily totals are
 * one type; nutrients that name a meal count as nutrients of meals, stages of sleep as sleep.
 */
export function dayCounts(
  samples: readonly SampleColumns[],
  events?: BatchEvents,
  rejected: RejectedDays = {},
): DayCounts {
  const types = new Map<string, Map<number, number>>()
  const daysOf = (type: string) => {
    const days = types.get(type) ?? new Map<number, number>()
    types.set(type, days)
    return days
  }
  for (const { seriesId, timeMs } of samples) {
    addDays(daysOf(seriesById.get(seriesId % DAILY_TOTAL_OFFSET)?.type ?? 'unknown'), timeMs)
  }
  const kinds: readonly (readonly [type: string, items: readonly EventItem[]])[] = events
    ? [
        ['sleep', events.sleep],
        ['workout', events.workouts],
        ['meal', events.meals],
        ['meal_nutrient', events.nutrients],
        ['menstrual_cycle', events.cycles],
        ['activity', events.activities],
      ]
    : []
  for (const [type, items] of kinds) {
    if (items.length > 0)
      addDays(
        daysOf(type),
        items.map(({ startMs }) => startMs),
      )
  }
  for (const [type, byDay] of Object.entries(rejected)) {
    const days = daysOf(type)
    for (const [text, reasons] of Object.entries(byDay)) {
      const day = Date.parse(text) / DAY_MS
      days.set(
        day,
        Object.values(reasons).reduce((sum, items) => sum + items, days.get(day) ?? 0),
      )
    }
  }
  return Object.fromEntries(
    [...types].map(([type, days]) => [
      type,
      Object.fromEntries([...days].map(([day, items]) => [dayText(day * DAY_MS), items])),
    ]),
  )
}

/** Adds items of a type and a day that were rejected for one reason. */
export function addRejected(
  to: RejectedDays,
  { type, day, reason }: { type: string; day: string; reason: string },
  items: number,
): void {
  to[type] ??= {}
  to[type][day] ??= {}
  to[type][day][reason] = (to[type][day][reason] ?? 0) + items
}

/** The rejected items of an upload with these samples and events, all rejected for one reason, added to them. */
export function withRejected(
  rejected: RejectedDays,
  reason: string,
  samples: readonly SampleColumns[],
  events?: BatchEvents,
): RejectedDays {
  const all = structuredClone(rejected)
  for (const [type, days] of Object.entries(dayCounts(samples, events))) {
    for (const [day, items] of Object.entries(days)) addRejected(all, { type, day, reason }, items)
  }
  return all
}

/** The UTC day of an instant in epoch ms, `YYYY-MM-DD`. */
export const dayText = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

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
