import type { Database } from '../../db/database.ts'
import type { Mark } from '../../http/cursors.ts'
import { isoInstant } from '../../time.ts'
import type { Stored } from './user-view.ts'

/** A sample or a bucket: epoch ms, value, and where it belongs. */
export interface Row {
  timeMs: number
  value: number
  stored: Stored
  zoneMin: number | null
}

/** A place between rows that are ordered by time, then series, then source. */
export interface Position {
  timeMs: number
  seriesId: number
  sourceId: number
  backward: boolean
  /** Rows on all pages. */
  total: number
}

/** What a cursor says of a row. */
export function markOf({ timeMs, stored }: Row): Pick<Mark, 'at' | 'id'> {
  return { at: isoInstant(timeMs), id: `${stored.seriesId}.${stored.source.id}` }
}

/** The place that a cursor of `markOf` stands for. */
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
  /** Local days a series of a source is limited to (days since 1970-01-01), in the order of `stored`; undefined = all. */
  days: readonly (readonly number[])[] | undefined
}

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
 * A page of raw samples; see `sql/routines/read_samples.sql`. Nothing when the user's revision has moved on, so that
 * what is remembered of a user needs no statement of its own to be checked.
 */
const RAW_SQL = `
  select at, value, source_id, series_id, zone_offset_min
  from sample_page($1, $2, $3, $4, $5, $6, $7, $8)
  where $9::uuid is null or exists (
    select 1 from app_user u, ranking r where u.id = $9 and u.revision + r.revision = $10
  )`

/** The same with the number of samples on all pages, in a row of nothing else: one statement for a first page. */
const RAW_COUNTED_SQL = `${RAW_SQL}
  union all
  select sum(sample_count(k.source_id, k.series_id, to_timestamp($5), to_timestamp($6))), null, null, null, null
  from unnest($1::int4[], $2::int2[]) k (source_id, series_id)`

const RAW_DAYS_SQL = perDirection(
  (order) => `
  select date_part('epoch', s.ts), s.value, s.source_id, s.series_id, s.zone_offset_min
  from jsonb_to_recordset($1::jsonb) k (source_id int4, series_id int2, lo float8, hi float8, days int4[])
  cross join lateral (
    select ts, value, source_id, series_id, zone_offset_min
    from sample
    where source_id = k.source_id
      and series_id = k.series_id
      and ts >= greatest(to_timestamp(k.lo), raw_floor())
      and ts < to_timestamp(k.hi)
      and local_day(ts, zone_offset_min) = any (k.days)
    order by ts ${order}
    limit $2
  ) s
  order by s.ts ${order}, s.series_id ${order}, s.source_id ${order}
  limit $2`,
)

const BUCKETS_SQL = perDirection(
  (order) => `
  select date_part('epoch', b.bucket),
         case k.how when 'sum' then b.total when 'max' then b.highest else b.total / b.n end,
         k.place, b.last_zone
  from jsonb_to_recordset($1::jsonb) k (place int4, source_id int4, series_id int2, how text, lo float8, hi float8, days int4[])
  cross join lateral bucket_page(
    k.source_id, k.series_id, to_timestamp(k.lo), to_timestamp(k.hi), make_interval(secs => $3), $2, ${order === 'desc'}, k.days
  ) b
  order by b.bucket ${order}, k.series_id ${order}, k.source_id ${order}
  limit $2`,
)

/** First pages of the others, with their number of rows in such a row when they are not all: $2 is one more than the page. */
const counted = (page: string, count: string, columns: string) => `
  with page as materialized (${page})
  select * from page
  union all
  select (${count}), ${columns}
  where (select count(*) from page) >= $2`

/** With priority days: only samples know their local day. */
const COUNT_DAYS_SQL = `
  select sum(c.n)
  from jsonb_to_recordset($1::jsonb) k (source_id int4, series_id int2, days int4[])
  cross join lateral (
    select case when $3::float8 is null then count(*) else count(distinct time_bucket(make_interval(secs => $3), ts)) end as n
    from sample
    where source_id = k.source_id
      and series_id = k.series_id
      and ts >= greatest(to_timestamp($4), raw_floor())
      and ts < to_timestamp($5)
      and local_day(ts, zone_offset_min) = any (k.days)
    union all
    select count(*)
    from archived_bucket_page(k.source_id, k.series_id, to_timestamp($4), to_timestamp($5), make_interval(secs => $3), k.days)
    where $3 is not null
  ) c`

const COUNT_BUCKETS_SQL = `
  select sum(bucket_count(k.source_id, k.series_id, to_timestamp($4), to_timestamp($5), make_interval(secs => $3)))
  from jsonb_to_recordset($1::jsonb) k (source_id int4, series_id int2)`

const RAW_DAYS_COUNTED_SQL = counted(RAW_DAYS_SQL.forward, COUNT_DAYS_SQL, 'null, null, null, null')
const BUCKETS_COUNTED_SQL = counted(BUCKETS_SQL.forward, COUNT_BUCKETS_SQL, 'null, null, null')
const BUCKETS_DAYS_COUNTED_SQL = counted(BUCKETS_SQL.forward, COUNT_DAYS_SQL, 'null, null, null')

function perDirection(sql: (order: 'asc' | 'desc') => string): Record<Direction, string> {
  return { forward: sql('asc'), backward: sql('desc') }
}

interface Bounds {
  lo: number[]
  hi: number[]
}

