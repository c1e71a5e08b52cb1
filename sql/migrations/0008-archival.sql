-- What is kept for how long, and how far it has been carried out; one row.
create table archival (
  only_row boolean not null default true,
  -- Days after which samples are dropped and only their rollups stay; days after which those go, too. Null = never.
  archive_after_days int4 constraint archival_archive_days check (archive_after_days between 1 and 3650),
  delete_after_days int4 constraint archival_delete_days check (delete_after_days between 1 and 7300),
  -- Imports refuse samples before this instant, so that everything before it can be rolled up for good.
  write_floor timestamptz,
  -- Reads see no samples before this instant: they are gone or on their way.
  raw_floor timestamptz,
  -- Nor rollups before this one.
  rollup_floor timestamptz,
  constraint archival_pkey primary key (only_row),
  constraint archival_one_row check (only_row)
);
insert into archival default values;
