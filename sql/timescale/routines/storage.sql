-- Chunks of samples that are archived as a whole, or will be once their remaining live samples are, the oldest first.
create or replace function archived_chunks() returns table (starts timestamptz, ends timestamptz)
language sql stable
as $$
  select c.range_start, c.range_end
  from timescaledb_information.chunks c
  where c.hypertable_schema = current_schema() and c.hypertable_name = 'sample' and c.range_end <= raw_floor()
  order by 1
$$;

-- Drops such a chunk. Returns false if it holds anything live or is in use. An import that is about to write to the
-- chunk has announced it before (take_late), or waits, finds no chunk and creates a new one.
create or replace function drop_archived_chunk(chunk_starts timestamptz, chunk_ends timestamptz) returns boolean
language plpgsql
set lock_timeout = '2s'
as $$
begin
  if not pg_try_advisory_xact_lock_shared(hashtextextended('refresh all rollups', 0)) or holds_live(chunk_starts, chunk_ends) then
    return false;
  end if;
  execute (
    select format('lock table %I.%I in access exclusive mode', c.chunk_schema, c.chunk_name)
    from timescaledb_information.chunks c
    where c.hypertable_schema = current_schema() and c.hypertable_name = 'sample' and c.range_start = chunk_starts
  );
  -- Rows committed before the lock was granted.
  if holds_live(chunk_starts, chunk_ends) then
    return false;
  end if;
  perform drop_chunks('sample', older_than => chunk_ends, newer_than => chunk_starts);
  return true;
exception when lock_not_available or deadlock_detected then
  return false;
end
$$;
drop function if exists drop_archived_chunks();

-- Archived samples from here on are removed row by row: the end of the archived time cuts this chunk.
create or replace function removed_by_row_from() returns timestamptz
language sql stable
as $$
  select coalesce(
    (
      select min(c.range_start)
      from timescaledb_information.chunks c
      where c.hypertable_schema = current_schema() and c.hypertable_name = 'sample' and c.range_end > raw_floor()
    ),
    raw_floor()
  )
$$;

-- The hypertable that holds the rows of a rollup (a table or an aggregate); null if there is none.
create or replace function stored_in(rollup text) returns regclass
language sql stable
as $$
  select coalesce(
    (select format('%I.%I', a.materialization_hypertable_schema, a.materialization_hypertable_name)::regclass
     from timescaledb_information.continuous_aggregates a
     where a.view_schema = current_schema() and a.view_name = rollup),
    to_regclass(rollup)
  )
$$;

-- Sizes of the samples and of the rollups, in bytes. Row counts are estimates: counting would read everything. The span
-- of time is that of the chunks, up to now.
create or replace function storage_report()
returns table (
  live_data_bytes int8, live_index_bytes int8, live_rows int8, live_span_days float8,
  archive_data_bytes int8, archive_index_bytes int8, archive_rows int8, uncompressed_bytes int8, compressed_bytes int8
)
language sql stable
as $$
  select
    (select sum(table_bytes + coalesce(toast_bytes, 0))::int8 from hypertable_detailed_size('sample')),
    (select sum(index_bytes)::int8 from hypertable_detailed_size('sample')),
    approximate_row_count('sample'),
    (select date_part('epoch', least(max(range_end), now()) - min(range_start)) / 86400
     from timescaledb_information.chunks where hypertable_name = 'sample'),
    sum(s.data)::int8 + pg_table_size('rollup_local_day'), sum(s.indexes)::int8 + pg_indexes_size('rollup_local_day'),
    sum(approximate_row_count(r.held))::int8 + approximate_row_count('rollup_local_day'),
    (select before_compression_total_bytes from hypertable_compression_stats('sample')),
    (select after_compression_total_bytes from hypertable_compression_stats('sample'))
  from (
    select stored_in(name) as held
    from unnest(array['rollup_1min', 'rollup_5min', 'rollup_15min', 'rollup_1hour', 'rollup_1day']) name
  ) r
  cross join lateral (
    select sum(table_bytes + coalesce(toast_bytes, 0)) as data, sum(index_bytes) as indexes
    from hypertable_detailed_size(r.held)
  ) s
  where r.held is not null
$$;
