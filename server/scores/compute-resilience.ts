import { MANUAL_OFFSET, seriesByName } from '../catalogue/series.ts'
import type { Database, Transaction } from '../db/database.ts'
import { computeDue, type Due, userDays } from './due.ts'
import { type MeasuredNight, meansAsleep, RESILIENCE_DAYS, resilience } from './resilience.ts'

const VARIABILITY = seriesByName.get('heart_rate_variability_rmssd')?.id as number
/** What was measured, and what was entered by hand. */
const VARIABILITIES = [VARIABILITY, VARIABILITY + MANUAL_OFFSET]

/**
 * The main sessions that reach into the days before the due ones, of the best source of each date of waking up
 * (contract 12.4), and the variability of all sources of their user, the best for that night first (decision D-27). A session
 * may begin on the day before it counts, and the best source of its date may have a session that ended a day earlier or later.
 */
const NIGHTS_SQL = `
  with asked as (
    select d.user_id, lower(r) as first_day, upper(r) - 1 as last_day
    from (
      select user_id, range_agg(int4range(day - ${RESILIENCE_DAYS + 1}, day + 2)) as ranges
      from unnest($1::uuid[], $2::int4[]) d (user_id, day)
      group by 1
    ) d
    cross join lateral unnest(d.ranges) r
  ), session as (
    select a.*, s.start_at, s.end_at, s.stages, s.source_id, d.provider
    from asked a
    cross join lateral night_sessions(
      array(select d.id from data_source d where d.user_id = a.user_id), a.first_day, a.last_day + 1
    ) n
    join sleep s on s.id = n.id and s.is_nap is not true
    join data_source d on d.id = s.source_id
  )
  select s.user_id, date_part('epoch', s.start_at) as "startS", date_part('epoch', s.end_at) as "endS", s.stages,
         s.source_id, m.source_ids, m.series_ids, m.ranks
  from session s
  cross join lateral (
    select array_agg(o.source_id order by o.rank, o.device, o.name, o.source_id) as source_ids,
           array_agg(o.series_id order by o.rank, o.device, o.name, o.source_id) as series_ids,
           array_agg(o.rank order by o.rank, o.device, o.name, o.source_id) as ranks
    from (
      select k.source_id, k.series_id, d.device_model collate "C" as device, d.source collate "C" as name,
             rank() over (
               order by k.series_id >= ${MANUAL_OFFSET}, d.id <> s.source_id, d.provider <> s.provider, source_rank(d.provider, d.device_type)
             )::int4 as rank
      from data_source d
      join source_series k on k.source_id = d.id and k.series_id = any ($3::int2[])
      where d.user_id = s.user_id
    ) o
  ) m
  where m.source_ids is not null
    and s.end_at > to_timestamp((s.first_day + 1) * 86400.0) and s.start_at < to_timestamp((s.last_day - 1) * 86400.0)
  order by s.user_id, s.start_at, s.end_at`

/** The first day from which on no sample of each user is archived. */
const KEPT_SQL = `
  select u.id, greatest(ceil(date_part('epoch', greatest(max(upper(k.archived)), rollup_floor())) / 86400), 0)::int4
  from unnest($1::uuid[]) u (id)
  left join data_source d on d.user_id = u.id
  left join source_series k on k.source_id = d.id and k.series_id = any ($2::int2[])
  group by 1`

interface NightRow extends Pick<MeasuredNight, 'startS' | 'endS' | 'stages'> {
  user_id: string
  /** Whose night it is. */
  source_id: number
  /** Of each series: its source, its id, and its rank for the night. */
  source_ids: number[]
  series_ids: number[]
  ranks: number[]
}

