import type { Database } from '../../db/database.ts'
import { bySourceRank, type Source, type Stored } from './user-view.ts'

/**
 * How far samples of one local date may lie apart: a day, and 18 hours of zone offset on either side. A better source
 * of a date that the range touches may lie that far outside of it.
 */
const LOCAL_DATE_MS = 60 * 3_600_000

const DAYS_SQL = `
  select k.position, d.day
  from jsonb_to_recordset($1::jsonb) k (position int4, source_id int4, series_id int2)
  cross join lateral (
    select distinct local_day(ts, zone_offset_min) as day
    from sample
    where source_id = k.source_id
      and series_id = k.series_id
      and ts >= greatest(to_timestamp($2), raw_floor())
      and ts < to_timestamp($3)
    union
    select local_day(bucket, last_zone)
    from rollup_15min
    where source_id = k.source_id
      and series_id = k.series_id
      and bucket >= to_timestamp($2)
      and bucket < least(to_timestamp($3), raw_floor())
  ) d`

/**
 * The local days each stored series may show when only the best source counts: per series type and local date the
 * best-ranked source that has the type on that date (contract D-14 and 12.1). In the order of `stored`.
 */
export async function priorityDays(
  db: Database,
  stored: readonly Stored[],
  startMs: number,
  endMs: number,
): Promise<number[][]> {
  const keys = stored.map((one, position) => ({ position, source_id: one.source.id, series_id: one.seriesId }))
  const rows = await db.rows<[position: number, day: number]>(DAYS_SQL, [
    JSON.stringify(keys),
    (startMs - LOCAL_DATE_MS) / 1000,
    (endMs + LOCAL_DATE_MS) / 1000,
  ])
  const best = new Map<string, Source>()
  const dayKey = (one: Stored, day: number) => `${one.series.id} ${day}`
  for (const [position, day] of rows) {
    const one = stored[position] as Stored
    const key = dayKey(one, day)
    const leader = best.get(key)
    if (!leader || bySourceRank(one.source, leader) < 0) best.set(key, one.source)
  }
  const days: number[][] = stored.map(() => [])
  for (const [position, day] of rows) {
    const one = stored[position] as Stored
    if (best.get(dayKey(one, day)) === one.source) days[position]?.push(day)
  }
  return days
}
