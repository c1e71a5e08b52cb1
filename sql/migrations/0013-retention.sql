-- Bodies of uploads are kept for a while only: an upload then has none, and no hash of it.
alter table upload alter column sha256 drop not null;

-- The upload whose stored body this one imports again.
alter table upload add column replay_of uuid references upload (id) on delete set null;
create index upload_replay_idx on upload (replay_of) where replay_of is not null;

drop function if exists accept_upload(uuid, uuid, text, bytea, bytea, int4, int4, text, text, text, text, text);
