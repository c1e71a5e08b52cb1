-- Local days of several sources together. All stored series of a type, those that were entered by hand among them, compete for
-- each quarter hour of UTC: it counts for the best one that reaches into it, which a record does with all of its time. What was
-- measured is better than what was entered; then more than a trace is better than less (see least_amount); then the smaller rank,
-- more samples on the date of the quarter hour in UTC, and the earlier place in the arrays. By quarter hour and not by minute,
-- since archived samples are known no better, and whatever local day each source puts it on: no quarter hour counts twice, none
-- is lost. Where others have nothing, a series counts with all it has; else every record is spread evenly over its time. What of
-- a record counts is of the local day on which the record starts, as everywhere.

drop function if exists rival_quarters(int4[], int2[], int4[], int4, int4);
drop function if exists merged_parts(int4[], int2[], int4[], int8[], int4, int4);
drop function if exists minutes_reached(int2, int4[], int4[], int4[]);
drop function if exists merged_minutes_reached(int4[], int2, int4[], int4[]);
drop function if exists counted_quarters(int4, int2, int4[], int4, int4);
drop function if exists minutes_reached(int2, int4[], int4[], boolean[], int4[], int4[]);
drop function if exists counted_parts(int4, int2, tstzmultirange, int4, int4);
drop function if exists rival_days(int4[], int2[], int4[], int4, int4);
drop function if exists free_quarters(int4, int2, int4[], int2[], int4, int4);
drop function if exists minutes_reached(int4[], int2[], int4[], int4[], int4[], boolean[], boolean, int4[]);
drop function if exists reached_bits(int4, int2, tstzmultirange, int4, int4);
drop function if exists quarter_bits_within(int4, int2, tstzmultirange);
drop function if exists half_days(int4, int8[], int8[]);

-- The local days of [low, high) on which not everything of a series counts, and the quarter hours that do, of all that these days
-- can have anything in; null when none does. `place` is the place in the arrays, from 1.
create or replace function free_quarters(source_ids int4[], series_ids int2[], ranks int4[], low int4, high int4)
returns table (place int8, days int4multirange, free tstzmultirange)
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
begin
  return query
    with entry as materialized (
      select e.*
      from (
        select k.*, k.series_id % 5000 as type, k.series_id >= 5000 as manual,
               count(*) over (partition by k.series_id % 5000) as of_type
        from unnest(source_ids, series_ids, ranks) with ordinality k (source_id, series_id, rank, place)
        -- Daily totals have no rivals.
        where k.series_id < 10000
      ) e
      where e.of_type > 1
    ),
    kept as materialized (
      select e.place, d.day, d.n, d.reached, d.firm
      from entry e
      -- Two devices may disagree by two days about the day of a quarter hour, a record lasts a day, and whole days of UTC count.
      cross join lateral local_days(e.source_id, e.series_id, low - 4, high + 5, false, true) d
    ),
    -- By half days since 1970, the quarter hours of each as 48 bits.
    reach as (
      select k.place, k.day * 2 - 2 + (w.bits >> 48)::int4 as half,
             bit_or(w.bits) & (1::int8 << 48) - 1 as bits, bit_or(w.firm) & (1::int8 << 48) - 1 as firm
      from kept k
      cross join lateral unnest(k.reached, coalesce(k.firm, k.reached)) w (bits, firm)
      group by 1, 2
    ),
    level as (
      select r.place, r.half, l.bits as own,
             l.bits & ~coalesce(
               bit_or(l.bits) over (
                 -- One key: to compare two took longer.
                 partition by e.type::int8 << 32 | r.half
                 order by e.manual, l.slight, e.rank, coalesce(k.n, 0) desc, r.place
                 rows between unbounded preceding and 1 preceding
               ), 0
             ) as open
      from reach r
      join entry e on e.place = r.place
      left join kept k on k.place = r.place and k.day = r.half >> 1
      cross join lateral (values (false, r.firm), (true, r.bits & ~r.firm)) l (slight, bits)
      where l.bits <> 0
    ),
    half as materialized (
      select l.place, l.half, bit_or(l.open) as open, bit_or(l.open) <> bit_or(l.own) as contested
      from level l
      group by 1, 2
    ),
    -- A local day has quarter hours of at most four dates of UTC, and a record that starts on it ends on the last or the next.
    contested as materialized (
      select c.place, c.days, range_agg(tstzrange(day_starts(lower(d)), day_ends(upper(d)))) as time,
             range_agg(int4range(lower(d) * 2 - 2, upper(d) * 2 + 4)) as halves
      from (
        select h.place, range_agg(int4range(h.date - 2, h.date + 2)) * int4multirange(int4range(low, high)) as days
        from (select distinct h.place, h.half >> 1 as date from half h where h.contested) h
        group by 1
      ) c
      cross join lateral unnest(c.days) d
      group by 1, 2
    )
    select c.place, c.days, range_agg(q.quarters) * c.time
    from contested c
    left join half h on h.place = c.place and h.open <> 0 and h.half <@ c.halves
    left join lateral (
      select tstzrange(to_timestamp(p.quarter * 900::float8), to_timestamp((p.quarter + p.length) * 900::float8))
      from (
        select h.half * 48, 48 where h.open = (1::int8 << 48) - 1
        union all
        select h.half * 48 + bit, 1
        from generate_series(0, 47) bit
        where h.open <> (1::int8 << 48) - 1 and h.open >> bit & 1 = 1
      ) p (quarter, length)
    ) q (quarters) on true
    group by c.place, c.days, c.time;
