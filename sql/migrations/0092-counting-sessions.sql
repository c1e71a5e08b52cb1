-- Of sessions of one source that overlap, the longest counts, where one with stages counts twice; what does not count covers
-- nothing (server/store/sleep/day.ts). Stored sessions are judged like new ones: the best first,
do $$
declare
  one record;
begin
  create temporary table judged (
    id uuid, source_id int4, start_at timestamptz, end_at timestamptz, covered boolean
  ) on commit drop;
  create index on judged (source_id, end_at) where not covered;
  for one in
    select s.id, s.source_id, s.start_at, s.end_at
    from sleep s
    cross join lateral (
      select coalesce(s.asleep_s, date_part('epoch', s.end_at - s.start_at)) as asleep_s
    ) a
    where exists (
      select from sleep o
      where o.source_id = s.source_id and o.id <> s.id
        and o.end_at > s.end_at - interval '24 hours' and o.end_at < s.end_at + interval '24 hours'
        and o.start_at < s.end_at and o.end_at > s.start_at
    )
    order by (a.asleep_s + coalesce(s.awake_s, 0)) * case when s.light_s is null then 1 else 2 end desc, a.asleep_s desc,
             s.start_at, s.end_at, s.session collate "C", s.id
  loop
    insert into judged
    select one.id, one.source_id, one.start_at, one.end_at, exists (
      select from judged o
      where not o.covered and o.source_id = one.source_id
        and o.end_at > one.end_at - interval '24 hours' and o.end_at < one.end_at + interval '24 hours'
        and o.start_at < one.end_at and o.end_at > one.start_at
    );
  end loop;
  update sleep s set covered = j.covered from judged j where j.id = s.id and s.covered <> j.covered;
end
$$;

-- and a nap is no part of the longest sleep of the user on that day, whichever source recorded that.
with session as materialized (
  select s.id, s.user_id, s.start_at, s.end_at, s.covered,
         coalesce(s.asleep_s, date_part('epoch', s.end_at - s.start_at)) as asleep_s,
         s.start_at at time zone 'UTC' + coalesce(s.zone_offset_min, 0) * interval '1 minute' as local_start,
         (s.end_at at time zone 'UTC' + coalesce(s.zone_offset_min, 0) * interval '1 minute')::date as day
  from sleep s
), longest as materialized (
  select distinct on (user_id, day) user_id, day, start_at, end_at
  from session
  where not covered
  order by user_id, day, asleep_s desc, start_at, end_at
)
update sleep s
set is_nap = n.nap
from (
  select x.id,
         x.asleep_s < 10800 and x.local_start::time >= '9:00' and x.local_start::time < '20:00'
           and (x.start_at < l.end_at and x.end_at > l.start_at) is not true as nap
  from session x
  left join longest l on l.user_id = x.user_id and l.day = x.day
) n
where n.id = s.id and s.is_nap is distinct from n.nap;

-- Another night may count on a date, though nothing of it changed: no client keeps the answer it has.
update app_user u set revision = revision + 1 where exists (select from sleep s where s.user_id = u.id);
