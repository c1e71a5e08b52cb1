-- Adds up the days of a series that are over to rollup_total. Nobody refreshes its recent days together with those of others
-- (RECENT in server/rollups/continuous.ts) that far back. The caller has claimed the series.
create or replace function add_up(the_source int4, the_series int2) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  until timestamptz := time_bucket('1 day', now() - interval '3 days');
  known record;
begin
  select t.before, t.n into known from rollup_total t where t.source_id = the_source and t.series_id = the_series;
  if known.before >= until then
    return;
  end if;
  insert into rollup_total as t (source_id, series_id, before, n)
  select the_source, the_series, until, coalesce(known.n, 0) + coalesce(sum(r.n), 0)
  from rollup_1day r
  where r.source_id = the_source and r.series_id = the_series
    and r.bucket >= coalesce(known.before, '-infinity') and r.bucket < until
  on conflict (source_id, series_id) do update set before = excluded.before, n = excluded.n;
end
$$;

-- Number of all samples: live ones, and archived ones of which only the rollups remain. From the totals and the days that follow
-- them; dirty days are counted from the samples.
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
  select coalesce(sum(coalesce(k.n, 0) + coalesce(r.n, 0) - coalesce(x.n, 0)), 0) into live
  from (
    select s.source_id, s.series_id, t.n, greatest(t.before, oldest) as before
    from source_series s
    left join rollup_total t on t.source_id = s.source_id and t.series_id = s.series_id and t.before > oldest
      and not exists (
        select from rollup_dirty d
        where d.source_id = s.source_id and d.series_id = s.series_id and time_bucket('1 day', d.lo) < t.before
      )
  ) k
  cross join lateral (
    select sum(q.n) as n
    from rollup_1day q
    where q.source_id = k.source_id and q.series_id = k.series_id and q.bucket >= k.before
  ) r
  -- Expired days that are not removed yet.
  left join lateral (
    select sum(q.n) as n
    from rollup_1day q
    where q.source_id = k.source_id and q.series_id = k.series_id and q.bucket < oldest
  ) x on k.n is not null and oldest > '-infinity';
  select coalesce(sum(r.n), 0) into archived
  from source_series k
  cross join lateral unnest(k.archived) a
  -- An aggregate of its own, so that each range is a probe.
  cross join lateral (
    select sum(q.n) as n
    from rollup_1day q
    where q.source_id = k.source_id and q.series_id = k.series_id
      and tstzrange(q.bucket, q.bucket + interval '1 day') <@ a
      and q.bucket >= coalesce(lower(a), '-infinity') and q.bucket < coalesce(upper(a), 'infinity') and q.bucket >= oldest
  ) r;
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
  cross join lateral (
    select sum(q.n) as n
    from rollup_15min q
    where q.source_id = k.source_id and q.series_id = k.series_id
      and q.bucket >= lower(part) and q.bucket < upper(part) and q.bucket >= oldest and k.archived @> q.bucket
      and not k.archived @> tstzrange(time_bucket('1 day', q.bucket), time_bucket('1 day', q.bucket) + interval '1 day')
  ) r;
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
