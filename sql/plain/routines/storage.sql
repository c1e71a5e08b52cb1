-- A plain table has no chunks to drop: archived samples are removed row by row.
create or replace function archived_chunks() returns table (starts timestamptz, ends timestamptz)
language sql
as $$ select null::timestamptz, null::timestamptz where false $$;
create or replace function drop_archived_chunk(chunk_starts timestamptz, chunk_ends timestamptz) returns boolean
language sql
return false;
drop function if exists drop_archived_chunks();
create or replace function removed_by_row_from() returns timestamptz
language sql
return '-infinity'::timestamptz;

-- The planner's estimate of a table's rows; counted if the table was never analyzed.
create or replace function estimated_rows(the_table regclass) returns int8
language plpgsql stable
as $$
declare
  rows int8 := (select reltuples::int8 from pg_class where oid = the_table);
begin
  if rows < 0 then
    execute format('select count(*) from %s', the_table) into rows;
  end if;
  return rows;
end
$$;

-- Sizes of the samples and of the rollups, in bytes. Row counts and the span of time are the planner's estimates:
-- counting would read everything.
create or replace function storage_report()
returns table (
  live_data_bytes int8, live_index_bytes int8, live_rows int8, live_span_days float8,
  archive_data_bytes int8, archive_index_bytes int8, archive_rows int8, uncompressed_bytes int8, compressed_bytes int8
)
language sql stable
as $$
  select
    pg_table_size('sample'), pg_indexes_size('sample'), estimated_rows('sample'),
    (select date_part('epoch', bounds[cardinality(bounds)] - bounds[1]) / 86400
     from pg_stats s, cast(s.histogram_bounds::text as timestamptz[]) bounds
     where s.schemaname = current_schema() and s.tablename = 'sample' and s.attname = 'ts'),
    sum(pg_table_size(r.name))::int8, sum(pg_indexes_size(r.name))::int8, sum(estimated_rows(r.name))::int8,
    null::int8, null::int8
  from (values ('rollup_15min'::regclass), ('rollup_1hour'), ('rollup_1day'), ('rollup_local_day')) r (name)
$$;
