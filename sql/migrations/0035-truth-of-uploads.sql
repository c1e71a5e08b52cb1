-- What an upload held beside what is stored or rejected: values that cannot be true ({type, unit, lowest, highest, items})
-- and fields that mean nothing ({field, items, likely}).
alter table upload
  add column implausible jsonb not null default '[]',
  add column unknown_fields jsonb not null default '[]';

-- Skipped: nothing is wrong with it, and nothing in it is of a kind that is stored.
alter table upload drop constraint upload_status;
alter table upload add constraint upload_status check (status in ('queued', 'success', 'partial', 'skipped', 'failed'));
