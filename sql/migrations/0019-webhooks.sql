-- What is pushed to developers: endpoints, the events recorded for them, and what became of their deliveries.

create table endpoint (
  id int4 generated always as identity primary key,
  -- As the API names it.
  uid text not null constraint endpoint_uid_key unique,
  url text not null,
  description text,
  -- Names of events; null = all of them.
  filter_types text[],
  -- Only events of this user; null = of everybody.
  user_id uuid references app_user (id) on delete cascade,
  -- Encrypted; the former one signs as well until its time is over.
  secret bytea not null,
  former_secret bytea,
  former_until timestamptz,
  -- Since when every delivery has failed.
  failing_since timestamptz,
  disabled_at timestamptz,
  -- by_hand: a developer did; gone: it answered 410; failing: for five days.
  -- When it was disabled for failing before: of these times it was told nothing.
  missed tstzmultirange not null default '{}',
  disabled_reason text constraint endpoint_reason_known check (disabled_reason in ('by_hand', 'gone', 'failing')),
  -- The process that delivers to it, until it dies or stops renewing.
  process_id int8 references process (id) on delete set null,
  leased_until timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index endpoint_user_idx on endpoint (user_id) where user_id is not null;
create index endpoint_process_idx on endpoint (process_id) where process_id is not null;

-- Written in the transaction of the data it tells of.
create table event (
  id int8 generated always as identity primary key,
  -- What receivers know it by, whatever database it was restored to.
  uid uuid not null default gen_random_uuid() constraint event_uid_key unique,
  type text not null,
  -- What it tells of: the same for two that tell the same.
  key text not null,
  user_id uuid references app_user (id) on delete cascade,
  -- What the data came from: it goes when that is purged.
  provider text,
  -- JSON of the data; of samples packed columns (server/webhooks/body.ts).
  data bytea not null,
  packed boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  -- Its place in the feed, given when it is fanned out; null for tests, which are not in the feed.
  position int8,
  pending boolean not null default true
);
-- Columns of numbers do not compress.
alter table event alter column data set storage external;
create index event_pending_idx on event (id) where pending;
create unique index event_position_key on event (position) where position is not null;
create index event_created_idx on event (created_at);
create index event_user_idx on event (user_id);
-- Not an identity of the column: the order of the feed is that in which transactions became visible.
create sequence event_position as int8;

-- An endpoint gets what was recorded after it was made; by id, since clocks may go back.
alter table endpoint
  add column after_event_id int8 not null default coalesce(pg_sequence_last_value('event_id_seq'::regclass), 0);

create table delivery (
  event_id int8 not null references event (id) on delete cascade,
  endpoint_id int4 not null references endpoint (id) on delete cascade,
  state text not null default 'waiting' constraint delivery_state_known check (state in ('waiting', 'delivered', 'failed')),
  -- Attempts made on the schedule.
  attempts int2 not null default 0,
  due_at timestamptz not null default now(),
  -- Asked for by a developer.
  manual boolean not null default false,
  constraint delivery_pkey primary key (event_id, endpoint_id)
);
-- New ones do not queue behind those that failed before.
create index delivery_new_idx on delivery (endpoint_id, due_at, event_id) where state = 'waiting' and attempts = 0;
create index delivery_retry_idx on delivery (endpoint_id, due_at, event_id) where state = 'waiting' and attempts > 0;
-- For the deletion of an endpoint.
create index delivery_endpoint_idx on delivery (endpoint_id);
create index delivery_failed_idx on delivery (endpoint_id, event_id) where state = 'failed';

-- Calls that were made; they outlive their event.
create table attempt (
  id int8 generated always as identity primary key,
  endpoint_id int4 not null references endpoint (id) on delete cascade,
  event_uid uuid not null,
  event_type text not null,
  url text not null,
  succeeded boolean not null,
  -- 0 = there was no answer, and `response` says why.
  response_status int2 not null,
  response text not null,
  duration_ms int4 not null,
  manual boolean not null,
  attempted_at timestamptz not null
);
create index attempt_endpoint_idx on attempt (endpoint_id, attempted_at desc, id desc);
create index attempt_time_idx on attempt (attempted_at);
-- Those that failed are looked for among any number that did not.
create index attempt_failed_idx on attempt (endpoint_id, attempted_at desc, id desc) where not succeeded;
