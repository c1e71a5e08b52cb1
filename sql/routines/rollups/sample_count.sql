-- How many samples of a series there are: a first page counts all of its window.

drop function if exists live_count(int4, int2, timestamptz, timestamptz, interval);
drop function if exists sample_count(int4, int2, timestamptz, timestamptz, interval);

-- Number of samples of a series within [lo, hi), of which nothing is dirty or archived: whole days from the rollups, the
-- hours around them, the quarter hours around these, if they are kept; the rest is counted. Both edges in one statement, since
-- each statement costs more than what it reads. It is part of sample_count, whose settings it needs.
create or replace function clean_count(the_source int4, the_series int2, lo timestamptz, hi timestamptz) returns int8
language plpgsql stable
as $$
declare
  first_quarter timestamptz := least(time_bucket('15 minutes', lo + interval '15 minutes' - interval '1 microsecond'), hi);
  last_quarter timestamptz := greatest(time_bucket('15 minutes', hi), first_quarter);
  first_hour timestamptz := least(time_bucket('1 hour', first_quarter + interval '1 hour' - interval '1 microsecond'), last_quarter);
  last_hour timestamptz := greatest(time_bucket('1 hour', last_quarter), first_hour);
  first_day timestamptz := least(time_bucket('1 day', first_hour + interval '1 day' - interval '1 microsecond'), last_hour);
  last_day timestamptz := greatest(time_bucket('1 day', last_hour), first_day);
  days int8;
  hours int8;
  quarters int8;
  samples int8;
  sparse tstzmultirange;
begin
  if first_quarter < first_hour or last_hour < last_quarter then
    select t.months into sparse from sparse_time t where t.source_id = the_source and t.series_id = the_series;
    if sparse @> first_quarter then
      first_quarter := first_hour;
    end if;
    if sparse @> last_hour then
      last_quarter := last_hour;
    end if;
  end if;
  if first_day < last_day then
    select sum(r.n) into days
    from rollup_1day r
    where r.source_id = the_source and r.series_id = the_series and r.bucket >= first_day and r.bucket < last_day;
  end if;
  if first_hour < first_day or last_day < last_hour then
    select sum(e.n) into hours
    from (
      select r.n from rollup_1hour r
      where r.source_id = the_source and r.series_id = the_series and r.bucket >= first_hour and r.bucket < first_day
      union all
      select r.n from rollup_1hour r
      where r.source_id = the_source and r.series_id = the_series and r.bucket >= last_day and r.bucket < last_hour
    ) e;
  end if;
  if first_quarter < first_hour or last_hour < last_quarter then
    select sum(e.n) into quarters
    from (
      select r.n from rollup_15min r
      where r.source_id = the_source and r.series_id = the_series and r.bucket >= first_quarter and r.bucket < first_hour
      union all
      select r.n from rollup_15min r
      where r.source_id = the_source and r.series_id = the_series and r.bucket >= last_hour and r.bucket < last_quarter
    ) e;
  end if;
  if lo < first_quarter or last_quarter < hi then
    select count(*) into samples
    from (
      select from sample s
      where s.source_id = the_source and s.series_id = the_series and s.ts >= lo and s.ts < first_quarter
      union all
      select from sample s
      where s.source_id = the_source and s.series_id = the_series and s.ts >= last_quarter and s.ts < hi
    ) e;
  end if;
  return coalesce(days, 0) + coalesce(hours, 0) + coalesce(quarters, 0) + coalesce(samples, 0);
end
$$;

-- Number of live samples of a series within [lo, hi).
create or replace function sample_count(the_source int4, the_series int2, lo timestamptz, hi timestamptz) returns int8
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  live tstzmultirange;
  behind tstzmultirange;
  part record;
  found int8;
  counted int8 := 0;
begin
  if lo >= hi then
    return 0;
  end if;
  -- The quarter hours that differ from their samples.
  select range_agg(tstzrange(time_bucket('15 minutes', d.lo), time_bucket('15 minutes', d.hi) + interval '15 minutes')) into behind
  from rollup_dirty d
  where d.source_id = the_source and d.series_id = the_series and d.lo < sample_count.hi and d.hi >= sample_count.lo;
  if behind is null and lo >= raw_floor() then
    return clean_count(the_source, the_series, lo, hi);
  end if;
  live := live_time(the_source, the_series, lo, hi);
  behind := coalesce(behind, '{}');
  for part in
    select lower(r) as starts, upper(r) as ends, true as clean from unnest(live - behind) r
    union all
    select lower(r), upper(r), false from unnest(live * behind) r
  loop
    if part.clean then
      counted := counted + clean_count(the_source, the_series, part.starts, part.ends);
    else
      select count(*) into found
      from sample s
      where s.source_id = the_source and s.series_id = the_series and s.ts >= part.starts and s.ts < part.ends;
      counted := counted + found;
    end if;
  end loop;
  return counted;
end
$$;
