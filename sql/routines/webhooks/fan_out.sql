-- Assigns the next pending events their positions in the feed and, with `to_endpoints`, creates their deliveries to the
-- matching endpoints; returns the number of events. One transaction at a time: positions follow the order in which
-- events become visible, so a reader that remembers the last position misses none.
create or replace function fan_out_key() returns int8
language sql immutable as $$
  select hashtextextended('fan out', 0)
$$;

create or replace function fan_out(at_most int4, to_endpoints boolean) returns int4
language plpgsql as $$
declare
  fanned int4;
begin
  if not pg_try_advisory_xact_lock(fan_out_key()) then
    return 0;
  end if;
  if to_endpoints then
    -- Deleting a user deletes its endpoints and then its events: lock in the same order.
    perform from endpoint n
    where n.user_id in (select e.user_id from event e where e.pending order by e.id limit at_most)
    order by n.id
    for key share;
  end if;
  with placed as materialized (
    select next.id, nextval('event_position') as place
    from (select e.id from event e where e.pending order by e.id limit at_most) next
  ), ready as (
    update event e
    set pending = false, position = placed.place
    from placed
    where e.id = placed.id
    returning e.id, e.type, e.user_id, e.scope, e.created_at
  ), made as (
    insert into delivery (event_id, endpoint_id)
    select ready.id, n.id
    from ready
    join endpoint n
      -- Events recorded before an endpoint was disabled for failing still wait for it; it misses later ones.
      on (n.disabled_at is null or n.disabled_reason = 'failing' and ready.created_at < n.disabled_at)
     and n.after_event_id < ready.id
     and (n.user_id is null or n.user_id = ready.user_id)
     and (n.filter_types is null or ready.type = any (n.filter_types))
     and (n.filter_scope = ready.scope) is not false
    where to_endpoints
    order by ready.id
    on conflict do nothing
    returning 1
  )
  select count(*) into fanned from placed;
  if fanned > 0 and to_endpoints then
    perform pg_notify('delivery', '');
  end if;
  return fanned;
end
$$;

-- Drops waiting deliveries that the endpoint's filters or user exclude, with positions in (after_place, last_place].
create or replace function drop_unmatched(the_endpoint endpoint, after_place int8, last_place int8) returns void
language sql as $$
  delete from delivery d
  using event e
  where d.endpoint_id = the_endpoint.id
    and d.state = 'waiting'
    and e.id = d.event_id
    and e.position > after_place
    and e.position <= last_place
    and not ((the_endpoint.user_id is null or the_endpoint.user_id is not distinct from e.user_id)
             and (the_endpoint.filter_types is null or e.type = any (the_endpoint.filter_types))
             and (the_endpoint.filter_scope = e.scope) is not false);
$$;

-- After a change of its filters or user, an endpoint no longer gets events that do not match, except tests. Many deliveries
-- may wait, and dropping them must not delay other events: the lock, which excludes a concurrent fan-out, is only taken
-- for the few events fanned out in the meantime.
create or replace function apply_endpoint_filter() returns trigger
language plpgsql as $$
declare
  last_place int8 := coalesce((select max(e.position) from event e), 0);
begin
  perform drop_unmatched(new, 0, last_place);
  perform pg_advisory_xact_lock(fan_out_key());
  perform drop_unmatched(new, last_place, 9223372036854775807);
  return null;
end
$$;

create or replace trigger endpoint_filter_changed
after update of filter_types, filter_scope, user_id on endpoint
for each row
when ((old.filter_types, old.filter_scope, old.user_id) is distinct from (new.filter_types, new.filter_scope, new.user_id))
execute function apply_endpoint_filter();

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
