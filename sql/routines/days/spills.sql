-- Records that last: what they carry from the quarter hour in which they start into those that follow, and their minutes. When
-- several sources are merged a record is spread evenly over its time; all other sums go by its start. See rollup_local_day.

-- What a record carries into the quarter hours after the one in which it starts: `nth` counts these from 1. Spread evenly over
-- its time.
create or replace function carried(ts timestamptz, value float8, lasts_s int4) returns table (nth int4, amount float8)
language sql immutable parallel safe
as $$
  select k, value * (least(r.ends, (r.quarter + k + 1) * 900) - (r.quarter + k) * 900) / lasts_s
  from (
    select date_part('epoch', ts) + lasts_s as ends, floor(date_part('epoch', ts) / 900) as quarter
  ) r
  cross join lateral generate_series(1, ceil(r.ends / 900 - r.quarter)::int4 - 1) k
$$;

-- What `spill_runs` and `spills` of a day say (see rollup_local_day): the quarter hour of the start, each one that is reached,
-- and what is carried into it.
create or replace function spilled(day int4, spill_runs int2[], spills float8[])
returns table (start timestamptz, bucket timestamptz, amount float8)
language sql immutable parallel safe
as $$
  select to_timestamp((day::int8 * 96 + e.place) * 900), to_timestamp((day::int8 * 96 + e.place + e.before + nth) * 900), e.amount
  from (
    select u.run % 256 - 80 as place, u.run / 256 as length, u.amount,
           sum(u.run / 256) over (partition by u.run % 256 order by u.number) - u.run / 256 as before
    from unnest(spill_runs, spills) with ordinality u (run, amount, number)
  ) e
  cross join lateral generate_series(1, e.length) nth
$$;

-- Whether any record of a series lasts long enough for that to be kept.
create or replace function has_lengths(the_source int4, the_series int2) returns boolean
language sql stable
as $$
  select exists (
    select 1 from source_series k
    where k.source_id = the_source and k.series_id = the_series and k.longest_s is not null
  )
$$;

-- Whether several sources of a user share a series by quarter hour (server/api/summaries/activity-days.ts), entered by hand
-- or not.
create or replace function is_merged(the_series int2) returns boolean
language sql immutable parallel safe
return the_series < 10000 and the_series % 5000 in (1, 80, 81, 82, 86, 88, 100);

drop function if exists least_amount(int2);

-- What the records that start in one quarter hour have to bring into one for more than a trace: anything, and if they carry
-- over into others, five steps; a heart rate is never a trace. A trace takes no quarter hour from a source that has more
-- (docs/reading.md).
create or replace function least_amount(the_series int2, carries boolean) returns float8
language sql immutable parallel safe
return case when the_series % 5000 = 1 then '-infinity'::float8 when the_series % 5000 = 80 and carries then 5 - 1e-6 else 1e-9 end;

-- What records of a series carry over from each local day of [first_day, end_day), and which quarter hours they reach, as
-- `rollup_local_day` has both: computed from the samples, and of archived time as it is kept.
create or replace function day_reach(the_source int4, the_series int2, first_day int4, end_day int4)
returns table (day int4, spill_runs int2[], spills float8[], reached int8[], firm int8[])
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  low timestamptz := day_starts(first_day);
  high timestamptz := day_ends(end_day - 1);
  oldest timestamptz := rollup_floor();
  gone tstzmultirange := case when low < raw_floor() then archived_time(the_source, the_series) else '{}' end;
  lengths boolean := has_lengths(the_source, the_series);
