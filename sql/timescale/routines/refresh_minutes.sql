-- Rollups of one and of five minutes of a series, where there are any and as far back as they reach.
create or replace function refresh_minutes(the_source int4, the_series int2, ranges tstzmultirange) returns void
language plpgsql
as $$
begin
  ranges := ranges * tstzmultirange(tstzrange((select coalesce(minutes_from, 'infinity') from rollup_strategy), null));
  if not isempty(ranges) then
    perform refresh_1min(the_source, the_series, ranges);
    perform refresh_5min(the_source, the_series, ranges);
  end if;
end
$$;

-- As refresh_15min and refresh_1hour do it.
create or replace function refresh_1min(the_source int4, the_series int2, ranges tstzmultirange) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
as $$
begin
  with fresh as materialized (
    select time_bucket('1 minute', s.ts) as bucket, count(*) as n, sum(s.value) as total, min(s.value) as lowest,
           max(s.value) as highest,
           max(array[date_part('epoch', s.ts), s.value, coalesce(s.zone_offset_min, -32768)]) as last
    from unnest(ranges) r
    cross join lateral (
      select ts, value, zone_offset_min
      from sample
      where source_id = the_source and series_id = the_series and ts >= lower(r) and ts < upper(r)
    ) s
    group by 1
  ), gone as (
    delete from rollup_1min o
    using unnest(ranges) r
    where o.source_id = the_source and o.series_id = the_series and o.bucket >= lower(r) and o.bucket < upper(r)
      and not exists (select 1 from fresh f where f.bucket = o.bucket)
  )
  insert into rollup_1min as o (source_id, series_id, bucket, n, total, lowest, highest, last_value, last_zone)
  select the_source, the_series, f.bucket, f.n, f.total, f.lowest, f.highest, f.last[2], nullif(f.last[3], -32768)::int2
  from fresh f
  on conflict (source_id, series_id, bucket) do update
  set n = excluded.n, total = excluded.total, lowest = excluded.lowest, highest = excluded.highest,
      last_value = excluded.last_value, last_zone = excluded.last_zone
  where (o.n, o.total, o.lowest, o.highest, o.last_value, o.last_zone)
    is distinct from (excluded.n, excluded.total, excluded.lowest, excluded.highest, excluded.last_value, excluded.last_zone);
end
$$;

create or replace function refresh_5min(the_source int4, the_series int2, ranges tstzmultirange) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
as $$
begin
  with fresh as materialized (
    select time_bucket('5 minutes', s.bucket) as bucket, sum(s.n)::int8 as n, sum(s.total) as total, min(s.lowest) as lowest,
           max(s.highest) as highest,
           max(array[date_part('epoch', s.bucket), s.last_value, coalesce(s.last_zone, -32768)]) as last
    from unnest(ranges) r
    cross join lateral (
      select *
      from rollup_1min
      where source_id = the_source and series_id = the_series and bucket >= lower(r) and bucket < upper(r)
    ) s
    group by 1
  ), gone as (
    delete from rollup_5min o
    using unnest(ranges) r
    where o.source_id = the_source and o.series_id = the_series and o.bucket >= lower(r) and o.bucket < upper(r)
      and not exists (select 1 from fresh f where f.bucket = o.bucket)
  )
  insert into rollup_5min as o (source_id, series_id, bucket, n, total, lowest, highest, last_value, last_zone)
  select the_source, the_series, f.bucket, f.n, f.total, f.lowest, f.highest, f.last[2], nullif(f.last[3], -32768)::int2
  from fresh f
  on conflict (source_id, series_id, bucket) do update
  set n = excluded.n, total = excluded.total, lowest = excluded.lowest, highest = excluded.highest,
      last_value = excluded.last_value, last_zone = excluded.last_zone
  where (o.n, o.total, o.lowest, o.highest, o.last_value, o.last_zone)
    is distinct from (excluded.n, excluded.total, excluded.lowest, excluded.highest, excluded.last_value, excluded.last_zone);
end
$$;
