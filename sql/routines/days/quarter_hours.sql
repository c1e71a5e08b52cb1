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
        select g.bucket, g.n, g.total, g.lowest, g.highest, nullif(g.last_packed % 4096 - 2048, -2048)::int2
        from (
          select time_bucket('15 minutes', s.ts) as bucket, count(*) as n, sum(s.value) as total,
                 min(s.value) as lowest, max(s.value) as highest,
                 -- The zone offset of the latest sample: packed behind its time, so a plain max finds it.
                 max((date_part('epoch', s.ts) * 1000)::int8 * 4096 + coalesce(s.zone_offset_min, -2048) + 2048) as last_packed
          from sample s
          where s.source_id = the_source and s.series_id = the_series and s.ts >= part.starts and s.ts < part.ends
          group by 1
        ) g;
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
        select q.* from unnest(part.ranges) u cross join lateral quarter_hours(the_source, the_series, lower(u), upper(u)) q;
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
        from quarter_hours(the_source, the_series, part.starts, part.ends) q
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
