-- What notices bring of a person while an earlier upload of theirs waits joins that one: a burst becomes a few imports.
alter table upload
  -- Decoded bytes of an upload that still takes more; null: it takes none.
  add column open_bytes int4;

create table upload_part (
  upload_id uuid not null references upload (id) on delete cascade,
  place int8 generated always as identity,
  -- A parcel, brotli.
  body bytea not null,
  constraint upload_part_pkey primary key (upload_id, place)
);
-- Already compressed: another attempt would only cost time.
alter table upload_part alter column body set storage external;
drop function if exists store_notices(uuid, bytea, bytea, int4, jsonb, boolean);
drop function if exists receive_notices(text[], boolean[], bytea[], bytea[]);
