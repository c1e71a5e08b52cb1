-- The sessions of sleep that count on each of the local days [first_day, end_day) on which they ended, naps included: those
-- of one of the given sources for each day (contract 12.4). Main sessions of a source less than four hours apart are one
-- sleep, which lasts as long as they are asleep or awake. The night is the longest of all sources, where sleep that began
-- from 9:00 to before 20:00 counts half; a fragment, less than three hours asleep, only where there is nothing else. A source
-- competes if its sleep that overlaps the night lasts at least half as long, and has three hours asleep if the night has;
-- then the rank decides, then the time asleep, then the name. Sources with naps only come last.
create or replace function night_sessions(source_ids int4[], first_day int4, end_day int4)
returns table (day int4, id uuid, source_id int4)
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  owners int4[] := array(
    select k.id
    from unnest(source_ids) k (id)
    where exists (
      select from sleep s where s.source_id = k.id and s.end_at >= day_starts(first_day) and s.end_at < day_ends(end_day - 1)
    )
  );
begin
  -- Mostly one device knows of sleep, and everything of it counts.
  if cardinality(owners) < 2 then
    return query
      select n.day, n.id, n.source_id
      from (
        select local_day(s.end_at, s.zone_offset_min) as day, s.id, s.source_id
        from sleep s
        where s.source_id = owners[1] and s.end_at >= day_starts(first_day) and s.end_at < day_ends(end_day - 1)
          and not s.covered
      ) n
      where n.day >= first_day and n.day < end_day;
    return;
  end if;
  return query
    with source as materialized (
      select d.id, source_rank(d.provider, d.device_type) as rank, d.device_model collate "C" as device, d.source collate "C" as name
      from data_source d
      where d.id = any (owners)
    ), session as materialized (
      select local_day(s.end_at, s.zone_offset_min) as day, s.id, s.source_id, s.start_at, s.end_at, s.is_nap is true as nap,
             coalesce(s.asleep_s, date_part('epoch', s.end_at - s.start_at)) as asleep_s, coalesce(s.awake_s, 0) as awake_s,
             floor(date_part('epoch', s.start_at))::int8 + coalesce(s.zone_offset_min, 0) * 60 as local_s
      from source d
      cross join lateral (
        select * from sleep
        where sleep.source_id = d.id and end_at >= day_starts(first_day) and end_at < day_ends(end_day - 1)
        offset 0
      ) s
      where not s.covered
    ), part as (
      select x.*, x.start_at >= max(x.end_at) over before + interval '4 hours' as apart
      from session x
      where x.day >= first_day and x.day < end_day and not x.nap
      window before as (
        partition by x.day, x.source_id order by x.start_at, x.end_at rows between unbounded preceding and 1 preceding
      )
    ), one_sleep as (
      select p.day, p.source_id, min(p.start_at) as start_at, max(p.end_at) as end_at, sum(p.asleep_s) as asleep_s,
             sum(p.asleep_s + p.awake_s) as lasts_s, sum(p.asleep_s) < 10800 as fragment,
             bool_or(p.local_s % 86400 between 9 * 3600 and 20 * 3600 - 1) filter (where p.apart is not false) as by_day
      from (
        select p.*, count(*) filter (where p.apart) over (partition by p.day, p.source_id order by p.start_at, p.end_at) as place
        from part p
      ) p
      group by p.day, p.source_id, p.place
    ), rival as (
      select o.day, o.source_id, sum(o.asleep_s) as asleep_s,
             coalesce(
               sum(o.lasts_s) filter (where o.of_night) * 2 >= max(o.night_lasts_s)
                 and (bool_or(o.night_fragment) or sum(o.asleep_s) filter (where o.of_night) >= 10800),
               false
             ) as competes
      from (
        select o.*, first_value(o.lasts_s) over night as night_lasts_s, first_value(o.fragment) over night as night_fragment,
               o.start_at < first_value(o.end_at) over night and o.end_at > first_value(o.start_at) over night as of_night
        from one_sleep o
        window night as (
          partition by o.day
          order by o.fragment, o.lasts_s * case when o.by_day then 1 else 2 end desc, o.lasts_s, o.start_at, o.end_at
        )
      ) o
      group by o.day, o.source_id
      union all
      select x.day, x.source_id, null, false
      from session x
      where x.day >= first_day and x.day < end_day and x.nap
    ), best as materialized (
      select distinct on (r.day) r.day, r.source_id
      from rival r
      join source d on d.id = r.source_id
      order by r.day, r.competes desc, d.rank, r.asleep_s desc, d.device, d.name, d.id
    )
    select x.day, x.id, x.source_id
    from best b
    join session x on x.day = b.day and x.source_id = b.source_id;
end
$$;
