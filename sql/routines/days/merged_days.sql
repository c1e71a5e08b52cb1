-- Local days of several sources together. All stored series of a type, those that were entered by hand among them, compete for
-- each quarter hour of UTC: it counts for the best one that reaches into it, which a record does with all of its time. What was
-- measured is better than what was entered; then the smaller rank, more samples on the local day, and the earlier place in the
-- arrays. By quarter hour and not by minute, since archived samples are known no better. The best one of a day counts with all
-- it has; of the others every record is spread evenly over its time. What of a record counts is of the local day on which the
-- record starts, as everywhere.

drop function if exists rival_quarters(int4[], int2[], int4[], int4, int4);
drop function if exists merged_parts(int4[], int2[], int4[], int8[], int4, int4);
drop function if exists minutes_reached(int2, int4[], int4[], int4[]);
drop function if exists merged_minutes_reached(int4[], int2, int4[], int4[]);
drop function if exists counted_quarters(int4, int2, int4[], int4, int4);
drop function if exists minutes_reached(int2, int4[], int4[], boolean[], int4[], int4[]);
drop function if exists counted_parts(int4, int2, tstzmultirange, int4, int4);

-- What each series of a source adds up to on each local day of [low, high), and which others of its type are better than it and
-- have anything within two days: two devices may disagree by that much about the day of a quarter hour. `place` and `better`
-- are places in the arrays, from 1; null when there are none. Daily totals have no rivals.
create or replace function rival_days(source_ids int4[], series_ids int2[], ranks int4[], low int4, high int4)
returns table (day int4, place int8, n int8, total float8, lowest float8, highest float8, better int8[])
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
begin
  return query
    with entry as materialized (
      select k.place, k.source_id, k.series_id, k.rank, (k.series_id % 5000)::int2 as type, k.series_id >= 5000 as manual,
             k.series_id < 10000 and count(*) filter (where k.series_id < 10000) over (partition by k.series_id % 5000) > 1
               as contested
      from unnest(source_ids, series_ids, ranks) with ordinality k (source_id, series_id, rank, place)
    ),
    around as materialized (
      select e.place, e.type, e.manual, e.rank, e.contested, d.day, d.n, d.total, d.lowest, d.highest
      from entry e
      cross join lateral local_days(
        e.source_id, e.series_id, low - case when e.contested then 2 else 0 end, high + case when e.contested then 2 else 0 end,
        false
      ) d
    ),
    near as materialized (
      select distinct a.place, a.type, a.manual, a.rank, a.day + shift as day
      from around a
      cross join generate_series(-2, 2) shift
      where a.contested
    ),
    met as materialized (
      select a.place, a.day, array_agg(b.place order by b.place) as better
      from around a
      join near b on b.type = a.type and b.day = a.day and b.place <> a.place
      left join around own on own.place = b.place and own.day = a.day
      where a.contested
        and (b.manual, b.rank, -coalesce(own.n, 0), b.place) < (a.manual, a.rank, -a.n, a.place)
      group by 1, 2
    )
    select a.day, a.place, a.n, a.total, a.lowest, a.highest, m.better
    from around a
    left join met m on m.place = a.place and m.day = a.day
    where a.day >= low and a.day < high;
end
$$;

-- Into which quarter hours a series reaches: bits by half day of UTC, as quarter_bits_within has them, of the ranges and of
-- what records carry over from the local days [first_day, end_day).
create or replace function reached_bits(
  the_source int4, the_series int2, ranges tstzmultirange, first_day int4, end_day int4
) returns table (half timestamptz, bits int8)
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
begin
  return query select * from quarter_bits_within(the_source, the_series, ranges);
  if not has_lengths(the_source, the_series) then
    return;
  end if;
  return query
    select time_bucket('12 hours', s.bucket), bit_or(1::int8 << (date_part('epoch', s.bucket)::int8 / 900 % 48)::int4)
    from local_days(the_source, the_series, first_day, end_day, false, true) d
    cross join lateral spilled(d.day, d.spill_runs, d.spills) s
    where ranges @> s.bucket
    group by 1;
end
$$;

-- The quarter hours that count for a series on local days of [first_day, end_day), whatever the day of what is in them: it
-- reaches into them, and none of the better ones does. Half days that these fill are not looked at. Null when there are none.
create or replace function free_quarters(
  the_source int4, the_series int2, better_sources int4[], better_series int2[], first_day int4, end_day int4
) returns tstzmultirange
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  -- A record lasts a day at most.
  time tstzmultirange := tstzmultirange(tstzrange(day_starts(first_day), day_ends(end_day)));
  free tstzmultirange;
