import { type ChangedSamples, samplesAt } from '../batch/changes.ts'
import { NO_ZONE, type SampleColumns } from '../batch/columns.ts'
import { seriesById, typeIdOf } from '../catalogue/series.ts'
import { copyInto, encodeSamples, SAMPLE_COLUMNS } from '../db/copy.ts'
import type { Transaction } from '../db/database.ts'
import { digestOf } from '../db/digest.ts'
import { DAY_MS, isoInstant } from '../time.ts'
import { noteOrigins } from './origins/note.ts'
import { type Stretch, stretchesOf } from './stretches.ts'

/** The changes of a batch to one series; times bound the samples that changed. */
export interface SeriesCounts {
  type: string
  inserted: number
  updated: number
  firstTs: string
  lastTs: string
}

/**
 * Merges samples into the database inside the caller's transaction: new ones are inserted, changed ones updated,
 * unchanged ones left alone. The caller holds the user's ingest lock, which serialises the batches of a source. A
 * stretch without any stored sample in its time range is copied straight into the table, at the speed of COPY (5.5 ms
 * for 2,000 rows against 14.7 ms through the merge); only overlapping ones are merged. Inserted and changed samples
 * are added to `changes`, if given.
 */
export async function writeSamples(
  tx: Transaction,
  samples: readonly SampleColumns[],
  sourceIds: readonly number[],
  changes?: ChangedSamples[],
): Promise<SeriesCounts[]> {
  if (samples.length === 0) return []
  const divided = samples.map(stretchesOf)
  const stretches = divided.flat()
  const storedRows = await countStored(tx, stretches, sourceIds)
  const counts = new Map<string, SeriesCounts>()
  const written = new Map<Stretch, Written>()
  const fresh = stretches.filter((_, position) => storedRows[position] === 0)
  if (fresh.length > 0) {
    const columns = fresh.map((one) => one.columns)
    await copyInto(tx.client, `sample (${SAMPLE_COLUMNS})`, encodeSamples(columns, sourceIds))
    await noteAdded(tx, columns, sourceIds)
    for (const one of columns) addCount(counts, countOf(one))
    for (const one of fresh) written.set(one, { changed: 'all' })
  }
  const stored = stretches.flatMap((one, at) => (storedRows[at] === 0 ? [] : [{ one, rows: storedRows[at] as number }]))
  const same = await storedAlready(tx, stored, sourceIds)
  for (const one of same) written.set(one, { changed: [] })
  const overlapping = stored.filter(({ one }) => !same.has(one))
  if (overlapping.length > 0) {
    const columns = overlapping.map(({ one }) => one.columns)
    const rows = await merge(
      tx,
      columns,
      sourceIds,
      overlapping.map((one) => one.rows),
    )
    for (const row of rows) addCount(counts, row)
    const kept = keptZones(rows)
    for (const [place, [changed, first]] of [...atPlaces(columns, rows)].entries())
      written.set(overlapping[place]?.one as Stretch, { changed, zoneAt: (at) => kept.get(first + at) })
  }
  await noteOrigins(
    tx,
    Array.from(written, ([{ columns }, { changed }]) => ({
      ...{ columns, sourceId: sourceIds[columns.source] as number },
      changed: changed === 'all' ? changed : new Set(changed),
    })),
  )
  changes?.push(...changesOf(divided, written, sourceIds))
  return [...counts.values()]
}

/** What became of a stretch: the places in it that changed, and the zones that are stored of those that keep it. */
interface Written {
  readonly changed: 'all' | readonly number[]
  zoneAt?(place: number): number | undefined
}

/** The changes of each column set, put together from its stretches. */
function changesOf(
  divided: readonly (readonly Stretch[])[],
  written: ReadonlyMap<Stretch, Written>,
  sourceIds: readonly number[],
): ChangedSamples[] {
  return divided.flatMap((parts): ChangedSamples[] => {
    const { whole } = parts[0] as Stretch
    const all = { ...whole, sourceId: sourceIds[whole.source] as number }
    if (parts.every((one) => written.get(one)?.changed === 'all')) return [all]
    const places: number[] = []
    const zones: number[] = []
    for (const one of parts) {
      const { changed, zoneAt } = written.get(one) as Written
      for (const at of changed === 'all' ? one.columns.timeMs.keys() : changed) {
        places.push(one.from + at)
        zones.push(zoneAt?.(at) ?? (one.columns.zoneMin[at] as number))
      }
    }
    return places.length > 0 ? [{ ...samplesAt(all, places), zoneMin: Int16Array.from(zones) }] : []
  })
}

