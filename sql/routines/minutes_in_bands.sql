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
        select sum(p.value) / case when summed then 1 else count(*) end as value
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
