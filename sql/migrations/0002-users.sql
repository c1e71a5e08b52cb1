-- People whose data is stored, their provider connections and the sources of their samples.

create table app_user (
  id uuid primary key default gen_random_uuid(),
  first_name text,
  last_name text,
  email text,
  external_user_id text constraint app_user_external_user_id_key unique,
  -- Counts what changed in this user's data: the ETag of reads and the key of read caches.
  revision int8 not null default 0,
  created_at timestamptz not null default now()
);
create unique index app_user_email_key on app_user (lower(email));
create index app_user_created_idx on app_user (created_at, id);

create table personal_record (
  user_id uuid primary key references app_user (id) on delete cascade,
  birth_date date,
  gender text,
  sex text constraint personal_record_sex check (sex in ('male', 'female'))
);

create table connection (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null references app_user (id) on delete cascade,
  provider text not null,
  status text not null default 'active' constraint connection_status check (status in ('active', 'revoked', 'expired')),
  provider_user_id text,
  provider_username text,
  scope text,
  last_synced_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint connection_user_provider_key unique (user_id, provider)
);
create index connection_account_idx on connection (provider, provider_user_id) where provider_user_id is not null;

create table data_source (
  -- The short key that samples carry; the API shows `uid`.
  id int generated always as identity primary key,
  uid uuid not null default gen_random_uuid() constraint data_source_uid_key unique,
  user_id uuid not null references app_user (id) on delete cascade,
  connection_id uuid references connection (id) on delete set null,
  provider text not null,
  device_model text not null default '',
  source text not null default '',
  software_version text,
  device_type text not null default 'unknown',
  created_at timestamptz not null default now(),
  constraint data_source_identity_key unique (user_id, provider, device_model, source)
);
