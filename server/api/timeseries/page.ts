import { typeIdOf } from '../../catalogue/series.ts'
import type { Database } from '../../db/database.ts'
import type { Mark } from '../../http/cursors.ts'
import type { Stored } from '../../sources/user-view.ts'
import { isoInstant } from '../../time.ts'
import { type EXTREMES, withExtremes } from './extremes.ts'

/** Samples or buckets in order, as columns. */
export interface Rows {
  /** Epoch ms. */
  times: number[]
  values: number[]
  /** The place of each in the `stored` of the selection. */
  places: number[]
  /** Minutes east of UTC. */
  zones: (number | null)[]
  /** Of buckets, if they are asked for. */
  extremes?: Record<(typeof EXTREMES)[number], number[]>
}

/** A position between rows, which are ordered by time, then series, then source. */
export interface Position {
  timeMs: number
  seriesId: number
  sourceId: number
  backward: boolean
  /** Rows on all pages. */
  total: number
}

/** The mark of a row in its cursor; undefined if there is none. */
export function markOf(rows: Rows, index: number, { stored }: Selection): Pick<Mark, 'at' | 'id'> | undefined {
  const one = stored[rows.places[index] ?? -1]
  return one && { at: isoInstant(rows.times[index] as number), id: `${one.seriesId}.${one.source.id}` }
}

/** The position that a cursor of `markOf` encodes. */
export function positionOf({ at, id, backward, total }: Mark): Position {
  const [seriesId = 0, sourceId = 0] = id.split('.').map(Number)
  return { timeMs: Date.parse(at), seriesId, sourceId, backward, total }
}

/** Which rows a page may hold. */
export interface Selection {
  stored: readonly Stored[]
  startMs: number
  endMs: number
  /** Bucket width; undefined = raw samples. */
  bucketMs: number | undefined
  /** The ranges to which each series of a source is limited, in the order of `stored`; undefined = not limited. */
  ranges: readonly (readonly Range[] | undefined)[] | undefined
  /** Whether buckets have their extremes. */
  extremes?: boolean
}

/** A range of time, epoch ms, the end excluded. */
export type Range = readonly [startMs: number, endMs: number]

/** Resolutions of contract 2.2 with their widths. */
export const BUCKET_MS: Record<string, number | undefined> = {
  raw: undefined,
  '1min': 60_000,
  '5min': 300_000,
  '15min': 900_000,
  '1hour': 3_600_000,
}

type Direction = 'forward' | 'backward'

/**
 * A page of raw samples; see `sql/routines/samples/read_samples.sql`. Returns nothing if the user's revision has moved on,
 * so checking the cached view of a user needs no extra statement.
 */
const RAW_SQL = `
  select at, value, source_id, series_id, zone_offset_min
  from sample_page($1, $2, $3, $4, $5, $6, $7, $8)
  where $9::uuid is null or exists (
    select 1 from app_user u, ranking r where u.id = $9 and u.revision + r.revision = $10
  )`

/** The same, with the number of samples on all pages in a separate row: one statement for a first page. */
const RAW_COUNTED_SQL = `${RAW_SQL}
  union all
  select sum(sample_count(k.source_id, k.series_id, to_timestamp(k.lo), to_timestamp(k.hi))), null, null, null, null
  from unnest($1::int4[], $2::int2[], $3::float8[], $4::float8[]) k (source_id, series_id, lo, hi)`

const BUCKETS_SQL = perDirection(
  (order) => `
  select date_part('epoch', b.bucket),
         case k.how when 'sum' then b.total when 'max' then b.highest else b.total / b.n end,
         k.place, b.last_zone
  from jsonb_to_recordset($1::jsonb) k (place int4, source_id int4, series_id int2, how text, lo float8, hi float8, ranges tstzmultirange)
  cross join lateral bucket_page(
    k.source_id, k.series_id, to_timestamp(k.lo), to_timestamp(k.hi), make_interval(secs => $3), $2, ${order === 'desc'}, k.ranges
  ) b
  order by b.bucket ${order}, k.series_id ${order}, k.source_id ${order}
  limit $2`,
)

/** First pages of buckets, with their number in such a row if there are more: $2 is one more than the page. */
const BUCKETS_COUNTED_SQL = `
  with page as materialized (${BUCKETS_SQL.forward})
  select * from page
  union all
  select (
    select sum(bucket_count(k.source_id, k.series_id, to_timestamp(k.lo), to_timestamp(k.hi), make_interval(secs => $3), k.ranges))
    from jsonb_to_recordset($1::jsonb) k (source_id int4, series_id int2, lo float8, hi float8, ranges tstzmultirange)
  ), null, null, null
  where (select count(*) from page) >= $2`

