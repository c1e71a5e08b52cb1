-- Numbers of buckets of one and of five minutes. A quarter hour has 15 minutes, of which each is a bit, so that samples are added up
-- without sorting them. Local days are made of whole quarter hours: the numbers of those that are over are kept and added up (see
-- held_minutes of rollup_local_day), and only what is left of a window is counted.

-- The minute of an instant within its quarter hour, as a bit. Not immutable, since date_part is not: it would not be inlined, and a
-- call takes 3 µs.
create or replace function minute_bit(ts timestamptz) returns int4
language sql stable parallel safe
return 1 << (floor(date_part('epoch', ts) / 60)::int8 % 15)::int4;

-- On how many minutes of a quarter hour there is anything, and on how many of its three spans of five minutes.
create or replace function held_minutes(bits int4) returns int4
language sql immutable parallel safe
return bit_count(bits::bit(15))::int4;
create or replace function held_fives(bits int4) returns int4
language sql immutable parallel safe
return (bits & 31 <> 0)::int4 + (bits & 992 <> 0)::int4 + (bits & 31744 <> 0)::int4;

-- On how many minutes, and spans of five minutes, of local days [first_day, end_day) a series has samples, as rollup_local_day keeps
-- them.
create or replace function held_of_days(the_source int4, the_series int2, first_day int4, end_day int4)
returns table (day int4, minutes int2, fives int2)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  low timestamptz := day_starts(first_day);
  high timestamptz := day_ends(end_day - 1);
  gone tstzmultirange := case when low < raw_floor() then archived_time(the_source, the_series) else '{}' end;
begin
  return query
    with quarter as materialized (
      select local_day(q.bucket, q.last_zone) as day, q.bucket, q.n
      from quarter_hours(the_source, the_series, low, high) q
      where local_day(q.bucket, q.last_zone) >= first_day and local_day(q.bucket, q.last_zone) < end_day
    ),
    -- Of a quarter hour with one sample nothing has to be read.
    several as materialized (
      select min(q.bucket) as lo, max(q.bucket) + interval '15 minutes' as hi from quarter q where q.n > 1
    ),
    counted as (
      select time_bucket('15 minutes', s.ts) as quarter, bit_or(minute_bit(s.ts)) as bits
      from several v
      cross join lateral (
        select p.ts
        from sample p
        where p.source_id = the_source and p.series_id = the_series and p.ts >= v.lo and p.ts < v.hi and p.ts >= low and p.ts < high
        offset 0
      ) s
      group by 1
    )
    select q.day,
           case when bool_or(gone @> q.bucket) then -1 else sum(case when q.n = 1 then 1 else held_minutes(c.bits) end) end::int2,
           case when bool_or(gone @> q.bucket) then -1 else sum(case when q.n = 1 then 1 else held_fives(c.bits) end) end::int2
    from quarter q
    left join counted c on c.quarter = q.bucket
    group by 1;
end
$$;

-- Counts the minutes of at most `most` days of a series that were stored before minutes were counted. The caller has claimed it.
create or replace function count_held(the_source int4, the_series int2, most int4) returns void
language sql
as $$
  update rollup_local_day r
  set held_minutes = h.minutes, held_fives = h.fives
  from (
    select range_agg(int4range(k.day, k.day + 1)) as days
    from (
      select d.day
      from rollup_local_day d
      where d.source_id = the_source and d.series_id = the_series and not d.stale and d.held_minutes is null
      order by d.day
      limit most
    ) k
  ) due
  cross join lateral unnest(due.days) part
  cross join lateral held_of_days(the_source, the_series, lower(part), upper(part)) h
  where r.source_id = the_source and r.series_id = the_series and r.day = h.day and not r.stale;
$$;

-- The local days within [lo, hi) whose minutes are known: counted, up to date and not archived, or without samples.
create or replace function counted_days(the_source int4, the_series int2, lo timestamptz, hi timestamptz) returns int4multirange
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  first_day int4;
  end_day int4;
