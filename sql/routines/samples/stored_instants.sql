-- The instants of each series' samples within the given spans, [lo, hi] in seconds; `place` is the number of the span,
-- from 1. Planned as in write_samples.sql.
create or replace function stored_instants(source_ids int4[], series_ids int2[], los float8[], his float8[])
returns table (place int8, at float8)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  first timestamptz := (select to_timestamp(min(lo)) from unnest(los) lo);
  last timestamptz := (select to_timestamp(max(hi)) from unnest(his) hi);
begin
  return query
    select k.place, date_part('epoch', s.ts)
    from unnest(source_ids, series_ids, los, his) with ordinality k (source_id, series_id, lo, hi, place)
    cross join lateral (
      select p.ts
      from sample p
      where p.source_id = k.source_id
        and p.series_id = k.series_id
        and p.ts >= to_timestamp(k.lo)
        and p.ts <= to_timestamp(k.hi)
        and p.ts >= first
        and p.ts <= last
      -- Keeps one probe per span.
      offset 0
    ) s;
end
$$;
