-- Notifies every process that an API key changed, so that none trusts its cache.
create or replace function notify_api_key_changed() returns trigger
language plpgsql as $$
begin
  perform pg_notify('api_key_changed', '');
  return null;
end
$$;

create or replace trigger api_key_changed
after delete or update of key_hash on api_key
for each row execute function notify_api_key_changed();
