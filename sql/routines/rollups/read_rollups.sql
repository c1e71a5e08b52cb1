-- Splits a window of a series into parts, in order of time: whole clean buckets of `width`, answered by the rollups,
-- and dirty buckets and those the window cuts, answered by the samples. Rollups also answer archived time, where a cut
-- bucket counts as a whole; rollups of minutes, if any, begin later than that. If samples arrived late beside archived
-- ones, a dirty or cut bucket wider than a quarter hour has some of both: such a part is whole buckets, and its `spans`
-- say what counts. Of sparse time no quarter hours are kept: samples answer them. `archived` is the archived time of the
-- series; pass '{}' for a window without any.
drop function if exists rollup_parts(int4, int2, timestamptz, timestamptz, interval);
create or replace function rollup_parts(
  the_source int4, the_series int2, lo timestamptz, hi timestamptz, width interval, archived tstzmultirange default null
) returns table (starts timestamptz, ends timestamptz, rolled_up boolean, spans tstzmultirange)
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  first timestamptz;
  last timestamptz;
  asked tstzmultirange;
  behind tstzmultirange;
  clean tstzmultirange;
begin
  if lo < raw_floor() then
    lo := greatest(lo, rollup_floor());
    archived := coalesce(archived, archived_time(the_source, the_series));
  else
    archived := '{}';
  end if;
  if lo >= hi then
    return;
  end if;
  first := time_bucket(width, lo + width - interval '1 microsecond');
  last := time_bucket(width, hi);
  archived := archived * tstzmultirange(tstzrange(time_bucket(width, lo), time_bucket(width, hi - interval '1 microsecond') + width));
  asked := tstzmultirange(tstzrange(lo, hi));
  if width < interval '15 minutes' then
    -- Buckets of minutes only cover live samples, on every engine.
    asked := asked - archived;
    first := greatest(first, rollup_from(width));
  else
    asked := asked + archived;
  end if;
  if first >= last and isempty(archived) then
    return query select lo, hi, false, null::tstzmultirange;
    return;
  end if;
  select coalesce(range_agg(tstzrange(time_bucket(g.width, d.lo), time_bucket(g.width, d.hi) + g.width)), '{}')
  into behind
  from (select case when isempty(archived) then rollup_parts.width else least(rollup_parts.width, interval '15 minutes') end as width) g
  cross join rollup_dirty d
  where d.source_id = the_source and d.series_id = the_series and d.lo < rollup_parts.hi + rollup_parts.width and d.hi >= rollup_parts.lo - rollup_parts.width;
  if not isempty(archived) then
    -- Archived time between late samples is never dirty.
    behind := coalesce(widened(behind - archived, width), '{}');
  end if;
  if width = interval '15 minutes' then
    behind := behind
      + coalesce((select t.months from sparse_time t where t.source_id = the_source and t.series_id = the_series), '{}');
  end if;
  clean := tstzmultirange(tstzrange(first, greatest(first, last)));
  if width >= interval '15 minutes' and not isempty(archived) then
    clean := clean + (
      select coalesce(range_agg(b.bucket), '{}')
      from (values (time_bucket(width, lo)), (time_bucket(width, hi - interval '1 microsecond'))) e (edge)
      cross join lateral (select tstzrange(e.edge, e.edge + width) as bucket) b
      where b.bucket <@ archived
    );
  end if;
  clean := (clean - behind) * asked;
  asked := asked - clean;
  return query
    select lower(r), upper(r), true, null::tstzmultirange from unnest(clean) r
    union all
    select lower(r), upper(r), false, null from unnest(asked - coalesce(widened(archived, width), '{}')) r
    union all
    select lower(r), upper(r), false, asked * tstzmultirange(r)
    from unnest(widened(asked * widened(archived, width), width)) r
    order by 1;
end
$$;

-- Buckets of a part of a window that has `spans` (see rollup_parts): archived quarter hours and samples together.
create or replace function mixed_buckets(the_source int4, the_series int2, spans tstzmultirange, width interval)
returns table (bucket timestamptz, n int8, total float8, highest float8, last_zone int2)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  low timestamptz := lower(spans);
  high timestamptz := upper(spans);
  archived tstzmultirange := archived_time(the_source, the_series) * spans;
  live tstzmultirange := spans - archived;
begin
  return query
    select time_bucket(width, q.at), sum(q.n)::int8, sum(q.total), max(q.highest), (array_agg(q.last_zone order by q.at desc))[1]
    from (
      select r.bucket as at, r.n, r.total, r.highest, r.last_zone
      from rollup_15min r
      where r.source_id = the_source and r.series_id = the_series and r.bucket >= low and r.bucket < high
        and archived @> r.bucket
      union all
      select s.ts, 1, s.value, s.value, s.zone_offset_min
      from sample s
      where s.source_id = the_source and s.series_id = the_series and s.ts >= low and s.ts < high and live @> s.ts
    ) q
    group by 1;
