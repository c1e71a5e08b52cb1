-- Stores the results of calls, given as columns: the attempts, what follows for their deliveries, and the health of their
-- endpoints. A call counts only if its delivery still waits with the attempt number it started from: another process may
-- have made the same call. `delay_seconds` is the time to the next attempt, null after the last. A delivery from the feed
-- gets a row only if the call failed.
--
-- `place_ids` are the endpoints, each with the position up to which its process has looked at the feed, and those of
-- before it that are still in its hands; everything else up to there is no longer ahead of the endpoint.
--
-- Returns the endpoints it disables: at once with 410, or when every call has failed for `patience`.
create or replace function record_attempts(
  endpoint_ids int4[], event_ids int8[], attempt_counts int2[], positions int8[], urls text[], successes boolean[],
  statuses int2[], responses text[], durations_ms int4[], ages_seconds float8[], manuals boolean[],
  delays_seconds float8[], place_ids int4[], places int8[], in_hand int8multirange[], patience interval
) returns table (uid text, disabled_reason text)
language plpgsql as $$
#variable_conflict use_column
begin
  -- Waits for a deletion of an endpoint and for a change of its filter, which delete deliveries: the holder of the
  -- endpoint may lock its deliveries in any order.
  perform from endpoint n where n.id = any (endpoint_ids) order by n.id for no key update;
  with result as (
    select *
    from unnest(endpoint_ids, event_ids, attempt_counts, positions, urls, successes, statuses, responses, durations_ms,
                ages_seconds, manuals, delays_seconds)
      as r (endpoint_id, event_id, attempts, position, url, succeeded, status, response, duration_ms, age_seconds, manual,
            delay)
  ), moved as (
    update delivery d
    set state = case when r.succeeded then 'delivered' when r.delay is null then 'failed' else 'waiting' end,
        attempts = d.attempts + 1,
        due_at = case when r.succeeded or r.delay is null then d.due_at else now() + make_interval(secs => r.delay) end,
        manual = false
    from result r
    where d.event_id = r.event_id
      and d.endpoint_id = r.endpoint_id
      and d.state = 'waiting'
      and d.attempts = r.attempts
    returning r.*
  ), passed as (
    select r.*
    from result r
    join endpoint n on n.id = r.endpoint_id
    where r.position <@ n.ahead
      and not exists (select from delivery d where d.event_id = r.event_id and d.endpoint_id = r.endpoint_id)
  ), kept as (
    insert into delivery (event_id, endpoint_id, attempts, due_at)
    select p.event_id, p.endpoint_id, 1, now() + make_interval(secs => p.delay)
    from passed p
    join event e on e.id = p.event_id
    join endpoint n on n.id = p.endpoint_id
    -- The filter may have changed during the call.
    where not p.succeeded and gets(n, e)
    order by p.event_id
    on conflict do nothing
  )
  insert into attempt (endpoint_id, event_uid, event_type, url, succeeded, response_status, response, duration_ms,
                       manual, attempted_at)
  select m.endpoint_id, e.uid, e.type, m.url, m.succeeded, m.status, m.response, m.duration_ms, m.manual,
         now() - make_interval(secs => m.age_seconds)
  from (select * from moved union all select * from passed) m
  join event e on e.id = m.event_id
  order by m.age_seconds desc;

  -- Each endpoint is updated once: of a row that a transaction updates again, PostgreSQL checks the keys once more, and waits
  -- for the user, whom a deletion locks before its endpoints.
  return query
  with place as (
    select p.id, int8multirange(int8range(null, p.place, '[]')) as looked_at, p.in_hand, coalesce(e.positions, '{}') as ended
    from unnest(place_ids, places, in_hand) p (id, place, in_hand)
    left join (
      select r.endpoint_id, range_agg(int8range(r.position, r.position, '[]')) as positions
      from unnest(endpoint_ids, positions) r (endpoint_id, position)
      where r.position is not null
      group by r.endpoint_id
    ) e on e.endpoint_id = p.id
  ), health as (
    select r.endpoint_id, r.url, bool_or(r.succeeded) as succeeded, bool_or(r.status = 410) as gone
    from unnest(endpoint_ids, urls, successes, statuses) as r (endpoint_id, url, succeeded, status)
    group by r.endpoint_id, r.url
  ), changed as (
    update endpoint n
    set ahead = n.ahead - p.looked_at + n.ahead * p.in_hand - p.ended,
        failing_since = case when not h.succeeded then coalesce(n.failing_since, now()) end,
        disabled_at = case when h.gone or (not h.succeeded and n.failing_since < now() - patience) then now() end,
        disabled_reason = case
          when h.gone then 'gone'
          when not h.succeeded and n.failing_since < now() - patience then 'failing'
        end
    from health h
    join place p on p.id = h.endpoint_id
    where n.id = h.endpoint_id
      -- Failures of the previous address do not count.
      and n.url = h.url
      and n.disabled_at is null
      and (h.gone or case
             when h.succeeded then n.failing_since is not null
             else n.failing_since is null or n.failing_since < now() - patience
           end)
    returning n.id, n.uid, n.disabled_reason
  ), others as (
    update endpoint n
    set ahead = n.ahead - p.looked_at + n.ahead * p.in_hand - p.ended
    from place p
    where n.id = p.id and p.id not in (select c.id from changed c)
  )
  select changed.uid, changed.disabled_reason from changed where changed.disabled_reason is not null;
end
$$;

-- As it was before there were places.
drop function if exists record_attempts(
  int4[], int8[], int2[], text[], boolean[], int2[], text[], int4[], float8[], boolean[], float8[], interval
);
drop function if exists drop_unmatched(endpoint, int8, int8);
drop function if exists fan_out_key();