begin
  if not lengths and not is_merged(the_series) then
    return;
  end if;
  return query
    with quarter as materialized (
      select local_day(q.bucket, q.last_zone) as day, q.bucket, q.total
      from quarter_hours(the_source, the_series, low, high) q
    ),
    live as (
      select l.start, l.nth, sum(l.amount) as amount
      from (
        select time_bucket('15 minutes', s.ts) as start, c.nth, c.amount
        from unnest(live_time(the_source, the_series, low, high)) r
        cross join lateral (
          select p.ts, p.value, p.lasts_s
          from sample p
          where p.source_id = the_source and p.series_id = the_series and p.ts >= lower(r) and p.ts < upper(r)
            and p.ts >= low and p.ts < high and p.lasts_s is not null
          -- Kept as a probe for each range.
          offset 0
        ) s
        cross join lateral carried(s.ts, s.value, s.lasts_s) c
        where lengths
      ) l
      group by 1, 2
    ),
    dated as materialized (
      select q.day, l.start, l.nth::int8 as nth, l.amount
      from live l
      join quarter q on q.bucket = l.start
      where q.day >= first_day and q.day < end_day
      union all
      select r.day, s.start, (date_part('epoch', s.bucket - s.start) / 900)::int8, s.amount
      from rollup_local_day r
      cross join lateral spilled(r.day, r.spill_runs, r.spills) s
      where lengths and not isempty(gone) and r.source_id = the_source and r.series_id = the_series
        and r.day >= first_day and r.day < end_day and gone @> s.start and s.start >= oldest
    ),
    carried_over as (
      select r.day,
             array_agg(
               (256 * r.length + 80 + date_part('epoch', r.start)::int8 / 900 - r.day::int8 * 96)::int2
               order by r.start, r.first
             ) as spill_runs,
             array_agg(r.amount order by r.start, r.first) as spills
      from (
        select e.day, e.start, e.amount, min(e.nth) as first, count(*) as length
        from (
          -- Quarter hours in a row differ from their number among those that get the same by the same number.
          select d.*, d.nth - row_number() over (partition by d.day, d.start, d.amount order by d.nth) as run
          from dated d
        ) e
        group by e.day, e.start, e.amount, e.run
      ) r
      group by 1
    ),
    piece as (
      select q.day, q.bucket, q.total - coalesce(c.amount, 0) as amount, c.amount is not null as carries
      from quarter q
      left join (select d.start, sum(d.amount) as amount from dated d group by 1) c on c.start = q.bucket
      where q.day >= first_day and q.day < end_day
      union all
      -- What lies more than an hour behind the start of a record says nothing about its quarter hour.
      select d.day, d.start + d.nth * interval '15 minutes', case when d.nth <= 4 then d.amount end, true
      from dated d
    ),
    half as (
      select h.day, h.number / 48 as half, bit_or(1::int8 << (h.number % 48)::int4) as bits,
             coalesce(bit_or(1::int8 << (h.number % 48)::int4) filter (where h.amount >= least_amount(the_series, h.carries)), 0) as firm
      from (
        select p.day, p.amount, p.carries, date_part('epoch', p.bucket)::int8 / 900 - p.day::int8 * 96 + 96 as number from piece p
      ) h
      where is_merged(the_series)
      group by 1, 2
    ),
    reach as (
      select h.day, array_agg(h.half << 48 | h.bits order by h.half) as reached,
             array_agg(h.half << 48 | h.firm order by h.half) as firm
      from half h
      group by 1
    )
    select coalesce(c.day, r.day), c.spill_runs, c.spills, r.reached, nullif(r.firm, r.reached)
    from carried_over c
    full join reach r on r.day = c.day;
end
$$;

-- Minutes of steps by place (see minute_place) of the records that start within parts of local days, each spread evenly over
-- its minutes. With `counted` only minutes in these ranges. `minutes` is null where a record lasts longer than a quarter hour:
-- nobody knows in which of its minutes somebody walked. No row where there are none.
create or replace function spread_minutes_by_place(
  the_source int4, the_series int2, days int4[], starts tstzmultirange[], counted tstzmultirange
) returns table (day int4, minutes int2[])
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  low timestamptz := (select min(lower(s)) from unnest(starts) s);
  high timestamptz := (select max(upper(s)) from unnest(starts) s);
begin
  return query
    with record as (
      select w.day, s.ts, s.value, s.lasts_s
      from unnest(days, starts) w (day, spans)
      cross join lateral unnest(w.spans) r
      cross join lateral (
        select p.ts, p.value, p.lasts_s
        from sample p
        where p.source_id = the_source and p.series_id = the_series and p.ts >= lower(r) and p.ts < upper(r)
          and p.ts >= low and p.ts < high
        offset 0
      ) s
      where counted is null or counted && tstzrange(s.ts, s.ts + coalesce(s.lasts_s, 0) * interval '1 second', '[]')
    ),
    piece as (
      select r.day, floor(date_part('epoch', r.ts) / 60) as minute, r.value as amount
      from record r
      where r.lasts_s is null
      union all
      select r.day, m.minute, r.value * (least(e.ends, (m.minute + 1) * 60) - greatest(e.starts, m.minute * 60)) / r.lasts_s
      from record r
      cross join lateral (
        select date_part('epoch', r.ts) as starts, date_part('epoch', r.ts) + r.lasts_s as ends
      ) e
      cross join lateral generate_series(floor(e.starts / 60)::int8, ceil(e.ends / 60)::int8 - 1) m (minute)
      where r.lasts_s <= 900
    ),
    reached as (
      select m.day, count(*) as some, count(*) filter (where m.place = 2) as active
      from (
        select p.day, minute_place(the_series, sum(p.amount), count(*)) as place
        from piece p
        where counted is null or counted @> to_timestamp(p.minute * 60)
        group by p.day, p.minute
      ) m
      group by 1
    ),
    long as (
      select distinct r.day
      from record r
      where r.lasts_s > 900
        and (counted is null or counted && tstzrange(r.ts, r.ts + r.lasts_s * interval '1 second'))
    )
    select coalesce(r.day, l.day),
           case when l.day is null then (array[r.some, r.active])[:case when r.active > 0 then 2 else 1 end]::int2[] end
    from reached r
    full join long l on l.day = r.day;
end
$$;
