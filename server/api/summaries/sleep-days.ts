import { providers } from '../../catalogue/providers.ts'
import { MANUAL_OFFSET, type SeriesName, seriesByName } from '../../catalogue/series.ts'
import type { Database } from '../../db/database.ts'
import { SOURCE_COLUMNS, type Source, type SourceMetadata, type SourceRow, sourceOf } from '../../sources/source.ts'
import { isoInstant, zoneText } from '../../time.ts'
import { type DaysAsked, dateOf } from './day-page.ts'
import { tenths, whole } from './rounding.ts'

/** Means over the time asleep, by their series. */
const MEANS = {
  avg_heart_rate_bpm: 'heart_rate',
  avg_hrv_sdnn_ms: 'heart_rate_variability_sdnn',
  avg_hrv_rmssd_ms: 'heart_rate_variability_rmssd',
  avg_respiratory_rate: 'respiratory_rate',
  avg_spo2_percent: 'oxygen_saturation',
} as const satisfies Record<string, SeriesName>

const seriesId = (name: SeriesName) => seriesByName.get(name)?.id as number
const HEART_RATE = seriesId('heart_rate')

/** Who may report dates: phones say when they measured. */
const CLOUDS = providers.filter(({ hasCloudApi }) => hasCloudApi).map(({ provider }) => provider)

const FIELDS = new Map(Object.entries(MEANS).map(([field, name]) => [seriesId(name), field as keyof Means]))

type Means = Record<keyof typeof MEANS, number | null>

/** A row of the sleep summary. */
export interface SleepRow extends Means {
  date: string
  source: SourceMetadata
  start_time: string | null
  end_time: string | null
  zone_offset: string | null
  duration_minutes: number | null
  total_duration_minutes: number | null
  time_in_bed_minutes: number | null
  efficiency_percent: number | null
  stages: Record<'awake_minutes' | 'light_minutes' | 'deep_minutes' | 'rem_minutes', number | null> | null
  interruptions_count: number | null
  nap_count: number | null
  nap_duration_minutes: number | null
  sessions:
    | {
        start_time: string
        end_time: string
        zone_offset: string | null
        duration_minutes: number
        is_nap: boolean
      }[]
    | null
}

/**
 * Days with sleep: the sessions of the best source of each (contract 12.4), and for each series of MEANS the number and
 * sum of what one source measured during its main sleep, or its naps if there is nothing else: the source of the night,
 * else the best of its provider, else the best of all (decision D-27). What was entered by hand counts only where none of
 * them measured anything. At the end of a night its own source says what it measured in all of it: for that source alone
 * the end is included, unless further sleep begins there. What a cloud provider reports of a date, such as Oura's oxygen
 * saturation, belongs to the night of that date, wherever its person was: it is alone in the first quarter hour of the date in
 * UTC, without an offset. No provider reports a date's heart rate.
 */
