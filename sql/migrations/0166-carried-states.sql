-- How far the states of things have come that a provider sends again and again (server/intake/notices/states.ts).
create table carried_state (
  grant_id uuid not null references provider_grant (id) on delete cascade,
  key text not null,
  reached float8 not null,
  noted_at timestamptz not null default now(),
  constraint carried_state_pkey primary key (grant_id, key)
);