begin
  with taken as materialized (
    select b.half, bit_or(b.bits) as bits
    from unnest(better_sources, better_series) k (source_id, series_id)
    cross join lateral reached_bits(k.source_id, k.series_id, time, first_day - 3, end_day + 3) b
    group by 1
  ),
  open as materialized (
    select range_agg(tstzrange(h, h + interval '12 hours')) * time as ranges
    from generate_series(time_bucket('12 hours', lower(time)), upper(time) - interval '1 microsecond', interval '12 hours') h
    where h not in (select t.half from taken t where t.bits = (1::int8 << 48) - 1)
    having count(*) > 0
  ),
  own as (
    select b.half, bit_or(b.bits) as bits
    from open o
    cross join lateral reached_bits(the_source, the_series, o.ranges, first_day, end_day) b
    group by 1
  )
  select range_agg(tstzrange(q.bucket, q.bucket + interval '15 minutes'))
  into free
  from own o
  left join taken t on t.half = o.half
  cross join generate_series(0, 47) number
  cross join lateral (select o.half + number * interval '15 minutes' as bucket) q
  where (o.bits & ~coalesce(t.bits, 0)) >> number & 1 = 1;
  return free;
end
$$;

-- What of a series counts on each of the local days [first_day, end_day), when it counts in the quarter hours `free` only.
-- `n` are the samples that start in these, and it may be 0. `cut` tells that only a part of some record counts, which may add
-- nothing to what is left out: a record of no steps.
create or replace function counted_parts(the_source int4, the_series int2, free tstzmultirange, first_day int4, end_day int4)
returns table (day int4, n int8, total float8, lowest float8, highest float8, cut boolean)
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
begin
  return query
    with piece as (
      select local_day(q.bucket, q.last_zone) as day, q.n, q.total, q.lowest, q.highest, false as cut
      from quarter_hours_within(the_source, the_series, free) q
      union all
      select d.day, 0, s.amount * ((free @> s.bucket)::int4 - (free @> s.start)::int4), null, null,
             (free @> s.bucket) <> (free @> s.start)
      from (select 1 where has_lengths(the_source, the_series)) l
      cross join lateral local_days(the_source, the_series, first_day, end_day, false, true) d
      cross join lateral spilled(d.day, d.spill_runs, d.spills) s
      where free @> s.bucket or free @> s.start
    )
    select p.day, sum(p.n)::int8, sum(p.total), min(p.lowest), max(p.highest), bool_or(p.cut)
    from piece p
    where p.day >= first_day and p.day < end_day
    group by 1;
end
$$;

-- What each series of a source adds up to on each local day of [low, high), once what counts and once what does not, of
-- which `lowest` and `highest` are those of the day. `place` is the place of the series in the arrays, from 1. Daily totals
-- count in any case.
create or replace function merged_parts(source_ids int4[], series_ids int2[], ranks int4[], low int4, high int4)
returns table (day int4, place int8, counted boolean, n int8, total float8, lowest float8, highest float8)
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
begin
  return query
    with whole as materialized (
      select * from rival_days(source_ids, series_ids, ranks, low, high)
    ),
    part as materialized (
      select m.place, p.*
      from (
        select w.place, w.better, min(w.day) as first_day, max(w.day) + 1 as end_day, range_agg(int4range(w.day, w.day + 1)) as days
        from whole w
        where w.better is not null
        group by 1, 2
      ) m
      cross join lateral free_quarters(
        source_ids[m.place], series_ids[m.place], array(select source_ids[b] from unnest(m.better) b),
        array(select series_ids[b] from unnest(m.better) b), m.first_day, m.end_day
      ) free
      cross join lateral counted_parts(source_ids[m.place], series_ids[m.place], free, m.first_day, m.end_day) p
      where free is not null and m.days @> p.day
    )
    select w.day, w.place, true, w.n, w.total, w.lowest, w.highest
    from whole w
    where w.better is null
    union all
    select w.day, w.place, true, p.n, p.total, coalesce(p.lowest, w.lowest), coalesce(p.highest, w.highest)
    from whole w
    join part p on p.place = w.place and p.day = w.day
    where w.better is not null
    union all
    select w.day, w.place, false, w.n - coalesce(p.n, 0), w.total - coalesce(p.total, 0), w.lowest, w.highest
    from whole w
    left join part p on p.place = w.place and p.day = w.day
    where w.better is not null
      and (w.n > coalesce(p.n, 0) or p.cut or abs(w.total - coalesce(p.total, 0)) > 1e-9 * abs(w.total));
end
$$;

