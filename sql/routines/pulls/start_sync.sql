-- Queues the asking of streams of a grant: a task for each, except those that such a task waits for already, and a run for
-- everybody whose data it is, with a report for each stream, which keeps the run open until its task has ended. Returns
-- the key of the run; null when nothing was queued. `the_connection` null = everybody who has connected the account;
-- `asking` null = nobody asked. `streams`: array of {stream, lo, reach_days}; `until` null = until they are asked.
create or replace function start_sync(
  the_grant uuid, the_connection uuid, asking uuid, the_kind text, the_lane text, until timestamptz, options jsonb,
  streams jsonb
) returns text
language plpgsql as $$
declare
  the_run text := gen_random_uuid();
  the_provider text;
  the_scope text := case the_kind when 'history' then 'historical' else 'live' end;
  queued text[];
  first_lo timestamptz;
  span tstzrange;
  one record;
begin
  -- First of all locks: whoever changes the tasks of a grant holds it (server/store/lock.ts).
  select provider into the_provider from provider_grant where id = the_grant and state = 'live' for update;
  if not found then
    return null;
  end if;
  with asked as (
    insert into sync_task (grant_id, kind, key, stream, connection_id, run_key, lane, lo, hi, reach_days, options)
    select the_grant, the_kind, concat_ws(':', the_kind, the_connection, s.stream), s.stream, the_connection, the_run,
           the_lane, s.lo, until, s.reach_days, start_sync.options
    from rows from (
      jsonb_to_recordset(streams) as (stream text, lo timestamptz, reach_days int2)
    ) with ordinality s (stream, lo, reach_days, place)
    order by s.place
    on conflict (grant_id, key) do nothing
    returning stream, lo
  )
  select array_agg(stream), min(lo) into queued, first_lo from asked;
  if queued is null then
    return null;
  end if;
  span := tstzrange(least(first_lo, until, now()), coalesce(until, now()));
  asking := coalesce(asking, (
    select c.user_id from connection c
    where c.grant_id = the_grant and c.status = 'active' and c.id = coalesce(the_connection, c.id)
    order by c.user_id
    limit 1
  ));
  for one in
    select c.user_id from connection c
    where c.grant_id = the_grant and c.status = 'active' and c.id = coalesce(the_connection, c.id)
    order by c.user_id
  loop
    perform open_run(one.user_id, the_provider, the_run, asking, the_scope, span, queued);
  end loop;
  update provider_grant
  set asked_at = case the_lane when 'asked' then least(asked_at, now()) else asked_at end,
      live_at = case the_lane when 'live' then least(live_at, now()) else live_at end,
      history_at = case the_lane when 'history' then least(history_at, now()) else history_at end
  where id = the_grant;
  -- Somebody waits: processes look at once. Pulls that are due are found within a second.
  if the_lane <> 'live' then
    perform pg_notify('sync_task', '');
  end if;
  return the_run;
end
$$;

-- Opens the run of a sync for one of those whose data it brings, unless it is there; returns its key. A key names one run:
-- those of others than the user who asked have the user behind it; `asking` null = that one is gone.
create or replace function open_run(
  the_user uuid, the_provider text, the_run text, asking uuid, the_scope text, span tstzrange, streams text[]
) returns text
language plpgsql as $$
declare
  own_key text := case when the_user = asking then the_run else the_run || '_' || the_user end;
begin
  insert into sync_run (
    run_key, user_id, provider, source, scope, stage, window_start, window_end, primary_user_id
  )
  values (
    own_key, the_user, the_provider, case when the_user = asking then 'pull' else 'linked_account' end, the_scope, 'queued',
    lower(span), upper(span), nullif(asking, the_user)
  )
  on conflict do nothing;
  if not found then
    return own_key;
  end if;
  insert into sync_run_report (user_id, run_key, native_type, data_type, kind, status, reported_at)
  select the_user, own_key, stream, stream, 'task', 'in_progress', clock_timestamp()
  from unnest(streams) stream;
  insert into sync_event (user_id, run_key, stage, status) values (the_user, own_key, 'queued', 'in_progress');
  return own_key;
end
$$;

-- The run of a user for streams that are asked already, of a grant or of one connection to it; opened if the user has
-- connected since it began. Null: none is asked. The caller holds the grant.
create or replace function join_sync(
  the_grant uuid, the_connection uuid, the_user uuid, the_kind text, the_streams text[]
) returns text
language sql as $$
  with first as (
    select t.run_key, g.provider
    from sync_task t
    join provider_grant g on g.id = t.grant_id
    where t.grant_id = the_grant and g.state = 'live' and t.kind = the_kind and t.stream = any (the_streams)
      and t.connection_id is not distinct from the_connection
    order by t.id
    limit 1
  ), whole as (
    select f.run_key, f.provider, min(t.lo) as lo, max(coalesce(t.hi, now())) as hi, array_agg(t.stream) as streams
    from first f
    join sync_task t on t.grant_id = the_grant and t.run_key = f.run_key
    group by f.run_key, f.provider
  )
  select open_run(
    the_user, w.provider, w.run_key, (select r.user_id from sync_run r where r.run_key = w.run_key),
    case the_kind when 'history' then 'historical' else 'live' end, tstzrange(least(w.lo, w.hi), w.hi), w.streams
  )
  from whole w
$$;

-- Queues again what was left of a connection's past when its grant ended (server/oauth/disconnect.ts), of the streams that
-- are granted now, with a new run. Null: nothing was left. The caller holds the grant.
create or replace function resume_history(the_grant uuid, the_connection uuid, the_user uuid, granted text[]) returns text
language plpgsql as $$
declare
  the_run text := gen_random_uuid();
  streams text[];
  span tstzrange;
begin
  delete from sync_task
  where grant_id = the_grant and connection_id = the_connection and due_at = 'infinity' and stream <> all (granted);
  with resumed as (
    update sync_task
    set run_key = the_run, due_at = now(), position = null, attempts = 0, failing_since = null
    where grant_id = the_grant and connection_id = the_connection and due_at = 'infinity'
    returning stream, lo, hi
  )
  select array_agg(stream), tstzrange(min(lo), max(hi)) into streams, span from resumed;
  if streams is null then
    return null;
  end if;
  perform open_run(the_user, provider, the_run, the_user, 'historical', span, streams) from provider_grant where id = the_grant;
  update provider_grant set history_at = least(history_at, now()) where id = the_grant;
  perform pg_notify('sync_task', '');
  return the_run;
end
$$;
