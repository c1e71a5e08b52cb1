-- When the first and the last session or record of a user begin; null without any.
create or replace function event_ends(the_user uuid) returns table (first_at timestamptz, last_at timestamptz)
language sql stable
as $$
  select min(e.first_at), max(e.last_at)
  from (
    select min(start_at), max(start_at) from sleep where user_id = the_user
    union all
    select min(start_at), max(start_at) from workout where user_id = the_user
    union all
    select min(start_at), max(start_at) from meal where user_id = the_user
    union all
    select min(start_at), max(start_at) from menstrual_cycle where user_id = the_user
    union all
    select min(start_at), max(start_at) from activity where user_id = the_user
    union all
    select min(recorded_at), max(recorded_at) from health_score where user_id = the_user and source_id is not null
  ) e (first_at, last_at)
$$;

-- What each of several users has: the number of samples, sessions and records on each UTC day of [lo, hi) that has any
-- (`day` since 1970-01-01), and in one row without a day when the first and the last of all begin; of samples in rollups,
-- their day. Series from `implausible` on do not count. Users without anything have no row.
create or replace function days_of_users(users uuid[], lo timestamptz, hi timestamptz, implausible int2)
returns table (user_id uuid, day int4, n int8, first_at timestamptz, last_at timestamptz)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  own int4[] := array(select d.id from data_source d where d.user_id = any (users));
  owners uuid[];
  source_ids int4[];
  series_ids int2[];
  oldest timestamptz := rollup_floor();
begin
  -- Series whose rollups are behind: these are counted apart.
  select array_agg(d.user_id order by k.source_id, k.series_id), array_agg(k.source_id order by k.source_id, k.series_id),
         array_agg(k.series_id order by k.source_id, k.series_id)
  into owners, source_ids, series_ids
  from data_source d
  join source_series k on k.source_id = d.id
  where d.id = any (own) and k.source_id = any (own) and k.series_id < implausible
    and exists (select from rollup_dirty r where r.source_id = k.source_id and r.series_id = k.series_id);
  return query
    with series as materialized (
      select d.user_id, k.source_id, k.series_id
      from data_source d
      join source_series k on k.source_id = d.id
      where d.id = any (own) and k.source_id = any (own) and k.series_id < implausible
        and not exists (select from rollup_dirty r where r.source_id = k.source_id and r.series_id = k.series_id)
    ), event as materialized (
      select e.user_id, e.start_at as at from sleep e where e.user_id = any (users) and e.start_at >= lo and e.start_at < hi
      union all
      select e.user_id, e.start_at from workout e where e.user_id = any (users) and e.start_at >= lo and e.start_at < hi
      union all
      select e.user_id, e.start_at from meal e where e.user_id = any (users) and e.start_at >= lo and e.start_at < hi
      union all
      select e.user_id, e.start_at from menstrual_cycle e
      where e.user_id = any (users) and e.start_at >= lo and e.start_at < hi
      union all
      select e.user_id, e.start_at from activity e where e.user_id = any (users) and e.start_at >= lo and e.start_at < hi
      union all
      select e.user_id, e.recorded_at from health_score e
      where e.user_id = any (users) and e.source_id is not null and e.recorded_at >= lo and e.recorded_at < hi
    )
    select c.user_id, local_day(c.bucket, null), c.n, null::timestamptz, null::timestamptz
    from (
      select s.user_id, r.bucket, sum(r.n)::int8 as n
      from series s
      cross join lateral (
        select q.bucket, q.n
        from rollup_1day q
        where q.source_id = s.source_id and q.series_id = s.series_id and q.bucket >= lo and q.bucket < hi
          and q.bucket >= oldest
        order by q.bucket
      ) r
      group by 1, 2
    ) c
    union all
    select e.user_id, local_day(e.at, null), count(*), null, null from event e group by 1, 2
    union all
    select s.user_id, null, null, min(f.bucket), max(l.bucket)
    from series s
    cross join lateral (
      select q.bucket
      from rollup_1day q
      where q.source_id = s.source_id and q.series_id = s.series_id and q.bucket >= oldest
      order by q.bucket
      limit 1
    ) f
    cross join lateral (
      select q.bucket
      from rollup_1day q
      where q.source_id = s.source_id and q.series_id = s.series_id and q.bucket >= oldest
      order by q.bucket desc
      limit 1
    ) l
    group by 1
    union all
    select u.id, null, null, e.first_at, e.last_at
    from unnest(users) u (id)
    cross join lateral event_ends(u.id) e
    where e.first_at is not null;
  return query
    select owners[c.place], (c.day >> 32)::int4, (c.day & 4294967295), null::timestamptz, null::timestamptz
    from (
      select d.place, ('x' || encode(substring(d.pairs from p.at for 8), 'hex'))::bit(64)::int8 as day
      from daily_counts(source_ids, series_ids, lo, hi) d
      cross join lateral generate_series(1, length(d.pairs), 8) p (at)
    ) c
    union all
    select k.user_id, null, null, min(e.first_at), max(e.last_at)
    from unnest(owners, source_ids, series_ids) k (user_id, source_id, series_id)
    cross join lateral series_ends(k.source_id, k.series_id) e
    group by 1;
end
$$;