/**
 * The same, with measured and manual values of a type in one bucket. `place` is that of the first of the two series in
 * `stored`.
 */
const TWIN_BUCKETS_SQL = perDirection(
  (order) => `
  select date_part('epoch', b.bucket),
         case k.how when 'sum' then sum(b.total) when 'max' then max(b.highest) else sum(b.total) / sum(b.n) end,
         min(k.place), (array_agg(b.last_zone order by k.place))[1]
  from jsonb_to_recordset($1::jsonb) k (place int4, source_id int4, series_id int2, type_id int2, how text, lo float8, hi float8, ranges tstzmultirange)
  cross join lateral bucket_page(
    k.source_id, k.series_id, to_timestamp(k.lo), to_timestamp(k.hi), make_interval(secs => $3), $2, ${order === 'desc'}, k.ranges
  ) b
  group by b.bucket, k.type_id, k.source_id, k.how
  order by b.bucket ${order}, k.type_id ${order}, k.source_id ${order}
  limit $2`,
)

const TWIN_BUCKETS_COUNTED_SQL = `
  with page as materialized (${TWIN_BUCKETS_SQL.forward}),
  key as materialized (
    select * from jsonb_to_recordset($1::jsonb) k (source_id int4, series_id int2, type_id int2, lo float8, hi float8, ranges tstzmultirange)
  )
  select * from page
  union all
  select (
    select sum(
      bucket_count(k.source_id, k.series_id, to_timestamp(k.lo), to_timestamp(k.hi), make_interval(secs => $3), k.ranges)
      - case when m.series_id is null then 0 else shared_bucket_count(
          k.source_id, array[k.series_id, m.series_id], to_timestamp(k.lo), to_timestamp(k.hi), make_interval(secs => $3),
          k.ranges, m.ranges
        ) end
    )
    from key k
    left join key m on m.source_id = k.source_id and m.series_id = k.type_id and k.series_id <> k.type_id
  ), null, null, null
  where (select count(*) from page) >= $2`

function perDirection(sql: (order: 'asc' | 'desc') => string): Record<Direction, string> {
  return { forward: sql('asc'), backward: sql('desc') }
}

/**
 * Each series continues after the cursor. At the cursor's own instant, it continues only if it sorts behind the cursor
 * there (before it, when paging back). A bucket counts as its start.
 */
function bounds(selection: Selection, position: Position | undefined): Range[] {
  const { startMs, endMs } = selection
  const step = selection.bucketMs ?? 1
  // Twins share one bucket.
  const idOf = (seriesId: number) => (selection.bucketMs === undefined ? seriesId : typeIdOf(seriesId))
  return selection.stored.map(({ seriesId, source }) => {
    if (!position) return [startMs, endMs]
    const order = idOf(seriesId) - idOf(position.seriesId) || source.id - position.sourceId
    return position.backward
      ? [startMs, Math.min(endMs, position.timeMs + (order < 0 ? step : 0))]
      : [Math.max(startMs, position.timeMs + (order > 0 ? 0 : step)), endMs]
  })
}

/** A user's data as of a revision. */
export interface AsOf {
  userId: string
  revision: number
}

/** Which page of a selection. */
export interface PageAsked {
  /** The cursor; undefined = the first page. */
  position: Position | undefined
  /** Rows at most. */
  limit: number
  /** For raw samples: no rows if this is no longer the user's revision. */
  asOf: AsOf | undefined
}

/** Reads a page of rows in the direction of the cursor, nearest first. */
export async function readRows(db: Database, selection: Selection, page: PageAsked): Promise<Rows> {
  const { stored, bucketMs } = selection
  if (bucketMs !== undefined) {
    const direction = page.position?.backward ? 'backward' : 'forward'
    const params = [keysOf(selection, page.position), page.limit, bucketMs / 1000]
    const sql = stored.some(({ isManual }) => isManual) ? TWIN_BUCKETS_SQL : BUCKETS_SQL
    const text = selection.extremes ? withExtremes(sql[direction]) : sql[direction]
    return bucketRows(await db.columns<Buckets>(text, params), selection)
  }
  return rawRows(await db.columns<Samples>(RAW_SQL, rawParams(selection, page)), selection)
}