end
$$;

-- Rollups of one or of five minutes within [lo, hi), as far back as they reach (rollup_from): the first or the last
-- ones.
create or replace function minute_rollup_page(
  the_source int4, the_series int2, lo timestamptz, hi timestamptz, width interval, most int4, backward boolean
) returns table (bucket timestamptz, n int8, total float8, highest float8, last_zone int2)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
begin
  case
    when width = interval '1 minute' and backward then
      return query
        select r.bucket, r.n, r.total, r.highest, r.last_zone from rollup_1min r
        where r.source_id = the_source and r.series_id = the_series and r.bucket >= lo and r.bucket < hi
        order by r.bucket desc limit most;
    when width = interval '1 minute' then
      return query
        select r.bucket, r.n, r.total, r.highest, r.last_zone from rollup_1min r
        where r.source_id = the_source and r.series_id = the_series and r.bucket >= lo and r.bucket < hi
        order by r.bucket limit most;
    when backward then
      return query
        select r.bucket, r.n, r.total, r.highest, r.last_zone from rollup_5min r
        where r.source_id = the_source and r.series_id = the_series and r.bucket >= lo and r.bucket < hi
        order by r.bucket desc limit most;
    else
      return query
        select r.bucket, r.n, r.total, r.highest, r.last_zone from rollup_5min r
        where r.source_id = the_source and r.series_id = the_series and r.bucket >= lo and r.bucket < hi
        order by r.bucket limit most;
  end case;
end
$$;

-- The first `most` buckets (the last ones with `backward`) that hold samples of one series of one source within [lo,
-- hi): from the rollups where they are clean, from the samples elsewhere. `ranges`, if given, limits the buckets to
-- them.
drop function if exists archived_bucket_page(int4, int2, timestamptz, timestamptz, interval, int4[]);
drop function if exists bucket_page(int4, int2, timestamptz, timestamptz, interval, int4, boolean, int4[]);
create or replace function bucket_page(
  the_source int4, the_series int2, lo timestamptz, hi timestamptz, width interval, most int4, backward boolean,
  ranges tstzmultirange
) returns table (bucket timestamptz, n int8, total float8, highest float8, last_zone int2)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  part record;
  wanted int4 := most;
  found_rows int4;
begin
  if ranges is not null then
    return query
      select * from bucket_page_within(the_source, the_series, lo, hi, width, most, backward, ranges);
    return;
  end if;
  for part in
    select * from rollup_parts(the_source, the_series, lo, hi, width) p
    order by case when backward then -date_part('epoch', p.starts) else date_part('epoch', p.starts) end
  loop
    if part.spans is not null then
      return query
        select * from mixed_buckets(the_source, the_series, part.spans, width) b
        order by case when backward then -date_part('epoch', b.bucket) else date_part('epoch', b.bucket) end
        limit wanted;
    elsif not part.rolled_up then
      return query
        select * from raw_bucket_page(the_source, the_series, part.starts, part.ends, width, wanted, backward);
    elsif width < interval '15 minutes' then
      return query
        select * from minute_rollup_page(the_source, the_series, part.starts, part.ends, width, wanted, backward);
    elsif width = interval '15 minutes' and backward then
      return query
        select r.bucket, r.n, r.total, r.highest, r.last_zone from rollup_15min r
        where r.source_id = the_source and r.series_id = the_series and r.bucket >= part.starts and r.bucket < part.ends
        order by r.bucket desc limit wanted;
    elsif width = interval '15 minutes' then
      return query
        select r.bucket, r.n, r.total, r.highest, r.last_zone from rollup_15min r
        where r.source_id = the_source and r.series_id = the_series and r.bucket >= part.starts and r.bucket < part.ends
        order by r.bucket limit wanted;
    elsif backward then
      return query
        select r.bucket, r.n, r.total, r.highest, r.last_zone from rollup_1hour r
        where r.source_id = the_source and r.series_id = the_series and r.bucket >= part.starts and r.bucket < part.ends
        order by r.bucket desc limit wanted;
    else
      return query
        select r.bucket, r.n, r.total, r.highest, r.last_zone from rollup_1hour r
        where r.source_id = the_source and r.series_id = the_series and r.bucket >= part.starts and r.bucket < part.ends
        order by r.bucket limit wanted;
    end if;
    get diagnostics found_rows = row_count;
    wanted := wanted - found_rows;
    exit when wanted <= 0;
  end loop;
end
$$;

-- Number of buckets of `width` that hold samples of a series within [lo, hi), the same buckets as in bucket_page.
drop function if exists bucket_count(int4, int2, timestamptz, timestamptz, interval);
create or replace function bucket_count(
  the_source int4, the_series int2, lo timestamptz, hi timestamptz, width interval, ranges tstzmultirange
) returns int8
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  part record;
  found int8;
  counted int8 := 0;
