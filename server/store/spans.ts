import type { Batch, Deletion, SampleColumns, Span } from '../batch/columns.ts'
import { groupBy } from '../batch/group-by.ts'
import { IMPLAUSIBLE_OFFSET } from '../catalogue/series.ts'
import type { Transaction } from '../db/database.ts'
import { planned } from '../db/planned.ts'
import { applyDeletions, type Deleted } from './deletions.ts'
import type { EventTarget } from './event-items.ts'
import { noteDeleted, removePoints } from './origins/delete-samples.ts'
import { recordsAt, type Stream, streamKey } from './origins/lists.ts'
import { deleteUnlistedScores } from './scores.ts'
import { type Range, union } from './sleep/totals.ts'

// A provider's page that lists everything of a span: what is stored there and not on the page was deleted, or has moved.

/** What such pages made of the rest. */
export type Unlisted = Pick<Deleted, 'deleted' | 'announced'>

/**
 * Removes what is stored in the spans of a batch that is written, and that the batch does not hold: samples of the source
 * by their instants; nights and workouts of the provider, whatever their device, by their ids, with what goes with them,
 * and its scores by category and id, unless they were stored from a later answer. Archived data stays.
 */
export async function removeUnlisted(tx: Transaction, target: EventTarget, batch: Batch): Promise<Unlisted> {
  const { spans } = batch.events
  if (spans.length === 0) return { deleted: 0, announced: [] }
  const samples = (await removeSamples(tx, target, batch)) + (await removeMisplaced(tx, target, spans))
  const { deleted, announced } = await applyDeletions(tx, target, await unlistedEvents(tx, target, batch))
  return { deleted: deleted + samples + (await deleteUnlistedScores(tx, target, batch.events)), announced }
}

async function removeSamples(tx: Transaction, target: EventTarget, batch: Batch): Promise<number> {
  const { sourceIds, changes } = target
  const known = batch.events.spans.some(({ devices }) => devices) ? await sourcesOf(tx, target) : []
  const spans = batch.events.spans.flatMap((span) =>
    span.placed ? [] : streamsOf(span, sourcesIn(span, sourceIds, known)).map((stream) => ({ ...span, ...stream })),
  )
  if (spans.length === 0) return 0
  const ranges = [...groupBy(spans, streamKey).values()].flatMap((list) => {
    const { sourceId, seriesId } = list[0] as (typeof list)[number]
    return union(list.map(({ loMs, hiMs }): Range => [loMs, hiMs])).map((range) => ({ sourceId, seriesId, range }))
  })
  const rows = await tx.rows<[place: number, at: number]>('select place, at from stored_instants($1, $2, $3, $4)', [
    ranges.map(({ sourceId }) => sourceId),
    ranges.map(({ seriesId }) => seriesId),
    ranges.map(({ range: [loMs] }) => loMs / 1000),
    // Its bounds are inclusive, and samples are stored to the millisecond.
    ranges.map(({ range: [, hiMs] }) => (hiMs - 1) / 1000),
  ])
  const held = heldInstants(batch, sourceIds)
  const unlisted = rows.flatMap(([place, at]) => {
    const { sourceId, seriesId } = ranges[place - 1] as (typeof ranges)[number]
    const timeMs = Math.round(at * 1000)
    return held.get(streamKey({ sourceId, seriesId }))?.has(timeMs) ? [] : [{ sourceId, seriesId, timeMs }]
  })
  if (unlisted.length === 0) return 0
  const removed = await removePoints(tx, unlisted, changes)
  await forgetRecords(tx, removed)
  return removed.length
}

/** Removes samples without a record that an earlier answer placed by another zone; the last answer of a batch counts. */
async function removeMisplaced(
  tx: Transaction,
  { sourceIds, changes }: EventTarget,
  spans: readonly Span[],
): Promise<number> {
  const days = spans.flatMap((span) => {
    const { placed, loMs, hiMs } = span
    const streams = placed ? streamsOf(span, [sourceIds[span.source] as number]) : []
    return streams.map((stream) => ({ ...stream, ...(placed as Required<Span>['placed']), loMs, hiMs }))
  })
  const last = [...new Map(days.map((one) => [`${streamKey(one)} ${one.day}`, one])).values()]
  if (last.length === 0) return 0
  const rows = await tx.rows<[sourceId: number, seriesId: number, at: number]>(
    'select source_id, series_id, at from misplaced_instants($1, $2, $3, $4, $5, $6)',
    [
      last.map(({ sourceId }) => sourceId),
      last.map(({ seriesId }) => seriesId),
      last.map(({ loMs }) => loMs / 1000),
      last.map(({ hiMs }) => (hiMs - 1) / 1000),
      last.map(({ day }) => day),
      last.map(({ zoneMin }) => zoneMin),
    ],
  )
  if (rows.length === 0) return 0
  const found = rows.map(([sourceId, seriesId, at]) => ({ sourceId, seriesId, timeMs: Math.round(at * 1000) }))
  const streams = [...groupBy(found, streamKey).values()].map((list) => ({
    ...(list[0] as Stream),
    timeMs: list.map(({ timeMs }) => timeMs).sort((a, b) => a - b),
  }))
  const records = await recordsAt(tx, streams)
  const points = streams.flatMap(({ sourceId, seriesId, timeMs }, index) =>
    timeMs.flatMap((ms, at) => (records[index]?.[at]?.length ? [] : [{ sourceId, seriesId, timeMs: ms }])),
  )
  return (await removePoints(tx, points, changes)).length
}

