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
declare
  part tstzrange;
begin
  foreach part in array array(select unnest(ranges))
  loop
    delete from rollup_1min o
    where o.source_id = the_source and o.series_id = the_series and o.bucket >= lower(part) and o.bucket < upper(part);
    insert into rollup_1min (source_id, series_id, bucket, n, total, lowest, highest, last_value, last_zone)
    select the_source, the_series, f.bucket, f.n, f.total, f.lowest, f.highest, f.last[2], nullif(f.last[3], -32768)::int2
    from (
      select time_bucket('1 minute', s.ts) as bucket, count(*) as n, sum(s.value) as total, min(s.value) as lowest,
             max(s.value) as highest,
             max(array[date_part('epoch', s.ts), s.value, coalesce(s.zone_offset_min, -32768)]) as last
      from sample s
      where s.source_id = the_source and s.series_id = the_series and s.ts >= lower(part) and s.ts < upper(part)
      group by 1
    ) f;
  end loop;
end
$$;

create or replace function refresh_5min(the_source int4, the_series int2, ranges tstzmultirange) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
as $$
declare
  part tstzrange;
begin
  foreach part in array array(select unnest(ranges))
  loop
    delete from rollup_5min o
    where o.source_id = the_source and o.series_id = the_series and o.bucket >= lower(part) and o.bucket < upper(part);
    insert into rollup_5min (source_id, series_id, bucket, n, total, lowest, highest, last_value, last_zone)
    select the_source, the_series, f.bucket, f.n, f.total, f.lowest, f.highest, f.last[2], nullif(f.last[3], -32768)::int2
    from (
      select time_bucket('5 minutes', s.bucket) as bucket, sum(s.n)::int8 as n, sum(s.total) as total,
             min(s.lowest) as lowest, max(s.highest) as highest,
             max(array[date_part('epoch', s.bucket), s.last_value, coalesce(s.last_zone, -32768)]) as last
      from rollup_1min s
      where s.source_id = the_source and s.series_id = the_series and s.bucket >= lower(part) and s.bucket < upper(part)
      group by 1
    ) f;
  end loop;
end
$$;
