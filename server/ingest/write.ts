import { DAILY_TOTAL_OFFSET, seriesById } from '../catalogue/series.ts'
import { copyInto, encodeSamples } from '../db/copy.ts'
import type { Transaction } from '../db/database.ts'
import type { SampleColumns, SourceIdentity } from './columns.ts'

/** What a batch did to one series; times bound the samples that changed. */
export interface SeriesCounts {
  type: string
  inserted: number
  updated: number
  firstTs: string | null
  lastTs: string | null
}

/** Returns the database keys of a batch's sources, in its order; unknown ones are created, better facts kept. */
export async function resolveSources(
  tx: Transaction,
  userId: string,
  provider: string,
  connectionId: string,
  sources: readonly SourceIdentity[],
): Promise<number[]> {
  if (sources.length === 0) return []
  const rows = await tx.query<{ id: number }>(
    `with input as (
       select * from unnest($4::text[], $5::text[], $6::text[], $7::text[]) with ordinality
         as input (device_model, source, software_version, device_type, position)
     ), written as (
       insert into data_source as d (user_id, provider, connection_id, device_model, source, software_version, device_type)
       select $1, $2, $3, i.device_model, i.source, i.software_version, i.device_type from input i
       on conflict (user_id, provider, device_model, source) do update
       set software_version = coalesce(excluded.software_version, d.software_version),
           device_type = case when excluded.device_type in ('unknown', 'other') then d.device_type else excluded.device_type end,
           connection_id = coalesce(d.connection_id, excluded.connection_id)
       where (coalesce(excluded.software_version, d.software_version), d.connection_id is null)
               is distinct from (d.software_version, false)
          or (excluded.device_type not in ('unknown', 'other') and excluded.device_type <> d.device_type)
       returning d.id, d.device_model, d.source
     )
     select coalesce(w.id, d.id) as id
     from input i
     left join written w on (w.device_model, w.source) = (i.device_model, i.source)
     left join data_source d on d.user_id = $1 and d.provider = $2 and (d.device_model, d.source) = (i.device_model, i.source)
     order by i.position`,
    [
      userId,
      provider,
      connectionId,
      sources.map((source) => source.deviceModel),
      sources.map((source) => source.source),
      sources.map((source) => source.softwareVersion),
      sources.map((source) => source.deviceType),
    ],
  )
  return rows.map((row) => row.id)
}

/**
 * Merges samples into the database inside the caller's transaction: new ones are inserted, changed ones updated,
 * unchanged ones left alone. The caller holds the user's ingest lock, which serialises the batches of a source.
 */
export async function writeSamples(
  tx: Transaction,
  samples: readonly SampleColumns[],
  sourceIds: readonly number[],
): Promise<SeriesCounts[]> {
  const total = samples.reduce((sum, columns) => sum + columns.timeMs.length, 0)
  if (total === 0) return []
  await tx.client.query(
    `create temporary table if not exists incoming (
       ts timestamptz, value float8, source_id int4, series_id int2, zone_offset_min int2
     ) on commit delete rows`,
  )
  await copyInto(tx.client, 'incoming', encodeSamples(samples, sourceIds))
  const [loMs, hiMs] = timeRange(samples)
  const rows = await tx.query<{
    series: number
    is_new: boolean
    row_count: number
    first_ts: string
    last_ts: string
  }>('select series, is_new, row_count, first_ts, last_ts from merge_samples($1, to_timestamp($2), to_timestamp($3))', [
    total,
    loMs / 1000,
    hiMs / 1000,
  ])
  const pairs = samples.map((columns) => [sourceIds[columns.source] as number, columns.seriesId] as const)
  await tx.query(
    `insert into source_series (source_id, series_id)
     select distinct source_id, series_id from unnest($1::int4[], $2::int2[]) pair (source_id, series_id)
     on conflict do nothing`,
    [pairs.map(([source]) => source), pairs.map(([, series]) => series)],
  )
  return countsBySeries(rows)
}

function timeRange(samples: readonly SampleColumns[]): [loMs: number, hiMs: number] {
  let lo = Number.POSITIVE_INFINITY
  let hi = Number.NEGATIVE_INFINITY
  for (const { timeMs } of samples) {
    lo = Math.min(lo, timeMs[0] ?? lo)
    hi = Math.max(hi, timeMs.at(-1) ?? hi)
  }
  return [lo, hi]
}

/** A series and its daily totals are one type to the outside. */
function countsBySeries(
  rows: { series: number; is_new: boolean; row_count: number; first_ts: string; last_ts: string }[],
): SeriesCounts[] {
  const counts = new Map<string, SeriesCounts>()
  for (const row of rows) {
    const type = seriesById.get(row.series % DAILY_TOTAL_OFFSET)?.type ?? 'unknown'
    const count = counts.get(type) ?? { type, inserted: 0, updated: 0, firstTs: null, lastTs: null }
    if (row.is_new) count.inserted += row.row_count
    else count.updated += row.row_count
    if (!count.firstTs || row.first_ts < count.firstTs) count.firstTs = row.first_ts
    if (!count.lastTs || row.last_ts > count.lastTs) count.lastTs = row.last_ts
    counts.set(type, count)
  }
  return [...counts.values()]
}
