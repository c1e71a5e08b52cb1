-- Access that people granted to their accounts at cloud providers. Several users may have connected one account: they
-- share its grant.

create table provider_grant (
  id uuid primary key default gen_random_uuid(),
  provider text not null,
  -- The provider's id of the account; null: not known.
  account_id text,
  username text,
  -- Of the profile: an IANA name or an offset.
  zone text,
  -- As the provider wrote it.
  scope text,
  -- Which of the provider's sign-in services granted it.
  issuer text,
  state text not null default 'live' constraint provider_grant_state check (state in ('live', 'ended')),

  -- Tokens: sealed, bound to this row, their column and `version`, with the key that `key_id` names.
  key_id int4,
  access bytea,
  -- Null: the provider did not say.
  access_until timestamptz,
  refresh bytea,
  version int8 not null default 0,
  refreshed_at timestamptz,

  -- Somebody is refreshing: nobody else does until then, or until `version` moves.
  refresh_held_until timestamptz,
  -- Refreshes whose answer never arrived: the provider may have replaced the refresh token.
  refresh_doubt int2 not null default 0,
  -- Not refreshed before then.
  refresh_due_at timestamptz,
  -- Failures in a row that say nothing about the grant.
  refresh_failures int2 not null default 0,
  -- Refusals of the refresh token in a row, and when the first and the last came.
  refusals int2 not null default 0,
  refused_since timestamptz,
  refused_at timestamptz,

  -- Its place in the queues: when it is planned, and when it has something to do; null = nothing.
  granted_at timestamptz not null default now(),
  next_pull_at timestamptz,
  live_at timestamptz,
  history_at timestamptz,
  -- The process that works for it, until it dies or its lease ends; whoever lost it cannot store.
  process_id int8 references process (id) on delete set null,
  leased_until timestamptz,
  fence int8 not null default 0,

  constraint provider_grant_sealed check ((access is null and refresh is null) = (key_id is null)),
  constraint provider_grant_account_key unique (provider, account_id)
);
create index provider_grant_pull_idx on provider_grant (next_pull_at) where state = 'live';
create index provider_grant_access_idx on provider_grant (access_until) where state = 'live';
create index provider_grant_live_idx on provider_grant (provider, live_at) where state = 'live';
create index provider_grant_history_idx on provider_grant (provider, history_at) where state = 'live';
create index provider_grant_process_idx on provider_grant (process_id) where process_id is not null;
create index provider_grant_key_idx on provider_grant (key_id) where key_id is not null;
-- How many were refused and how many refreshed lately.
create index provider_grant_refused_idx on provider_grant (provider, refused_at) where refused_at is not null;

alter table connection
  add column grant_id uuid references provider_grant (id) on delete set null,
  -- Why it ended: reason of its event connection.revoked.
  add column status_reason text
    constraint connection_status_reason check (status_reason in ('refresh_failed', 'deregistration', 'user_disconnected'));
create index connection_grant_idx on connection (grant_id) where grant_id is not null;

-- Consents that were asked for and not yet answered.
create table oauth_state (
  -- SHA-256 of what travels through the browser.
  state_hash bytea primary key,
  user_id uuid not null references app_user (id) on delete cascade,
  provider text not null,
  -- Where the browser goes in the end; null: to our own page.
  redirect_uri text,
  -- SHA-256 of the cookie that the browser must bring back; null: none was set.
  browser_hash bytea,
  expires_at timestamptz not null default now() + interval '15 minutes'
);
create index oauth_state_user_idx on oauth_state (user_id);

-- Links that were followed: none works twice.
create table used_link_token (
  id uuid primary key,
  expires_at timestamptz not null
);
