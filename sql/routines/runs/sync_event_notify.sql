-- Makes a user's progress events visible in the order of their ids, so a reader that remembers the last id misses none:
-- a writer waits until the transaction that wrote the previous event has ended, and only then takes an id. Transactions
-- write their events last.
create or replace function order_sync_event() returns trigger
language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('sync events:' || new.user_id, 0));
  new.id := nextval('sync_event_id_seq');
  return new;
end
$$;

create or replace trigger sync_event_order
before insert on sync_event
for each row execute function order_sync_event();

-- Processes with a client that follows a user hold this lock, shared.
create or replace function sync_watch_key(the_user uuid) returns int8
language sql immutable as $$
  select hashtextextended('sync events followed:' || the_user, 0)
$$;

-- Notifies only about users that somebody follows, since transactions that notify commit one at a time. A process that
-- is about to follow gets the lock once this transaction has ended, and then reads.
create or replace function notify_sync_event() returns trigger
language plpgsql as $$
begin
  if not pg_try_advisory_xact_lock(sync_watch_key(new.user_id)) then
    perform pg_notify('sync_event', new.user_id::text);
  end if;
  return null;
end
$$;

create or replace trigger sync_event_notify
after insert on sync_event
for each row execute function notify_sync_event();

create or replace function notify_user_deleted() returns trigger
language plpgsql as $$
begin
  perform pg_notify('sync_event', old.id::text);
  return null;
end
$$;

create or replace trigger app_user_deleted
after delete on app_user
for each row execute function notify_user_deleted();
