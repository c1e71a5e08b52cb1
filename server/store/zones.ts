import {
  type Batch,
  type BatchEvents,
  countSamples,
  type EventItem,
  NO_ZONE,
  type SampleColumns,
  type SampleOrigins,
} from '../batch/columns.ts'
import { originsOf, sampleOrigins } from '../batch/columns-at.ts'
import type { ZoneAt } from '../batch/counted-days.ts'
import { QUARTER_MS } from '../batch/day-counts.ts'
import { GAP_MS, localMidnight, mergedRuns, nearestRun, type ZoneRun } from '../batch/zones.ts'
import { storedSeries } from '../catalogue/series.ts'
import type { Transaction } from '../db/database.ts'

// Where a person was: runs of records that have one zone offset, from whatever device and of whatever kind. What has no offset
// takes that of the nearest record (contract 12.2).

/** A time and a user's providers, of which runs are read; epoch ms. */
interface Where {
  userId: string
  providers: readonly string[]
  loMs: number
  hiMs: number
}

/** The stored runs of each provider in and next to a range. */
async function storedRuns(tx: Transaction, { userId, providers, loMs, hiMs }: Where): Promise<ZoneRun[][]> {
  const rows = await tx.rows<[provider: string, lo: number, hi: number, zone: number]>(
    "select provider, date_part('epoch', lo) * 1000, date_part('epoch', hi) * 1000, zone_offset_min from zone_runs($1, $2, $3, $4)",
    [userId, providers, loMs / 1000, hiMs / 1000],
  )
  return providers.map((provider) =>
    rows
      .filter(([of]) => of === provider)
      .map(([, lo, hi, zoneMin]) => ({ loMs: Math.round(lo), hiMs: Math.round(hi), zoneMin })),
  )
}

/** Notes the zones that a batch of a provider itself knows. The caller holds the user's ingest lock. */
export async function noteZones(
  tx: Transaction,
  { userId, provider }: { userId: string; provider: string },
  runs: readonly ZoneRun[],
): Promise<void> {
  const [first, last] = [runs[0], runs.at(-1)]
  if (!first || !last) return
  const [loMs, hiMs] = [first.loMs - GAP_MS, last.hiMs + GAP_MS]
  const [stored = []] = await storedRuns(tx, { userId, providers: [provider], loMs, hiMs })
  const known = stored.filter((run) => run.hiMs >= loMs && run.loMs <= hiMs)
  const merged = mergedRuns(known, runs)
  const added = without(merged, known)
  const starts = new Set(added.map((run) => run.loMs))
  // One that only grows keeps its start.
  const gone = without(known, merged).filter((run) => !starts.has(run.loMs))
  if (gone.length > 0)
    await tx.query(
      `delete from zone_run z using unnest($3::float8[]) k (at)
       where z.user_id = $1 and z.provider = $2 and z.lo = to_timestamp(k.at)`,
      [userId, provider, gone.map((run) => run.loMs / 1000)],
    )
  if (added.length > 0)
    await tx.query(
      `insert into zone_run (user_id, provider, lo, hi, zone_offset_min)
       select $1, $2, to_timestamp(lo), to_timestamp(hi), zone
       from unnest($3::float8[], $4::float8[], $5::int2[]) r (lo, hi, zone)
       on conflict (user_id, provider, lo) do update set hi = excluded.hi, zone_offset_min = excluded.zone_offset_min`,
      [
        ...[userId, provider, added.map((run) => run.loMs / 1000), added.map((run) => run.hiMs / 1000)],
        added.map((run) => run.zoneMin),
      ],
    )
}

/** The runs that are not among others. */
function without(runs: readonly ZoneRun[], others: readonly ZoneRun[]): ZoneRun[] {
  const key = ({ loMs, hiMs, zoneMin }: ZoneRun) => `${loMs} ${hiMs} ${zoneMin}`
  const known = new Set(others.map(key))
  return runs.filter((run) => !known.has(key(run)))
}

/**
 * Which zone offset the parts of a batch take that know none: that of the nearest record, of the batch or stored before.
 * Whatever the batch knows within a day was taken when it was read (workers/sdk-zones.ts). The caller holds the user's
 * ingest lock.
 */
