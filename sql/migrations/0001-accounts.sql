-- Developers, their API keys and refresh tokens. Secrets are stored as SHA-256 of random values or scrypt.

create table developer (
  id uuid primary key default gen_random_uuid(),
  email text not null,
  first_name text,
  last_name text,
  password_hash text not null,
  -- Access tokens issued before this instant are refused (change of password, logout everywhere).
  tokens_valid_from timestamptz not null default date_trunc('second', now()),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index developer_email_key on developer (lower(email));

create table api_key (
  id uuid primary key default gen_random_uuid(),
  name text not null,
  key_prefix text not null,
  key_hash bytea not null constraint api_key_hash_key unique,
  created_by uuid references developer (id) on delete set null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz
);

create table refresh_token (
  id uuid primary key default gen_random_uuid(),
  -- Every rotation of one login shares the family: reuse of a rotated token revokes all of it.
  family_id uuid not null,
  token_hash bytea not null constraint refresh_token_hash_key unique,
  developer_id uuid not null references developer (id) on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  rotated_at timestamptz,
  revoked_at timestamptz
);
create index refresh_token_family_idx on refresh_token (family_id);
create index refresh_token_developer_idx on refresh_token (developer_id);
