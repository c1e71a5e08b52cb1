-- The first `most` local days of [first_day, end_day) (the last ones with `backward`) on which a user has samples of the
-- given series, or that are among `other_days`; on those of them without samples `parts` is null. `parts` is for each series of a source a list of [place, counted, n, total, lowest, highest]: its place
-- in the arrays, from 0; 1 when it counts, else 0; and what its samples add up to. With `merged` a quarter hour of a series
-- counts for the source with the smallest rank that has samples in it, else everything counts; daily totals always do.
-- Walks in windows of time, so that a page costs what it shows, however long the range.
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
  span int4 := most;
  wanted int4 := most;
  found_rows int4;
begin
  while wanted > 0 and low < high loop
    if backward then
      low := greatest(high - span, first_day);
    else
      high := least(low + span, end_day);
    end if;
    return query
      select coalesce(d.day, o.day), d.parts
      from (
        select p.day, json_agg(array[p.place - 1, p.counted::int4, p.n, p.total, p.lowest, p.highest]) as parts
        from sampled_parts(source_ids, series_ids, ranks, low, high, merged) p
        group by p.day
        having bool_or(p.counted)
      ) d
      full join (select distinct u.day from unnest(other_days) u (day) where u.day >= low and u.day < high) o
        on o.day = d.day
      order by coalesce(d.day, o.day) * case when backward then -1 else 1 end
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

-- What each series of a source adds up to on each local day of [low, high); see sampled_days.
create or replace function sampled_parts(
  source_ids int4[], series_ids int2[], ranks int4[], low int4, high int4, merged boolean
) returns table (day int4, place int8, counted boolean, n int8, total float8, lowest float8, highest float8)
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
begin
  if merged then
    return query select * from merged_parts(source_ids, series_ids, ranks, low, high);
    return;
  end if;
  return query
    select d.day, k.place, true, d.n, d.total, d.lowest, d.highest
    from unnest(source_ids, series_ids) with ordinality k (source_id, series_id, place)
    cross join lateral local_days(k.source_id, k.series_id, low, high, false) d;
end
$$;
