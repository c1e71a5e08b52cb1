-- Gives the next pending events their positions in the feed, where endpoints find them; returns the number of events.
-- One transaction at a time: positions follow the order in which events become visible, so a reader that remembers the
-- last position misses none. Without `to_endpoints`, endpoints never get them.
create or replace function fan_out(at_most int4, to_endpoints boolean) returns int4
language plpgsql as $$
declare
  fanned int4;
  first_place int8;
  last_place int8;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('fan out', 0)) then
    return 0;
  end if;
  with next as materialized (
    -- Those that are locked are being deleted.
    select e.id from event e where e.pending order by e.id limit at_most for no key update skip locked
  ), placed as materialized (
    select next.id, nextval('event_position') as place from next
  ), ready as (
    update event e
    set pending = false, position = placed.place
    from placed
    where e.id = placed.id
  )
  select count(*), min(place), max(place) into fanned, first_place, last_place from placed;
  if fanned > 0 and to_endpoints then
    perform pg_notify('delivery', '');
  elsif fanned > 0 then
    update endpoint n
    set ahead = n.ahead - int8multirange(int8range(first_place, last_place, '[]'))
    from (select id from endpoint order by id for no key update) held
    where n.id = held.id;
  end if;
  return fanned;
end
$$;