/** If this many times more rows are stored than arrived, single look-ups are cheaper than reading the range. */
const DENSE = 4

/** Stored samples between the first and last instant of each stretch, counted up to DENSE times its length. */
async function countStored(
  tx: Transaction,
  stretches: readonly Stretch[],
  sourceIds: readonly number[],
): Promise<number[]> {
  const rows = await tx.rows<[stored: number]>('select stored from count_stored($1, $2, $3, $4, $5)', [
    ...segmentsOf(stretches, sourceIds),
    stretches.map(({ columns }) => columns.timeMs.length * DENSE + 1),
  ])
  return rows.map(([stored]) => stored)
}

/** Source, series, first and last instant (seconds) of each stretch, as columns. */
const segmentsOf = (stretches: readonly Stretch[], sourceIds: readonly number[]) => [
  stretches.map(({ columns }) => sourceIds[columns.source] as number),
  stretches.map(({ columns }) => columns.seriesId),
  stretches.map(({ columns }) => (columns.timeMs[0] as number) / 1000),
  stretches.map(({ columns }) => (columns.timeMs.at(-1) as number) / 1000),
]

/**
 * The stretches that are stored exactly as they are, of those with as many samples stored in their time as they have: a
 * phone that sends the same again is compared where its samples lie, instead of sending and merging them. Samples that may
 * take the zone that is stored are left to the merge.
 */
async function storedAlready(
  tx: Transaction,
  stored: readonly { one: Stretch; rows: number }[],
  sourceIds: readonly number[],
): Promise<ReadonlySet<Stretch>> {
  const asked = stored
    .filter(({ one: { columns }, rows }) => rows === columns.timeMs.length && !columns.zoneTaken)
    .map(({ one }) => one)
  if (asked.length === 0) return new Set()
  const digests = 'select digest from stored_digests($1, $2, $3, $4)'
  const rows = await tx.rows<[digest: Buffer]>(digests, segmentsOf(asked, sourceIds))
  return new Set(asked.filter(({ columns }, at) => rows[at]?.[0].equals(digestOf(columns))))
}

/** The result for a series: new and changed rows. */
interface MergedRow {
  series: number
  is_new: boolean
  row_count: number
  first_ts: string
  last_ts: string
}

/** With the ranges of their positions in the copied rows, `{[0,5),[7,8)}`, and what keeps the zone that is stored. */
type PlacedRow = MergedRow & { places: string; kept_places: number[] | null; kept_zones: number[] | null }

/** Transactions that have merged before: the rows of `incoming` are deleted only when they end. */
const merged = new WeakSet<Transaction>()

async function merge(
  tx: Transaction,
  samples: readonly SampleColumns[],
  sourceIds: readonly number[],
  storedRows: readonly number[],
): Promise<PlacedRow[]> {
  await tx.client.query(
    `create temporary table if not exists incoming (
       ts timestamptz, value float8, source_id int4, series_id int2, zone_offset_min int2, lasts_s int4, place int4, zone_taken boolean
     ) on commit delete rows`,
  )
  if (merged.has(tx)) await tx.query('truncate incoming')
  merged.add(tx)
  await copyInto(tx.client, `incoming (${SAMPLE_COLUMNS}, place, zone_taken)`, encodeSamples(samples, sourceIds, true))
  const segments = { source: [] as number[], series: [] as number[], lo: [] as number[], hi: [] as number[] }
  const add = (columns: SampleColumns, loMs: number, hiMs: number) => {
    segments.source.push(sourceIds[columns.source] as number)
    segments.series.push(columns.seriesId)
    segments.lo.push(loMs / 1000)
    segments.hi.push(hiMs / 1000)
  }
  for (const [position, columns] of samples.entries()) {
    if ((storedRows[position] as number) <= columns.timeMs.length * DENSE)
      add(columns, columns.timeMs[0] as number, columns.timeMs.at(-1) as number)
    else for (const timeMs of columns.timeMs) add(columns, timeMs, timeMs)
  }
  return tx.query<PlacedRow>(
    `select series, is_new, row_count, first_ts, last_ts, places, kept_places, kept_zones
     from merge_samples($1, $2, $3, $4, $5)`,
    [segments.source, segments.series, segments.lo, segments.hi, true],
  )
}