const SAVE_SQL = `
  with scored as (
    select * from jsonb_to_recordset($1) n ("userId" uuid, day int4, value float8, components jsonb)
  ), written as (
    insert into health_score as h (user_id, provider, category, value, recorded_at, components)
    select n."userId", 'internal', 'resilience', n.value, to_timestamp(n.day * 86400.0), n.components
    from scored n
    on conflict (user_id, provider, category, recorded_at) where sleep_id is null do update
    set value = excluded.value, components = excluded.components
    where (h.value, h.components) is distinct from (excluded.value, excluded.components)
    returning h.user_id
  ), gone as (
    delete from health_score h
    using unnest($2::uuid[], $3::int4[]) d (user_id, day)
    where h.user_id = d.user_id and h.recorded_at = to_timestamp(d.day * 86400.0)
      and h.provider = 'internal' and h.category = 'resilience'
      and not exists (select from scored n where n."userId" = d.user_id and n.day = d.day)
    returning h.user_id
  )
  select user_id from written union select user_id from gone`

/**
 * Computes the resilience of the days for which it is outdated (contract 14.3), and removes that of days with too little
 * data left. Scores from samples that have since been archived stay. Returns whether there is more to do.
 */
export async function computeResilience(db: Database, backfillDays: number, nowMs = Date.now()): Promise<boolean> {
  return computeDue(db, 'resilience', { backfillDays, nowMs }, score)
}

async function score(tx: Transaction, due: readonly Due[]): Promise<string[]> {
  const kept = new Map(
    await tx.rows<[userId: string, day: number]>(KEPT_SQL, [due.map(({ userId }) => userId), VARIABILITIES]),
  )
  const whole = due.map(
    ({ userId, days }): Due => ({
      userId,
      days: days.filter((day) => day - RESILIENCE_DAYS >= (kept.get(userId) ?? 0)),
    }),
  )
  const [userIds, days] = userDays(whole)
  if (days.length === 0) return []
  const nights = await readNights(tx, [userIds, days])
  const scored = whole.flatMap(({ userId, days }) => {
    const means = meansAsleep(nights.get(userId) ?? [])
    return days.flatMap((day) => {
      const before = Array.from({ length: RESILIENCE_DAYS }, (_, place) => means.get(day - RESILIENCE_DAYS + place))
      const found = resilience(before.filter((mean) => mean !== undefined))
      if (!found) return []
      const components = {
        days_counted: { value: found.days, qualifier: null },
        metric_type: { value: null, qualifier: 'RMSSD' },
        resilience_score: { value: found.score, qualifier: null },
      }
      return [{ userId, day, value: found.variation, components }]
    })
  })
  const changed = await tx.query<{ user_id: string }>(SAVE_SQL, [JSON.stringify(scored), userIds, days])
  return changed.map((row) => row.user_id)
}

/** The nights of each user, with the variability measured in them. */
async function readNights(tx: Transaction, due: [string[], number[]]): Promise<Map<string, MeasuredNight[]>> {
  const rows = await tx.query<NightRow>(NIGHTS_SQL, [...due, VARIABILITIES])
  const nights = rows.map(({ startS, endS, stages }) => ({ startS, endS, stages, samples: [] as Reading[] }))
  const probes = rows.flatMap((row, night) =>
    row.source_ids.map((sourceId, place) => ({
      ...{ startS: row.startS, night, sourceId, place },
      // At the end of its own night a source says what it measured in all of it. Samples are stored to the millisecond.
      endS: sourceId === row.source_id ? row.endS + 0.001 : row.endS,
      ...{ seriesId: row.series_ids[place] as number, rank: row.ranks[place] as number },
    })),
  )
  const samples = await tx.rows<[place: number, at: number, value: number]>(
    'select place, at, value from samples_within($1, $2, $3, $4)',
    [
      probes.map(({ sourceId }) => sourceId),
      probes.map(({ seriesId }) => seriesId),
      probes.map(({ startS }) => startS),
      probes.map(({ endS }) => endS),
    ],
  )
  for (const [place, at, value] of samples) {
    const { night, sourceId, seriesId, rank, place: order } = probes[place - 1] as (typeof probes)[number]
    nights[night]?.samples.push({ series: `${sourceId} ${seriesId}`, rank, place: order, at, value })
  }
  const byUser = new Map<string, MeasuredNight[]>()
  for (const [place, { user_id }] of rows.entries()) {
    const list = byUser.get(user_id) ?? []
    byUser.set(user_id, list)
    list.push(nights[place] as MeasuredNight)
  }
  return byUser
}

type Reading = MeasuredNight['samples'][number]
