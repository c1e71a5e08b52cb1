-- Pulling from cloud providers: what is to be asked, how far each stream was asked, and how often a provider may be asked.

-- Places of a grant in the queues, each the earliest instant of something to do; null = nothing. `asked_at`: somebody
-- waits for it; `live_at`: scheduled pulls; `history_at`: the past.
alter table provider_grant
  add column asked_at timestamptz,
  -- When a token that a provider refused before its end was last replaced.
  add column renewed_at timestamptz;
create index provider_grant_asked_idx on provider_grant (provider, asked_at) where state = 'live';

-- How far a stream of a grant is stored.
create table stream_cursor (
  grant_id uuid not null references provider_grant (id) on delete cascade,
  stream text not null,
  -- When live pulls of it began, and the start of the last one that is stored whole; null: none is.
  begun_at timestamptz not null default now(),
  covered_until timestamptz,
  -- When a pull last reached 7 and 28 days back, for what comes late.
  reached_week_at timestamptz,
  reached_month_at timestamptz,
  -- SHA-256 of what the last live window answered; the same again is not stored again.
  last_hash bytea,
  -- Not pulled until then, and why: an error code of reports.
  closed_until timestamptz,
  closed_why text,
  -- Since when it fails, pull by pull.
  failing_since timestamptz,
  constraint stream_cursor_pkey primary key (grant_id, stream)
);

-- What is to be asked: a stream, or what is left of its span. A finished task is deleted; what it did is in its run.
create table sync_task (
  id int8 generated always as identity primary key,
  grant_id uuid not null references provider_grant (id) on delete cascade,
  -- pull: scheduled, moves the cursor; sync: somebody asked for a span; history: newest first.
  kind text not null constraint sync_task_kind check (kind in ('pull', 'sync', 'history')),
  -- At most one task of a grant has a key.
  key text not null,
  stream text not null,
  -- Whose data it is; null: of everybody who has connected the account.
  connection_id uuid references connection (id) on delete cascade,
  run_key text not null,
  lane text not null constraint sync_task_lane check (lane in ('asked', 'live', 'history')),
  -- What is left of its span; no end: until it is asked.
  lo timestamptz not null,
  hi timestamptz,
  -- How many days a pull reaches back beyond what is usual: 7 or 28.
  reach_days int2,
  -- What the caller asked for beside the span.
  options jsonb not null default '{}',
  -- The next request of a window under way, and how many pages it had: {request, pages}.
  position jsonb,
  due_at timestamptz not null default now(),
  -- Failures in a row, and when the first one was.
  attempts int2 not null default 0,
  failing_since timestamptz,
  created_at timestamptz not null default now(),
  constraint sync_task_key unique (grant_id, key)
);
create index sync_task_due_idx on sync_task (grant_id, lane, due_at);
create index sync_task_connection_idx on sync_task (connection_id) where connection_id is not null;
create index sync_task_run_idx on sync_task (run_key);

-- Requests of the last eleven tenths of a window of a provider's budget: of its application, or of an account.
create table rate_budget (
  provider text not null,
  grant_id uuid references provider_grant (id) on delete cascade,
  seconds int4 not null,
  -- Number of the newest tenth since 1970, and the requests in it and in the ten before, newest first.
  slot int8 not null default 0,
  slots int4[] not null default array_fill(0, array[11]),
  -- As the provider says; null: it does not.
  provider_limit int4,
  -- Closed for everybody, for pulls that nobody waits for, for history; how often in a row without a word of the provider.
  closed_until timestamptz,
  live_until timestamptz,
  history_until timestamptz,
  closures int2 not null default 0,
  constraint rate_budget_key unique nulls not distinct (provider, grant_id, seconds)
);

-- How an upload came: sent by a phone, or pulled, which is a parcel of what a provider answered, for a connection.
alter table upload
  add column channel text not null default 'sdk' constraint upload_channel check (channel in ('sdk', 'pull')),
  add column connection_id uuid references connection (id) on delete set null;
create index upload_connection_idx on upload (connection_id) where connection_id is not null;
drop function if exists accept_upload(uuid, uuid, text, bytea, bytea, int4, int4, text, text, text, text, text, uuid);

-- Of a run that serves others of the same account: whose sync it is.
alter table sync_run add column primary_user_id uuid references app_user (id) on delete set null;
create index sync_run_primary_idx on sync_run (primary_user_id) where primary_user_id is not null;
