-- Types of a user's events of a scope that some endpoint wants; null = all types, '{}' = none. An endpoint disabled for
-- failing still counts: it can recover the events it misses.
create or replace function wanted_events(the_user uuid, the_scope text) returns text[]
language sql stable
as $$
  select case
           when bool_or(e.filter_types is null) then null
           else coalesce(array_agg(distinct t.name) filter (where t.name is not null), '{}')
         end
  from endpoint e
  left join lateral unnest(e.filter_types) t (name) on true
  where (e.disabled_at is null or e.disabled_reason = 'failing')
    and (e.user_id is null or e.user_id = the_user)
    and (e.filter_scope is null or e.filter_scope = the_scope);
$$;
