import type { ChangedSamples } from '../../batch/changes.ts'
import type { SampleColumns } from '../../batch/columns.ts'
import { originsOf } from '../../batch/columns-at.ts'
import { groupBy } from '../../batch/group-by.ts'
import { type Origin, type OriginHash, sameOrigin } from '../../batch/origins.ts'
import { storedSeries } from '../../catalogue/series.ts'
import type { Transaction } from '../../db/database.ts'
import { noteDeleted, removePoints } from './delete-samples.ts'
import { type ListPlace, readLists, recordsAt, type Stream, streamKey } from './lists.ts'

// The total of a day is stored at its midnight, which depends on the zone. A record that comes again with another zone than it
// had, or that was guessed, has another midnight: the total it stated before has to go. So has a value at the end of a night
// (`SampleColumns.once`) that now ends at another time.

/** Midnights of one day in any two zones are no further apart, nor are the ends of a night that is revised. */
const APART_MS = 2 * 86_400_000

/** Totals of a source and series in a batch: their records as they were sent, and with their midnights. */
interface Totals extends Stream {
  sent: Origin[]
  stamped: Origin[]
}

/**
 * Removes the totals of days that records of a batch, which are written, stated when they came before, if all of their records
 * are of another day now. `sent` and `stamped` are the samples before and after they have their zones. Returns how many, by
 * stored series id. Totals without ids of records stay. Archived data stays.
 */
export async function removeMovedTotals(
  tx: Transaction,
  { sent, stamped }: { sent: readonly SampleColumns[]; stamped: readonly SampleColumns[] },
  sourceIds: readonly number[],
  changes?: ChangedSamples[],
): Promise<Map<number, number>> {
  const gone = new Map<number, number>()
  const totals = totalsOf(sent, stamped, sourceIds)
  if (totals.size === 0) return gone
  const earlier = await earlierInstants(tx, totals)
  const records = await recordsAt(tx, earlier)
  const found = earlier.flatMap(({ sourceId, seriesId, timeMs }, index) =>
    timeMs.flatMap((instant, at) => {
      const all = records[index]?.[at] ?? []
      const others = all.filter((one) => !isMoved(totals.get(streamKey({ sourceId, seriesId })), one, instant))
      return others.length < all.length ? [{ sourceId, seriesId, timeMs: instant, others }] : []
    }),
  )
  const alone = found.filter(({ others }) => others.length === 0)
  const removed = await removePoints(tx, alone, changes)
  await noteDeleted(tx, [...removed, ...found.filter(({ others }) => others.length > 0)])
  for (const { seriesId } of removed) gone.set(seriesId, (gone.get(seriesId) ?? 0) + 1)
  return gone
}

function totalsOf(
  sent: readonly SampleColumns[],
  stamped: readonly SampleColumns[],
  sourceIds: readonly number[],
): Map<string, Totals> {
  const totals = new Map<string, Totals>()
  const add = (columns: SampleColumns, name: 'sent' | 'stamped') => {
    const { seriesId, origins, once } = columns
    if (!origins || !(once || storedSeries(seriesId)?.isDailyTotal)) return
    const stream = { sourceId: sourceIds[columns.source] as number, seriesId }
    const one = totals.get(streamKey(stream)) ?? { ...stream, sent: [], stamped: [] }
    one[name].push(...originsOf(columns))
    totals.set(streamKey(stream), one)
  }
  for (const columns of sent) add(columns, 'sent')
  for (const columns of stamped) add(columns, 'stamped')
  return totals
}

/** Whether a record came with the batch, and states a total of another day there. */
function isMoved(totals: Totals | undefined, record: OriginHash, timeMs: number): boolean {
  const { sent, stamped } = totals ?? { sent: [], stamped: [] }
  return (
    sent.some((one) => sameOrigin(one, record)) &&
    !stamped.some((one) => sameOrigin(one, record) && one.timeMs === timeMs)
  )
}

/** The stored lists of these streams that have something near the totals. */
const LISTS_SQL = `
  select o.seq, octet_length(o.ids) as bytes
  from unnest($1::int4[], $2::int2[], $3::float8[], $4::float8[]) k (source_id, series_id, lo, hi)
  join sample_origin o on o.source_id = k.source_id and o.series_id = k.series_id
    and o.lo <= to_timestamp(k.hi) and o.hi >= to_timestamp(k.lo)`

/** The instants of which records of the batch stated a total before, by stream, ascending. */
async function earlierInstants(
  tx: Transaction,
  totals: ReadonlyMap<string, Totals>,
): Promise<(Stream & { timeMs: number[] })[]> {
  const all = [...totals.values()].filter(({ sent }) => sent.length > 0)
  const lists = await tx.rows<ListPlace & unknown[]>(LISTS_SQL, [
    all.map(({ sourceId }) => sourceId),
    all.map(({ seriesId }) => seriesId),
    all.map(({ sent }) => (Math.min(...sent.map(({ timeMs }) => timeMs)) - APART_MS) / 1000),
    all.map(({ sent }) => (Math.max(...sent.map(({ timeMs }) => timeMs)) + APART_MS) / 1000),
  ])
  const found: (Stream & { timeMs: number })[] = []
  for await (const { sourceId, seriesId, origins } of readLists(tx, lists)) {
    const own = totals.get(streamKey({ sourceId, seriesId }))
    for (const origin of origins)
      if (isMoved(own, origin, origin.timeMs)) found.push({ sourceId, seriesId, timeMs: origin.timeMs })
  }
  return [...groupBy(found, streamKey).values()].map((instants) => ({
    ...(instants[0] as Stream),
    timeMs: [...new Set(instants.map(({ timeMs }) => timeMs))].sort((a, b) => a - b),
  }))
}