begin
  if ranges is not null then
    return bucket_count_within(the_source, the_series, lo, hi, width, ranges);
  elsif width < interval '15 minutes' then
    return minute_count(the_source, the_series, lo, hi, width);
  end if;
  for part in select * from rollup_parts(the_source, the_series, lo, hi, width)
  loop
    if part.spans is not null then
      select count(*) into found from mixed_buckets(the_source, the_series, part.spans, width);
    elsif not part.rolled_up then
      select count(distinct time_bucket(width, s.ts)) into found
      from sample s
      where s.source_id = the_source and s.series_id = the_series and s.ts >= part.starts and s.ts < part.ends;
    elsif width = interval '15 minutes' then
      select count(*) into found
      from rollup_15min r
      where r.source_id = the_source and r.series_id = the_series and r.bucket >= part.starts and r.bucket < part.ends;
    else
      select count(*) into found
      from rollup_1hour r
      where r.source_id = the_source and r.series_id = the_series and r.bucket >= part.starts and r.bucket < part.ends;
    end if;
    counted := counted + found;
  end loop;
  return counted;
end
$$;

-- Number of samples of each series on each UTC day within [lo, hi), including archived ones. `place` is the position of
-- the series in the arrays, from 1. `pairs` has eight bytes for each day with samples, in any order: days since
-- 1970-01-01 and the count, both int4. Writing ten thousand pairs as text takes longer than reading them from the
-- rollups. A series comes in two rows if the rollups do not cover all of it.
drop function if exists daily_counts(int4[], int2[], timestamptz, timestamptz);
create function daily_counts(source_ids int4[], series_ids int2[], lo timestamptz, hi timestamptz)
returns table (place int8, pairs bytea, total int8)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  first timestamptz := time_bucket('1 day', lo + interval '1 day' - interval '1 microsecond');
  last timestamptz := greatest(first, time_bucket('1 day', hi));
  -- For each series: the days its rollups answer, and the rest to count.
  clean tstzmultirange[];
  rest tstzmultirange[];
begin
  if lo >= hi then
    return;
  end if;
  if lo >= raw_floor() then
    clean := array(
      select tstzmultirange(tstzrange(first, last)) - (
        select coalesce(range_agg(tstzrange(time_bucket('1 day', d.lo), time_bucket('1 day', d.hi) + interval '1 day')), '{}')
        from rollup_dirty d
        where d.source_id = k.source_id and d.series_id = k.series_id and d.lo < daily_counts.hi and d.hi >= daily_counts.lo
      )
      from unnest(source_ids, series_ids) with ordinality k (source_id, series_id, place)
      order by k.place
    );
    rest := array(select tstzmultirange(tstzrange(lo, hi)) - c.days from unnest(clean) with ordinality c (days, place) order by c.place);
  else
    select array_agg(p.clean order by k.place), array_agg(p.rest order by k.place) into clean, rest
    from unnest(source_ids, series_ids) with ordinality k (source_id, series_id, place)
    cross join lateral (
      select coalesce(range_agg(tstzrange(r.starts, r.ends)) filter (where r.rolled_up), '{}') as clean,
             coalesce(range_agg(coalesce(r.spans, tstzmultirange(tstzrange(r.starts, r.ends)))) filter (where not r.rolled_up), '{}') as rest
      from rollup_parts(k.source_id, k.series_id, daily_counts.lo, daily_counts.hi, '1 day') r
    ) p;
  end if;
  return query
    select k.place, c.pairs, c.total
    from unnest(source_ids, series_ids, clean) with ordinality k (source_id, series_id, clean, place)
    cross join lateral (
      select string_agg(int8send((date_part('epoch', r.bucket) / 86400)::int8 << 32 | r.n), '') as pairs, sum(r.n)::int8 as total
      from unnest(k.clean) part
      join rollup_1day r on r.source_id = k.source_id and r.series_id = k.series_id
        and r.bucket >= lower(part) and r.bucket < upper(part)
      having count(*) > 0
    ) c;
  -- Usually nothing is left. The function is stable, so both statements see the caller's snapshot.
  if '{}' = all (rest) then
    return;
  end if;
  return query
    select k.place, c.pairs, c.total
    from unnest(source_ids, series_ids, rest) with ordinality k (source_id, series_id, rest, place)
    cross join lateral (
      select string_agg(int8send((date_part('epoch', d.day) / 86400)::int8 << 32 | d.n), '') as pairs, sum(d.n)::int8 as total
      from (
        select time_bucket('1 day', q.bucket) as day, sum(q.n)::int8 as n
        from unnest(k.rest) part
        cross join lateral quarter_hours(k.source_id, k.series_id, lower(part), upper(part)) q
        group by 1
      ) d
      having count(*) > 0
    ) c;
end
$$;