export async function zonesFor(tx: Transaction, userId: string, batch: Batch): Promise<ZoneAt> {
  const missing = missingTimes(batch)
  if (missing.length === 0) return () => null
  const [loMs, hiMs] = missing.reduce(
    ([lo, hi], ms) => [Math.min(lo, ms), Math.max(hi, ms)],
    [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  )
  const providers = await tx.rows<[string]>('select distinct provider from data_source where user_id = $1', [userId])
  const ofProviders = await storedRuns(tx, { userId, providers: providers.map(([name]) => name).sort(), loMs, hiMs })
  const stored = ofProviders.reduce(mergedRuns, [])
  return (ms) => {
    const [own, other] = [nearestRun(batch.zones, ms), nearestRun(stored, ms)]
    const nearest = own && other ? (own.apartMs <= other.apartMs ? own : other) : (own ?? other)
    return nearest?.zoneMin ?? null
  }
}

/** The batch with the zone offsets of `zoneAt` where it knows none. */
export function withZones(batch: Batch, zoneAt: ZoneAt): Batch {
  const [samples, derived] = [batch.samples, batch.derived].map((all) => all.map((one) => zoned(one, zoneAt))) as [
    SampleColumns[],
    SampleColumns[],
  ]
  return {
    ...batch,
    samples,
    derived,
    events: zonedEvents(batch.events, zoneAt),
    duplicates: batch.duplicates + countSamples(batch.samples) - countSamples(samples),
  }
}

/** Times of what has no zone offset, epoch ms. */
function missingTimes({ samples, derived, events, rejectedLocally }: Batch): number[] {
  const times: number[] = []
  for (const columns of [...samples, ...derived])
    for (const [at, ms] of columns.timeMs.entries()) if (lacksZone(columns, at)) times.push(ms)
  for (const items of itemsOf(events))
    for (const { startMs, zoneMin, zoneTaken } of items) if (zoneMin === null && !zoneTaken) times.push(startMs)
  for (const { timeMs, zoneMin, zoneTaken } of events.scores) if (zoneMin === null && !zoneTaken) times.push(timeMs)
  for (const { timeMs, zoneMin } of events.currents) if (zoneMin === null) times.push(timeMs)
  for (const quarters of Object.values(rejectedLocally.quarters))
    for (const quarter of Object.keys(quarters)) times.push(Number(quarter) * QUARTER_MS)
  return times
}

/** Whether a sample is to take the zone of its neighbours. */
const lacksZone = ({ zoneMin, zoneTaken }: SampleColumns, at: number) => zoneMin[at] === NO_ZONE && !zoneTaken?.[at]

const itemsOf = (events: BatchEvents): readonly (readonly EventItem[])[] => {
  const { sleep, nights, workouts, meals, nutrients, cycles, wholeCycles, activities } = events
  return [sleep, nights, workouts, meals, nutrients, cycles, wholeCycles, activities]
}

/** Samples with the zone of their neighbours where they have none. */
function zoned(columns: SampleColumns, zoneAt: ZoneAt): SampleColumns {
  if (!columns.zoneMin.includes(NO_ZONE)) return columns
  if (storedSeries(columns.seriesId)?.isDailyTotal) return stampedTotals(columns, zoneAt)
  const zoneMin = columns.zoneMin.slice()
  const zoneTaken = columns.zoneTaken?.slice() ?? new Uint8Array(zoneMin.length)
  for (const [at, ms] of columns.timeMs.entries()) {
    const found = lacksZone(columns, at) ? zoneAt(ms) : null
    if (found === null) continue
    zoneMin[at] = found
    zoneTaken[at] = 1
  }
  return { ...columns, zoneMin, zoneTaken }
}

/** Totals of days, those without a zone moved from their start to the midnight of their day; of one day the last one stays. */
function stampedTotals(columns: SampleColumns, zoneAt: ZoneAt): SampleColumns {
  const days = new Map<number, { at: number; zone: number; taken: number }>()
  for (const [at, zone] of columns.zoneMin.entries()) {
    const ms = columns.timeMs[at] as number
    const isOpen = lacksZone(columns, at)
    const found = isOpen ? zoneAt(ms) : zone
    const taken = isOpen && found !== null ? 1 : (columns.zoneTaken?.[at] ?? 0)
    days.set(isOpen ? localMidnight(ms, found) : ms, { at, zone: found ?? NO_ZONE, taken })
  }
  const order = [...days].sort(([a], [b]) => a - b)
  return {
    ...columns,
    timeMs: Float64Array.from(order, ([ms]) => ms),
    value: Float64Array.from(order, ([, { at }]) => columns.value[at] as number),
    zoneMin: Int16Array.from(order, ([, { zone }]) => zone),
    lastsS: null,
    zoneTaken: Uint8Array.from(order, ([, { taken }]) => taken),
    origins: movedOrigins(columns, new Map(order.map(([ms, { at }]) => [columns.timeMs[at] as number, ms]))),
  }
}

/** The records of samples that were moved; `moved` has the new instants by the old ones. */
function movedOrigins(columns: SampleColumns, moved: ReadonlyMap<number, number>): SampleOrigins | null {
  const entries = originsOf(columns)
    .flatMap((one) => (moved.has(one.timeMs) ? [{ ...one, timeMs: moved.get(one.timeMs) as number }] : []))
    .sort((a, b) => a.timeMs - b.timeMs)
  return sampleOrigins(entries)
}

function zonedEvents(events: BatchEvents, zoneAt: ZoneAt): BatchEvents {
  const zonedItem = <Item extends EventItem>(item: Item): Item =>
    item.zoneMin === null && !item.zoneTaken ? { ...item, zoneMin: zoneAt(item.startMs), zoneTaken: true } : item
  const zonedValue = <Item extends { timeMs: number; zoneMin: number | null; zoneTaken?: true }>(item: Item): Item =>
    item.zoneMin === null && !item.zoneTaken ? { ...item, zoneMin: zoneAt(item.timeMs), zoneTaken: true } : item
  return {
    ...events,
    sleep: events.sleep.map(zonedItem),
    workouts: events.workouts.map(zonedItem),
    meals: events.meals.map(zonedItem),
    nutrients: events.nutrients.map(zonedItem),
    cycles: events.cycles.map(zonedItem),
    activities: events.activities.map(zonedItem),
    nights: events.nights.map(zonedItem),
    wholeCycles: events.wholeCycles.map(zonedItem),
    scores: events.scores.map(zonedValue),
    currents: events.currents.map(zonedValue),
  }
}
