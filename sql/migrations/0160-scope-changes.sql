-- When a person last changed, at the provider, what we may have; null: not since the consent.
alter table provider_grant add column scope_at timestamptz;
