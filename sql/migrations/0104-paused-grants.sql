-- Grants for which nothing can be asked because of our own settings: a client secret that the provider refuses, or tokens
-- that no SECRET_KEY of the process opens.
alter table provider_grant
  -- Why, for operators and runs; null: it is not so.
  add column pause_error text,
  -- Fingerprint of the settings that it is because of: the pause ends with them (server/oauth/pauses.ts).
  add column pause_settings text,
  -- When somebody who asked for a sync last made it due again (retry_grant).
  add column retried_at timestamptz;
create index provider_grant_pause_idx on provider_grant (provider) where pause_settings is not null;

drop function if exists start_sync(uuid, uuid, uuid, text, text, timestamptz, jsonb, jsonb);
drop function if exists join_sync(uuid, uuid, uuid, text, text[]);
