-- Columnstore of the samples and the rollups: one segment per series of a source, in order of time. Measured with twelve
-- types of 30 users (2.25 million samples; 85.6 B each in rows), pages of 100 by sample_page:
--
--   segment by              order by        B a sample   one series      backward        twelve series
--   (rows, not compressed)                       85.6    0.23 ms         0.20 ms         1.2 ms
--   source_id, series_id    ts                    7.8    0.24 ms         0.23 ms         0.7 ms
--   source_id, series_id    ts desc               7.8    0.25 ms         0.25 ms         0.8 ms
--   source_id               series_id, ts         9.1    3.5  ms         7.0  ms         5.7 ms
--   source_id               ts                   11.7    0.26 ms         0.24 ms         4.2 ms
--
-- Sets up hypertables of this database that have no columnstore yet, so a server whose licence changed to one with a
-- columnstore needs no migration. The aggregates have it from their creation. Returns whether it did anything.
create or replace function enable_columnstore() returns boolean
language plpgsql as $$
declare
  one record;
  enabled boolean := false;
begin
  for one in
    select h.hypertable_name as name, case h.hypertable_name when 'sample' then 'ts' else 'bucket' end as instant
    from timescaledb_information.hypertables h
    where h.hypertable_schema = current_schema() and not h.compression_enabled
  loop
    execute format(
      'alter table %I set (timescaledb.compress, timescaledb.compress_segmentby = ''source_id, series_id'', timescaledb.compress_orderby = %L)',
      one.name, one.instant
    );
    enabled := true;
  end loop;
  return enabled;
end
$$;

-- Compresses one chunk that ended at least `age` ago: first those never compressed, then those that received late data,
-- recompressing only the touched segments. Skips a chunk that is in use. Returns whether it did anything. Only uploads
-- into that chunk wait. To keep those waits short, it waits only briefly for locks, and leaves the chunk to another run
-- when somebody reads it for longer. Refreshes and the archive take turns with it. Of it and an import that has read the chunk
-- and now waits to write to it one has to start again: nearly always this one, whose wait ends long before PostgreSQL looks
-- for deadlocks.
-- Old rows are truncated, never deleted instead: only then the columns show to statements that began before, and plans that
-- other connections keep learn of them. Otherwise they read an empty chunk; a refresh then removed rollups, and the archive
-- the samples.
create or replace function compress_next(age interval) returns boolean
language plpgsql
set timescaledb.compress_truncate_behaviour = truncate_only
as $$
declare
  chunk regclass;
  is_new boolean;
  named text;
begin
  if current_setting('timescaledb.license') <> 'timescale' then
    return false;
  end if;
  begin
    perform set_config('lock_timeout', '2s', true);
    perform pg_advisory_xact_lock(hashtextextended('refresh all rollups', 0));
  exception when lock_not_available then
    return false;
  end;
  begin
    -- In a transaction of its own, since it locks the tables until the end.
    if enable_columnstore() then
      return true;
    end if;
  exception when lock_not_available or deadlock_detected or serialization_failure then
    return false;
  end;
  for chunk, is_new in
    select c.chunk, c.status & 1 = 0
    from unnest(array['sample', 'rollup_1min', 'rollup_5min', 'rollup_15min', 'rollup_1hour', 'rollup_1day']) name
    cross join lateral show_chunks(to_regclass(name), older_than => now() - age) shown (chunk)
    cross join lateral (select shown.chunk, _timescaledb_functions.chunk_status(shown.chunk) as status) c
    -- Bit 1: compressed; 2 and 8: it holds rows beside its columns.
    where to_regclass(name) is not null and (c.status & 1 = 0 or c.status & 10 <> 0)
    -- In random order, so that a chunk that keeps failing does not block the others.
    order by c.status & 1, random()
  loop
    begin
      -- The archive may have dropped the chunk since; the lock keeps it from doing so from here on.
      select format('%I.%I', n.nspname, c.relname) into named
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      where c.oid = chunk;
      continue when named is null;
      execute format('lock table %s in %s mode', named, case when is_new then 'exclusive' else 'share update exclusive' end);
      if is_new then
        -- From here on it waits for readers only, to truncate.
        perform set_config('lock_timeout', '50ms', true);
      end if;
      perform compress_chunk(chunk);
      return true;
    exception when lock_not_available or deadlock_detected or serialization_failure or undefined_table then
      continue;
    end;
  end loop;
  return false;
end
$$;

-- By default TimescaleDB refuses a statement that opens more than 100,000 compressed rows. These functions raise the
-- limit for this transaction, only as far as the write may need.
--
-- For changing this many samples: each opens its batch of at most 1,000 rows.
create or replace function expect_changed(samples int8) returns void
language sql
as $$
  select set_config(
    'timescaledb.max_tuples_decompressed_per_dml_transaction', least(greatest(100000, 1000 * samples), 2147483647)::text, true
  );
$$;

-- For deleting all rows of a source in the table `stored`: batches stay unopened, at least from 2.28 on; earlier
-- versions open only those of the source. Counting reads only the row count of each batch.
create or replace function expect_deleted(stored text, the_source int4) returns void
language plpgsql
as $$
declare
  rows int8;
begin
  execute format('select count(*) from %I where source_id = $1', stored) into rows using the_source;
  perform set_config('timescaledb.max_tuples_decompressed_per_dml_transaction', greatest(100000, rows)::text, true);
end
$$;