end
$$;

-- What of a series counts on each of the local days [first_day, end_day), when it counts in the quarter hours `free` only.
-- `n` are the samples that start in these, and it may be 0. `cut` says that only a part of some record counts, which may add
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
      select k.place, d.day, d.n, d.total, d.lowest, d.highest
      from unnest(source_ids, series_ids) with ordinality k (source_id, series_id, place)
      cross join lateral local_days(k.source_id, k.series_id, low, high, false) d
    ),
    split as materialized (
      select * from free_quarters(source_ids, series_ids, ranks, low, high)
    ),
    part as materialized (
      select s.place, p.*
      from split s
      cross join lateral counted_parts(source_ids[s.place], series_ids[s.place], s.free, lower(s.days), upper(s.days)) p
      where s.free is not null and s.days @> p.day
    )
    select w.day, w.place, true, w.n, w.total, w.lowest, w.highest
    from whole w
    where not exists (select from split s where s.place = w.place and s.days @> w.day)
    union all
    select w.day, w.place, true, p.n, p.total, coalesce(p.lowest, w.lowest), coalesce(p.highest, w.highest)
    from whole w
    join part p on p.place = w.place and p.day = w.day
    union all
    select w.day, w.place, false, w.n - coalesce(p.n, 0), w.total - coalesce(p.total, 0), w.lowest, w.highest
    from whole w
    join split s on s.place = w.place and s.days @> w.day
    left join part p on p.place = w.place and p.day = w.day
    where w.n > coalesce(p.n, 0) or p.cut or abs(w.total - coalesce(p.total, 0)) > 1e-9 * abs(w.total);
end
$$;

-- On how many minutes of local days the samples of series reached each of `marks` (see minute_place). The arrays hold all
-- series of one type, as merged_parts takes them; `places` and `days` say which of them count on which days, `in_part` that one
-- does so only in the quarter hours that merged_parts counts. With `spread` records of steps are spread over their minutes.
-- `reached` is null when it is not known: a record that is spread lasts longer than a quarter hour, or a source came after the
-- samples of the day were archived. Without `spread` what a source measured and what was entered by hand make minutes
-- together, reported with the place of the former; near archived time as each by itself, and a row that corrects their sum, null
-- if nobody knows which minutes they share. So the rows of a day add up.
create or replace function minutes_reached(
  source_ids int4[], series_ids int2[], ranks int4[], places int4[], in_part boolean[], days int4multirange[], spread boolean,
  marks int4[]
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
      select a.place, source_ids[a.place] as source_id, series_ids[a.place] as series_id, a.in_part, a.days
      from unnest(places, minutes_reached.in_part, minutes_reached.days) a (place, in_part, days)
    ),
    free as materialized (
      select a.place, a.source_id, a.series_id, a.days * f.days as days, f.free as quarters
      from (
        select min(lower(p.days)) as low, max(upper(p.days)) as high from asked p where p.in_part having count(*) > 0
      ) p
      cross join lateral free_quarters(source_ids, series_ids, ranks, p.low, p.high) f
      join asked a on a.place = f.place and a.in_part and a.days && f.days
      where f.free is not null
    ),
    pair as (
      select m.place, e.place as other, m.source_id, m.series_id, m.days * e.days as days
      from asked m
      join asked e on e.source_id = m.source_id and e.series_id = m.series_id + 5000
      where not spread and not m.in_part and not e.in_part and m.days && e.days
    ),
    twin as materialized (
      select b.place, b.other, b.source_id, b.series_id, b.days * live_days as days from pair b where b.days && live_days
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
    )
    select c.day, c.place,
           case when c.minutes is not null then array(select coalesce(c.minutes[p], 0)::int8 from unnest(marks) p) end
    from counted c
    union all
    select b.day, t.place, b.reached
    from twin t
    cross join lateral minutes_of_both(t.source_id, t.series_id, t.days, marks) b
    union all
    select s.day, b.place, s.reached
    from pair b
    cross join lateral shared_minutes(b.source_id, b.series_id, b.days - live_days, marks) s
    where not b.days <@ live_days;
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
