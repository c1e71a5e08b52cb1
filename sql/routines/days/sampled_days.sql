-- The first `most` local days of [first_day, end_day) (the last ones with `backward`) on which a user has samples of the
-- given series, or that are among `other_days`; `parts` is null for days of `other_days` without samples. `parts` has for
-- each series of a source a list of [place, counted, n, total, lowest, highest]: its position in the arrays, from 0; 1 if it
-- counts, else 0; and the sums of its samples. With `merged`, a quarter hour of a type counts for the best series that
-- reaches into it (see merged_days.sql), else everything counts; daily totals always count.
-- The cost of a page depends on the days it shows, not on the length of the range or on empty time in it: it is read in
-- windows with as many non-empty days as are still needed. Mostly one window is enough.
create or replace function sampled_days(
  source_ids int4[], series_ids int2[], ranks int4[], first_day int4, end_day int4, most int4, backward boolean,
  merged boolean, other_days int4[]
) returns table (day int4, parts json)
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  low int4 := first_day;
  high int4 := end_day;
  days int4range;
  wanted int4 := most;
  found_rows int4;
begin
  while wanted > 0 and low < high loop
    days := next_days(source_ids, series_ids, low, high, wanted, backward, other_days);
    exit when days is null;
    return query
      select coalesce(d.day, o.day), d.parts
      from (
        select p.day, json_agg(array[p.place - 1, p.counted::int4, p.n, p.total, p.lowest, p.highest]) as parts
        from sampled_parts(source_ids, series_ids, ranks, lower(days), upper(days), merged) p
        group by p.day
        having bool_or(p.counted)
      ) d
      full join (select distinct u.day from unnest(other_days) u (day) where u.day <@ days) o on o.day = d.day
      order by coalesce(d.day, o.day) * case when backward then -1 else 1 end
      limit wanted;
    get diagnostics found_rows = row_count;
    wanted := wanted - found_rows;
    if backward then
      high := lower(days);
    else
      low := upper(days);
    end if;
  end loop;
end
$$;

-- The range from the first to the last of the first `most` days of [low, high) (the last ones with `backward`) that may have
-- samples of the given series, since they are stored or samples were written around them, or that are among `other_days`.
-- Null if there are none. A range of at most `most` days is returned unread.
create or replace function next_days(
  source_ids int4[], series_ids int2[], low int4, high int4, most int4, backward boolean, other_days int4[]
) returns int4range
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
begin
  if high - low <= most then
    return int4range(low, high);
  end if;
  return (
    select int4range(min(f.day), max(f.day) + 1)
    from (
      select c.day
      from (
        select r.day
        from unnest(source_ids, series_ids) k (source_id, series_id)
        cross join lateral (
          (
            select r.day
            from rollup_local_day r
            where not backward and r.source_id = k.source_id and r.series_id = k.series_id and r.day >= low and r.day < high
            order by r.day
            limit most
          )
          union all
          (
            select r.day
            from rollup_local_day r
            where backward and r.source_id = k.source_id and r.series_id = k.series_id and r.day >= low and r.day < high
            order by r.day desc
            limit most
          )
        ) r
        union
        select generate_series(lower(b), upper(b) - 1)
        from (
          select range_agg(days_of(d.lo, d.hi)) * int4multirange(int4range(low, high)) as days
          from unnest(source_ids, series_ids) k (source_id, series_id)
          join rollup_dirty d on d.source_id = k.source_id and d.series_id = k.series_id
        ) d
        cross join lateral unnest(d.days) b
        union
        select o.day from unnest(other_days) o (day) where o.day >= low and o.day < high
      ) c
      order by c.day * case when backward then -1 else 1 end
      limit most
    ) f
    having count(*) > 0
  );
end
$$;

-- Sums of each series of a source on each local day of [low, high); see sampled_days.
create or replace function sampled_parts(
  source_ids int4[], series_ids int2[], ranks int4[], low int4, high int4, merged boolean
) returns table (day int4, place int8, counted boolean, n int8, total float8, lowest float8, highest float8)
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
begin
  -- Mostly one device has all.
  if merged and exists (select 1 from unnest(series_ids) s (id) where s.id < 10000 group by s.id % 5000 having count(*) > 1) then
    return query select * from merged_parts(source_ids, series_ids, ranks, low, high);
    return;
  end if;
  return query
    select d.day, k.place, true, d.n, d.total, d.lowest, d.highest
    from unnest(source_ids, series_ids) with ordinality k (source_id, series_id, place)
    cross join lateral local_days(k.source_id, k.series_id, low, high, false) d;
end
$$;
