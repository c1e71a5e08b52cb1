-- What is ahead of an endpoint in the feed.

-- Whether the filters of an endpoint let an event through.
create or replace function matches(n endpoint, e event) returns boolean
language sql immutable as $$
  select (n.filter_types is null or e.type = any (n.filter_types))
     and (n.filter_scope = e.scope) is not false
     and (n.user_id is null or n.user_id is not distinct from e.user_id)
$$;

-- Whether former filters let an event through. A function of SQL would take three times as long.
create or replace function passes(former former_filter[], place int8, type text, scope text, the_user uuid) returns boolean
language plpgsql immutable as $$
declare
  f former_filter;
begin
  foreach f in array former loop
    if f.last_place >= place
      and ((type = any (f.filter_types)) is false
        or (scope = all (f.filter_scopes)) is false
        or (f.user_id is not null and f.user_id is distinct from the_user))
    then
      return false;
    end if;
  end loop;
  return true;
end
$$;

-- Whether an endpoint gets an event that is ahead of it and has no row of `delivery`.
create or replace function gets(n endpoint, e event) returns boolean
language sql immutable as $$
  select matches(n, e) and not e.id <@ n.skipped
     and (n.former is null or passes(n.former, e.position, e.type, e.scope, e.user_id))
$$;

-- Parts of the feed that are ahead of an endpoint: the first positions of each, as far as `reach`, and its end.
create or replace function parts_ahead(n endpoint, reach int8)
returns table (first_place int8, first_end int8, part_end int8)
language sql stable as $$
  select start.place, least(upper(part), start.place + reach, 9223372036854775807),
         least(upper(part), 9223372036854775807)
  from unnest(n.ahead) part
  cross join lateral (select greatest(lower(part), (select min(e.position) from event e)) as place) start
$$;

-- Deliveries that wait for enabled endpoints, with a row or ahead in the feed; for each endpoint at most so many of each
-- kind, and as far in the feed as `reach`. Null: all.
create or replace function waiting_deliveries(at_most int8 default null, reach int8 default null)
returns table (endpoint_id int4, event_id int8, attempts int2, due_at timestamptz)
language sql stable as $$
  select n.id, d.event_id, d.attempts, d.due_at
  from endpoint n
  cross join lateral (
    -- Each half has its index.
    (select d.event_id, d.attempts, d.due_at from delivery d
     where d.endpoint_id = n.id and d.state = 'waiting' and d.attempts = 0 order by d.due_at limit at_most)
    union all
    (select d.event_id, d.attempts, d.due_at from delivery d
     where d.endpoint_id = n.id and d.state = 'waiting' and d.attempts > 0 order by d.due_at limit at_most)
    union all
    select ahead.id, 0::int2, ahead.created_at
    from parts_ahead(n, reach) part
    cross join lateral (
      select e.id, e.created_at
      from event e
      where e.position >= part.first_place and e.position < part.first_end
        and gets(n, e)
        and not exists (select from delivery d where d.event_id = e.id and d.endpoint_id = n.id)
      order by e.position
      limit at_most
    ) ahead
  ) d
  where n.disabled_at is null
$$;

-- After a change of its filters or user, an endpoint gets later events by the new ones. What waits until then was chosen
-- by the former ones, and goes if it does not match the new ones as well, except tests.
--
-- Former filters stay with the endpoint until it has passed what they count for. Of each is kept what all later ones let
-- through as well, and of equal ones the last: so each is wider than the one before, and there are hardly more than kinds
-- of events. What none of them lets through is passed at once.
create or replace function apply_endpoint_filter() returns trigger
language plpgsql as $$
declare
  last_place int8 := coalesce((select max(e.position) from event e), 0);
  everything constant int8 := 9223372036854775807;
  nothing_until int8;
begin
  delete from delivery d
  using event e
  where d.endpoint_id = new.id
    and d.state = 'waiting'
    and e.id = d.event_id
    and e.position is not null
    and not matches(new, e);
  with narrowed as (
    select f.last_place,
           case when coalesce(f.filter_types, new.filter_types) is not null then array(
             select type
             from unnest(coalesce(f.filter_types, new.filter_types)) type
             where type = any (coalesce(new.filter_types, f.filter_types))
             order by type
           ) end as filter_types,
           array(select distinct scope from unnest(f.filter_scopes || new.filter_scope) scope
                 where scope is not null order by scope) as filter_scopes,
           coalesce(f.user_id, new.user_id) as user_id,
           (f.user_id = new.user_id) is false as is_of_another
    from unnest(
      old.former
      || row(last_place, old.filter_types, array_remove(array[old.filter_scope], null), old.user_id)::former_filter
      || row(everything, null, '{}', null)::former_filter
    ) f
    where f.last_place >= lower(new.ahead)
  ), kept as (
    select filter_types, filter_scopes, user_id, max(narrowed.last_place) as last_place
    from narrowed
    where not is_of_another and filter_types is distinct from '{}'
    group by filter_types, filter_scopes, user_id
    having max(narrowed.last_place) < everything
  )
  select (select max(narrowed.last_place) from narrowed where is_of_another or filter_types = '{}'),
         (select array_agg(row(kept.last_place, filter_types, filter_scopes, user_id)::former_filter order by kept.last_place)
          from kept)
  into nothing_until, new.former;
  if nothing_until is not null then
    new.ahead := new.ahead - int8multirange(int8range(null, nothing_until, '[]'));
  end if;
  return new;
end
$$;

create or replace trigger endpoint_filter_changed
before update of filter_types, filter_scope, user_id on endpoint
for each row
when ((old.filter_types, old.filter_scope, old.user_id) is distinct from (new.filter_types, new.filter_scope, new.user_id))
execute function apply_endpoint_filter();

-- Former filters that count for nothing that is ahead any more are forgotten.
create or replace function forget_former_filters() returns trigger
language plpgsql as $$
begin
  new.former := (select array_agg(f order by f.last_place) from unnest(new.former) f where f.last_place >= lower(new.ahead));
  return new;
end
$$;

create or replace trigger endpoint_passed
before update of ahead on endpoint
for each row when (old.former is not null)
execute function forget_former_filters();

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

-- As it was before filters were kept beside the places.
drop function if exists waiting_deliveries();
drop function if exists keep_ahead(endpoint, endpoint, int8);
