-- Names of the kinds of events of a user that some endpoint asks for; null = all kinds, '{}' = none. One that was disabled
-- because its deliveries failed still asks: what it misses can be recovered.
create or replace function wanted_events(the_user uuid) returns text[]
language sql stable
as $$
  select case
           when bool_or(e.filter_types is null) then null
           else coalesce(array_agg(distinct t.name) filter (where t.name is not null), '{}')
         end
  from endpoint e
  left join lateral unnest(e.filter_types) t (name) on true
  where (e.disabled_at is null or e.disabled_reason = 'failing')
    and (e.user_id is null or e.user_id = the_user);
$$;