/**
 * Each series continues after the cursor, at the cursor's own instant only if it sorts behind it there
 * (before it, when walking back). A bucket counts as its start. Seconds, as `to_timestamp` takes them.
 */
function bounds(selection: Selection, position: Position | undefined): Bounds {
  const lo: number[] = []
  const hi: number[] = []
  const step = selection.bucketMs ?? 1
  for (const { seriesId, source } of selection.stored) {
    let startMs = selection.startMs
    let endMs = selection.endMs
    if (position) {
      const order = seriesId - position.seriesId || source.id - position.sourceId
      if (position.backward) endMs = Math.min(endMs, position.timeMs + (order < 0 ? step : 0))
      else startMs = Math.max(startMs, position.timeMs + (order > 0 ? 0 : step))
    }
    lo.push(startMs / 1000)
    hi.push(endMs / 1000)
  }
  return { lo, hi }
}

/** A user's data as of a revision. */
export interface AsOf {
  userId: string
  revision: number
}

/**
 * Reads at most `limit` rows in the direction of the cursor, nearest first. Raw samples without priority days can be
 * asked for as of a revision: no rows when it is not the user's any more.
 */
export async function readRows(
  db: Database,
  selection: Selection,
  position: Position | undefined,
  limit: number,
  asOf?: AsOf,
): Promise<Row[]> {
  const direction = position?.backward ? 'backward' : 'forward'
  const { stored, bucketMs, days } = selection
  if (bucketMs !== undefined) {
    const params = [keysOf(selection, position), limit, bucketMs / 1000]
    return bucketRows(stored, await db.rows<Bucket>(BUCKETS_SQL[direction], params))
  }
  if (days) return rawRows(stored, await db.rows<Raw>(RAW_DAYS_SQL[direction], [keysOf(selection, position), limit]))
  return rawRows(stored, await db.rows<Raw>(RAW_SQL, rawParams(selection, position, limit, asOf)))
}

/** What the statements of priority days and of buckets know of each series. */
function keysOf(selection: Selection, position: Position | undefined): string {
  const { lo, hi } = bounds(selection, position)
  const keys = selection.stored.map((one, index) => ({
    place: index,
    source_id: one.source.id,
    series_id: one.seriesId,
    how: one.series.aggregation,
    lo: lo[index],
    hi: hi[index],
    days: selection.days?.[index] ?? null,
  }))
  return JSON.stringify(keys)
}

type Bucket = [at: number, value: number, place: number, zone: number | null]

function bucketRows(stored: readonly Stored[], rows: readonly Bucket[]): Row[] {
  return rows.map(([at, value, place, zone]) => ({
    timeMs: Math.round(at * 1000),
    value,
    stored: stored[place] as Stored,
    zoneMin: zone,
  }))
}

type Raw = [at: number, value: number, source: number, series: number, zone: number | null]

function rawParams(selection: Selection, position: Position | undefined, limit: number, asOf: AsOf | undefined) {
  const { lo, hi } = bounds(selection, position)
  return [
    selection.stored.map((one) => one.source.id),
    selection.stored.map((one) => one.seriesId),
    lo,
    hi,
    lo.reduce((a, b) => Math.min(a, b), selection.endMs / 1000),
    hi.reduce((a, b) => Math.max(a, b), selection.startMs / 1000),
    limit,
    position?.backward === true,
    asOf?.userId ?? null,
    asOf?.revision ?? null,
  ]
}

function rawRows(stored: readonly Stored[], rows: readonly Raw[]): Row[] {
  const find = finder(stored)
  return rows.map(([at, value, source, series, zone]) => ({
    timeMs: Math.round(at * 1000),
    value,
    stored: find(source, series),
    zoneMin: zone,
  }))
}

/**
 * Reads the first page and, unless it holds all rows, how many there are on all pages, in one statement; see `readRows`.
 */
export async function readCounted(
  db: Database,
  selection: Selection,
  limit: number,
  asOf?: AsOf,
): Promise<{ rows: Row[]; total: number }> {
  const { stored, bucketMs, days } = selection
  const [start, end] = [selection.startMs / 1000, selection.endMs / 1000]
  if (bucketMs === undefined) {
    const rows = days
      ? await db.rows<Raw>(RAW_DAYS_COUNTED_SQL, [keysOf(selection, undefined), limit, null, start, end])
      : await db.rows<Raw>(RAW_COUNTED_SQL, rawParams(selection, undefined, limit, asOf))
    const { page, total } = withoutTotal(rows)
    return { rows: rawRows(stored, page), total }
  }
  const params = [keysOf(selection, undefined), limit, bucketMs / 1000, start, end]
  const rows = await db.rows<Bucket>(days ? BUCKETS_DAYS_COUNTED_SQL : BUCKETS_COUNTED_SQL, params)
  const { page, total } = withoutTotal(rows)
  return { rows: bucketRows(stored, page), total }
}

/** Takes the row with the total, which has no series, out of the others. */
function withoutTotal<R extends Raw | Bucket>(rows: readonly R[]): { page: R[]; total: number } {
  const page = rows.filter(([, , series]) => series !== null)
  const total = rows.find(([, , series]) => series === null)?.[0] ?? page.length
  return { page, total }
}

function finder(stored: readonly Stored[]): (source: number, series: number) => Stored {
  const index = new Map(stored.map((one) => [one.source.id * 65_536 + one.seriesId, one]))
  return (source, series) => index.get(source * 65_536 + series) as Stored
}
