import { dayText } from '../../batch/day-counts.ts'
import type { Database } from '../../db/database.ts'
import { DAY_MS } from '../../time.ts'
import { type Asked, MAX_ZONE_MS } from './coverage-days.ts'

/** Types of a day and provider that are listed apart: a phone decides what they are called, and how many there are. */
export const TYPES_LISTED = { utc: 20, local: 15 }

/** How an entry of `unstored` is written; in local days with the probable meaning of an ignored type, if there is one. */
const ENTRY = [
  `json_build_object('collection', k.collection, 'type', k.type, 'reason', k.reason, 'items', k.items)`,
  `jsonb_build_object('collection', k.collection, 'type', k.type, 'reason', k.reason, 'items', k.items)
    || case when k.likely is null then '{}' else jsonb_build_object('likely', k.likely) end
    || case when k.known_to <> '[]' then jsonb_build_object('known_to', k.known_to) else '{}' end`,
] as const

/** Days of the person: the zone offset of the last record measured before an upload, of the first one if there is none. */
const MOVES = `
  moved as materialized (
    select r.lo, r.zone
    from (
      select z.lo, z.zone_offset_min as zone, lag(z.zone_offset_min) over (order by z.lo, z.provider) as before
      from zone_run z
      where z.user_id = $1
    ) r
    where r.before is distinct from r.zone
  ), `

const LOCAL_DAY = `(
      u.received_at + make_interval(mins => coalesce(
        (select m.zone from moved m where m.lo <= u.received_at order by m.lo desc limit 1),
        (select m.zone from moved m order by m.lo limit 1),
        0
      ))
    )`

/** The uploads that arrived on each day, and what they held that is not stored. */
const arrivalsSql = (local: boolean) => `
  with ${local ? MOVES : ''}arrived as (
    select u.provider, u.received_at, to_char(${local ? LOCAL_DAY : 'u.received_at'}, 'YYYY-MM-DD') as day,
           l.status, l.received, l.ignored, l.rejected, l.deleted, l.unstored
    from upload u
    cross join lateral (
      select e.*
      from upload e
      where e.id = u.id or e.replay_of = u.id
      order by e.status = 'queued', e.seq desc
      limit 1
    ) l
    where u.user_id = $1 and u.replay_of is null
      and u.received_at >= to_timestamp($2) and u.received_at < to_timestamp($3)
  ), named as (
    select a.day, a.provider, k.collection, k.type, k.reason, sum(k.items)::int8 as items,
           max(k.likely) as likely, (array_agg(k.known_to) filter (where k.known_to is not null))[1] as known_to,
           row_number() over (
             partition by a.day, a.provider, k.type is null
             order by sum(k.items) desc, k.collection, k.type, k.reason
           ) as place
    from arrived a
    cross join lateral jsonb_to_recordset(a.unstored) k (
      collection text, type text, reason text, items int8, likely text, known_to jsonb
    )
    group by 1, 2, 3, 4, 5
  ), kinds as (
    select n.day, n.provider, n.collection, n.reason, sum(n.items)::int8 as items,
           case when n.place <= ${local ? TYPES_LISTED.local : TYPES_LISTED.utc} then n.type end as type,
           case when n.place <= ${local ? TYPES_LISTED.local : TYPES_LISTED.utc} then n.likely end as likely,
           case when n.place <= ${local ? TYPES_LISTED.local : TYPES_LISTED.utc} then n.known_to end as known_to
    from named n
    group by 1, 2, 3, 4, 6, 7, 8
  )
  select c.*, coalesce(u.unstored, '[]') as unstored
  from (
    select a.day, a.provider, count(*) as uploads,
           count(*) filter (where a.status = 'queued') as queued,
           count(*) filter (where a.status = 'failed') as failed,
           sum(a.received)::int8 as received, sum(a.ignored)::int8 as ignored, sum(a.rejected)::int8 as rejected,
           sum(a.deleted)::int8 as deleted, max(a.received_at) as last_upload_at
    from arrived a
    group by 1, 2
  ) c
  left join (
    select k.day, k.provider,
           json_agg(${ENTRY[Number(local)]}
                    order by k.items desc, k.collection, k.type, k.reason) as unstored
    from kinds k
    group by 1, 2
  ) u using (day, provider)
  ${local ? 'where c.day >= $4 and c.day <= $5' : ''}
  order by 1, 2`

const [UTC_ARRIVALS_SQL, LOCAL_ARRIVALS_SQL] = [arrivalsSql(false), arrivalsSql(true)]

/** What arrived on each day, and what of it is not stored. */
export function readArrivals(db: Database, { view, startMs, endMs, local }: Asked): Promise<object[]> {
  const beyondMs = local ? MAX_ZONE_MS : 0
  const range = [view.userId, (startMs - beyondMs) / 1000, (endMs + beyondMs) / 1000]
  if (!local) return db.query(UTC_ARRIVALS_SQL, range)
  return db.query(LOCAL_ARRIVALS_SQL, [...range, dayText(startMs), dayText(endMs - DAY_MS)])
}
