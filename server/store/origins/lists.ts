import { groupBy } from '../../batch/group-by.ts'
import {
  decodeInto,
  decodeOrigins,
  encodeOrigins,
  NO_RECORD,
  type Origin,
  type OriginColumns,
  type OriginHash,
} from '../../batch/origins.ts'
import type { Transaction } from '../../db/database.ts'
import { DAY_MS } from '../../time.ts'
import { mayHave, originFilter } from './filter.ts'

/** A source and a series. */
export interface Stream {
  sourceId: number
  seriesId: number
}

/** Instants of a stream, ascending, epoch milliseconds. */
export interface Instants extends Stream {
  timeMs: ArrayLike<number>
}

/** A stored list after reading. */
export interface OriginList extends Stream {
  origins: Origin[]
}

/** Entries of a stream to store as a list: read ones, or encoded ones with the first and last instant (epoch ms). */
export interface NewList extends Stream {
  firstMs: number
  lastMs: number
  bytes: Uint8Array
}

/** Shorter lists, in bytes, have no filter: searching them is as fast. */
export const FILTERED_BYTES = 2048

/** Bytes of lists read at once: those of some hundred thousand samples, which take 20 ms to scan. */
const PORTION_BYTES = 1024 * 1024

/** A stream as text, for grouping. */
export const streamKey = ({ sourceId, seriesId }: Stream): string => `${sourceId} ${seriesId}`

/** A list of entries, ascending by time, at least one. */
export function newList({ sourceId, seriesId }: Stream, origins: readonly Origin[]): NewList {
  const [first, last] = [origins[0], origins.at(-1)]
  if (!first || !last) throw new Error('an empty list of origins')
  return { sourceId, seriesId, firstMs: first.timeMs, lastMs: last.timeMs, bytes: encodeOrigins(origins) }
}

/** Stores lists, each later than all before; `seqs` are places in that order to reuse, one each. */
export async function storeLists(tx: Transaction, lists: readonly NewList[], seqs?: readonly number[]): Promise<void> {
  const filters = lists.map(filterOf)
  const pieces = [...lists.map(({ bytes }) => bytes), ...filters]
  let size = 1
  const starts = pieces.map(({ length }) => {
    size += length
    return size - length
  })
  await tx.query(seqs ? STORE_AGAIN_SQL : STORE_SQL, [
    // In one parameter, which the driver sends unchanged: an array of bytes would go as text of twice the size.
    Buffer.concat(pieces),
    lists.map(({ sourceId }) => sourceId),
    lists.map(({ seriesId }) => seriesId),
    lists.map(({ firstMs }) => firstMs / 1000),
    lists.map(({ lastMs }) => lastMs / 1000),
    starts.slice(0, lists.length),
    lists.map(({ bytes }) => bytes.length),
    starts.slice(lists.length),
    filters.map(({ length }) => length),
    ...(seqs ? [seqs] : []),
  ])
}

const NO_FILTER = new Uint8Array()

function filterOf({ bytes, firstMs }: NewList): Uint8Array {
  if (bytes.length < FILTERED_BYTES) return NO_FILTER
  const columns: OriginColumns = { timeMs: [], record: [], part: [] }
  decodeInto(columns, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), firstMs)
  return originFilter(columns.record)
}

const VALUES = `
  source_id, series_id, to_timestamp(lo), to_timestamp(hi), substring($1::bytea from ids_at for ids_size),
  case when filter_size > 0 then substring($1::bytea from filter_at for filter_size) end`

const STORE_SQL = `
  insert into sample_origin (source_id, series_id, lo, hi, ids, filter)
  select ${VALUES}
  from unnest($2::int4[], $3::int2[], $4::float8[], $5::float8[], $6::int4[], $7::int4[], $8::int4[], $9::int4[])
    o (source_id, series_id, lo, hi, ids_at, ids_size, filter_at, filter_size)`

const STORE_AGAIN_SQL = `
  insert into sample_origin (source_id, series_id, lo, hi, ids, filter, seq)
  overriding system value
  select ${VALUES}, seq
  from unnest(
      $2::int4[], $3::int2[], $4::float8[], $5::float8[], $6::int4[], $7::int4[], $8::int4[], $9::int4[], $10::int8[]
    )
    o (source_id, series_id, lo, hi, ids_at, ids_size, filter_at, filter_size, seq)`

/** Place of a list in the order of all, and its size. */
export type ListPlace = readonly [seq: number, bytes: number]

/** Cuts places into those that are read at once. */
function* portions(places: readonly ListPlace[]): Generator<number[]> {
  for (let next = 0; next < places.length; ) {
    const portion: number[] = []
    for (let bytes = 0; next < places.length && (portion.length === 0 || bytes < PORTION_BYTES); next += 1) {
      const [seq, size] = places[next] as ListPlace
      portion.push(seq)
      bytes += size
    }
    yield portion
  }
}

