-- Number of all samples: live ones, and archived ones of which only the rollups remain. From the daily rollups; dirty
-- days are counted from the samples. Planned for the actual bounds, which usually exclude nothing: a generic plan looks
-- up every row by the index (344 ms against 41 with 170,000 rollups in chunks).
create or replace function stored_samples() returns table (live int8, archived int8)
language plpgsql stable
set plan_cache_mode = force_custom_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  -- A UTC midnight, so it splits no day.
  oldest timestamptz := rollup_floor();
  parts int8;
  behind int8;
begin
  select coalesce(sum(r.n), 0), coalesce(sum(r.n) filter (where k.archived @> tstzrange(r.bucket, r.bucket + interval '1 day')), 0)
  into live, archived
  from rollup_1day r
  join source_series k on k.source_id = r.source_id and k.series_id = r.series_id
  where r.bucket >= oldest;
  -- Quarter hours of days that are partly archived because samples arrived late.
  select coalesce(sum(r.n), 0) into parts
  from source_series k
  cross join lateral (
    select range_agg(tstzrange(time_bucket('1 day', d.edge), time_bucket('1 day', d.edge) + interval '1 day')) as days
    from unnest(k.archived) a
    cross join lateral (values (lower(a)), (upper(a))) d (edge)
    where isfinite(d.edge) and d.edge <> time_bucket('1 day', d.edge)
  ) e
  cross join lateral unnest(e.days) part
  join rollup_15min r on r.source_id = k.source_id and r.series_id = k.series_id
    and r.bucket >= lower(part) and r.bucket < upper(part) and r.bucket >= oldest
  where k.archived @> r.bucket
    and not k.archived @> tstzrange(time_bucket('1 day', r.bucket), time_bucket('1 day', r.bucket) + interval '1 day');
  archived := archived + parts;
  -- Archived quarter hours are never dirty.
  select coalesce(sum(
    (select coalesce(sum(q.n), 0) from quarter_hours(d.source_id, d.series_id, d.lo, d.hi) q)
    - (select coalesce(sum(r.n), 0) from rollup_1day r
       where r.source_id = d.source_id and r.series_id = d.series_id and r.bucket >= d.lo and r.bucket < d.hi)
  ), 0)
  into behind
  from (
    select k.source_id, k.series_id, lower(k.part) as lo, upper(k.part) as hi
    from (
      select r.source_id, r.series_id,
             unnest(range_agg(tstzrange(greatest(time_bucket('1 day', r.lo), oldest), time_bucket('1 day', r.hi) + interval '1 day'))) as part
      from rollup_dirty r
      where r.hi >= oldest
      group by 1, 2
    ) k
  ) d;
  live := live + behind - archived;
  return next;
end
$$;
