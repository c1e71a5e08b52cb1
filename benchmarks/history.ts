import type { Client } from 'pg'
import { DATA_START_MS } from './generate.ts'
import type { Service } from './service.ts'

/** A series of a long history: its id, seconds between two samples, lowest value, range, decimals. */
const SERIES = [
  [1, 126, 48, 110, 0],
  [80, 600, 1, 60, 0],
  [81, 600, 0.1, 5, 3],
  [82, 900, 0.5, 1, 3],
  [100, 900, 1, 40, 2],
  [24, 1_800, 11, 9, 1],
  [20, 3_600, 93, 7, 0],
  [3, 7_200, 20, 90, 2],
  [2, 86_400, 45, 20, 0],
  [41, 604_800, 60, 30, 1],
] as const

/** Seconds of the first sample of every history. */
export const HISTORY_START = DATA_START_MS / 1000

/** Seconds of a year. */
export const YEAR_SECONDS = 365 * 86_400

interface History {
  userId: string
  /** Keys as in the table. */
  sourceId: number
  samples: number
}

/**
 * Stores `years` of ten series of a new user, from frequent heart rates to weekly weights, straight into the table with
 * the notes an import adds; `thin` keeps only one in so many samples.
 */
export async function storeHistory(service: Service, db: Client, years: number, thin = 1): Promise<History> {
  const userId = await service.createUser()
  const { rows } = await db.query<{ id: number }>(
    `insert into data_source (user_id, provider, device_model, source, device_type)
     values ($1, 'apple', 'Watch7,5', 'Watch', 'watch') returning id`,
    [userId],
  )
  const sourceId = rows[0]?.id as number
  let samples = 0
  for (const [seriesId, everySeconds, lowest, range, decimals] of SERIES) {
    const { rowCount } = await db.query(
      `insert into sample (ts, value, source_id, series_id, zone_offset_min)
       select to_timestamp($3::float8 + n * $5::float8 + (hashint4(n * 31 + $2::int4) & 1023) % greatest(1, ($5::float8 / 3)::int4)),
              round(($6::float8 + (hashint4(n + $2::int4) & 65535) / 65535.0::float8 * $7::float8)::numeric, $8)::float8, $1, $2::int4, 60
       from generate_series(0, floor($4::float8 / $5::float8)::int4 - 1) n`,
      [sourceId, seriesId, HISTORY_START, years * YEAR_SECONDS, everySeconds * thin, lowest, range, decimals],
    )
    samples += rowCount ?? 0
    await db.query('select note_added(array[$1::int4], array[$2::int2], array[$3::float8], array[$4::float8])', [
      sourceId,
      seriesId,
      HISTORY_START,
      HISTORY_START + years * YEAR_SECONDS,
    ])
  }
  await db.query('update app_user set revision = revision + 1 where id = $1', [userId])
  return { userId, sourceId, samples }
}

/**
 * Gives a user of storeHistory a phone beside the watch: from 6 to 22 o'clock the same steps, energy and distance a minute later.
 * The watch is off on every seventh day of the year.
 */
export async function storePhone(
  db: Client,
  { userId, sourceId }: Pick<History, 'userId' | 'sourceId'>,
): Promise<void> {
  const { rows } = await db.query<{ id: number }>(
    `insert into data_source (user_id, provider, device_model, source, device_type)
     values ($1, 'apple', 'iPhone17,1', 'Phone', 'phone') returning id`,
    [userId],
  )
  await db.query(
    `insert into sample (ts, value, source_id, series_id, zone_offset_min)
     select ts + interval '1 minute', value, $1, series_id, zone_offset_min from sample
     where source_id = $2 and series_id in (80, 81, 100) and date_part('hour', ts) between 6 and 21`,
    [rows[0]?.id, sourceId],
  )
  await db.query("delete from sample where source_id = $1 and date_part('doy', ts)::int4 % 7 = 3", [sourceId])
  await db.query(
    `select note_added(array[$1, $1, $1]::int4[], array[80, 81, 100]::int2[], array_agg(lo), array_agg(hi))
     from (select date_part('epoch', min(ts)) as lo, date_part('epoch', max(ts)) + 1 as hi from sample where source_id = $1) r
     cross join generate_series(1, 3)`,
    [rows[0]?.id],
  )
}

/** Does what production does within minutes and at night: refreshes and thins rollups, then vacuums and analyzes new rows like autovacuum. */
export async function settle(db: Client): Promise<void> {
  const refresh = `call refresh_due_series('120 days', 100, 'infinity', null)`
  while ((await db.query(refresh)).rows[0].did);
  const days = `select refresh_local_days(source_id, series_id, local_days_due(), 120)
                from (select distinct source_id, series_id from rollup_local_day where stale and day < local_days_due()) d`
  while ((await db.query(days)).rows.length > 0);
  await db.query('select thin_series(source_id, series_id) from source_series')
  await db.query('vacuum (analyze) sample')
  for (const table of ['rollup_15min', 'rollup_1hour', 'rollup_1day', 'rollup_local_day'])
    await db.query(`vacuum (analyze) ${table}`)
}
