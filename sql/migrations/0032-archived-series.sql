-- What is archived is known per series, so that a history that comes late is taken where nothing of it was archived.
alter table source_series
  -- Time of which only the rollups are kept: samples in it are gone or about to be removed. Whole quarter hours; one of
  -- them without a rollup is as if it was not archived.
  add column archived tstzmultirange not null default '{}',
  -- The archive has looked at everything before it, and nothing has come since; null = at nothing.
  add column archived_to timestamptz,
  -- Samples of that time, or rollups that are kept no longer, may still be stored.
  add column to_remove boolean not null default false;

-- So far everything before one instant was archived.
update source_series
set archived = tstzmultirange(tstzrange('-infinity', a.raw_floor)), archived_to = a.raw_floor, to_remove = true
from archival a
where a.raw_floor is not null;

-- raw_floor: from this instant on nothing is archived, of no series.
alter table archival
  drop column write_floor,
  -- The rollup_floor before which the removal of everything has been ordered.
  add column expired_to timestamptz;
update archival set expired_to = rollup_floor;
