// What a database has of users in the form in which events tell it, and what it had.
import { seriesByName, storedSeries } from '../../../server/catalogue/series.ts'
import type { Database } from '../../../server/db/database.ts'
import { zoneText } from '../../../server/time.ts'

/** The tables of which each row has events of its own. */
export const ROWS = ['workout', 'sleep', 'meal', 'menstrual_cycle', 'activity'] as const

/** Keeps what is deleted or replaced from now on: that it was told is right. */
export async function keepWhatGoes(db: Database): Promise<void> {
  await db.query('create table gone_row (kind text not null, id uuid not null)')
  await db.query(`
    create table gone_sample (
      source_id int4 not null, series_id int2 not null, ts timestamptz not null, value float8 not null, zone_offset_min int2
    )`)
  await db.query(`
    create function keep_gone_row() returns trigger language plpgsql as $$
    begin
      insert into gone_row values (tg_table_name, old.id);
      return null;
    end
    $$`)
  await db.query(`
    create function keep_gone_sample() returns trigger language plpgsql as $$
    begin
      insert into gone_sample values (old.source_id, old.series_id, old.ts, old.value, old.zone_offset_min);
      return null;
    end
    $$`)
  for (const table of ROWS)
    await db.query(`create trigger keep_gone after delete on ${table} for each row execute function keep_gone_row()`)
  await db.query(
    'create trigger keep_gone after update or delete on sample for each row execute function keep_gone_sample()',
  )
}

interface SampleSaid {
  readonly user: string
  readonly provider: string
  readonly series: string
  readonly atMs: number
  readonly value: number
  readonly zone: string | null
  readonly device: string | null
  /** Whether it is the total of a day; null: nothing that adds up. */
  readonly daily: boolean | null
}

/** A sample in one line. */
export const sampleLine = ({ user, provider, series, atMs, value, zone, device, daily }: SampleSaid) =>
  `${user} ${provider} ${series} ${atMs} ${value} ${zone} ${device} ${daily}`

/** The lines of the samples that are there, or that were. */
export async function sampleLines(db: Database, table: 'sample' | 'gone_sample'): Promise<Set<string>> {
  const additive = new Set(
    (await db.query<{ type: string }>(`select type from series_type where aggregation = 'sum'`)).map(
      ({ type }) => type,
    ),
  )
  const lines = new Set<string>()
  const sources = await db.query<{ id: number; user: string; provider: string; device: string | null }>(
    `select id, user_id as user, provider, nullif(device_model, '') as device from data_source`,
  )
  for (const { id, ...source } of sources)
    for (const { at, series_id, value, zone } of await db.query<Row>(
      `select date_part('epoch', ts) * 1000 as at, series_id, value, zone_offset_min as zone
       from ${table} where source_id = $1`,
      [id],
    )) {
      const known = storedSeries(series_id)
      const series = known?.series.type ?? `? ${series_id}`
      const { lowest = value, highest = value } = seriesByName.get(series) ?? {}
      // Implausible values are stored, but in no event.
      if (value < lowest || value > highest) continue
      const daily = additive.has(series) ? known?.isDailyTotal === true : null
      lines.add(sampleLine({ ...source, series, atMs: at, value, zone: zone === null ? null : zoneText(zone), daily }))
    }
  return lines
}

interface Row {
  readonly at: number
  readonly series_id: number
  readonly value: number
  readonly zone: number | null
}
