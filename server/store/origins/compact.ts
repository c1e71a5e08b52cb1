import { groupBy } from '../../batch/group-by.ts'
import { decodeInto, encodeColumns, NO_RECORD, type OriginColumns } from '../../batch/origins.ts'
import type { Transaction } from '../../db/database.ts'
import { FILTERED_BYTES, type NewList, readEncoded, type Stream, storeLists, streamKey } from './lists.ts'

// A phone that uploads twenty times a day leaves twenty small lists per day and series. They are merged as in a
// log-structured merge tree: many small ones to one of medium size, many of these to final ones. So an entry is written
// three times in its life, and a deletion finds few lists.

/** How many lists of one size may follow each other before they are merged. */
export const LISTS_PER_SIZE = 16

/** Lists with fewer bytes than the first are small, than the second of medium size; others are final. */
const SIZES = [FILTERED_BYTES, 32 * 1024]

/** Approximate bytes of final lists. */
const FINAL_BYTES = 64 * 1024

/** Bytes merged at once, and lists looked at: a version that did not merge left thousands. */
const MERGED_BYTES = 1024 * 1024
const LOOKED_AT = 2000

/** A stored list for merging. */
export interface ListSize {
  /** Its place in the order of all lists. */
  seq: number
  bytes: number
  filtered: boolean
}

type StoredList = Stream & ListSize

/**
 * Merges lists of these streams where there are many, in the caller's transaction; what a later list states of an
 * instant wins.
 */
export async function compactLists(tx: Transaction, streams: readonly Stream[]): Promise<void> {
  const crowded = await tx.query<StoredList>(SIZES_SQL, [
    streams.map(({ sourceId }) => sourceId),
    streams.map(({ seriesId }) => seriesId),
    ...SIZES,
    LISTS_PER_SIZE,
    LOOKED_AT,
  ])
  for (const lists of groupBy(crowded, streamKey).values()) {
    const merged = toMerge(lists)
    const isOldest = merged[0] === lists[0] && lists.length < LOOKED_AT
    if (merged[0]) await merge(tx, merged[0], merged, isOldest)
  }
}

// The length of a list is known without reading it: the common case, few lists of each size, reads none.
const SIZES_SQL = `
  select k.source_id as "sourceId", k.series_id as "seriesId", o.seq, o.bytes, o.filtered
  from (select distinct source_id, series_id from unnest($1::int4[], $2::int2[]) as k (source_id, series_id)) k
  cross join lateral (
    select count(*) filter (where octet_length(ids) < $3) as small,
           count(*) filter (where octet_length(ids) >= $3 and octet_length(ids) < $4) as middle,
           count(*) filter (where octet_length(ids) >= $3 and filter is null) as unfiltered
    from sample_origin
    where source_id = k.source_id and series_id = k.series_id
  ) c
  cross join lateral (
    select seq, octet_length(ids) as bytes, filter is not null as filtered
    from sample_origin
    where source_id = k.source_id and series_id = k.series_id and (greatest(c.small, c.middle) > $5 or c.unfiltered > 0)
    order by seq desc
    limit $6
  ) o
  order by k.source_id, k.series_id, o.seq`

/**
 * Which lists of a stream, earliest first, to merge now: the first run of many small ones, else of many of medium size.
 * Lists of a run follow each other, so that one takes their place in the order. Else a large one from a version without
 * filters.
 */
export function toMerge<List extends ListSize>(lists: readonly List[]): readonly List[] {
  for (const [size, below] of SIZES.entries()) {
    const from = SIZES[size - 1] ?? 0
    let run: List[] = []
    let total = 0
    for (const list of [...lists, undefined]) {
      const goesOn = list !== undefined && list.bytes < below && total < MERGED_BYTES
      if (!goesOn && run.filter(({ bytes }) => bytes >= from).length > LISTS_PER_SIZE) return run
      if (!goesOn) [run, total] = [[], 0]
      if (!list || list.bytes >= below) continue
      run.push(list)
      total += list.bytes
    }
  }
  return lists.filter(({ bytes, filtered }) => bytes >= FILTERED_BYTES && !filtered).slice(0, 1)
}

const bytesOf = (lists: readonly ListSize[]) => lists.reduce((sum, { bytes }) => sum + bytes, 0)

async function merge(tx: Transaction, stream: Stream, lists: readonly ListSize[], isOldest: boolean): Promise<void> {
  const all: OriginColumns = { timeMs: [], record: [], part: [] }
  const ends: number[] = []
  for await (const { bytes, firstMs } of readEncoded(
    tx,
    lists.map(({ seq, bytes }) => [seq, bytes]),
  )) {
    decodeInto(all, bytes, firstMs)
    ends.push(all.timeMs.length)
  }
  const latest = latestOf(all, ends)
  // There is nothing earlier that "no record" would have to replace.
  const kept = isOldest && latest.record.includes(NO_RECORD.record) ? withRecords(latest) : latest
  const parts = pieces(kept, Math.min(Math.ceil(bytesOf(lists) / FINAL_BYTES), lists.length))
  const seqs = lists.map(({ seq }) => seq)
  await tx.query('delete from sample_origin where seq = any ($1)', [seqs])
  if (parts.length === 0) return
  await storeLists(
    tx,
    parts.map((part) => ({ ...stream, ...part })),
    seqs.slice(-parts.length),
  )
}

/** Entries of lists, earliest first, that end before `ends`: ascending by time, of each instant those of the latest list. */
function latestOf(all: OriginColumns, ends: readonly number[]): OriginColumns {
  const { timeMs } = all
  if (ends.every((end) => end === timeMs.length || (timeMs[end - 1] as number) < (timeMs[end] as number))) return all
  const lists = new Uint16Array(timeMs.length)
  for (const [list, end] of ends.entries()) lists.fill(list, ends[list - 1] ?? 0, end)
  const later = new Map<number, number>()
  for (const [at, ms] of timeMs.entries()) later.set(ms, lists[at] as number)
  const order = [...timeMs.keys()].filter((at) => later.get(timeMs[at] as number) === lists[at])
  order.sort((a, b) => (timeMs[a] as number) - (timeMs[b] as number) || a - b)
  return inOrder(all, order)
}

const withRecords = (all: OriginColumns): OriginColumns =>
  inOrder(
    all,
    [...all.timeMs.keys()].filter((at) => all.record[at] !== NO_RECORD.record),
  )

const inOrder = ({ timeMs, record, part }: OriginColumns, places: readonly number[]): OriginColumns => ({
  timeMs: places.map((at) => timeMs[at] as number),
  record: places.map((at) => record[at] as number),
  part: places.map((at) => part[at] as number),
})

/** Cuts entries into at most this many encoded pieces of about equal length; entries of one instant stay together. */
function pieces(columns: OriginColumns, count: number): Omit<NewList, keyof Stream>[] {
  const { timeMs } = columns
  const length = Math.ceil(timeMs.length / count)
  const cut: Omit<NewList, keyof Stream>[] = []
  for (let start = 0; start < timeMs.length; ) {
    let end = Math.min(start + length, timeMs.length)
    while (end < timeMs.length && timeMs[end] === timeMs[end - 1]) end += 1
    const bytes = encodeColumns(columns, start, end)
    cut.push({ firstMs: timeMs[start] as number, lastMs: timeMs[end - 1] as number, bytes })
    start = end
  }
  return cut
}
