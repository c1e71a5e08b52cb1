-- Local days of several sources together: a minute of a series counts for the source with the smallest rank that has
-- samples in it. Samples are looked at only where several sources have any within a quarter hour, and one by one only
-- where a quarter hour counts in part. Of archived quarter hours, whose minutes are gone, the best source has all.

-- Quarter hours of series within the local days [low, high). `own` are the minutes with samples as bits, from the first
-- minute on, and `better` those in which sources with a smaller rank have any; where one source is alone, or minutes are
-- gone, all 15 of them or none. `place` is the place of the series in the arrays, from 1.
create or replace function rival_quarters(source_ids int4[], series_ids int2[], ranks int4[], low int4, high int4)
returns table (
  place int8, bucket timestamptz, day int4, n int8, total float8, lowest float8, highest float8, shared boolean, own int4, better int4
)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  starts timestamptz := greatest(day_starts(low), raw_floor());
  ends timestamptz := day_ends(high - 1);
begin
  return query
    with quarter as materialized (
      select k.*, q.bucket, local_day(q.bucket, q.last_zone) as day, q.n, q.total, q.lowest, q.highest,
             count(*) over w > 1 as shared, k.rank > min(k.rank) over w as lesser
      from unnest(source_ids, series_ids, ranks) with ordinality k (source_id, series_id, rank, place)
      cross join lateral quarter_hours(k.source_id, k.series_id, day_starts(low), ends) q
      window w as (partition by k.series_id, q.bucket)
    ),
    span as (
      select q.source_id, q.series_id, q.rank, q.place, q.day,
             range_agg(tstzrange(q.bucket, q.bucket + interval '15 minutes')) as ranges
      from quarter q
      where q.shared and q.bucket >= starts
      group by 1, 2, 3, 4, 5
    )
    select q.place, q.bucket, q.day, q.n, q.total, q.lowest, q.highest, q.shared, 32767,
           case when q.lesser then 32767 else 0 end
    from quarter q
    where not q.shared or q.bucket < starts
    union all
    select s.place, m.bucket, s.day, m.n, m.total, m.lowest, m.highest, true, m.own,
           coalesce(bit_or(m.own) over (partition by s.series_id, m.bucket order by s.rank rows between unbounded preceding and 1 preceding), 0)
    from span s
    cross join lateral unnest(s.ranges) r
    cross join lateral (
      select time_bucket('15 minutes', p.ts) as bucket, count(*) as n, sum(p.value) as total, min(p.value) as lowest,
             max(p.value) as highest, bit_or(1 << date_part('minute', p.ts)::int4 % 15) as own
      from sample p
      where p.source_id = s.source_id and p.series_id = s.series_id and p.ts >= lower(r) and p.ts < upper(r)
        and p.ts >= starts and p.ts < ends
      group by 1
    ) m;
end
$$;

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
begin
  return query
    with quarter as materialized (
      select * from rival_quarters(source_ids, series_ids, ranks, low, high) q where q.day >= low and q.day < high
    )
    select f.day, places[f.place], f.counted, sum(f.n)::int8, sum(f.total), min(f.lowest), max(f.highest)
    from (
      select q.day, q.place, q.own & q.better = 0 as counted, q.n, q.total, q.lowest, q.highest
      from quarter q
      where q.own & q.better in (0, q.own)
      union all
      select q.day, q.place, m.counted, m.n, m.total, m.lowest, m.highest
      from quarter q
      cross join lateral (
        select q.better >> date_part('minute', s.ts)::int4 % 15 & 1 = 0 as counted, count(*) as n, sum(s.value) as total,
               min(s.value) as lowest, max(s.value) as highest
        from sample s
        where s.source_id = source_ids[q.place] and s.series_id = series_ids[q.place]
          and s.ts >= q.bucket and s.ts < q.bucket + interval '15 minutes' and s.ts >= starts and s.ts < ends
        group by 1
      ) m
      where q.own & q.better not in (0, q.own)
    ) f
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

-- The same with all sources together, the first of `source_ids` before the others.
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
  archived timestamptz := raw_floor();
begin
  return query
    with quarter as materialized (
      select q.*
      from rival_quarters(
        source_ids, array_fill(the_series, array[cardinality(source_ids)]), array(select generate_subscripts(source_ids, 1)), low, high
      ) q
      where cardinality(source_ids) > 1
    ),
    -- Days on which sources have samples within one quarter hour.
    met as materialized (
      select q.day, min(q.bucket) >= archived as known from quarter q group by 1 having bool_or(q.shared)
    ),
    counted as (
      -- All minutes of the first source count, and those of the others on days on which they met none.
      select d.day, p.number, coalesce(d.minutes[p.place], 0)::int8 as minutes, d.minutes is not null as known
      from unnest(source_ids) with ordinality k (source_id, rank)
      cross join lateral local_days(k.source_id, the_series, low, high, true) d
      left join met t on t.day = d.day
      cross join unnest(places) with ordinality p (place, number)
      where k.rank = 1 or t.day is null
      union all
      select m.day, p.number, case when m.reached >= p.place then m.minutes else 0 end, true
      from (
        select q.day, m.reached, count(*) as minutes
        from quarter q
        cross join lateral (
          select minute_place(the_series, sum(s.value), count(*)) as reached
          from sample s
          where s.source_id = source_ids[q.place] and s.series_id = the_series
            and s.ts >= q.bucket and s.ts < q.bucket + interval '15 minutes' and s.ts >= starts and s.ts < ends
            and q.better >> date_part('minute', s.ts)::int4 % 15 & 1 = 0
          group by time_bucket('1 minute', s.ts)
        ) m
        where q.place > 1 and q.own & ~q.better <> 0 and q.bucket >= archived
          and q.day in (select t.day from met t)
        group by 1, 2
      ) m
      cross join unnest(places) with ordinality p (place, number)
    )
    select f.day, array_agg(f.minutes order by f.number)
    from (
      select c.day, c.number, sum(c.minutes)::int8 as minutes
      from counted c
      left join met t on t.day = c.day
      where c.day = any (days)
      group by 1, 2
      having bool_and(c.known and t.known is not false)
    ) f
    group by 1;
end
$$;
