-- Uploads as they were received, and the runs that imported them.

-- Bodies by content: the same bytes sent twice by a user are kept once.
create table upload_body (
  user_id uuid not null references app_user (id) on delete cascade,
  sha256 bytea not null,
  -- Brotli, as decoded from what was sent.
  body bytea not null,
  decoded_bytes int4 not null,
  constraint upload_body_pkey primary key (user_id, sha256)
);
-- Already compressed: another attempt would only cost time.
alter table upload_body alter column body set storage external;

create table upload (
  id uuid primary key default gen_random_uuid(),
  -- Order of arrival: the uploads of a user are imported in it, so that the last one wins.
  seq int8 generated always as identity,
  user_id uuid not null references app_user (id) on delete cascade,
  provider text not null,
  sha256 bytea not null,
  request_id text,
  sync_session_id text,
  sync_type text not null default 'live',
  sdk_version text,
  run_key text not null,
  status text not null default 'queued' constraint upload_status check (status in ('queued', 'success', 'partial', 'failed')),
  -- Normalised columns (msgpack), from acceptance until the import; null: parse the body again.
  parsed bytea,
  received_at timestamptz not null default now(),
  finished_at timestamptz,
  received int4 not null default 0,
  inserted int4 not null default 0,
  updated int4 not null default 0,
  unchanged int4 not null default 0,
  -- Items whose key another item of the same upload repeated.
  duplicates int4 not null default 0,
  ignored int4 not null default 0,
  rejected int4 not null default 0,
  -- Items of collections that a later importer takes from the stored body.
  deferred jsonb not null default '{}',
  -- The first 100 rejected items: collection, index, reason; never a measured value.
  rejections jsonb not null default '[]',
  -- Times the import of this very upload failed.
  attempts int2 not null default 0,
  error text,
  constraint upload_body_fkey foreign key (user_id, sha256) references upload_body (user_id, sha256)
);
alter table upload alter column parsed set storage external;
create index upload_user_idx on upload (user_id, seq desc);
create index upload_sha256_idx on upload (user_id, sha256);
create index upload_run_idx on upload (user_id, run_key, seq desc);
create index upload_queued_idx on upload (user_id, seq) where status = 'queued';
create index upload_request_idx on upload (user_id, request_id) where request_id is not null;

create table sync_run (
  run_key text not null,
  user_id uuid not null references app_user (id) on delete cascade,
  provider text not null,
  source text not null,
  scope text not null default 'live',
  stage text not null default 'queued',
  status text not null default 'in_progress',
  message text,
  error text,
  trace_id text,
  window_start timestamptz,
  window_end timestamptz,
  started_at timestamptz not null default now(),
  ended_at timestamptz,
  updated_at timestamptz not null default now(),
  items_inserted int8 not null default 0,
  items_updated int8 not null default 0,
  items_unchanged int8 not null default 0,
  items_rejected int8 not null default 0,
  items_ignored int8 not null default 0,
  items_deferred int8 not null default 0,
  items_received int8 not null default 0,
  -- Uploads of the run that wait for their import, and those that failed.
  pending int4 not null default 0,
  failures int4 not null default 0,
  constraint sync_run_pkey primary key (user_id, run_key)
);
create index sync_run_user_idx on sync_run (user_id, started_at desc);
create index sync_run_started_idx on sync_run (started_at desc);
create index sync_run_key_idx on sync_run (run_key);

-- What a run did per series type.
create table sync_run_type (
  user_id uuid not null,
  run_key text not null,
  data_type text not null,
  kind text not null,
  items_inserted int8 not null default 0,
  items_updated int8 not null default 0,
  covered_start timestamptz,
  covered_end timestamptz,
  constraint sync_run_type_pkey primary key (user_id, run_key, data_type),
  constraint sync_run_type_run_fkey foreign key (user_id, run_key) references sync_run (user_id, run_key) on delete cascade
);

-- Progress of runs as it happened.
create table sync_event (
  id int8 generated always as identity primary key,
  event_id uuid not null default gen_random_uuid(),
  user_id uuid not null references app_user (id) on delete cascade,
  run_key text not null,
  stage text not null,
  status text not null,
  message text,
  items_processed int4,
  items_total int4,
  error text,
  metadata jsonb not null default '{}',
  created_at timestamptz not null default now()
);
create index sync_event_user_idx on sync_event (user_id, id desc);

-- Living processes, so that the jobs of a dead one can be taken over at once.
create table process (
  id int8 generated always as identity primary key,
  host text not null,
  pid int4 not null,
  worker_ids text[] not null default '{}',
  started_at timestamptz not null default now()
);
