-- Stores notices in the order of receipt; the same one again, while it waits, is one. Processes that open them are told.
-- One statement at a time: ids are committed in their order, so that none is opened before an earlier one of another
-- process, and two processes that receive the same notices in another order do not wait for each other.
create or replace function receive_notices(providers text[], are_signed boolean[], hashes bytea[], bodies bytea[])
returns void
language sql as $$
  select pg_advisory_xact_lock(hashtextextended('receive notices', 0));
  insert into notification (provider, signed, waiting_sha256, body)
  select n.provider, n.signed, n.sha256, n.body
  from unnest(providers, are_signed, hashes, bodies) with ordinality n (provider, signed, sha256, body, place)
  order by n.place
  on conflict on constraint notification_waiting_key do nothing;
  select pg_notify('notification', '');
$$;
