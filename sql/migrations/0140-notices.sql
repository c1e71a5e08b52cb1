-- Notices of cloud providers: what they sent and is not opened yet, what proves that it is theirs, where they are told to
-- notify, and what is asked for because of it.

-- The inbox, in the order of receipt. What was opened is gone: it lives on as tasks and uploads of the people it is about.
create table notification (
  id int8 generated always as identity primary key,
  provider text not null,
  -- waiting: not opened yet; held: nobody has connected its account yet; malformed: cannot be read, kept for a week.
  state text not null default 'waiting' constraint notification_state check (state in ('waiting', 'held', 'malformed')),
  -- The account that is waited for.
  account text,
  -- Whether its signature was verified: only then is believed what it says.
  signed boolean not null,
  -- SHA-256 of the body while it waits: the same again is the same notice.
  waiting_sha256 bytea,
  body bytea not null,
  received_at timestamptz not null default now(),
  due_at timestamptz not null default now(),
  attempts int2 not null default 0,
  constraint notification_waiting_key unique (provider, signed, waiting_sha256)
);
-- Signatures and identifiers do not compress.
alter table notification alter column body set storage external;
create index notification_due_idx on notification (provider, due_at) where state <> 'malformed';
create index notification_account_idx on notification (provider, account) where state = 'held';

-- When notices of a provider were last opened: as long as they come, pulls are rarer.
create table notice_source (
  provider text primary key,
  opened_at timestamptz not null
);

-- Secrets that a provider and we share for notices: sealed, bound to provider, name and `version`.
create table provider_secret (
  provider text not null,
  name text not null,
  key_id int4 not null,
  sealed bytea not null,
  version int8 not null default 1,
  made_at timestamptz not null default now(),
  -- When the provider was first seen to send it back.
  confirmed_at timestamptz,
  constraint provider_secret_pkey primary key (provider, name)
);
create index provider_secret_key_idx on provider_secret (key_id);

-- Subscriptions that are wanted at providers; the daily comparison repairs what differs there.
create table provider_subscription (
  provider text not null,
  event_type text,
  data_type text,
  -- Null: the provider does not have it.
  subscription_id text,
  callback_url text not null,
  expires_at timestamptz,
  checked_at timestamptz not null default now(),
  -- What the provider said when it was last to be created or repaired; null: it is as it should be.
  error text,
  constraint provider_subscription_key unique nulls not distinct (provider, event_type, data_type)
);

-- Who is changing the subscriptions at a provider, until then: one process at a time.
create table subscription_lease (
  provider text primary key,
  holder uuid not null,
  held_until timestamptz not null
);

-- notice: a span that a notice told of; object: a single thing.
alter table sync_task
  drop constraint sync_task_kind,
  add constraint sync_task_kind check (kind in ('pull', 'sync', 'history', 'notice', 'object')),
  -- Its kind, and what names it.
  add column object text,
  add column args jsonb,
  -- Moves when it is wished for again: then it is asked again, even if it is being asked for.
  add column generation int4 not null default 0;

-- When a span of it was last to be asked for because of a notice.
alter table stream_cursor add column notice_due_at timestamptz;

alter table provider_grant
  -- When a pull last found what no notice had told of.
  add column missed_at timestamptz,
  -- When a notice that proves nothing last said that access was withdrawn.
  add column doubted_at timestamptz,
  -- Fetches that such notices have caused in the hour from `unsigned_since`.
  add column unsigned_since timestamptz,
  add column unsigned_fetches int4 not null default 0;

alter table upload drop constraint upload_channel;
alter table upload add constraint upload_channel check (channel in ('sdk', 'pull', 'webhook'));

drop function if exists open_run(uuid, text, text, uuid, text, tstzrange, text[]);
