-- The samples of a series in each quarter hour of ranges of whole quarter hours, which have no archived time, added up. [low, high)
-- encloses them: it keeps TimescaleDB from opening other chunks. Written so that the planner inlines it.
create or replace function live_quarter_hours(
  the_source int4, the_series int2, ranges tstzmultirange, low timestamptz, high timestamptz
) returns table (bucket timestamptz, n int8, total float8, lowest float8, highest float8, last_zone int2)
language sql stable
as $$
  select g.bucket, g.n, g.total, g.lowest, g.highest,
         case
           when g.known = g.n and g.west = g.east then g.west
           when g.known > 0 then (
             select s.zone_offset_min
             from sample s
             where s.source_id = the_source and s.series_id = the_series
               and s.ts >= g.bucket and s.ts < g.bucket + interval '15 minutes' and s.ts >= low and s.ts < high
             order by s.ts desc
             limit 1
           )
         end
  from (
    select time_bucket('15 minutes', s.ts) as bucket, count(*) as n, sum(s.value) as total,
           min(s.value) as lowest, max(s.value) as highest,
           -- Mostly all samples have the same zone offset; finding the latest one of each took as long as all the rest.
           count(s.zone_offset_min) as known, min(s.zone_offset_min) as west, max(s.zone_offset_min) as east
    from unnest(ranges) r
    cross join lateral (
      select p.ts, p.value, p.zone_offset_min
      from sample p
      where p.source_id = the_source and p.series_id = the_series and p.ts >= lower(r) and p.ts < upper(r)
        and p.ts >= low and p.ts < high
      -- Kept as a probe for each range.
      offset 0
    ) s
    group by 1
  ) g
$$;

-- The samples of a series in each quarter hour of [lo, hi), added up: from the rollups where they are clean, from the
-- samples elsewhere. `lo` and `hi` are whole quarter hours.
create or replace function quarter_hours(the_source int4, the_series int2, lo timestamptz, hi timestamptz)
returns table (bucket timestamptz, n int8, total float8, lowest float8, highest float8, last_zone int2)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  part record;
begin
  for part in select * from rollup_parts(the_source, the_series, lo, hi, '15 minutes')
  loop
    if part.rolled_up then
      return query
        select r.bucket, r.n, r.total, r.lowest, r.highest, r.last_zone
        from rollup_15min r
        where r.source_id = the_source and r.series_id = the_series and r.bucket >= part.starts and r.bucket < part.ends;
    else
      return query
        select *
        from live_quarter_hours(
          the_source, the_series, tstzmultirange(tstzrange(part.starts, part.ends)), part.starts, part.ends
        );
    end if;
  end loop;
end
$$;

-- The same for several ranges of whole quarter hours.
create or replace function quarter_hours_within(the_source int4, the_series int2, ranges tstzmultirange)
returns table (bucket timestamptz, n int8, total float8, lowest float8, highest float8, last_zone int2)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  part record;
begin
  for part in
    select p.*, ranges * tstzmultirange(tstzrange(p.starts, p.ends)) as ranges
    from rollup_parts(the_source, the_series, lower(ranges), upper(ranges), '15 minutes') p
  loop
    if part.rolled_up then
      return query
        select q.*
        from unnest(part.ranges) u
        -- With an order by of its own, the planner looks it up range by range.
        cross join lateral (
          select r.bucket, r.n, r.total, r.lowest, r.highest, r.last_zone
          from rollup_15min r
          where r.source_id = the_source and r.series_id = the_series and r.bucket >= lower(u) and r.bucket < upper(u)
            and r.bucket >= part.starts and r.bucket < part.ends
          order by r.bucket
        ) q;
    else
      return query
        select * from live_quarter_hours(the_source, the_series, part.ranges, part.starts, part.ends);
    end if;
  end loop;
end
$$;

-- The samples of a series within [lo, hi) added up by local day. A whole quarter hour counts for the local day of its
-- latest sample, so a day does not change when its samples are archived. A day may come in several rows.
create or replace function day_sums(the_source int4, the_series int2, lo timestamptz, hi timestamptz)
returns table (day int4, n int8, total float8, lowest float8, highest float8)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  part record;
begin
  for part in select * from rollup_parts(the_source, the_series, lo, hi, '15 minutes')
  loop
    if part.rolled_up then
      return query
        select local_day(r.bucket, r.last_zone), sum(r.n)::int8, sum(r.total), min(r.lowest), max(r.highest)
        from rollup_15min r
        where r.source_id = the_source and r.series_id = the_series and r.bucket >= part.starts and r.bucket < part.ends
        group by 1;
    else
      return query
        select local_day(q.bucket, q.last_zone), sum(q.n)::int8, sum(q.total), min(q.lowest), max(q.highest)
        from live_quarter_hours(
          the_source, the_series, tstzmultirange(tstzrange(part.starts, part.ends)), part.starts, part.ends
        ) q
        group by 1;
    end if;
  end loop;
end
$$;

-- Number and sum of the samples of a series within [lo, hi): whole quarter hours from the rollups where they are clean.
create or replace function span_sums(the_source int4, the_series int2, lo timestamptz, hi timestamptz)
returns table (n int8, total float8)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  part record;
  part_n int8;
  part_total float8;
begin
  n := 0;
  total := 0;
  for part in select * from rollup_parts(the_source, the_series, lo, hi, '15 minutes')
  loop
    if part.rolled_up then
      select sum(r.n), sum(r.total) into part_n, part_total
      from rollup_15min r
      where r.source_id = the_source and r.series_id = the_series and r.bucket >= part.starts and r.bucket < part.ends;
    else
      select count(*), sum(s.value) into part_n, part_total
      from sample s
      where s.source_id = the_source and s.series_id = the_series and s.ts >= part.starts and s.ts < part.ends;
    end if;
    n := n + coalesce(part_n, 0);
    total := total + coalesce(part_total, 0);
  end loop;
  return next;
end
$$;
