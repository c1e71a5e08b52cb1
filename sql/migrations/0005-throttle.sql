-- Attempts at logins, counted for all processes together. A key is the SHA-256 of what is limited and its subject,
-- so that neither addresses nor account names are kept.
create table throttle (
  key bytea constraint throttle_pkey primary key,
  attempts int4 not null,
  -- The window starts with its first attempt; after this instant the row counts as absent.
  expires_at timestamptz not null
);
create index throttle_expires_idx on throttle (expires_at);
