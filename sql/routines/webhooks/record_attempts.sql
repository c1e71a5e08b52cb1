-- Stores the results of calls, given as columns: the attempts, the new state of their deliveries, and the health of
-- their endpoints. A call counts only if its delivery still waits with the attempt number it started from: another
-- process may have made the same call. `delay_seconds` is the time to the next attempt, null after the last. Returns
-- the endpoints it disables: at once with 410, or when every call has failed for `patience`.
create or replace function record_attempts(
  endpoint_ids int4[], event_ids int8[], attempt_counts int2[], urls text[], successes boolean[], statuses int2[],
  responses text[], durations_ms int4[], ages_seconds float8[], manuals boolean[], delays_seconds float8[],
  patience interval
) returns table (uid text, disabled_reason text)
language plpgsql as $$
#variable_conflict use_column
begin
  -- Waits for a deletion of an endpoint and for a change of its filter, which delete deliveries: the holder of the
  -- endpoint may lock its deliveries in any order.
  perform from endpoint n where n.id = any (endpoint_ids) order by n.id for no key update;
  with result as (
    select *
    from unnest(endpoint_ids, event_ids, attempt_counts, urls, successes, statuses, responses, durations_ms,
                ages_seconds, manuals, delays_seconds)
      as r (endpoint_id, event_id, attempts, url, succeeded, status, response, duration_ms, age_seconds, manual, delay)
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
  )
  insert into attempt (endpoint_id, event_uid, event_type, url, succeeded, response_status, response, duration_ms,
                       manual, attempted_at)
  select m.endpoint_id, e.uid, e.type, m.url, m.succeeded, m.status, m.response, m.duration_ms, m.manual,
         now() - make_interval(secs => m.age_seconds)
  from moved m
  join event e on e.id = m.event_id
  order by m.age_seconds desc;

  return query
  with health as (
    select r.endpoint_id, r.url, bool_or(r.succeeded) as succeeded, bool_or(r.status = 410) as gone
    from unnest(endpoint_ids, urls, successes, statuses) as r (endpoint_id, url, succeeded, status)
    group by r.endpoint_id, r.url
  ), changed as (
    update endpoint n
    set failing_since = case when not h.succeeded then coalesce(n.failing_since, now()) end,
        disabled_at = case when h.gone or (not h.succeeded and n.failing_since < now() - patience) then now() end,
        disabled_reason = case
          when h.gone then 'gone'
          when not h.succeeded and n.failing_since < now() - patience then 'failing'
        end
    from health h
    where n.id = h.endpoint_id
      -- Failures of the previous address do not count.
      and n.url = h.url
      and n.disabled_at is null
      and (h.gone or case
             when h.succeeded then n.failing_since is not null
             else n.failing_since is null or n.failing_since < now() - patience
           end)
    returning n.uid, n.disabled_reason
  )
  select changed.uid, changed.disabled_reason from changed where changed.disabled_reason is not null;
end
$$;
