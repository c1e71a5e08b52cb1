-- Why rollups cannot be continuous aggregates here; null when they can.
create or replace function continuous_obstacle() returns text
language sql
as $$
  select 'this is the Apache edition of TimescaleDB, which has no continuous aggregates'
  where current_setting('timescaledb.license') <> 'timescale'
$$;

-- Whether other editions of this engine have continuous aggregates, so that the log mentions their absence.
create or replace function continuous_expected() returns boolean
language sql
return true;

-- Creates an aggregate without data, with the columns of the table it replaces, computed from the samples or a narrower
-- aggregate. Its view is updatable by PostgreSQL itself, so it can be written like a table; such writes and every
-- reader look rows up in the unique index. The index on the bucket that comes with an aggregate stays: its refresh
-- deletes by that index.
create or replace function create_aggregate(name text, width interval, source text, chunk interval) returns void
language plpgsql
as $$
declare
  columns text := case source
    when 'sample' then 'time_bucket(%L, ts) as bucket, count(*) as n, sum(value) as total, min(value) as lowest,
      max(value) as highest, last(value, ts) as last_value, source_id, series_id, last(zone_offset_min, ts) as last_zone'
    else 'time_bucket(%L, bucket) as bucket, sum(n)::int8 as n, sum(total) as total, min(lowest) as lowest,
      max(highest) as highest, last(last_value, bucket) as last_value, source_id, series_id, last(last_zone, bucket) as last_zone'
  end;
  stored regclass;
begin
  execute format(
    'create materialized view %I
     with (timescaledb.continuous, timescaledb.materialized_only = true, timescaledb.create_group_indexes = false)
     as select ' || columns || ' from %I group by 1, source_id, series_id with no data',
    name, width, source
  );
  stored := stored_in(name);
  perform set_chunk_time_interval(stored, chunk);
  execute format('create unique index on %s (source_id, series_id, bucket)', stored);
  execute format(
    'alter materialized view %I set (timescaledb.compress, timescaledb.compress_segmentby = ''source_id, series_id'', timescaledb.compress_orderby = ''bucket'')',
    name
  );
end
$$;

-- Replaces the tables by aggregates. These begin empty: everything stored is marked dirty, so that reads stay exact.
create or replace function use_continuous() returns void
language plpgsql
as $$
begin
  -- Blocks refreshes and archiving: they would remove or drop what the new rollups do not contain yet.
  perform pg_advisory_xact_lock(hashtextextended('refresh all rollups', 0));
  perform pg_advisory_xact_lock(hashtextextended('archival', 0));
  if raw_floor() > '-infinity' then
    raise exception 'samples are archived: their rollups cannot be computed again';
  end if;
  -- One at a time: older versions cannot drop a hypertable together with others.
  drop table rollup_15min;
  drop table rollup_1hour;
  drop table rollup_1day;
  delete from rollup_total;
  perform create_aggregate('rollup_1min', '1 minute', 'sample', '10 days');
  perform create_aggregate('rollup_5min', '5 minutes', 'rollup_1min', '10 days');
  perform create_aggregate('rollup_15min', '15 minutes', 'sample', '180 days');
  perform create_aggregate('rollup_1hour', '1 hour', 'rollup_15min', '720 days');
  perform create_aggregate('rollup_1day', '1 day', 'rollup_1hour', '7200 days');
  insert into rollup_dirty (source_id, series_id, lo, hi)
  select k.source_id, k.series_id, first.ts, last.ts
  from source_series k
  cross join lateral (
    select s.ts from sample s where s.source_id = k.source_id and s.series_id = k.series_id order by s.ts limit 1
  ) first
  cross join lateral (
    select s.ts from sample s where s.source_id = k.source_id and s.series_id = k.series_id order by s.ts desc limit 1
  ) last;
  update rollup_strategy set strategy = 'continuous', minutes_from = minutes_horizon();
end
$$;

-- Replaces the aggregates by tables and copies their rows, since archived samples are gone. Dirty ranges stay dirty.
create or replace function use_per_series() returns void
language plpgsql
as $$
declare
  name text;
begin
  -- Blocks refreshes and the deletion of a user: the copy would lose them.
  perform pg_advisory_xact_lock(hashtextextended('refresh all rollups', 0));
  foreach name in array array['rollup_15min', 'rollup_1hour', 'rollup_1day'] loop
    execute format('create temporary table %I on commit drop as select * from %I', 'held_' || name, name);
  end loop;
  foreach name in array array['rollup_5min', 'rollup_1min', 'rollup_1day', 'rollup_1hour', 'rollup_15min'] loop
    execute format('drop materialized view %I', name);
  end loop;
  foreach name in array array['rollup_15min', 'rollup_1hour', 'rollup_1day'] loop
    execute format(
      'create table %I (
         bucket timestamptz not null, n int8 not null, total float8 not null, lowest float8 not null, highest float8 not null,
         last_value float8 not null, source_id int4 not null, series_id int2 not null, last_zone int2,
         constraint %I primary key (source_id, series_id, bucket)
       )',
      name, name || '_pkey'
    );
    perform create_hypertable(
      name::regclass,
      by_range('bucket', case name when 'rollup_15min' then interval '180 days' when 'rollup_1hour' then '720 days' else '7200 days' end),
      create_default_indexes => false
    );
    execute format('insert into %I select * from %I', name, 'held_' || name);
  end loop;
  update rollup_strategy set strategy = 'per_series', minutes_from = null;
end
$$;

-- Where the rollups of minutes begin: they are as large as the samples, and charts ask for minutes of recent weeks.
create or replace function minutes_horizon() returns timestamptz
language sql stable
as $$ select time_bucket('1 day', now() - interval '30 days') $$;

-- Drops rollups of minutes before the horizon. A reader that still uses the old horizon has a day to finish.
create or replace function forget_old_minutes() returns void
language plpgsql
as $$
declare
  horizon timestamptz;
begin
  update rollup_strategy
  set minutes_from = greatest(minutes_from, minutes_horizon())
  where minutes_from is not null
  returning minutes_from into horizon;
  if horizon is not null then
    perform drop_chunks('rollup_5min', older_than => horizon - interval '1 day');
    perform drop_chunks('rollup_1min', older_than => horizon - interval '1 day');
  end if;
end
$$;
