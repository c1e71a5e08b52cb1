-- Reads in which only the best source of each local day counts: per series type and local day, the source with the smallest
-- rank among those that have the type on that day. The day of a quarter hour is that of its latest sample, as everywhere, so
-- the rollups know the days of clean and of archived samples.

-- The ranges of time, in whole quarter hours, in which each series of a source counts, at least within [lo, hi). `place` is
-- the position of the series in the arrays, from 1. Successive days of a series form one range, whatever lies between them:
-- a source that is the best on all days with data has a single range.
create or replace function priority_ranges(
  source_ids int4[], series_ids int2[], ranks int4[], lo timestamptz, hi timestamptz
) returns table (place int8, starts timestamptz, ends timestamptz)
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  -- An archived hour that the window cuts counts as a whole.
  days int4range := days_of(lo - interval '1 hour', hi + interval '1 hour');
begin
  return query
    with day as materialized (
      select k.place, k.source_id, k.series_id, d.day,
             k.rank = min(k.rank) over (partition by k.series_id % 5000, d.day) as best
      from unnest(source_ids, series_ids, ranks) with ordinality k (source_id, series_id, rank, place)
      cross join lateral local_days(k.source_id, k.series_id, lower(days), upper(days), false) d
    ),
    span as (
      -- Time whose quarter hours may belong to days on which the series counts, and to days on which it does not.
      select d.place, d.source_id, d.series_id,
             coalesce(range_agg(tstzrange(day_starts(d.day), day_ends(d.day))) filter (where d.best), '{}') as best,
             coalesce(range_agg(tstzrange(day_starts(d.day), day_ends(d.day))) filter (where not d.best), '{}') as other
      from day d
      group by 1, 2, 3
    ),
    piece as (
      select s.place, true as best, lower(r) as starts, upper(r) as ends
      from span s
      cross join lateral unnest(s.best - s.other) r
      union all
      select s.place, false, lower(r), upper(r)
      from span s
      cross join lateral unnest(s.other - s.best) r
      union all
      -- Around a day on which that changes, each quarter hour is decided separately.
      select s.place, d.best, q.bucket, q.bucket + interval '15 minutes'
      from span s
      cross join lateral unnest(s.best * s.other) r
      cross join lateral quarter_hours(s.source_id, s.series_id, lower(r), upper(r)) q
      join day d on d.place = s.place and d.day = local_day(q.bucket, q.last_zone)
    ),
    run as (
      -- Successive pieces of one kind have the same difference between their number and their number among that kind.
      select p.*,
             row_number() over (partition by p.place order by p.starts)
             - row_number() over (partition by p.place, p.best order by p.starts) as run
      from piece p
    )
    select r.place, min(r.starts), max(r.ends)
    from run r
    where r.best
    group by r.place, r.run
    order by 1, 2;
end
$$;

-- Divides ranges of whole quarter hours into buckets of `width`: runs of buckets that lie within a range, and single buckets
-- of which only parts do.
create or replace function bucket_runs(ranges tstzmultirange, width interval)
returns table (starts timestamptz, ends timestamptz, cut boolean)
language sql immutable
as $$
  select b.first, b.last, false
  from unnest(ranges) r
  cross join lateral (
    select time_bucket(width, lower(r) + width - interval '1 microsecond') as first, time_bucket(width, upper(r)) as last
  ) b
  where b.first < b.last
  union all
  -- Two ranges may meet in one bucket, which is returned once.
  select distinct b.bucket, b.bucket + width, true
  from unnest(ranges) r
  cross join lateral (values (lower(r)), (upper(r))) e (edge)
  cross join lateral (select time_bucket(width, e.edge) as bucket) b
  where b.bucket < e.edge;
$$;

-- A bucket of which only parts lie in ranges, from its quarter hours; no row if these parts have no samples.
create or replace function cut_bucket(
  the_source int4, the_series int2, lo timestamptz, hi timestamptz, width interval, the_bucket timestamptz, ranges tstzmultirange
) returns table (bucket timestamptz, n int8, total float8, highest float8, last_zone int2)
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  whole tstzrange := tstzrange(the_bucket, the_bucket + width);
  asked tstzmultirange := tstzmultirange(tstzrange(greatest(lo, lower(whole)), least(hi, upper(whole))));
begin
  -- The archived part of a bucket that the window cuts counts as a whole.
  if the_bucket < raw_floor() then
    asked := asked + archived_time(the_source, the_series) * tstzmultirange(whole);
  end if;
  return query
    select the_bucket, sum(q.n)::int8, sum(q.total), max(q.highest), (array_agg(q.last_zone order by q.bucket desc))[1]
    from unnest(ranges * asked) r
    cross join lateral bucket_page(the_source, the_series, lower(r), upper(r), interval '15 minutes', 4, false, null) q
    having count(*) > 0;
end
$$;

-- Like bucket_page, within ranges.
create or replace function bucket_page_within(
  the_source int4, the_series int2, lo timestamptz, hi timestamptz, width interval, most int4, backward boolean,
  ranges tstzmultirange
) returns table (bucket timestamptz, n int8, total float8, highest float8, last_zone int2)
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  run record;
  wanted int4 := most;
  found_rows int4;
begin
  for run in
    select *
    from bucket_runs(ranges, width) b
    where b.starts < hi and b.ends > lo
    order by case when backward then -date_part('epoch', b.starts) else date_part('epoch', b.starts) end
  loop
    if run.cut then
      return query select * from cut_bucket(the_source, the_series, lo, hi, width, run.starts, ranges);
    else
      return query
        select *
        from bucket_page(
          the_source, the_series, greatest(lo, run.starts), least(hi, run.ends), width, wanted, backward, null
        );
    end if;
    get diagnostics found_rows = row_count;
    wanted := wanted - found_rows;
    exit when wanted <= 0;
  end loop;
end
$$;

-- Like bucket_count, within ranges.
create or replace function bucket_count_within(
  the_source int4, the_series int2, lo timestamptz, hi timestamptz, width interval, ranges tstzmultirange
) returns int8
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
begin
  return (
    select coalesce(sum(
      case
        when b.cut then (select count(*) from cut_bucket(the_source, the_series, lo, hi, width, b.starts, ranges))
        else bucket_count(the_source, the_series, greatest(lo, b.starts), least(hi, b.ends), width, null)
      end
    ), 0)
    from bucket_runs(ranges, width) b
    where b.starts < hi and b.ends > lo
  );
end
$$;

-- Number of buckets in which two series of a source both have samples: the first, which has few, within `ranges`, and the
-- second within `beside`; null = everywhere.
create or replace function shared_bucket_count(
  the_source int4, series_ids int2[], lo timestamptz, hi timestamptz, width interval, ranges tstzmultirange, beside tstzmultirange
) returns int8
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  held tstzmultirange := (
    select range_agg(tstzrange(b.bucket, b.bucket + width))
    from bucket_page(the_source, series_ids[1], lo, hi, width, 1000000, false, ranges) b
  );
begin
  if held is null then
    return 0;
  end if;
  return bucket_count(the_source, series_ids[2], lo, hi, width, coalesce(held * beside, held));
end
$$;
