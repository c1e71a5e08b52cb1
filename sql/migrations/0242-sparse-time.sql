-- Time in which a series has so few samples that its quarter hours are computed when they are read: a quarter hour that holds one or
-- two samples takes more bytes than these.
create table sparse_time (
  source_id int4 not null,
  series_id int2 not null,
  -- Whole months (see months_around) without rollups of quarter hours; one that is stored all the same is not read.
  months tstzmultirange not null default '{}',
  -- The months before it that are over have been judged; null = none.
  judged_to timestamptz,
  constraint sparse_time_pkey primary key (source_id, series_id)
);

-- False where the samples are what they were, and only the rollups are to be computed.
alter table rollup_dirty add column changed boolean not null default true;
