-- The first `most` local days of [first_day, end_day) (the last ones with `backward`) on which a user has samples of the
-- given series. `parts` is for each series of a source a list of [place, counted, n, total, lowest, highest]: its place
-- in the arrays, from 0; whether it counts; and what its samples add up to. With `merged` a quarter hour of a series
-- counts for the source with the smallest rank that has samples in it, else everything counts; daily totals always do.
-- Walks in windows of time, so that a page costs what it shows, however long the range.
create or replace function activity_days(
  source_ids int4[], series_ids int2[], ranks int4[], first_day int4, end_day int4, most int4, backward boolean,
  merged boolean
) returns table (day int4, parts json)
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  low int4 := first_day;
  high int4 := end_day;
  span int4 := most;
  wanted int4 := most;
  found_rows int4;
begin
  while wanted > 0 and low < high and cardinality(source_ids) > 0 loop
    if backward then
      low := greatest(high - span, first_day);
    else
      high := least(low + span, end_day);
    end if;
    return query
      select p.day, json_agg(json_build_array(p.place - 1, p.counted, p.n, p.total, p.lowest, p.highest))
      from activity_parts(source_ids, series_ids, ranks, low, high, merged) p
      group by p.day
      having bool_or(p.counted)
      order by case when backward then -p.day else p.day end
      limit wanted;
    get diagnostics found_rows = row_count;
    wanted := wanted - found_rows;
    if backward then
      high := low;
      low := first_day;
    else
      low := high;
      high := end_day;
    end if;
    span := least(span::int8 * 8, 100000);
  end loop;
end
$$;

-- What each series of a source adds up to on each local day of [low, high); see activity_days.
create or replace function activity_parts(
  source_ids int4[], series_ids int2[], ranks int4[], low int4, high int4, merged boolean
) returns table (day int4, place int8, counted boolean, n int8, total float8, lowest float8, highest float8)
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
begin
  if not merged then
    return query
      select d.day, k.place, true, sum(d.n)::int8, sum(d.total), min(d.lowest), max(d.highest)
      from unnest(source_ids, series_ids) with ordinality k (source_id, series_id, place)
      cross join lateral day_sums(k.source_id, k.series_id, day_starts(low), day_ends(high - 1)) d
      where d.day >= low and d.day < high
      group by 1, 2;
    return;
  end if;
  return query
    select local_day(q.bucket, q.last_zone), q.place, q.counted, sum(q.n)::int8, sum(q.total), min(q.lowest),
           max(q.highest)
    from (
      select h.*, k.place, k.rank = min(k.rank) over (partition by k.series_id, h.bucket) or k.series_id >= 10000 as counted
      from unnest(source_ids, series_ids, ranks) with ordinality k (source_id, series_id, rank, place)
      cross join lateral quarter_hours(k.source_id, k.series_id, day_starts(low), day_ends(high - 1)) h
    ) q
    where local_day(q.bucket, q.last_zone) >= low and local_day(q.bucket, q.last_zone) < high
    group by 1, 2, 3;
end
$$;

-- On how many minutes of local days the samples of a series lie in which band: `bands` are minutes whose mean, or sum
-- with `summed`, is below the first bound, from it on but below the second one, and so on; one more than bounds. `days`
-- and `day_sources` say which source counts on which day; with `day_sources` null it is in each quarter hour the first of
-- `source_ids` that has samples in it. Quarter hours without a value of at least `least_value` are left out. Days of which
-- samples are archived are left out, since minutes are not kept.
create or replace function minutes_in_bands(
  source_ids int4[], the_series int2, days int4[], day_sources int4[], bounds float8[], summed boolean, least_value float8
) returns table (day int4, bands int8[])
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  low timestamptz := day_starts((select min(d) from unnest(days) d));
  high timestamptz := day_ends((select max(d) from unnest(days) d));
begin
  return query
    with quarter as materialized (
      select k.source_id, k.place, q.bucket, q.highest, local_day(q.bucket, q.last_zone) as day
      from unnest(source_ids) with ordinality k (source_id, place)
      cross join lateral quarter_hours(k.source_id, the_series, low, high) q
    ),
    counted as (
      select q.source_id, q.bucket, q.highest, q.day
      from quarter q
      join unnest(days, day_sources) w (day, source_id) on w.day = q.day and w.source_id = q.source_id
      where day_sources is not null
      union all
      select q.source_id, q.bucket, q.highest, q.day
      from (select distinct on (f.bucket) f.* from quarter f where day_sources is null order by f.bucket, f.place) q
      where q.day = any (days)
    ),
    live as (
      select c.day from counted c group by c.day having min(c.bucket) >= raw_floor()
    ),
    span as (
      select c.source_id, c.day, lower(r) as starts, upper(r) as ends
      from (
        select c.source_id, c.day, range_agg(tstzrange(c.bucket, c.bucket + interval '15 minutes')) as ranges
        from counted c
        where c.highest >= least_value
        group by 1, 2
      ) c
      cross join lateral unnest(c.ranges) r
    ),
    minute as (
      select s.day, width_bucket(m.value, bounds) as band, count(*) as n
      from span s
      cross join lateral (
        select case when summed then sum(p.value) else avg(p.value) end as value
        from sample p
        where p.source_id = s.source_id
          and p.series_id = the_series
          and p.ts >= s.starts
          and p.ts < s.ends
          and p.ts >= low
          and p.ts < high
        group by time_bucket('1 minute', p.ts)
      ) m
      group by 1, 2
    )
    select l.day,
           array(
             select coalesce(sum(m.n), 0)::int8
             from generate_series(0, cardinality(bounds)) b
             left join minute m on m.day = l.day and m.band = b
             group by b
             order by b
           )
    from live l;
end
$$;

-- Bounds of light, moderate and vigorous effort in beats a minute (contract 12.3): half of the largest heart rate, then
-- the first values above 63 % and 76 % of it. The largest is 220 less the age on `on_day`, at least 100; 190 when the date
-- of birth is not known.
create or replace function effort_bounds(the_user uuid, on_day int4) returns float8[]
language sql stable
as $$
  select array[
    m.highest / 2,
    -- Means are not whole: 119.2 is above 119, which still is light.
    m.highest * 63 / 100 + 1e-9,
    m.highest * 76 / 100 + 1e-9
  ]::float8[]
  from (
    select coalesce(
      (
        select greatest(100, 220 - extract(year from age(date '1970-01-01' + on_day, p.birth_date))::int4)
        from personal_record p
        where p.user_id = the_user and p.birth_date is not null
      ),
      190
    ) as highest
  ) m;
$$;