/** The places of the lists whose filter says that they may have one of these records; `filters`: places of filters. */
export async function mayHaveOf(
  tx: Transaction,
  filters: readonly ListPlace[],
  records: readonly number[],
): Promise<ListPlace[]> {
  const found: ListPlace[] = []
  for (const portion of portions(filters)) {
    const rows = await tx.query<{ seq: number; bytes: number; filter: Buffer }>(FILTERS_SQL, [portion])
    for (const { seq, bytes, filter } of rows) if (mayHave(filter, records)) found.push([seq, bytes])
  }
  return found
}

const FILTERS_SQL = 'select seq, octet_length(ids) as bytes, filter from sample_origin where seq = any ($1)'

/** Reads lists, earliest first, in portions. */
export async function* readLists(tx: Transaction, places: readonly ListPlace[]): AsyncGenerator<OriginList> {
  for await (const { sourceId, seriesId, firstMs, bytes } of readEncoded(tx, places))
    yield { sourceId, seriesId, origins: decodeOrigins(bytes, firstMs) }
}

/** The same, as they are stored. */
export async function* readEncoded(
  tx: Transaction,
  places: readonly ListPlace[],
): AsyncGenerator<Stream & { firstMs: number; bytes: Buffer }> {
  for (const portion of portions([...places].sort(([a], [b]) => a - b))) {
    const rows = await tx.query<{ source_id: number; series_id: number; first_ms: number; ids: Buffer }>(READ_SQL, [
      portion,
    ])
    for (const { source_id, series_id, first_ms, ids } of rows)
      yield { sourceId: source_id, seriesId: series_id, firstMs: Math.round(first_ms), bytes: ids }
  }
}

const READ_SQL = `
  select source_id, series_id, date_part('epoch', lo) * 1000 as first_ms, ids
  from sample_origin
  where seq = any ($1)
  order by seq`

/**
 * Which records state the samples at some instants, in the order of `streams` and of their instants; none if unknown.
 * Reads the lists that cover the time of these instants.
 */
export async function recordsAt(tx: Transaction, streams: readonly Instants[]): Promise<(readonly OriginHash[])[][]> {
  const answers = streams.map((stream) => ({ ...stream, records: Array.from(stream.timeMs, () => NONE) }))
  const ranges = streams.flatMap((stream) => rangesOf(stream).map((range) => ({ ...stream, ...range })))
  const places = await tx.rows<[seq: number, bytes: number]>(OVERLAPPING_SQL, [
    ranges.map(({ sourceId }) => sourceId),
    ranges.map(({ seriesId }) => seriesId),
    ranges.map(({ loMs }) => loMs / 1000),
    ranges.map(({ hiMs }) => hiMs / 1000),
  ])
  const groups = groupBy(answers, streamKey)
  for await (const list of readLists(tx, places)) {
    for (const { timeMs, records } of groups.get(streamKey(list)) ?? []) replaceRecords(records, timeMs, list.origins)
  }
  return answers.map(({ records }) => records)
}

const NONE: readonly OriginHash[] = []

/** Applies what a later list states of its instants. */
function replaceRecords(
  records: (readonly OriginHash[])[],
  timeMs: ArrayLike<number>,
  origins: readonly Origin[],
): void {
  let at = 0
  for (let next = 0; next < origins.length && at < timeMs.length; ) {
    const instant = (origins[next] as Origin).timeMs
    let end = next + 1
    while (end < origins.length && (origins[end] as Origin).timeMs === instant) end += 1
    while (at < timeMs.length && (timeMs[at] as number) < instant) at += 1
    if (timeMs[at] === instant)
      records[at] = origins[next]?.record === NO_RECORD.record ? NONE : origins.slice(next, end)
    next = end
  }
}

/** Instants further apart than this are looked up one by one: what lies between need not be read. */
const RANGE_GAP_MS = DAY_MS

/** With more than this, looking up ranges would cost more than reading what lies between. */
const MAX_RANGES = 64

function rangesOf({ timeMs }: Instants): { loMs: number; hiMs: number }[] {
  const ranges: { loMs: number; hiMs: number }[] = []
  for (const instant of Array.from(timeMs)) {
    const last = ranges.at(-1)
    if (last && (instant - last.hiMs <= RANGE_GAP_MS || ranges.length === MAX_RANGES)) last.hiMs = instant
    else ranges.push({ loMs: instant, hiMs: instant })
  }
  return ranges
}

const OVERLAPPING_SQL = `
  select distinct o.seq, o.bytes
  from unnest($1::int4[], $2::int2[], $3::float8[], $4::float8[]) as k (source_id, series_id, lo, hi)
  cross join lateral (
    select o.seq, octet_length(o.ids) as bytes
    from sample_origin o
    where o.source_id = k.source_id and o.series_id = k.series_id
      and o.lo <= to_timestamp(k.hi) and o.hi >= to_timestamp(k.lo)
    offset 0
  ) o`
