import { groupBy } from '../../batch/group-by.ts'
import { NO_RECORD, type Origin } from '../../batch/origins.ts'
import type { Transaction } from '../../db/database.ts'
import { FILTERED_BYTES, newList, readLists, type Stream, storeLists, streamKey } from './lists.ts'

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
  const stated = new Map<number, Origin[]>()
  for await (const { origins } of readLists(
    tx,
    lists.map(({ seq, bytes }) => [seq, bytes]),
  )) {
    let last: Origin[] = []
    for (const origin of origins) {
      if (last[0]?.timeMs === origin.timeMs) last.push(origin)
      else {
        last = [origin]
        stated.set(origin.timeMs, last)
      }
    }
  }
  const instants = [...stated.keys()].sort((a, b) => a - b)
  const origins = instants
    .flatMap((timeMs) => stated.get(timeMs) as Origin[])
    // There is nothing earlier that "no record" would have to replace.
    .filter(({ record }) => !isOldest || record !== NO_RECORD.record)
  const parts = pieces(origins, Math.min(Math.ceil(bytesOf(lists) / FINAL_BYTES), lists.length))
  const seqs = lists.map(({ seq }) => seq)
  await tx.query('delete from sample_origin where seq = any ($1)', [seqs])
  if (parts.length === 0) return
  await storeLists(
    tx,
    parts.map((part) => newList(stream, part)),
    seqs.slice(-parts.length),
  )
}

/** Cuts entries into at most this many pieces of about equal length; entries of one instant stay together. */
function pieces(origins: readonly Origin[], count: number): Origin[][] {
  const length = Math.ceil(origins.length / count)
  const cut: Origin[][] = []
  for (let start = 0; start < origins.length; ) {
    let end = Math.min(start + length, origins.length)
    while (end < origins.length && origins[end]?.timeMs === origins[end - 1]?.timeMs) end += 1
    cut.push(origins.slice(start, end))
    start = end
  }
  return cut
}
