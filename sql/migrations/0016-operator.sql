-- What operators decide: who else may operate, and which providers do what.

-- Developers that were asked to join. The token is known to who was asked and who asked, its SHA-256 is stored here.
create table invitation (
  id uuid primary key default gen_random_uuid(),
  email text not null,
  token_hash bytea not null constraint invitation_token_hash_key unique,
  -- Pending ones whose time is over are shown as expired.
  status text not null default 'pending' constraint invitation_status check (status in ('pending', 'accepted', 'revoked')),
  -- Who was shown the token last. With a developer go the invitations that it could accept itself.
  invited_by_id uuid not null references developer (id) on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null default now() + interval '7 days'
);
create unique index invitation_pending_key on invitation (lower(email)) where status = 'pending';
create index invitation_invited_by_idx on invitation (invited_by_id);

-- Null and an absent row = as the catalogue says.
create table provider_setting (
  provider text primary key,
  is_enabled boolean,
  live_sync_mode text constraint provider_setting_live_sync_mode check (live_sync_mode in ('pull', 'webhook')),
  data_granularity text constraint provider_setting_granularity check (data_granularity in ('daily', 'hourly', 'raw')),
  updated_at timestamptz not null default now()
);

-- Why a day has data, or none.
alter table upload
  -- What the upload held, {type: {day of UTC: items}}; null until it is imported.
  add column days jsonb,
  -- The first and last of these days.
  add column first_day date,
  add column last_day date,
  -- What it held and is not stored, [{collection, type, reason, items}].
  add column unstored jsonb not null default '[]';
create index upload_days_idx on upload (user_id, last_day, first_day) where days is not null;
create index upload_received_idx on upload (user_id, received_at) where replay_of is null;