begin
  if lo < raw_floor() then
    lo := greatest(lo, rollup_floor());
  end if;
  -- All that can be of these days lies within the window.
  first_day := ceil((date_part('epoch', lo) + 64800) / 86400);
  end_day := floor((date_part('epoch', hi) - 64800) / 86400);
  if end_day - first_day < 2 then
    return '{}';
  end if;
  return (
    select int4multirange(int4range(first_day, end_day)) - coalesce(range_agg(b.days), '{}')
    from (
      select days_of(d.lo, d.hi) as days
      from rollup_dirty d
      where d.source_id = the_source and d.series_id = the_series
      union all
      select int4range(r.day, r.day + 1)
      from rollup_local_day r
      where r.source_id = the_source and r.series_id = the_series and r.day >= first_day and r.day < end_day
        and (r.stale or r.held_minutes is null or r.held_minutes < 0)
      union all
      select days_of(lower(a), upper(a))
      from unnest(archived_time(the_source, the_series) * tstzmultirange(tstzrange(lo, hi))) a
      where lo < raw_floor()
    ) b
  );
end
$$;

-- The minutes of each quarter hour within [lo, hi), which has no archived time, in which a series has samples: from the rollups of
-- `width`, one or five minutes, of which each is its first minute; null = from the samples.
create or replace function minute_bits(the_source int4, the_series int2, lo timestamptz, hi timestamptz, width interval)
returns table (quarter timestamptz, bits int4)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
begin
  if width = interval '1 minute' then
    return query
      select time_bucket('15 minutes', r.bucket), bit_or(minute_bit(r.bucket))
      from rollup_1min r
      where r.source_id = the_source and r.series_id = the_series and r.bucket >= lo and r.bucket < hi
      group by 1;
  elsif width = interval '5 minutes' then
    return query
      select time_bucket('15 minutes', r.bucket), bit_or(minute_bit(r.bucket))
      from rollup_5min r
      where r.source_id = the_source and r.series_id = the_series and r.bucket >= lo and r.bucket < hi
      group by 1;
  else
    return query
      select time_bucket('15 minutes', s.ts), bit_or(minute_bit(s.ts))
      from sample s
      where s.source_id = the_source and s.series_id = the_series and s.ts >= lo and s.ts < hi
      group by 1;
  end if;
end
$$;

-- Number of buckets of `width`, one or five minutes, that hold live samples of a series within [lo, hi).
create or replace function minute_count(the_source int4, the_series int2, lo timestamptz, hi timestamptz, width interval) returns int8
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  known int4multirange := counted_days(the_source, the_series, lo, hi);
  part record;
  found int8;
  counted int8 := 0;
begin
  if not isempty(known) then
    select sum(case when width = interval '1 minute' then r.held_minutes else r.held_fives end) into found
    from rollup_local_day r
    where r.source_id = the_source and r.series_id = the_series and r.day >= lower(known) and r.day < upper(known) and known @> r.day;
    counted := coalesce(found, 0);
  end if;
  for part in
    select p.starts, p.ends, p.rolled_up
    from (
      -- Without the time in which every quarter hour is of such a day.
      select tstzmultirange(tstzrange(lo, greatest(lo, hi))) - coalesce(
        range_agg(tstzrange(day_ends(lower(d) - 1), day_starts(upper(d)))) filter (where upper(d) - lower(d) > 1), '{}'
      ) as ranges
      from unnest(known) d
    ) r
    cross join lateral unnest(r.ranges) u
    cross join lateral rollup_parts(the_source, the_series, lower(u), upper(u), width) p
  loop
    select sum(case when width = interval '1 minute' then held_minutes(b.bits) else held_fives(b.bits) end) into found
    from minute_bits(the_source, the_series, part.starts, part.ends, case when part.rolled_up then width end) b
    left join (
      select q.bucket, local_day(q.bucket, q.last_zone) as day
      from (select 1 where not isempty(known)) k
      cross join lateral quarter_hours(
        the_source, the_series, time_bucket('15 minutes', part.starts),
        time_bucket('15 minutes', part.ends - interval '1 microsecond') + interval '15 minutes'
      ) q
    ) d on d.bucket = b.quarter
    where d.day is null or not known @> d.day;
    counted := counted + coalesce(found, 0);
  end loop;
  return counted;
end
$$;
