-- Tells every process that a key no longer is what it remembers.
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