/** The stored zones that samples have kept, by their position across all column sets. */
const keptZones = (rows: readonly PlacedRow[]): ReadonlyMap<number, number> =>
  new Map(
    rows.flatMap(
      ({ kept_places: places, kept_zones: zones }) =>
        places?.map((at, i) => [at, zones?.[i] ?? NO_ZONE] as const) ?? [],
    ),
  )

/**
 * The positions in each column set that the merge inserted or changed, and that of its first sample among all sets, by which
 * the merge numbers them.
 */
function* atPlaces(
  samples: readonly SampleColumns[],
  rows: readonly PlacedRow[],
): Generator<[changed: number[], first: number]> {
  const ranges = rows.flatMap(({ places }) =>
    Array.from(places.matchAll(/(\d+),(\d+)/g), ([, from, until]) => [Number(from), Number(until)] as const),
  )
  ranges.sort(([a], [b]) => a - b)
  let first = 0
  let range = 0
  for (const columns of samples) {
    const { timeMs } = columns
    const changed: number[] = []
    // A range may continue in the next column set.
    for (; range < ranges.length; range += 1) {
      const [from, until] = ranges[range] as readonly [number, number]
      for (let at = Math.max(from - first, 0); at < Math.min(until - first, timeMs.length); at += 1) changed.push(at)
      if (until - first > timeMs.length) break
    }
    yield [changed, first]
    first += timeMs.length
  }
}

/** Samples of a series further apart than this become separate dirty ranges: nothing in between has changed. */
const RANGE_GAP_MS = DAY_MS

/** Notes which series a source has and which ranges the rollups lack; the merge does so itself. */
async function noteAdded(tx: Transaction, samples: readonly SampleColumns[], sourceIds: readonly number[]) {
  const ranges = { source: [] as number[], series: [] as number[], lo: [] as number[], hi: [] as number[] }
  const longest: (number | null)[] = []
  let before: SampleColumns | undefined
  for (const columns of samples) {
    const { source, seriesId, timeMs, lastsS } = columns
    const longestS = lastsS?.reduce((most, one) => Math.max(most, one), 0) || null
    // Stretches of a series follow each other.
    let last = before?.source === source && before.seriesId === seriesId ? (before.timeMs.at(-1) as number) : Number.NaN
    for (const ms of timeMs) {
      if (ms >= last && ms - last <= RANGE_GAP_MS) ranges.hi[ranges.hi.length - 1] = ms / 1000
      else {
        ranges.source.push(sourceIds[source] as number)
        ranges.series.push(seriesId)
        ranges.lo.push(ms / 1000)
        ranges.hi.push(ms / 1000)
        longest.push(longestS)
      }
      last = ms
    }
    const at = longest.length - 1
    if (longestS !== null) longest[at] = Math.max(longest[at] ?? 0, longestS)
    before = columns
  }
  await tx.query('select note_added($1, $2, $3, $4, $5)', [ranges.source, ranges.series, ranges.lo, ranges.hi, longest])
}

/** All samples of a column set, counted as new. */
const countOf = ({ seriesId, timeMs }: SampleColumns): MergedRow => ({
  series: seriesId,
  is_new: true,
  row_count: timeMs.length,
  first_ts: isoInstant(timeMs[0] as number),
  last_ts: isoInstant(timeMs.at(-1) as number),
})

/** Readers see a series and its daily totals as one type. */
function addCount(
  counts: Map<string, SeriesCounts>,
  { series, is_new, row_count, first_ts, last_ts }: MergedRow,
): void {
  const type = seriesById.get(typeIdOf(series))?.type ?? 'unknown'
  const count = counts.get(type) ?? { type, inserted: 0, updated: 0, firstTs: first_ts, lastTs: last_ts }
  if (is_new) count.inserted += row_count
  else count.updated += row_count
  if (Date.parse(first_ts) < Date.parse(count.firstTs)) count.firstTs = first_ts
  if (Date.parse(last_ts) > Date.parse(count.lastTs)) count.lastTs = last_ts
  counts.set(type, count)
}