/** A source of a user at a provider, by its key. */
interface KnownSource {
  id: number
  device_type: string
}

function sourcesOf(tx: Transaction, { userId, provider }: EventTarget): Promise<KnownSource[]> {
  return tx.query('select id, device_type from data_source where user_id = $1 and provider = $2', [userId, provider])
}

/** The keys of the sources whose samples a span lists. */
function sourcesIn({ source, devices }: Span, sourceIds: readonly number[], known: readonly KnownSource[]): number[] {
  if (devices === undefined) return [sourceIds[source] as number]
  return known.flatMap(({ id, device_type: type }) => (devices === 'all' || type === devices ? [id] : []))
}

/** The streams of sources whose samples a span lists: a series and its implausible values. */
function streamsOf({ what }: Span, sourceIds: readonly number[]): Stream[] {
  if (typeof what !== 'number') return []
  return sourceIds.flatMap((sourceId) => [what, what + IMPLAUSIBLE_OFFSET].map((seriesId) => ({ sourceId, seriesId })))
}

/** The instants that a batch holds, by stream. */
function heldInstants({ samples, derived }: Batch, sourceIds: readonly number[]): Map<string, Set<number>> {
  const keyOf = ({ source, seriesId }: SampleColumns) => streamKey({ sourceId: sourceIds[source] as number, seriesId })
  return new Map(
    [...groupBy([...samples, ...derived], keyOf)].map(([key, list]) => [
      key,
      new Set(list.flatMap(({ timeMs }) => [...timeMs])),
    ]),
  )
}

/** Notes of removed samples that no record states them any longer. */
async function forgetRecords(tx: Transaction, removed: readonly (Stream & { timeMs: number })[]): Promise<void> {
  const streams = [...groupBy(removed, streamKey).values()].map((list) => ({
    ...(list[0] as Stream),
    timeMs: list.map(({ timeMs }) => timeMs).sort((a, b) => a - b),
  }))
  const records = await recordsAt(tx, streams)
  const stated = streams.flatMap(({ sourceId, seriesId, timeMs }, index) =>
    timeMs.flatMap((ms, at) =>
      (records[index]?.[at] ?? []).length > 0 ? [{ sourceId, seriesId, timeMs: ms, others: [] }] : [],
    ),
  )
  await noteDeleted(tx, stated)
}

/** The nights and workouts with an id that spans do not list, by all their ids. */
async function unlistedEvents(tx: Transaction, { sourceIds }: EventTarget, batch: Batch): Promise<Deletion[]> {
  const { spans, nights, workouts } = batch.events
  const found: Deletion[] = []
  for (const [what, sql, items] of [
    ['nights', NIGHTS_SQL, nights],
    ['workouts', WORKOUTS_SQL, workouts],
  ] as const) {
    const asked = spans.filter((span) => span.what === what)
    if (asked.length === 0) continue
    const rows = await planned<{ ids: string[]; at_ms: number }>(tx, sql, [
      asked.map(({ source }) => sourceIds[source] as number),
      ...[asked.map(({ loMs }) => loMs / 1000), asked.map(({ hiMs }) => hiMs / 1000), asked.map(({ atMs }) => atMs)],
    ])
    const held = new Set(items.map(({ externalId }) => externalId))
    for (const { ids, at_ms: atMs } of rows)
      if (!ids.some((id) => held.has(id)))
        for (const externalId of ids) found.push({ externalId, seriesId: null, atMs })
  }
  return found
}

// A page may not say of which device an item is, though the item itself does. Ids are unique at the provider.
const inSpans = (ids: string, table: string) => `
  select ${ids} as ids, k.at_ms
  from unnest($1::int4[], $2::float8[], $3::float8[], $4::float8[]) k (source_id, lo, hi, at_ms)
  cross join lateral (
    select d.id
    from data_source own
    join data_source d on d.user_id = own.user_id and d.provider = own.provider
    where own.id = k.source_id
    offset 0
  ) s
  cross join lateral (
    select * from ${table}
    where source_id = s.id and start_at >= to_timestamp(k.lo) and start_at < to_timestamp(k.hi)
    offset 0
  ) e`

const NIGHTS_SQL = inSpans('array[e.external_id]', 'sleep_part')
const WORKOUTS_SQL = `${inSpans('array[e.external_id] || e.other_ids', 'workout')} where e.external_id is not null`
