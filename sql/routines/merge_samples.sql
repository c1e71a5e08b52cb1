-- Moves the rows of the session's `incoming` table into `sample`: new keys are inserted, changed ones
-- updated, unchanged ones not touched at all (no row lock, no WAL). Returns counts per series, once for
-- the new rows and once for the changed ones. `total` is the number of rows in `incoming`; `lo` and `hi`
-- bound their timestamps, which lets TimescaleDB skip the chunks outside.
-- Nested loops are forced because a temporary table has no statistics: a hash join would read all of `sample`.
create or replace function merge_samples(total int8, lo timestamptz, hi timestamptz)
returns table (series int2, is_new boolean, row_count int8, first_ts timestamptz, last_ts timestamptz)
language plpgsql
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  fresh int8 := 0;
begin
  for series, is_new, row_count, first_ts, last_ts in
    with written as (
      insert into sample (ts, value, source_id, series_id, zone_offset_min)
      select i.ts, i.value, i.source_id, i.series_id, i.zone_offset_min
      from incoming i
      on conflict do nothing
      returning sample.series_id, sample.ts
    )
    select w.series_id, true, count(*), min(w.ts), max(w.ts)
    from written w
    group by w.series_id
  loop
    fresh := fresh + row_count;
    return next;
  end loop;
  if fresh < total then
    return query
      with written as (
        update sample s
        set value = i.value, zone_offset_min = i.zone_offset_min
        from incoming i
        where s.source_id = i.source_id
          and s.series_id = i.series_id
          and s.ts = i.ts
          and s.ts between lo and hi
          and (s.value, s.zone_offset_min) is distinct from (i.value, i.zone_offset_min)
        returning s.series_id, s.ts
      )
      select w.series_id, false, count(*), min(w.ts), max(w.ts)
      from written w
      group by w.series_id;
  end if;
end
$$;
