-- How many samples of a series the daily rollups before a midnight of UTC count: nobody adds up all days of all series to say how
-- many samples there are. A row holds as long as the series has no dirty range before that midnight, and is removed with the last
-- of these (note_stale_days); a series without one is counted.
create table rollup_total (
  source_id int4 not null,
  series_id int2 not null,
  before timestamptz not null,
  n int8 not null,
  constraint rollup_total_pkey primary key (source_id, series_id)
);
