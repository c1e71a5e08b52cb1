-- What is ahead of an endpoint in the feed.

-- Whether the filters of an endpoint let an event through.
create or replace function matches(n endpoint, e event) returns boolean
language sql immutable as $$
  select (n.filter_types is null or e.type = any (n.filter_types))
     and (n.filter_scope = e.scope) is not false
     and (n.user_id is null or n.user_id is not distinct from e.user_id)
$$;

-- Whether an endpoint gets an event that is ahead of it and has no row of `delivery`.
create or replace function gets(n endpoint, e event) returns boolean
language sql immutable as $$
  select matches(n, e) and not e.id <@ n.skipped
$$;

-- All deliveries that wait, with a row or ahead in the feed.
create or replace function waiting_deliveries()
returns table (endpoint_id int4, event_id int8, attempts int2, due_at timestamptz)
language sql stable as $$
  -- Each half has its index.
  select d.endpoint_id, d.event_id, d.attempts, d.due_at from delivery d where d.state = 'waiting' and d.attempts = 0
  union all
  select d.endpoint_id, d.event_id, d.attempts, d.due_at from delivery d where d.state = 'waiting' and d.attempts > 0
  union all
  select n.id, e.id, 0::int2, e.created_at
  from endpoint n
  join event e on e.position >= lower(n.ahead) and e.position <@ n.ahead and gets(n, e)
  where not exists (select from delivery d where d.event_id = e.id and d.endpoint_id = n.id)
$$;

-- Gives what is ahead of an endpoint rows of its own, up to a position, if `after` it still matches.
create or replace function keep_ahead(n endpoint, after endpoint, last_place int8) returns void
language sql as $$
  insert into delivery (event_id, endpoint_id, due_at)
  select e.id, n.id, least(e.created_at, now())
  from event e
  where e.position >= lower(n.ahead)
    and e.position <= last_place
    and e.position <@ n.ahead
    and gets(n, e)
    and matches(after, e)
  order by e.id
  on conflict do nothing
$$;

-- After a change of its filters or user, an endpoint gets later events by the new ones. What waits until then was chosen
-- by the former ones, and goes if it does not match the new ones as well, except tests.
create or replace function apply_endpoint_filter() returns trigger
language plpgsql as $$
declare
  last_place int8 := coalesce((select max(e.position) from event e), 0);
begin
  delete from delivery d
  using event e
  where d.endpoint_id = new.id
    and d.state = 'waiting'
    and e.id = d.event_id
    and e.position is not null
    and not matches(new, e);
  perform keep_ahead(old, new, last_place);
  new.ahead := new.ahead - int8multirange(int8range(null, last_place, '[]'));
  return new;
end
$$;

create or replace trigger endpoint_filter_changed
before update of filter_types, filter_scope, user_id on endpoint
for each row
when ((old.filter_types, old.filter_scope, old.user_id) is distinct from (new.filter_types, new.filter_scope, new.user_id))
execute function apply_endpoint_filter();

-- While an endpoint is disabled, what was recorded before stays ahead of it, and it skips what is recorded. It can recover
-- what it skips while it is disabled for failing.
create or replace function note_endpoint_disabled() returns trigger
language plpgsql as $$
declare
  last_id int8 := coalesce(pg_sequence_last_value('event_id_seq'::regclass), 0);
  recorded int8multirange := int8multirange(int8range(null, last_id, '[]'));
  later int8multirange := int8multirange(int8range(last_id + 1, null));
begin
  if new.disabled_at is null then
    new.skipped := new.skipped * recorded;
    new.missed := new.missed * recorded;
  else
    new.skipped := new.skipped + later;
    if new.disabled_reason = 'failing' then
      new.missed := new.missed + later;
    end if;
  end if;
  return new;
end
$$;

create or replace trigger endpoint_made_disabled
before insert on endpoint
for each row when (new.disabled_at is not null)
execute function note_endpoint_disabled();

create or replace trigger endpoint_disabled
before update of disabled_at on endpoint
for each row when ((old.disabled_at is null) <> (new.disabled_at is null))
execute function note_endpoint_disabled();

-- Notifies delivering processes of a new address or secret, and of an endpoint that was disabled, enabled or deleted.
create or replace function notify_endpoint_changed() returns trigger
language plpgsql as $$
begin
  perform pg_notify('delivery', '');
  return null;
end
$$;

create or replace trigger endpoint_changed
after delete or update of url, secret, disabled_at on endpoint
for each row execute function notify_endpoint_changed();

-- Attempts go with their endpoint; no constraint sees to it, since its checks are dear (sql/migrations/0250-places.sql).
create or replace function delete_attempts() returns trigger
language plpgsql as $$
begin
  delete from attempt where endpoint_id = old.id;
  return null;
end
$$;

create or replace trigger endpoint_deleted
after delete on endpoint
for each row execute function delete_attempts();