const SLEEP_SQL = (order: 'asc' | 'desc') => `
  with source as materialized (
    select ${SOURCE_COLUMNS} from data_source d where d.user_id = $1
  ),
  session as materialized (
    select * from night_sessions(array(select id from source), $2, $3) n where $6::int4[] is null or n.day = any ($6)
  ),
  page as materialized (
    select b.day, d.*
    from (select x.day, min(x.source_id) as source_id from session x group by x.day order by x.day ${order} limit $4) b
    join source d on d.id = b.source_id
  ),
  night as materialized (
    select t.*
    from (
      select p.day, p.id as source_id, p.provider, s.start_at, s.end_at, s.is_nap is true as nap,
             bool_and(s.is_nap is true) over (partition by p.day) as only_naps
      from page p
      join session x on x.day = p.day and x.source_id = p.id
      join sleep s on s.id = x.id
    ) t
    where not t.nap or t.only_naps
  ),
  span as materialized (
    select row_number() over () as place, n.*,
           case
             when exists (select from night o where o.day = n.day and o.start_at = n.end_at) then n.end_at
             else n.end_at + interval '1 microsecond'
           end as own_end
    from night n
  ),
  -- The first quarter hour of each date in UTC that a night belongs to or reaches into.
  midnight as materialized (
    select range_agg(tstzrange(m.starts, m.starts + interval '15 minutes')) as ranges
    from (
      select to_timestamp(x.day * 86400.0) as starts
      from (
        select t.day from span t
        union
        select generate_series(local_day(t.start_at, 0::int2), local_day(t.end_at, 0::int2)) from span t
      ) x (day)
    ) m
    having count(*) > 0
  ),
  of_date as materialized (
    select k.source_id, k.series_id, local_day(q.bucket, 0::int2) as day, q.bucket as at, q.total
    from source o
    join source_series k on k.source_id = o.id and k.series_id = any ($5::int2[]) and k.series_id % ${MANUAL_OFFSET} <> ${HEART_RATE}
    cross join midnight m
    cross join lateral quarter_hours_within(k.source_id, k.series_id, m.ranges) q
    where o.provider = any ($7::text[]) and q.n = 1 and q.last_zone is null
  ),
  measured as materialized (
    select b.day, json_agg(json_build_array(b.type_id, b.manual, b.source_id, b.n, b.total)) as means
    from (
      select distinct on (g.day, g.type_id) g.*
      from (
        select v.day, v.slept_by, v.slept_with, v.source_id, v.series_id % ${MANUAL_OFFSET} as type_id,
               v.series_id >= ${MANUAL_OFFSET} as manual, sum(v.n) as n, sum(v.total) as total
        from (
          select t.day, t.source_id as slept_by, t.provider as slept_with, k.source_id, k.series_id, v.n, v.total
          from source o
          join source_series k on k.source_id = o.id and k.series_id = any ($5::int2[])
          cross join lateral (
            select array_agg(t.start_at order by t.place) as starts,
                   array_agg(case when t.source_id = o.id then t.own_end else t.end_at end order by t.place) as ends
            from span t
          ) a
          cross join lateral sums_in_spans(k.source_id, k.series_id, a.starts, a.ends) v
          join span t on t.place = v.place
          union all
          -- What is of this date and not in the night, and what is in the night and of another date.
          select n.day, n.source_id, n.provider, d.source_id, d.series_id, s.sign, s.sign * d.total
          from (select distinct day, source_id, provider from span) n
          join of_date d on (d.day = n.day) <> exists (
            select from span t
            where t.day = n.day and t.start_at <= d.at and d.at < case when t.source_id = d.source_id then t.own_end else t.end_at end
          )
          cross join lateral (select case when d.day = n.day then 1 else -1 end as sign) s
        ) v
        group by v.day, v.slept_by, v.slept_with, v.source_id, v.series_id
        having sum(v.n) > 0
      ) g
      join source o on o.id = g.source_id
      order by g.day, g.type_id, g.manual, o.id <> g.slept_by, o.provider <> g.slept_with, o.rank, g.n desc,
               o.device_model collate "C", o.source collate "C", o.id
    ) b
    group by 1
  )
  select p.*, n.sessions, m.means
  from page p
  cross join lateral (
    select json_agg(
             json_build_array(
               round(date_part('epoch', s.start_at) * 1000), round(date_part('epoch', s.end_at) * 1000), s.zone_offset_min, s.asleep_s,
               s.in_bed_s, s.awake_s, s.light_s, s.deep_s, s.rem_s, s.efficiency_percent, s.is_nap is true, s.interruptions
             )
             order by s.start_at, s.end_at
           ) as sessions
    from session x
    join sleep s on s.id = x.id
    where x.day = p.day and x.source_id = p.id
  ) n
  left join measured m on m.day = p.day
  order by p.day ${order}`

const SQL = { asc: SLEEP_SQL('asc'), desc: SLEEP_SQL('desc') }

/** Times in epoch ms, durations in seconds, null = not reported. */
type Listed = [
  startMs: number,
  endMs: number,
  zoneMin: number | null,
  asleepS: number | null,
  inBedS: number | null,
  awakeS: number | null,
  lightS: number | null,
  deepS: number | null,
  remS: number | null,
  efficiencyPercent: number | null,
  nap: boolean,
  interruptions: number | null,
]

interface DayColumns extends SourceRow {
  day: number
  sessions: Listed[]
  means: [type: number, manual: boolean, sourceId: number, n: number, total: number][] | null
}

/** Of which source a mean of a night is, and whether it was entered by hand. */
export interface Measured {
  sourceId: number
  manual: boolean
}

/** Local days, null for all, and means that are wanted. */
interface Part {
  days: readonly number[] | null
  means: readonly (keyof Means)[]
}

/**
 * A row with what it does not show: its local day, its source with its rank, whose each of its means is, whole seconds asleep
 * without naps, and the spans (epoch ms) that its means are of.
 */
export interface SleepDay {
  row: SleepRow
  day: number
  source: Source
  spans: { startMs: number; endMs: number }[]
  measured: Partial<Record<keyof Means, Measured>>
  asleepS: number | null
}

/**
 * Reads a page of local days with sleep, nearest first, in one statement; with `days` only these, and with `means` only these
 * means. A session belongs to the day on which it ended.
 */
export async function readSleep(
  db: Database,
  userId: string,
  asked: DaysAsked,
  { days = null, means = Object.keys(MEANS) as (keyof Means)[] }: Partial<Part> = {},
): Promise<SleepDay[]> {
  const series = means.flatMap((field) => [seriesId(MEANS[field]), seriesId(MEANS[field]) + MANUAL_OFFSET])
  const rows = await db.query<DayColumns>(SQL[asked.backward ? 'desc' : 'asc'], [
    userId,
    asked.firstDay,
    asked.endDay,
    asked.most,
    series,
    days,
    CLOUDS,
  ])
  return rows.map(dayOf)
}