-- On how many minutes of local days the samples of series reached each of `marks` (see minute_place). The arrays hold all
-- series of one type, as merged_parts takes them; `days` and `places` say which of them count on which day, `in_part` that one
-- does so only in the quarter hours that merged_parts counts. With `spread` records of steps are spread over their minutes.
-- `reached` is null when it is not known: a record that is spread lasts longer than a quarter hour, or a source came after the
-- samples of the day were archived. Without `spread` what a source measured and what was entered by hand make minutes
-- together, reported with the place of the former; each by itself near archived time.
create or replace function minutes_reached(
  source_ids int4[], series_ids int2[], ranks int4[], days int4[], places int4[], in_part boolean[], spread boolean, marks int4[]
) returns table (day int4, place int4, reached int8[])
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  -- Two days after the time of which anything is archived everything can be read.
  live_days int4multirange := (
    select int4multirange(int4range(local_day(a.raw_floor, 1080::int2) + 2, null)) from archival a
  );
begin
  return query
    with asked as materialized (
      select a.place, source_ids[a.place] as source_id, series_ids[a.place] as series_id, a.in_part,
             range_agg(int4range(a.day, a.day + 1)) as days
      from unnest(minutes_reached.days, places, minutes_reached.in_part) a (day, place, in_part)
      group by a.place, a.in_part
    ),
    rival as materialized (
      select r.place, r.better, range_agg(int4range(r.day, r.day + 1)) as days
      from (
        select min(d) as low, max(d) + 1 as high
        from unnest(minutes_reached.days, minutes_reached.in_part) p (d, in_part)
        where p.in_part
      ) p
      cross join lateral rival_days(source_ids, series_ids, ranks, p.low, p.high) r
      join asked a on a.place = r.place and a.in_part and a.days @> r.day
      where p.low is not null
      group by 1, 2
    ),
    free as materialized (
      select r.place::int4 as place, source_ids[r.place] as source_id, series_ids[r.place] as series_id, r.days,
             free_quarters(
               source_ids[r.place], series_ids[r.place], array(select source_ids[b] from unnest(r.better) b),
               array(select series_ids[b] from unnest(r.better) b), lower(r.days), upper(r.days)
             ) as quarters
      from rival r
    ),
    twin as materialized (
      select m.place, e.place as other, m.source_id, m.series_id, m.days * e.days * live_days as days
      from asked m
      join asked e on e.source_id = m.source_id and e.series_id = m.series_id + 5000
      where not spread and not m.in_part and not e.in_part and m.days * e.days && live_days
    ),
    counted as (
      select d.day, a.place, case when spread and a.series_id % 5000 = 80 then d.spread_minutes else d.minutes end as minutes
      from asked a
      cross join lateral local_days(a.source_id, a.series_id, lower(a.days), upper(a.days), true) d
      where not a.in_part and d.day <@ a.days
        and not exists (select from twin t where a.place in (t.place, t.other) and t.days @> d.day)
      union all
      select m.day, f.place, m.minutes
      from free f
      cross join lateral minutes_within(f.source_id, f.series_id, f.quarters, f.days, spread) m
      where f.quarters is not null
    )
    select c.day, c.place,
           case when c.minutes is not null then array(select coalesce(c.minutes[p], 0)::int8 from unnest(marks) p) end
    from counted c
    union all
    select b.day, t.place, b.reached
    from twin t
    cross join lateral minutes_of_both(t.source_id, t.series_id, t.days, marks) b;
end
$$;

-- On how many minutes of local days the samples of a series reached each of `marks`, those entered by hand among them: a
-- minute is that of both together. Nothing of these days may be archived.
create or replace function minutes_of_both(the_source int4, the_series int2, days int4multirange, marks int4[])
returns table (day int4, reached int8[])
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  low timestamptz := day_starts(lower(days));
  high timestamptz := day_ends(upper(days) - 1);
begin
  return query
    with minute as (
      select q.day, minute_place(the_series, sum(s.value), count(*)) as place
      from unnest(array[the_series, the_series + 5000]::int2[]) t (series_id)
      cross join lateral (
        select local_day(b.bucket, b.last_zone) as day, b.bucket
        from quarter_hours(the_source, t.series_id, low, high) b
      ) q
      cross join lateral (
        select p.ts, p.value
        from sample p
        where p.source_id = the_source and p.series_id = t.series_id
          and p.ts >= q.bucket and p.ts < q.bucket + interval '15 minutes' and p.ts >= low and p.ts < high
        offset 0
      ) s
      where days @> q.day
      group by q.day, time_bucket('1 minute', s.ts)
    )
    select g.day, array_agg(g.n order by g.number)
    from (
      select m.day, k.number, count(*) filter (where m.place >= k.mark) as n
      from minute m
      cross join unnest(marks) with ordinality k (mark, number)
      group by 1, 2
    ) g
    group by 1;
end
$$;
