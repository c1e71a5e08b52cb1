-- What lets phones in: applications, whose backends ask for the token of a user, invitation codes, and the phones' own
-- refresh tokens. Secrets of applications are stored as SHA-256 of random values.

create table application (
  id uuid primary key default gen_random_uuid(),
  app_id text not null constraint application_app_id_key unique,
  name text not null,
  secret_hash bytea not null,
  developer_id uuid not null references developer (id) on delete cascade,
  created_at timestamptz not null default now()
);
create index application_developer_idx on application (developer_id);

-- The one open code of a user. One that was used or replaced is gone.
create table invitation_code (
  user_id uuid primary key references app_user (id) on delete cascade,
  id uuid not null default gen_random_uuid(),
  -- Keyed: eight characters could be guessed from a plain hash.
  code_hash bytea not null constraint invitation_code_hash_key unique,
  created_by uuid not null references developer (id) on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null default now() + interval '7 days'
);
create index invitation_code_created_by_idx on invitation_code (created_by);

-- A session is that of a developer, or that of a user's phone.
alter table refresh_token
  alter column developer_id drop not null,
  add column user_id uuid references app_user (id) on delete cascade,
  -- Who let the phone in, as its access tokens say; the application, if it was one.
  add column app_id text,
  add column application_id uuid references application (id) on delete cascade,
  add constraint refresh_token_holder check (num_nonnulls(developer_id, user_id) = 1 and num_nonnulls(user_id, app_id) <> 1);
create index refresh_token_user_idx on refresh_token (user_id) where user_id is not null;
create index refresh_token_application_idx on refresh_token (application_id) where application_id is not null;

-- When the connection last ended: an upload that came before does not open it again, whenever it is imported.
alter table connection add column revoked_at timestamptz;
