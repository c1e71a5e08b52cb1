alter table provider_subscription
  -- Whether its address is the one below API_BASE_URL: then it moves with that.
  add column follows_base_url boolean not null default false,
  -- SHA-256 of our secret that the provider was given and does not show; null: there is none, or it is not known which.
  add column given_sha256 bytea;
