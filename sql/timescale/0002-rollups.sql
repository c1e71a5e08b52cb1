-- The same tables as on a plain server, as hypertables whose chunks hold about as many rows each.
create table rollup_15min (
  bucket timestamptz not null,
  n int8 not null,
  total float8 not null,
  lowest float8 not null,
  highest float8 not null,
  -- Of the latest sample of the bucket.
  last_value float8 not null,
  source_id int4 not null,
  series_id int2 not null,
  last_zone int2,
  constraint rollup_15min_pkey primary key (source_id, series_id, bucket)
);
create table rollup_1hour (like rollup_15min);
alter table rollup_1hour add constraint rollup_1hour_pkey primary key (source_id, series_id, bucket);
create table rollup_1day (like rollup_15min);
alter table rollup_1day add constraint rollup_1day_pkey primary key (source_id, series_id, bucket);
select create_hypertable('rollup_15min', by_range('bucket', interval '180 days'), create_default_indexes => false);
select create_hypertable('rollup_1hour', by_range('bucket', interval '720 days'), create_default_indexes => false);
select create_hypertable('rollup_1day', by_range('bucket', interval '7200 days'), create_default_indexes => false);
