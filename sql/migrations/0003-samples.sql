-- The time series. No uuid, no external id, no created_at per sample: 92 bytes a row with its only index,
-- which serves upsert, page, last point and per-series delete.

create table series_type (
  id int2 primary key,
  type text not null constraint series_type_type_key unique,
  unit text not null,
  aggregation text not null,
  category text not null
);

create table sample (
  ts timestamptz not null,
  value float8 not null,
  source_id int4 not null,
  -- series_type.id, or that + 10000 for the pre-aggregated daily total of the series.
  series_id int2 not null,
  -- Minutes east of UTC where the sample was taken; null when unknown.
  zone_offset_min int2,
  constraint sample_pkey primary key (source_id, series_id, ts)
);

-- Which series a source has ever sent: what "all types of a user" probes, one row per pair.
create table source_series (
  source_id int4 not null references data_source (id) on delete cascade,
  series_id int2 not null,
  constraint source_series_pkey primary key (source_id, series_id)
);
