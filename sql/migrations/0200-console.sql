-- Sign-ins of the web console, by the SHA-256 of the cookie that a browser holds. One ends after a week without use, or 30 days.
create table console_session (
  token_hash bytea constraint console_session_pkey primary key,
  developer_id uuid not null references developer (id) on delete cascade,
  created_at timestamptz not null default now(),
  -- Written at most once an hour.
  used_at timestamptz not null default now()
);
create index console_session_developer_idx on console_session (developer_id);

-- Codes that sign in once, by their SHA-256: that of the first start, and those of npm run console:code.
create table console_code (
  code_hash bytea constraint console_code_pkey primary key,
  developer_id uuid not null references developer (id) on delete cascade,
  expires_at timestamptz not null default now() + interval '15 minutes'
);
create index console_code_developer_idx on console_code (developer_id);
