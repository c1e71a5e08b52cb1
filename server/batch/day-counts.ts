import { seriesById, typeIdOf } from '../catalogue/series.ts'
import { DAY_MS } from '../time.ts'
import { type Batch, type BatchEvents, NO_ZONE, type SampleColumns } from './columns.ts'
import type { DayCounts, LocalDays, RejectedDays, RejectedLocally, ZoneAt } from './counted-days.ts'

/** When something was, and the zone offset that its record knows of. */
interface Timed {
  startMs: number
  zoneMin: number | null
  zoneTaken?: boolean
}

/** Where the days of a count begin: epoch ms, moved so that a day begins at a multiple of DAY_MS. */
interface Calendar {
  columns(samples: SampleColumns): ArrayLike<number>
  item(item: Timed): number
}

const UTC: Calendar = { columns: ({ timeMs }) => timeMs, item: ({ startMs }) => startMs }

/** The calendar of the person: each item has the zone offset of its record, or else of `zoneAt`; UTC where neither knows. */
function localCalendar(zoneAt: ZoneAt): Calendar {
  const found = (ms: number, taken: unknown) => 60_000 * ((taken ? null : zoneAt(ms)) ?? 0)
  return {
    columns: ({ timeMs, zoneMin, zoneTaken }) =>
      timeMs.map((ms, at) => {
        const zone = zoneMin[at] as number
        return ms + (zone === NO_ZONE ? found(ms, zoneTaken?.[at]) : zone * 60_000)
      }),
    item: ({ startMs, zoneMin, zoneTaken }) =>
      startMs + (zoneMin === null ? found(startMs, zoneTaken) : zoneMin * 60_000),
  }
}

/**
 * Counts the items of an upload by type and UTC day, including the `rejected` ones. A series and its daily totals are
 * one type; nutrients that name a meal count as nutrients of meals, stages of sleep as sleep.
 */
export function dayCounts(
  samples: readonly SampleColumns[],
  events?: BatchEvents,
  rejected: RejectedDays = {},
  calendar = UTC,
): DayCounts {
  const types = new Map<string, Map<number, number>>()
  const daysOf = (type: string) => {
    const days = types.get(type) ?? new Map<number, number>()
    types.set(type, days)
    return days
  }
  for (const columns of samples) addDays(daysOf(typeOf(columns.seriesId)), calendar.columns(columns))
  for (const { seriesId, timeMs, zoneMin } of events?.currents ?? [])
    addDays(daysOf(typeOf(seriesId)), [calendar.item({ startMs: timeMs, zoneMin })])
  for (const [type, items] of kindsOf(events)) if (items.length > 0) addDays(daysOf(type), items.map(calendar.item))
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

/** The items of each kind of event. */
const kindsOf = (events: BatchEvents | undefined): readonly (readonly [type: string, items: readonly Timed[]])[] =>
  events
    ? [
        ['sleep', [...events.sleep, ...events.nights]],
        ['workout', events.workouts],
        ['meal', events.meals],
        ['meal_nutrient', events.nutrients],
        ['menstrual_cycle', [...events.cycles, ...events.wholeCycles]],
        ['activity', events.activities],
        ['health_score', events.scores.map(({ timeMs, ...score }) => ({ ...score, startMs: timeMs }))],
      ]
    : []

/**
 * What a batch brought by the person's own days, as `days` and `rejectedDays` have it by UTC day; `zoneAt` decides where a
 * record does not.
 */
export function localDays({ samples, derived, events, rejectedLocally }: Batch, zoneAt: ZoneAt): LocalDays {
  const rejected = structuredClone(rejectedLocally.days)
  for (const [type, quarters] of Object.entries(rejectedLocally.quarters)) {
    for (const [quarter, reasons] of Object.entries(quarters)) {
      const ms = Number(quarter) * QUARTER_MS
      const day = dayText(ms + (zoneAt(ms) ?? 0) * 60_000)
      for (const [reason, items] of Object.entries(reasons)) addRejected(rejected, { type, day, reason }, items)
    }
  }
  return { days: dayCounts([...samples, ...derived], events, rejected, localCalendar(zoneAt)), rejected, zoneAt }
}

/** Every civil zone offset is a multiple of this. */
export const QUARTER_MS = DAY_MS / 96

const typeOf = (seriesId: number) => seriesById.get(typeIdOf(seriesId))?.type ?? 'unknown'

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

/** Counts an item at an instant (epoch ms) as rejected; `zoneMin` is the zone offset of its record, or null. */
export function addRejectedAt(
  { days, quarters }: RejectedLocally,
  { type, ms, zoneMin }: { type: string; ms: number; zoneMin: number | null },
  reason: string,
): void {
  if (zoneMin === null) addRejected(quarters, { type, day: String(Math.floor(ms / QUARTER_MS)), reason }, 1)
  else addRejected(days, { type, day: dayText(ms + zoneMin * 60_000), reason }, 1)
}

/** The counts of a batch of which these samples and events are rejected as well, all for one reason. */
export function withRejected(
  batch: Pick<Batch, 'rejectedDays' | 'local'>,
  reason: string,
  samples: readonly SampleColumns[],
  events?: BatchEvents,
): Pick<Batch, 'rejectedDays' | 'local'> {
  const added = (rejected: RejectedDays, calendar: Calendar) => {
    const all = structuredClone(rejected)
    for (const [type, days] of Object.entries(dayCounts(samples, events, {}, calendar))) {
      for (const [day, items] of Object.entries(days)) addRejected(all, { type, day, reason }, items)
    }
    return all
  }
  const { local, rejectedDays } = batch
  return {
    rejectedDays: added(rejectedDays, UTC),
    ...(local && { local: { ...local, rejected: added(local.rejected, localCalendar(local.zoneAt)) } }),
  }
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
