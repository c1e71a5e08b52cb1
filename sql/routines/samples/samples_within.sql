drop function if exists samples_within(int4[], int2, float8[], float8[]);

-- The live samples of a series of a source within each of the given spans, [lo, hi) in seconds; `place` is the number
-- of the span, from 1. One index probe per span, planned as in sums_in_spans.
create or replace function samples_within(source_ids int4[], series_ids int2[], los float8[], his float8[])
returns table (place int8, at float8, value float8)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  low timestamptz := (select to_timestamp(min(lo)) from unnest(los) lo);
  high timestamptz := (select to_timestamp(max(hi)) from unnest(his) hi);
begin
  return query
    select k.place, date_part('epoch', s.ts), s.value
    from unnest(source_ids, series_ids, los, his) with ordinality k (source_id, series_id, lo, hi, place)
    cross join lateral unnest(live_time(k.source_id, k.series_id, to_timestamp(k.lo), to_timestamp(k.hi))) r
    cross join lateral (
      select p.ts, p.value
      from sample p
      where p.source_id = k.source_id
        and p.series_id = k.series_id
        and p.ts >= lower(r)
        and p.ts < upper(r)
        and p.ts >= low
        and p.ts < high
      order by p.ts
      -- Keeps one probe per span.
      offset 0
    ) s;
end
$$;