/** The parameters of each series for statements of buckets; instants in seconds, as `to_timestamp` takes them. */
function keysOf(selection: Selection, position: Position | undefined): string {
  const limits = bounds(selection, position)
  const keys = selection.stored.map((one, index) => {
    const [startMs, endMs] = limits[index] as Range
    return {
      place: index,
      source_id: one.source.id,
      series_id: one.seriesId,
      type_id: one.series.id,
      how: one.series.aggregation,
      lo: startMs / 1000,
      hi: endMs / 1000,
      ranges: multirange(selection.ranges?.[index]),
    }
  })
  return JSON.stringify(keys)
}

const multirange = (ranges: readonly Range[] | undefined) =>
  ranges ? `{${ranges.map(([startMs, endMs]) => `[${isoInstant(startMs)},${isoInstant(endMs)})`).join()}}` : null

type Buckets = [at: number[], values: number[], places: number[], zones: (number | null)[], ...extremes: number[][]]

function bucketRows(
  [at, values, places, zones, count = [], min = [], max = []]: Buckets,
  { extremes }: Selection,
): Rows {
  return { times: at.map(toMs), values, places, zones, ...(extremes && { extremes: { min, max, count } }) }
}

const toMs = (seconds: number) => Math.round(seconds * 1000)

type Samples = [at: number[], values: number[], sources: number[], series: number[], zones: (number | null)[]]

/** A series is repeated for each range to which it is limited. */
function rawParams(selection: Selection, { position, limit, asOf }: PageAsked) {
  const limits = bounds(selection, position)
  const keys = selection.stored.flatMap(({ source, seriesId }, index) => {
    const [startMs, endMs] = limits[index] as Range
    const ranges = selection.ranges?.[index] ?? [[startMs, endMs]]
    return ranges
      .map(([from, until]) => ({ source, seriesId, lo: Math.max(startMs, from), hi: Math.min(endMs, until) }))
      .filter(({ lo, hi }) => lo < hi)
  })
  return [
    keys.map(({ source }) => source.id),
    keys.map(({ seriesId }) => seriesId),
    keys.map(({ lo }) => lo / 1000),
    keys.map(({ hi }) => hi / 1000),
    keys.reduce((first, { lo }) => Math.min(first, lo), selection.endMs) / 1000,
    keys.reduce((last, { hi }) => Math.max(last, hi), selection.startMs) / 1000,
    limit,
    position?.backward === true,
    asOf?.userId ?? null,
    asOf?.revision ?? null,
  ]
}

function rawRows([at, values, sources, series, zones]: Samples, { stored }: Selection): Rows {
  const place = placeFinder(stored)
  return { times: at.map(toMs), values, places: sources.map((source, index) => place(source, series[index])), zones }
}

/**
 * Reads the first page and, unless it holds all rows, the number of rows on all pages, in one statement; see `readRows`.
 */
export async function readCounted(
  db: Database,
  selection: Selection,
  { limit, asOf }: Omit<PageAsked, 'position'>,
): Promise<{ rows: Rows; total: number }> {
  const { stored, bucketMs } = selection
  if (bucketMs === undefined) {
    const params = rawParams(selection, { position: undefined, limit, asOf })
    const columns = await db.columns<Samples>(RAW_COUNTED_SQL, params)
    const total = takeTotal(columns)
    return { rows: rawRows(columns, selection), total }
  }
  const params = [keysOf(selection, undefined), limit, bucketMs / 1000]
  const sql = stored.some(({ isManual }) => isManual) ? TWIN_BUCKETS_COUNTED_SQL : BUCKETS_COUNTED_SQL
  const columns = await db.columns<Buckets>(selection.extremes ? withExtremes(sql) : sql, params)
  const total = takeTotal(columns)
  return { rows: bucketRows(columns, selection), total }
}

/** Takes the row with the total, which is of no source, out of the columns. Without one, they hold all rows. */
function takeTotal(columns: Samples | Buckets): number {
  const [at, , ofSource] = columns
  const row = (ofSource as (number | null)[]).lastIndexOf(null)
  if (row < 0) return at.length
  const total = at[row] as number
  for (const column of columns) column.splice(row, 1)
  return total
}

/** Finds a series in `stored`; rows of one mostly follow one another. */
function placeFinder(stored: readonly Stored[]): (sourceId: number, seriesId: number | undefined) => number {
  const keyOf = (sourceId: number, seriesId: number) => sourceId * 65_536 + seriesId
  const places = new Map(stored.map(({ source, seriesId }, place) => [keyOf(source.id, seriesId), place]))
  let [lastKey, last] = [-1, -1]
  return (sourceId, seriesId = -1) => {
    const key = keyOf(sourceId, seriesId)
    if (key !== lastKey) [lastKey, last] = [key, places.get(key) ?? -1]
    return last
  }
}
