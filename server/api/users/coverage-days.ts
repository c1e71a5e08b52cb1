import { dayText } from '../../batch/day-counts.ts'
import { IMPLAUSIBLE_OFFSET } from '../../catalogue/series.ts'
import type { Database } from '../../db/database.ts'
import type { UserView } from '../../sources/user-view.ts'
import { DAY_MS } from '../../time.ts'
import { type CountRow, joined } from './coverage-joined.ts'

/** Whose days are asked for: whole days of UTC, or of the calendar of the person, epoch ms; the last one excluded. */
export interface Asked {
  view: UserView
  startMs: number
  endMs: number
  /** Whether days begin at the person's midnight: that of the zone offset of each record. */
  local: boolean
}

/** Furthest that midnight is from that of UTC. */
export const MAX_ZONE_MS = 18 * 3_600_000

/** Of a record, the day in UTC or in its own zone. A night belongs to the local day of waking, as in the summaries. */
const dayOf = (at: string, local: boolean) =>
  local
    ? `to_char(date '1970-01-01' + local_day(${at}, e.zone_offset_min), 'YYYY-MM-DD')`
    : `to_char(${at}, 'YYYY-MM-DD')`

/** The source of a count of `days` or `rejected_days`: of an upload that was imported again, the last import. */
const counted = (local: boolean) => `u.user_id = $1 and u.days is not null
    and u.last_day >= $2::date - ${Number(local)} and u.first_day <= $3::date + ${Number(local)}
    and d.day >= $2::date::text and d.day <= $3::date::text
    and not exists (
      select from upload r
      where r.replay_of = coalesce(u.replay_of, u.id) and r.seq > u.seq and r.days is not null
    )`

/** Uploads that were imported before their local days were counted have those of UTC. */
const columnsOf = (local: boolean) =>
  local
    ? {
        days: 'coalesce(u.local_days, u.days)',
        rejected: 'case when u.local_days is null then u.rejected_days else u.local_rejected_days end',
      }
    : { days: 'u.days', rejected: 'u.rejected_days' }

/** Samples of each series by day, as `daily_counts` packs them. */
const samplesSql = (local: boolean) =>
  local
    ? `
  select 'samples', null, null, null, null, k.place, null, c.pairs
  from unnest($4::int4[], $5::int2[]) with ordinality k (source_id, series_id, place)
  cross join lateral (
    select string_agg(int8send(d.day::int8 << 32 | d.n), '') as pairs
    from local_days(
      k.source_id, k.series_id, $2::date - date '1970-01-01', $3::date - date '1970-01-01' + 1, false
    ) d
    where d.n > 0
  ) c
  where c.pairs is not null`
    : `
  select 'samples', null, null, null, null, c.place, null, c.pairs
  from daily_counts($4, $5, to_timestamp($6), to_timestamp($7)) c`

/**
 * Four kinds of rows: items received (by provider and type, for each day its number, how many, and when the last upload came in
 * microseconds), items rejected, stored sessions and records, stored samples (see daily_counts).
 */
const daysSql = (local: boolean) => `
  -- An upload that was imported again counts for the day it first arrived. Packed, since there are thousands: a row for each
  -- costs more than all of the statement.
  select 'received' as kind, null as day, g.provider, g.type, null as reason, null::int8 as n, null::timestamptz as last_upload_at,
         string_agg(int8send((g.day::date - date '1970-01-01')::int8 << 32 | g.items) || int8send(g.last_us), '') as pairs
  from (
    select d.day, u.provider, t.type, sum(d.items::int8)::int8 as items,
           round(date_part('epoch', max(coalesce(o.received_at, u.received_at))) * 1e6)::int8 as last_us
    from upload u
    left join upload o on o.id = u.replay_of
    cross join lateral jsonb_each(${columnsOf(local).days}) t (type, days)
    cross join lateral jsonb_each_text(t.days) d (day, items)
    where ${counted(local)}
    group by 1, 2, 3
  ) g
  group by 3, 4
  union all
  select 'rejected', d.day, u.provider, t.type, r.reason, sum(r.items::int8)::int8, null, null
  from upload u
  cross join lateral jsonb_each(${columnsOf(local).rejected}) t (type, days)
  cross join lateral jsonb_each(t.days) d (day, reasons)
  cross join lateral jsonb_each_text(d.reasons) r (reason, items)
  where ${columnsOf(local).rejected} is not null and ${counted(local)}
  group by 2, 3, 4, 5
  union all
  select 'stored', ${dayOf('e.at', local)}, d.provider, e.type, null, count(*), null, null
  from (
    select source_id, ${local ? 'end_at' : 'start_at'} as at, zone_offset_min, 'sleep' as type from sleep where user_id = $1
    union all
    select source_id, start_at, zone_offset_min, 'workout' from workout where user_id = $1
    union all
    select source_id, start_at, zone_offset_min, 'meal' from meal where user_id = $1
    union all
    select source_id, ts, zone_offset_min, 'meal_nutrient' from meal_nutrient where user_id = $1
    union all
    select source_id, start_at, zone_offset_min, 'menstrual_cycle' from menstrual_cycle where user_id = $1
    union all
    select source_id, start_at, zone_offset_min, 'activity' from activity where user_id = $1
    union all
    select source_id, recorded_at, zone_offset_min, 'health_score'
    from health_score
    where user_id = $1 and external_id is not null
  ) e
  join data_source d on d.id = e.source_id
  where e.at >= to_timestamp($6) and e.at < to_timestamp($7)
  group by 2, 3, 4
  union all
  select 'implausible', ${dayOf('e.ts', local)}, e.provider, 'meal_nutrient', null, count(*), null, null
  from meal_nutrient e
  where e.user_id = $1 and e.series_id >= ${IMPLAUSIBLE_OFFSET} and e.ts >= to_timestamp($6) and e.ts < to_timestamp($7)
  group by 2, 3
  union all
  ${samplesSql(local)}`

