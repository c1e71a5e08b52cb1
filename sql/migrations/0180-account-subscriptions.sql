-- Accounts at providers that have to be subscribed to one by one: at which address they are, and when that was last compared
-- with what the provider has.
create table account_subscription (
  grant_id uuid primary key references provider_grant (id) on delete cascade,
  -- SHA-256 of the address, with its secret, at which all that is wanted was last subscribed to; null: never.
  address_sha256 bytea,
  checked_at timestamptz,
  -- Not looked at before then, unless something else is wanted; failures in a row, and what the last one was.
  due_at timestamptz not null default now(),
  attempts int2 not null default 0,
  error text
);
create index account_subscription_due_idx on account_subscription (due_at);
