-- How many samples there are in all: those that can be read, and those of which only the rollups are left. From the
-- rollups of days; days that are dirty are counted anew. Planned for the very bounds, which most often leave out nothing:
-- for any bounds every row would be looked up by the index (344 ms against 41 with 170,000 rollups in chunks).
create or replace function stored_samples() returns table (live int8, archived int8)
language plpgsql stable
set plan_cache_mode = force_custom_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  -- Both are midnights of UTC, so that no day is divided.
  oldest timestamptz := rollup_floor();
  first timestamptz := greatest(raw_floor(), rollup_floor());
  behind int8;
begin
  select coalesce(sum(r.n) filter (where r.bucket >= first), 0), coalesce(sum(r.n) filter (where r.bucket < first), 0)
  into live, archived
  from rollup_1day r
  where r.bucket >= oldest;
  -- What is archived is never dirty.
  select coalesce(sum(
    (select count(*) from sample s
     where s.source_id = d.source_id and s.series_id = d.series_id and s.ts >= d.lo and s.ts < d.hi)
    - (select coalesce(sum(r.n), 0) from rollup_1day r
       where r.source_id = d.source_id and r.series_id = d.series_id and r.bucket >= d.lo and r.bucket < d.hi)
  ), 0)
  into behind
  from (
    select k.source_id, k.series_id, lower(k.part) as lo, upper(k.part) as hi
    from (
      select r.source_id, r.series_id,
             unnest(range_agg(tstzrange(greatest(time_bucket('1 day', r.lo), first), time_bucket('1 day', r.hi) + interval '1 day'))) as part
      from rollup_dirty r
      where r.hi >= first
      group by 1, 2
    ) k
  ) d;
  live := live + behind;
  return next;
end
$$;
