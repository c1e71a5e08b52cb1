-- Local days of several sources together: a minute of a series counts for the source with the smallest rank that has
-- samples in it. Quarter hours in which one source alone has any are taken from the rollups, the others from the samples;
-- of archived ones, whose minutes are gone, the source with the smallest rank has all.

-- What each series of a source adds up to on each local day of [low, high), once what counts and once what does not.
create or replace function merged_parts(
  source_ids int4[], series_ids int2[], ranks int4[], places int8[], low int4, high int4
) returns table (day int4, place int8, counted boolean, n int8, total float8, lowest float8, highest float8)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  starts timestamptz := day_starts(low);
  ends timestamptz := day_ends(high - 1);
  archived timestamptz := raw_floor();
begin
  return query
    with quarter as materialized (
      select k.*, q.bucket, local_day(q.bucket, q.last_zone) as day, q.n, q.total, q.lowest, q.highest,
             q.bucket >= archived and count(*) over w > 1 as shared, k.rank = min(k.rank) over w as best
      from unnest(source_ids, series_ids, ranks, places) k (source_id, series_id, rank, place)
      cross join lateral quarter_hours(k.source_id, k.series_id, starts, ends) q
      window w as (partition by k.series_id, q.bucket)
    ),
    minute as (
      select s.series_id, s.place, s.day, m.n, m.total, m.lowest, m.highest,
             s.rank = min(s.rank) over (partition by s.series_id, m.minute) as best
      from (
        select q.source_id, q.series_id, q.rank, q.place, q.day,
               range_agg(tstzrange(q.bucket, q.bucket + interval '15 minutes')) as spans
        from quarter q
        where q.shared
        group by 1, 2, 3, 4, 5
      ) s
      cross join lateral unnest(s.spans) r
      cross join lateral (
        select time_bucket('1 minute', p.ts) as minute, count(*) as n, sum(p.value) as total, min(p.value) as lowest,
               max(p.value) as highest
        from sample p
        where p.source_id = s.source_id and p.series_id = s.series_id and p.ts >= lower(r) and p.ts < upper(r)
          and p.ts >= starts and p.ts < ends
        group by 1
      ) m
    )
    select f.day, f.place, f.best, sum(f.n)::int8, sum(f.total), min(f.lowest), max(f.highest)
    from (
      select q.day, q.place, q.best, q.n, q.total, q.lowest, q.highest from quarter q where not q.shared
      union all
      select m.day, m.place, m.best, m.n, m.total, m.lowest, m.highest from minute m
    ) f
    where f.day >= low and f.day < high
    group by 1, 2, 3;
end
$$;

-- On how many minutes of local days the samples of a series reached each of `places` (see minute_place). `day_sources` says
-- which source counts on which day. Days of which it is not known, since their samples are archived, have no row.
create or replace function minutes_reached(the_series int2, days int4[], day_sources int4[], places int4[])
returns table (day int4, reached int8[])
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
begin
  return query
    select d.day, array(select coalesce(d.minutes[p], 0)::int8 from unnest(places) p)
    from (
      select w.source_id, min(w.day) as first_day, max(w.day) + 1 as end_day
      from unnest(days, day_sources) w (day, source_id)
      group by 1
    ) k
    cross join lateral local_days(k.source_id, the_series, k.first_day, k.end_day, true) d
    join unnest(days, day_sources) w (day, source_id) on w.day = d.day and w.source_id = k.source_id
    where d.minutes is not null;
end
$$;

-- The same with all sources together, the first of `source_ids` before the others. Days on which no two sources have
-- samples within one quarter hour are the sum of what each of them has; the others are counted from the samples.
create or replace function merged_minutes_reached(source_ids int4[], the_series int2, days int4[], places int4[])
returns table (day int4, reached int8[])
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  low int4 := (select min(d) from unnest(days) d);
  high int4 := (select max(d) + 1 from unnest(days) d);
  starts timestamptz := day_starts(low);
  ends timestamptz := day_ends(high - 1);
  shared int4[] := '{}';
  known int4[] := days;
begin
  if cardinality(source_ids) > 1 then
    select array_agg(d.day) filter (where d.shared and d.oldest >= raw_floor()), array_agg(d.day) filter (where not d.shared)
    into shared, known
    from (
      select q.day, bool_or(q.shared) as shared, min(q.bucket) as oldest
      from (
        select local_day(h.bucket, h.last_zone) as day, h.bucket, count(*) over (partition by h.bucket) > 1 as shared
        from unnest(source_ids) k
        cross join lateral quarter_hours(k, the_series, starts, ends) h
      ) q
      group by 1
    ) d;
  end if;
  return query
    select t.day, array_agg(t.minutes order by t.number)
    from (
      select d.day, p.number, sum(coalesce(d.minutes[p.place], 0))::int8 as minutes
      from unnest(source_ids) k
      cross join lateral local_days(k, the_series, (select min(d) from unnest(known) d), (select max(d) + 1 from unnest(known) d), true) d
      cross join unnest(places) with ordinality p (place, number)
      where d.day = any (known) and d.day = any (days)
      group by 1, 2
      having bool_and(d.minutes is not null)
    ) t
    group by 1;
  return query
    with minute as (
      select s.day, minute_place(the_series, m.total, m.n) as place,
             s.number = min(s.number) over (partition by m.minute) as best
      from (
        select k.source_id, k.number, local_day(h.bucket, h.last_zone) as day,
               range_agg(tstzrange(h.bucket, h.bucket + interval '15 minutes')) as spans
        from unnest(source_ids) with ordinality k (source_id, number)
        cross join lateral quarter_hours(k.source_id, the_series, starts, ends) h
        where local_day(h.bucket, h.last_zone) = any (shared)
        group by 1, 2, 3
      ) s
      cross join lateral unnest(s.spans) r
      cross join lateral (
        select time_bucket('1 minute', p.ts) as minute, count(*) as n, sum(p.value) as total
        from sample p
        where p.source_id = s.source_id and p.series_id = the_series and p.ts >= lower(r) and p.ts < upper(r)
          and p.ts >= starts and p.ts < ends
        group by 1
      ) m
    )
    select c.day, array_agg(c.minutes order by c.number)
    from (
      select m.day, p.number, count(*) filter (where m.place >= p.place) as minutes
      from minute m
      cross join unnest(places) with ordinality p (place, number)
      where m.best and m.day = any (days)
      group by 1, 2
    ) c
    group by 1;
end
$$;
