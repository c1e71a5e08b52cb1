import type { Database, Transaction } from '../db/database.ts'
import { computeDue, type Due, userDays } from './due.ts'
import { bedtimeS, type ScoredSleep, sleepScore } from './sleep-score.ts'

/** The earlier nights that define the usual bedtime (contract 14.2). */
const NIGHTS_BEFORE = 14

/**
 * The sessions that ended on the due days, including naps, with those of the nights before. `night`: whether it is the
 * longest main one of the best source of its date (contract 12.4): later nights are compared with that bedtime, whatever
 * other sources report.
 */
const SESSIONS_SQL = `
  with due as (
    select user_id, range_agg(int4range(day, day + 1)) as days, range_agg(int4range(day - ${NIGHTS_BEFORE}, day + 1)) as ranges
    from unnest($1::uuid[], $2::int4[]) d (user_id, day)
    group by 1
  ), asked as (
    select d.user_id, d.days, lower(r) as first_day, upper(r) - 1 as last_day
    from due d
    cross join lateral unnest(d.ranges) r
  ), counting as materialized (
    select n.id
    from asked a
    cross join lateral night_sessions(
      array(select d.id from data_source d where d.user_id = a.user_id), a.first_day, a.last_day + 1
    ) n
  )
  select s.user_id, s.id, l.day, a.days @> l.day as due, s.is_nap is true or s.covered as unscored,
         date_part('epoch', s.start_at) as "startS", s.zone_offset_min as "zoneMin", s.asleep_s as "asleepS",
         s.deep_s as "deepS", s.rem_s as "remS", s.awake_s as "awakeS", case when a.days @> l.day then s.stages end as stages,
         s.is_nap is not true and n.id is not null and row_number() over (
           partition by s.user_id, l.day
           order by n.id is null, s.is_nap is true, s.asleep_s desc nulls last, s.start_at, s.id
         ) = 1 as night
  from asked a
  join data_source d on d.user_id = a.user_id
  cross join lateral (
    select *
    from sleep
    where source_id = d.id and end_at >= day_starts(a.first_day) and end_at < day_ends(a.last_day)
    offset 0
  ) s
  cross join lateral local_day(s.end_at, s.zone_offset_min) l (day)
  left join counting n on n.id = s.id
  where l.day between a.first_day and a.last_day`

interface SessionRow extends ScoredSleep {
  user_id: string
  id: string
  day: number
  due: boolean
  unscored: boolean
  night: boolean
}

const SAVE_SQL = `
  with scored as (
    select * from jsonb_to_recordset($1) n (id uuid, value float8, components jsonb)
  ), written as (
    insert into health_score as h (user_id, provider, category, value, recorded_at, zone_offset_min, components, sleep_id)
    select s.user_id, 'internal', 'sleep', n.value, s.end_at, s.zone_offset_min, n.components, s.id
    from scored n
    join sleep s on s.id = n.id
    on conflict on constraint health_score_sleep_key do update
    set value = excluded.value, recorded_at = excluded.recorded_at, zone_offset_min = excluded.zone_offset_min,
        components = excluded.components
    where (h.value, h.recorded_at, h.zone_offset_min, h.components)
          is distinct from (excluded.value, excluded.recorded_at, excluded.zone_offset_min, excluded.components)
    returning h.user_id
  ), gone as (
    delete from health_score h
    using unnest($2::uuid[]) s (id)
    where h.sleep_id = s.id and h.provider = 'internal'
    returning h.user_id
  )
  select user_id from written union select user_id from gone`

/**
 * Computes the outdated sleep scores of main sessions (contract 14.2), and removes those of sessions that turned out to be
 * naps, or copies of another session. Returns whether there is more to do.
 */
export function computeSleepScores(db: Database, backfillDays: number, nowMs = Date.now()): Promise<boolean> {
  return computeDue(db, 'sleep', { backfillDays, nowMs }, score)
}

async function score(tx: Transaction, due: readonly Due[]): Promise<string[]> {
  const sessions = await tx.query<SessionRow>(SESSIONS_SQL, userDays(due))
  const bedtimes = new Map(
    sessions.filter(({ night }) => night).map((session) => [`${session.user_id} ${session.day}`, bedtimeS(session)]),
  )
  const scored: object[] = []
  const unscored: string[] = []
  for (const session of sessions.filter((one) => one.due)) {
    const earlier = Array.from({ length: NIGHTS_BEFORE }, (_, nights) =>
      bedtimes.get(`${session.user_id} ${session.day - nights - 1}`),
    ).filter((bedtime) => bedtime !== undefined)
    const found = session.unscored ? null : sleepScore(session, earlier)
    if (!found) {
      unscored.push(session.id)
      continue
    }
    const { value, ...components } = found
    const parts = Object.entries(components).map(([name, points]) => [name, { value: points, qualifier: null }])
    scored.push({ id: session.id, value, components: Object.fromEntries(parts) })
  }
  if (sessions.length === 0) return []
  const changed = await tx.query<{ user_id: string }>(SAVE_SQL, [JSON.stringify(scored), unscored])
  return changed.map((row) => row.user_id)
}
