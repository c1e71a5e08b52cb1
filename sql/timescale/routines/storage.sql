-- Removes the chunks of samples that are archived as a whole and returns how many. A refresh of everybody's rollups that
-- does not know of the new floor is waited for: it would take what it no longer finds for deleted.
create or replace function drop_archived_chunks() returns int8
language sql
as $$
  select pg_advisory_xact_lock_shared(hashtextextended('refresh all rollups', 0));
  select count(*)
  from archival a
  cross join lateral drop_chunks('sample', older_than => a.raw_floor)
  where a.raw_floor is not null
$$;

-- The hypertable that holds the rows of a rollup, which is a table or an aggregate; null when there is none.
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

-- Sizes of what holds samples and of what holds rollups, in bytes. Row counts are estimates: counting would read
-- everything. The span of time is that of the chunks, up to now.
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
