-- Number, lowest and highest of the samples in each bucket of a series within [lo, hi), the same buckets as in
-- bucket_page; it is asked for the buckets of a page, once these are known.
create or replace function bucket_extremes(
  the_source int4, the_series int2, lo timestamptz, hi timestamptz, width interval, ranges tstzmultirange
) returns table (bucket timestamptz, n int8, lowest float8, highest float8)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  part record;
begin
  if ranges is not null then
    return query
      select e.*
      from bucket_runs(ranges, width) b
      cross join lateral (
        select x.* from bucket_extremes(the_source, the_series, greatest(lo, b.starts), least(hi, b.ends), width, null) x
        where not b.cut
        union all
        select x.* from cut_bucket_extremes(the_source, the_series, lo, hi, width, b.starts, ranges) x where b.cut
      ) e
      where b.starts < hi and b.ends > lo;
    return;
  end if;
  for part in select * from rollup_parts(the_source, the_series, lo, hi, width)
  loop
    if part.spans is not null then
      return query select * from mixed_extremes(the_source, the_series, part.spans, width);
    elsif not part.rolled_up then
      return query
        select time_bucket(width, s.ts), count(*), min(s.value), max(s.value)
        from sample s
        where s.source_id = the_source and s.series_id = the_series and s.ts >= part.starts and s.ts < part.ends
        group by 1;
    elsif width = interval '1 minute' then
      return query
        select r.bucket, r.n, r.lowest, r.highest from rollup_1min r
        where r.source_id = the_source and r.series_id = the_series and r.bucket >= part.starts and r.bucket < part.ends;
    elsif width = interval '5 minutes' then
      return query
        select r.bucket, r.n, r.lowest, r.highest from rollup_5min r
        where r.source_id = the_source and r.series_id = the_series and r.bucket >= part.starts and r.bucket < part.ends;
    elsif width = interval '15 minutes' then
      return query
        select r.bucket, r.n, r.lowest, r.highest from rollup_15min r
        where r.source_id = the_source and r.series_id = the_series and r.bucket >= part.starts and r.bucket < part.ends;
    else
      return query
        select r.bucket, r.n, r.lowest, r.highest from rollup_1hour r
        where r.source_id = the_source and r.series_id = the_series and r.bucket >= part.starts and r.bucket < part.ends;
    end if;
  end loop;
end
$$;

-- Like mixed_buckets.
create or replace function mixed_extremes(the_source int4, the_series int2, spans tstzmultirange, width interval)
returns table (bucket timestamptz, n int8, lowest float8, highest float8)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  low timestamptz := lower(spans);
  high timestamptz := upper(spans);
  archived tstzmultirange := archived_time(the_source, the_series) * spans;
  live tstzmultirange := spans - archived;
begin
  return query
    select time_bucket(width, q.at), sum(q.n)::int8, min(q.lowest), max(q.highest)
    from (
      select r.bucket as at, r.n, r.lowest, r.highest
      from rollup_15min r
      where r.source_id = the_source and r.series_id = the_series and r.bucket >= low and r.bucket < high
        and archived @> r.bucket
      union all
      select s.ts, 1, s.value, s.value
      from sample s
      where s.source_id = the_source and s.series_id = the_series and s.ts >= low and s.ts < high and live @> s.ts
    ) q
    group by 1;
end
$$;

-- Like cut_bucket.
create or replace function cut_bucket_extremes(
  the_source int4, the_series int2, lo timestamptz, hi timestamptz, width interval, the_bucket timestamptz, ranges tstzmultirange
) returns table (bucket timestamptz, n int8, lowest float8, highest float8)
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  whole tstzrange := tstzrange(the_bucket, the_bucket + width);
  asked tstzmultirange := tstzmultirange(tstzrange(greatest(lo, lower(whole)), least(hi, upper(whole))));
begin
  if the_bucket < raw_floor() then
    asked := asked + archived_time(the_source, the_series) * tstzmultirange(whole);
  end if;
  return query
    select the_bucket, sum(q.n)::int8, min(q.lowest), max(q.highest)
    from unnest(ranges * asked) r
    cross join lateral bucket_extremes(the_source, the_series, lower(r), upper(r), interval '15 minutes', null) q
    having count(*) > 0;
end
$$;
