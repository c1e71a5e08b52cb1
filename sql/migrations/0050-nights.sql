-- Which sessions of sleep count, and what was measured in sessions whose samples are archived.

alter table sleep
  -- A better session of the same source overlaps it, so it does not count (server/store/sleep/day.ts).
  add column covered boolean not null default false,
  -- One upload brought everything that is stored of it, and contained all of the platform's session.
  add column whole boolean not null default false;

-- What the archived samples of a series added up to within the span of a night or a workout, whose ends cut quarter hours.
create table kept_sum (
  source_id int4 not null references data_source (id) on delete cascade,
  series_id int2 not null,
  starts timestamptz not null,
  -- Exclusive.
  ends timestamptz not null,
  n int8 not null,
  total float8 not null,
  constraint kept_sum_pkey primary key (source_id, series_id, starts, ends)
);

-- Stored sessions are judged like new ones: of two that overlap the better one counts,
update sleep s
set covered = true
where exists (
  select from sleep o
  where o.source_id = s.source_id and o.id <> s.id
    and o.end_at > s.end_at - interval '24 hours' and o.end_at < s.end_at + interval '24 hours'
    and o.start_at < s.end_at and o.end_at > s.start_at
    and row(
          o.light_s is null, -coalesce(o.asleep_s, date_part('epoch', o.end_at - o.start_at)), o.start_at, o.end_at,
          o.session collate "C", o.id
        ) < row(
          s.light_s is null, -coalesce(s.asleep_s, date_part('epoch', s.end_at - s.start_at)), s.start_at, s.end_at,
          s.session collate "C", s.id
        )
);

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
