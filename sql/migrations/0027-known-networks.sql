-- The newest networks that a developer has logged in from, as an HMAC, so that addresses are not kept: wrong passwords of
-- strangers do not lock out whoever logs in from one of them.
create table known_network (
  developer_id uuid not null references developer (id) on delete cascade,
  network bytea not null,
  last_login_at timestamptz not null default now(),
  constraint known_network_pkey primary key (developer_id, network)
);
