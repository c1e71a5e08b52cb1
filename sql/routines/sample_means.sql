-- The mean of the samples of one series within each of the given spans, both ends included (`los`, `his`: seconds), of
-- a source; a span without samples has no row. `place` counts from 1. One probe of the index per span; the outer bounds
-- keep TimescaleDB from opening other chunks (see read_samples.sql).
create or replace function sample_means(source_ids int4[], the_series int2, los float8[], his float8[])
returns table (place int8, mean float8)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  low timestamptz := greatest((select to_timestamp(min(lo)) from unnest(los) lo), raw_floor());
  high timestamptz := (select to_timestamp(max(hi)) from unnest(his) hi);
begin
  return query
    select k.place, m.mean
    from unnest(source_ids, los, his) with ordinality k (source_id, lo, hi, place)
    cross join lateral (
      select avg(s.value) as mean
      from sample s
      where s.source_id = k.source_id
        and s.series_id = the_series
        and s.ts >= to_timestamp(k.lo)
        and s.ts <= to_timestamp(k.hi)
        and s.ts >= low
        and s.ts <= high
    ) m
    where m.mean is not null;
end
$$;
