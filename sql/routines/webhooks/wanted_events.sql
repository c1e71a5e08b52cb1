-- Types of a user's events that some endpoint wants, live ones and historical ones; null = all types, '{}' = none. An
-- endpoint disabled for failing still counts: it can recover the events it misses.
create or replace function wanted_events(the_user uuid) returns table (live text[], historical text[])
language sql stable
as $$
  with wanted as (
    -- A thousand endpoints may want the same.
    select distinct e.filter_scope as scope, e.filter_types is null as everything, t.name
    from endpoint e
    left join lateral unnest(e.filter_types) t (name) on true
    where (e.disabled_at is null or e.disabled_reason = 'failing')
      and (e.user_id is null or e.user_id = the_user)
  )
  select case
           when bool_or(everything) filter (where scope is distinct from 'historical') then null
           else coalesce(array_agg(name) filter (where name is not null and scope is distinct from 'historical'), '{}')
         end,
         case
           when bool_or(everything) filter (where scope is distinct from 'live') then null
           else coalesce(array_agg(name) filter (where name is not null and scope is distinct from 'live'), '{}')
         end
  from wanted;
$$;
