import { MANUAL_OFFSET } from '../../catalogue/series.ts'

/** Names, in every format, of the lowest and the highest sample of a bucket and of how many it has. */
export const EXTREMES = ['min', 'max', 'count'] as const

const texts = new Map<string, string>()

/**
 * A statement of a page of buckets (at, value, place, zone; $1: its keys, $3: the width) with the number, the lowest and
 * the highest of the samples of each bucket as further columns. They are read for the time that the page covers, once it
 * is known. Measured and manual values of a type are in one bucket.
 */
export function withExtremes(sql: string): string {
  let text = texts.get(sql)
  if (text === undefined) {
    text = extremesOf(sql)
    texts.set(sql, text)
  }
  return text
}

const extremesOf = (sql: string) => `
  with row as materialized (
    select row_number() over () as number, q.* from (${sql}) q (at, value, place, zone)
  ), key as materialized (
    select k.place, k.source_id, k.series_id, k.series_id % ${MANUAL_OFFSET} as type_id, k.ranges,
           to_timestamp(k.lo) as lo, to_timestamp(k.hi) as hi
    from jsonb_to_recordset($1::jsonb) k (place int4, source_id int4, series_id int2, lo float8, hi float8, ranges tstzmultirange)
  ), extreme as materialized (
    select c.source_id, c.type_id, e.bucket, sum(e.n)::int8 as n, min(e.lowest) as lowest, max(e.highest) as highest
    from (
      select k.source_id, k.type_id, to_timestamp(min(r.at)) as first,
             to_timestamp(max(r.at)) + make_interval(secs => $3) as last
      from row r
      join key k on k.place = r.place
      group by 1, 2
    ) c
    join key k on k.source_id = c.source_id and k.type_id = c.type_id
    cross join lateral bucket_extremes(
      k.source_id, k.series_id, greatest(k.lo, c.first), least(k.hi, c.last), make_interval(secs => $3), k.ranges
    ) e
    group by 1, 2, 3
  )
  select r.at, r.value, r.place, r.zone, e.n, e.lowest, e.highest
  from row r
  left join key k on k.place = r.place
  left join extreme e on e.source_id = k.source_id and e.type_id = k.type_id and e.bucket = to_timestamp(r.at)
  order by r.number`