interface Session {
  startMs: number
  endMs: number
  zone: string | null
  /** Asleep, or from start to end if that is not reported. */
  durationS: number
  inBedS: number | null
  stages: readonly (number | null)[]
  efficiency: number | null
  nap: boolean
  interruptions: number | null
}

function sessionOf([
  startMs,
  endMs,
  zone,
  asleep,
  inBedS,
  awake,
  light,
  deep,
  rem,
  efficiency,
  nap,
  interruptions,
]: Listed): Session {
  return {
    startMs,
    endMs,
    zone: zone === null ? null : zoneText(zone),
    durationS: asleep ?? (endMs - startMs) / 1000,
    inBedS,
    stages: [awake, light, deep, rem],
    efficiency,
    nap,
    interruptions,
  }
}

const minutes = (seconds: number | null) => (seconds === null ? null : Math.floor(seconds / 60))

/** Sum of the known values; null if there are none. */
function sumKnown(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length > 0 ? known.reduce((sum, value) => sum + value, 0) : null
}

/** Maximum of sessions listed for a day: their number depends on what a phone sends. */
export const SESSIONS_LISTED = 24

function dayOf(columns: DayColumns): SleepDay {
  const sessions = columns.sessions.map(sessionOf)
  const main = sessions.filter(({ nap }) => !nap)
  const naps = sessions.filter(({ nap }) => nap)
  const longest = main.toSorted((a, b) => b.endMs - b.startMs - (a.endMs - a.startMs) || a.startMs - b.startMs)[0]
  const asleepS = sumKnown(main.map(({ durationS }) => durationS))
  const napMinutes = Math.floor(naps.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0) / 60_000)
  const [awake = null, light = null, deep = null, rem = null] = [0, 1, 2, 3].map((place) =>
    minutes(sumKnown(main.map(({ stages }) => stages[place] ?? null))),
  )
  const staged = [awake, light, deep, rem].some((value) => value !== null)
  const source = sourceOf(columns)
  const { means, measured } = meansOf(columns.means)
  const row: SleepRow = {
    date: dateOf(columns.day),
    source: source.metadata,
    start_time: longest ? isoInstant(longest.startMs) : null,
    end_time: longest ? isoInstant(longest.endMs) : null,
    zone_offset: longest?.zone ?? null,
    duration_minutes: minutes(asleepS),
    total_duration_minutes: (minutes(asleepS) ?? 0) + napMinutes,
    time_in_bed_minutes: minutes(sumKnown(main.map(({ inBedS }) => inBedS))),
    efficiency_percent: efficiencyOf(main),
    stages: staged ? { awake_minutes: awake, light_minutes: light, deep_minutes: deep, rem_minutes: rem } : null,
    interruptions_count: sumKnown(main.map(({ interruptions }) => interruptions)),
    nap_count: naps.length,
    nap_duration_minutes: napMinutes,
    sessions: sessions.slice(0, SESSIONS_LISTED).map(({ startMs, endMs, zone, durationS, nap }) => ({
      start_time: isoInstant(startMs),
      end_time: isoInstant(endMs),
      zone_offset: zone,
      duration_minutes: Math.floor(durationS / 60),
      is_nap: nap,
    })),
    ...means,
  }
  const spans = main.length > 0 ? main : naps
  return { row, day: columns.day, source, spans, measured, asleepS: asleepS === null ? null : Math.floor(asleepS) }
}

/** Weighted by duration, in hundredths (contract 12.4). */
function efficiencyOf(main: readonly Session[]): number | null {
  const known = main.filter(({ efficiency }) => efficiency !== null)
  const weight = known.reduce((sum, { durationS }) => sum + durationS, 0)
  if (weight === 0) return null
  const total = known.reduce((sum, { durationS, efficiency }) => sum + durationS * (efficiency ?? 0), 0)
  return whole((total / weight) * 100) / 100
}

/** The means, and whose each is. */
function meansOf(listed: DayColumns['means']): Pick<SleepDay, 'measured'> & { means: Means } {
  const means = Object.fromEntries(Object.keys(MEANS).map((field) => [field, null])) as Means
  const measured: SleepDay['measured'] = {}
  for (const [type, manual, sourceId, n, total] of listed ?? []) {
    const field = FIELDS.get(type) as keyof Means
    means[field] = field === 'avg_heart_rate_bpm' ? whole(total / n) : tenths(total / n)
    measured[field] = { sourceId, manual }
  }
  return { means, measured }
}
