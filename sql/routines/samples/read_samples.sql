-- The readers below plan once (planning over many chunks costs more than a page) and stop TimescaleDB from testing
-- every chunk again for each series, which took 0.5 ms per series at 37 chunks; a plain server ignores that setting.
-- They walk in windows of time: opening every chunk of a long range costs 0.7 ms where a page needs one or two.

-- A page of raw samples, in order of time, series, source (all descending with `backward`). Within a window it takes
-- one index probe per series of a source, each at most a page long, merged by a top-N sort: it never reads more than
-- series × page rows. `los` and `his` bound each series, which may occur several times with bounds that do not meet;
-- `start_at` and `end_at` bound all of them.
create or replace function sample_page(
  source_ids int4[], series_ids int2[], los float8[], his float8[], start_at float8, end_at float8, most int4, backward boolean
) returns table (at float8, value float8, source_id int4, series_id int2, zone_offset_min int2)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  low timestamptz := to_timestamp(start_at);
  high timestamptz := to_timestamp(end_at);
  far_end timestamptz;
  span interval := interval '45 days';
  wanted int4 := most;
  found_rows int4;
begin
  if low < raw_floor() then
    -- The live parts of each series within its bounds.
    select array_agg(k.source_id), array_agg(k.series_id), array_agg(date_part('epoch', lower(r))),
           array_agg(date_part('epoch', upper(r)))
    into source_ids, series_ids, los, his
    from unnest(source_ids, series_ids, los, his) k (source_id, series_id, lo, hi)
    cross join lateral unnest(live_time(k.source_id, k.series_id, to_timestamp(k.lo), to_timestamp(k.hi))) r;
    low := greatest(low, (select to_timestamp(min(lo)) from unnest(los) lo));
  end if;
  far_end := case when backward then low else high end;
  while wanted > 0 and low < high loop
    if backward then
      low := greatest(high - least(span, high - far_end), far_end);
      return query
        select date_part('epoch', s.ts), s.value, s.source_id, s.series_id, s.zone_offset_min
        from unnest(source_ids, series_ids, los, his) k (source_id, series_id, lo, hi)
        cross join lateral (
          select p.ts, p.value, p.source_id, p.series_id, p.zone_offset_min
          from sample p
          where p.source_id = k.source_id
            and p.series_id = k.series_id
            and p.ts >= to_timestamp(k.lo)
            and p.ts < to_timestamp(k.hi)
            and p.ts >= low
            and p.ts < high
          order by p.ts desc
          limit wanted
        ) s
        where to_timestamp(k.lo) < high and to_timestamp(k.hi) > low
        order by s.ts desc, s.series_id desc, s.source_id desc
        limit wanted;
      get diagnostics found_rows = row_count;
      high := low;
      low := far_end;
    else
      high := least(low + least(span, far_end - low), far_end);
      return query
        select date_part('epoch', s.ts), s.value, s.source_id, s.series_id, s.zone_offset_min
        from unnest(source_ids, series_ids, los, his) k (source_id, series_id, lo, hi)
        cross join lateral (
          select p.ts, p.value, p.source_id, p.series_id, p.zone_offset_min
          from sample p
          where p.source_id = k.source_id
            and p.series_id = k.series_id
            and p.ts >= to_timestamp(k.lo)
            and p.ts < to_timestamp(k.hi)
            and p.ts >= low
            and p.ts < high
          order by p.ts
          limit wanted
        ) s
        where to_timestamp(k.lo) < high and to_timestamp(k.hi) > low
        order by s.ts, s.series_id, s.source_id
        limit wanted;
      get diagnostics found_rows = row_count;
      low := high;
      high := far_end;
    end if;
    wanted := wanted - found_rows;
    span := span * 8;
  end loop;
end
$$;

-- Time of the sample of a series nearest to the start of [lo, hi) (to its end with `backward`); null if there is none.
drop function if exists nearest_sample(int4, int2, timestamptz, timestamptz, boolean, int4[]);
create or replace function nearest_sample(
  the_source int4, the_series int2, lo timestamptz, hi timestamptz, backward boolean
) returns timestamptz
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  low timestamptz := lo;
  high timestamptz := hi;
  span interval := interval '20 days';
  nearest timestamptz;
begin
  while low < high and nearest is null loop
    if backward then
      low := greatest(high - least(span, high - lo), lo);
      select s.ts into nearest from sample s
      where s.source_id = the_source and s.series_id = the_series and s.ts >= low and s.ts < high
      order by s.ts desc limit 1;
      high := low;
      low := lo;
    else
      high := least(low + least(span, hi - low), hi);
      select s.ts into nearest from sample s
      where s.source_id = the_source and s.series_id = the_series and s.ts >= low and s.ts < high
      order by s.ts limit 1;
      low := high;
      high := hi;
    end if;
    span := span * 8;
  end loop;
  return nearest;
end
$$;

-- The first `most` buckets (the last ones with `backward`) that hold samples of one series of one source within [lo,
-- hi), which has no archived time, computed from raw samples. It jumps to the next sample by index, so empty time costs
-- nothing, aggregates a page's worth of time from there, and stops when the page is full.
drop function if exists raw_bucket_page(int4, int2, timestamptz, timestamptz, interval, int4, boolean, int4[]);
create or replace function raw_bucket_page(
  the_source int4, the_series int2, lo timestamptz, hi timestamptz, width interval, most int4, backward boolean
) returns table (bucket timestamptz, n int8, total float8, highest float8, last_zone int2)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  low timestamptz := lo;
  high timestamptz := hi;
  near timestamptz;
  wanted int4 := most;
  found_rows int4;
begin
  while wanted > 0 and lo < hi loop
    if backward then
      near := nearest_sample(the_source, the_series, lo, high, true);
      exit when near is null;
      high := least(time_bucket(width, near) + width, high);
      low := greatest(time_bucket(width, near) - width * (most - 1), lo);
    else
      near := nearest_sample(the_source, the_series, low, hi, false);
      exit when near is null;
      low := greatest(time_bucket(width, near), low);
      high := least(time_bucket(width, near) + width * most, hi);
    end if;
    return query
      select g.bucket, g.n, g.total, g.highest, nullif(g.last_packed % 4096 - 2048, -2048)::int2
      from (
        select time_bucket(width, s.ts) as bucket, count(*) as n, sum(s.value) as total, max(s.value) as highest,
               -- The zone offset of the latest sample: packed behind its time, so a plain max finds it.
               max((date_part('epoch', s.ts) * 1000)::int8 * 4096 + coalesce(s.zone_offset_min, -2048) + 2048) as last_packed
        from sample s
        where s.source_id = the_source
          and s.series_id = the_series
          and s.ts >= low
          and s.ts < high
        group by 1
      ) g
      order by case when backward then -date_part('epoch', g.bucket) else date_part('epoch', g.bucket) end
      limit wanted;
    get diagnostics found_rows = row_count;
    wanted := wanted - found_rows;
    if backward then
      high := low;
    else
      low := high;
    end if;
  end loop;
end
$$;
