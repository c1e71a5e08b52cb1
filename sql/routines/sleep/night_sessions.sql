-- The sessions of sleep, including naps, that count on each of the local days [first_day, end_day) on which they ended: for
-- each day those of one of the given sources (contract 12.4). Only sources with a main session compete, unless no source has
-- one. A session with three hours asleep beats any fragment; then the rank decides, then the time asleep, then the name.
create or replace function night_sessions(source_ids int4[], first_day int4, end_day int4)
returns table (day int4, id uuid, source_id int4)
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
begin
  return query
    with source as materialized (
      select d.id, source_rank(d.provider, d.device_type) as rank, d.device_model collate "C" as device, d.source collate "C" as name
      from data_source d
      where d.id = any (source_ids)
    ), session as materialized (
      select local_day(s.end_at, s.zone_offset_min) as day, s.id, s.source_id,
             case when s.is_nap is not true then coalesce(s.asleep_s, date_part('epoch', s.end_at - s.start_at)) end as main_s
      from source d
      cross join lateral (
        select * from sleep
        where sleep.source_id = d.id and end_at >= day_starts(first_day) and end_at < day_ends(end_day - 1)
        offset 0
      ) s
      where not s.covered
    ), best as materialized (
      select distinct on (o.day) o.day, o.source_id
      from (
        select x.day, x.source_id, max(x.main_s) as longest_s, sum(x.main_s) as asleep_s
        from session x
        where x.day >= first_day and x.day < end_day
        group by 1, 2
      ) o
      join source d on d.id = o.source_id
      order by o.day, o.longest_s is null, o.longest_s < 10800, d.rank, o.asleep_s desc, d.device, d.name, d.id
    )
    select x.day, x.id, x.source_id
    from best b
    join session x on x.day = b.day and x.source_id = b.source_id;
end
$$;