/**
 * What there is beside the days asked for: first and last upload and day of each provider, and what is kept. Each end is
 * looked up in an index, since a person has thousands of uploads a year.
 */
const BESIDE_SQL = `
  (with sender as (
    select c.provider from connection c where c.user_id = $1
    union
    select e.provider from upload e where e.user_id = $1 and e.status = 'queued'
  ), ends as materialized (
    select s.provider,
      (select e.received_at from upload e
       where e.user_id = $1 and e.provider = s.provider and e.replay_of is null
       order by e.received_at limit 1) as first_at,
      (select e.received_at from upload e
       where e.user_id = $1 and e.provider = s.provider and e.replay_of is null
       order by e.received_at desc limit 1) as last_at,
      (select e.last_day from upload e
       where e.user_id = $1 and e.provider = s.provider and e.days is not null and e.last_day is not null
       order by e.last_day limit 1) as first_end,
      (select e.last_day from upload e
       where e.user_id = $1 and e.provider = s.provider and e.days is not null and e.last_day is not null
       order by e.last_day desc limit 1) as last_end
    from sender s
  )
  select 'first', f.day, s.provider, null::text, null::text, null::int8, s.first_at, null::bytea
  from ends s
  left join lateral (
    -- The earliest item is in one of the uploads that begin before the first one ends; by the local day of that item, which
    -- may be the one before, or after, that of UTC.
    select min(d.day) as day
    from upload e
    cross join lateral jsonb_each(coalesce(e.local_days, e.days)) t (type, days)
    cross join lateral jsonb_object_keys(t.days) d (day)
    where e.user_id = $1 and e.provider = s.provider and e.days is not null and e.first_day <= s.first_end + 1
  ) f on true
  where s.first_at is not null
  union all
  select 'last', f.day, s.provider, null, null, null, s.last_at, null
  from ends s
  left join lateral (
    select max(d.day) as day
    from upload e
    cross join lateral jsonb_each(coalesce(e.local_days, e.days)) t (type, days)
    cross join lateral jsonb_object_keys(t.days) d (day)
    where e.user_id = $1 and e.provider = s.provider and e.days is not null and e.last_day >= s.last_end - 1
  ) f on true
  where s.last_at is not null)
  union all
  select f.kind, null, null, null, null, null, nullif(f.floor, '-infinity'), null
  from (values ('samples_kept_from', raw_floor()), ('data_kept_from', rollup_floor())) f (kind, floor)`

const DAYS_SQL = daysSql(false)
const LOCAL_DAYS_SQL = `${daysSql(true)}
  union all
  ${BESIDE_SQL}`

type BesideRow =
  | { kind: 'first' | 'last'; day: string | null; provider: string; last_upload_at: string }
  | { kind: 'samples_kept_from' | 'data_kept_from'; last_upload_at: string | null }

/** What was received and what is stored by day, provider and type; in local days, with what lies outside them. */
export async function readDays(db: Database, { view, startMs, endMs, local }: Asked) {
  const stored = [...view.stored, ...view.implausible]
  const beyondMs = local ? MAX_ZONE_MS : 0
  const [firstDay, lastDay] = [dayText(startMs), dayText(endMs - DAY_MS)]
  const rows = await db.query<CountRow | BesideRow>(local ? LOCAL_DAYS_SQL : DAYS_SQL, [
    view.userId,
    firstDay,
    lastDay,
    stored.map(({ source }) => source.id),
    stored.map(({ seriesId }) => seriesId),
    (startMs - beyondMs) / 1000,
    (endMs + beyondMs) / 1000,
  ])
  const days = joined(rows.filter(isCount), stored)
  return {
    days: local ? days.filter(({ day }) => day >= firstDay && day <= lastDay) : days,
    ...(local && besideOf(rows.filter((row) => !isCount(row)))),
  }
}

const isCount = (row: CountRow | BesideRow): row is CountRow =>
  row.kind !== 'first' && row.kind !== 'last' && row.kind !== 'samples_kept_from' && row.kind !== 'data_kept_from'

function besideOf(rows: readonly BesideRow[]) {
  const found = (kind: BesideRow['kind'], provider?: string) =>
    rows.find(
      (row) =>
        row.kind === kind && ('provider' in row && row.provider !== null ? row.provider : undefined) === provider,
    )
  const dayOfEnd = (row: BesideRow | undefined) => (row && 'day' in row ? row.day : null)
  const names = rows.flatMap((row) => (row.kind === 'first' ? [row.provider] : [])).sort()
  return {
    providers: names.map((provider) => {
      const [first, last] = [found('first', provider), found('last', provider)]
      return {
        provider,
        first_upload_at: first?.last_upload_at ?? null,
        last_upload_at: last?.last_upload_at ?? null,
        first_day: dayOfEnd(first),
        last_day: dayOfEnd(last),
      }
    }),
    samples_kept_from: found('samples_kept_from')?.last_upload_at ?? null,
    data_kept_from: found('data_kept_from')?.last_upload_at ?? null,
  }
}
