-- Queues the asking of streams of a grant: a task for each, and a run for everybody whose data it is, with a report for each
-- stream, which keeps the run open until its task has ended. What is scheduled, or is of the past, waits once: streams that
-- such a task waits for already are left out, and a pull's run says so. Returns the key of the run; null when nothing was
-- queued. `the_connection` null = everybody who has connected the account; `asking` null = nobody asked. `streams`: array
-- of {stream, lo, reach_days}; `until` null = until they are asked. `refused`: array of {stream, error}, which are wanted and
-- not granted: they fail, and are left alone for a day.
create or replace function start_sync(
  the_grant uuid, the_connection uuid, asking uuid, the_kind text, the_lane text, until timestamptz, options jsonb,
  streams jsonb, refused jsonb default '[]'
) returns text
language plpgsql as $$
declare
  the_run text := gen_random_uuid();
  the_provider text;
  the_scope text := case when the_kind in ('history', 'backfill') then 'historical' else 'live' end;
  queued text[];
  first_lo timestamptz;
  span tstzrange;
  failures jsonb;
  one record;
begin
  -- First of all locks: whoever changes the tasks of a grant holds it (server/store/lock.ts).
  select provider into the_provider from provider_grant where id = the_grant and state = 'live' for update;
  if not found then
    return null;
  end if;
  insert into stream_cursor (grant_id, stream, closed_until, closed_why)
  select the_grant, r.stream, now() + interval '1 day', 'not_granted'
  from jsonb_to_recordset(refused) r (stream text)
  on conflict (grant_id, stream) do update
  set closed_until = excluded.closed_until, closed_why = excluded.closed_why, failing_since = null;
  with asked as (
    insert into sync_task (grant_id, kind, key, stream, connection_id, run_key, lane, lo, hi, reach_days, options)
    select the_grant, the_kind,
           concat_ws(':', the_kind, the_connection, case the_kind when 'sync' then the_run end, s.stream), s.stream,
           the_connection, the_run, the_lane, s.lo, until, s.reach_days, start_sync.options
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
  select jsonb_agg(f) into failures
  from (
    select r.stream, 'not_permitted' as code, r.error from jsonb_to_recordset(refused) r (stream text, error text)
    union all
    select t.stream, 'waiting', 'Run ' || t.run_key || ' still waits for it'
    from sync_task t
    join jsonb_to_recordset(streams) s (stream text) on s.stream = t.stream
    where the_kind = 'pull' and t.grant_id = the_grant and t.kind = the_kind and t.stream <> all (queued)
  ) f;
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
    perform fail_reports(
      one.user_id,
      open_run(
        one.user_id, the_provider, the_run, asking, the_scope, span, queued,
        case the_kind when 'backfill' then 'backfill' else 'pull' end
      ),
      failures
    );
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
-- those of others than the user who asked have the user behind it; `asking` null = that one is gone. `the_source`: pull,
-- webhook for what a notice named, or backfill for the past that comes as notices.
create or replace function open_run(
  the_user uuid, the_provider text, the_run text, asking uuid, the_scope text, span tstzrange, streams text[],
  the_source text default 'pull'
) returns text
language plpgsql as $$
declare
  own_key text := case when the_user = asking then the_run else the_run || '_' || the_user end;
begin
  insert into sync_run (
    run_key, user_id, provider, source, scope, stage, window_start, window_end, primary_user_id
  )
  values (
    own_key, the_user, the_provider, case when the_user = asking then the_source else 'linked_account' end, the_scope, 'queued',
    lower(span), upper(span), nullif(asking, the_user)
  )
  on conflict do nothing;
  if not found then
    return own_key;
  end if;
  insert into sync_run_report (user_id, run_key, native_type, data_type, kind, status, reported_at)
  select the_user, own_key, stream, stream, 'task', 'in_progress', clock_timestamp()
  from (select distinct unnest(streams)) s (stream);
  insert into sync_event (user_id, run_key, stage, status) values (the_user, own_key, 'queued', 'in_progress');
  return own_key;
end
$$;

-- Adds streams to a run that are not asked for in it: array of {stream, code, error}; null: none.
create or replace function fail_reports(the_user uuid, the_run text, failures jsonb) returns void
language sql as $$
  insert into sync_run_report (
    user_id, run_key, native_type, data_type, kind, status, error_code, error, reported_at
  )
  select the_user, the_run, f.stream, f.stream, 'task', 'failed', f.code, f.error, clock_timestamp()
  from jsonb_to_recordset(failures) f (stream text, code text, error text)
  on conflict do nothing;
$$;

-- The run of a user for a sync of a grant that brings all that is asked for: every stream, from `lo` to `hi` (null: to the
-- present), with the same options; opened if the user has connected since it began. What it has stored counts, unless it is
-- still open for what failed alone. Null: there is none. The caller holds the grant.
create or replace function join_sync(
  the_grant uuid, the_user uuid, the_streams text[], lo timestamptz, hi timestamptz, options jsonb
) returns text
language sql as $$
  with whole as (
    select t.run_key, g.provider, r.user_id as asking, r.window_start, r.window_end, array_agg(t.stream) as streams
    from sync_task t
    join provider_grant g on g.id = t.grant_id
    join sync_run r on r.run_key = t.run_key
    where t.grant_id = the_grant and g.state = 'live' and t.kind = 'sync' and t.options = join_sync.options
      and r.window_start <= join_sync.lo
      and r.window_end >= coalesce(join_sync.hi, r.started_at - interval '1 minute')
    group by t.run_key, g.provider, r.user_id, r.window_start, r.window_end
    having array_agg(t.stream) @> the_streams
      or bool_and(t.failing_since is null) and the_streams <@ (
        select array_agg(p.native_type) from sync_run_report p
        where p.user_id = r.user_id and p.run_key = t.run_key and p.kind = 'task' and p.status in ('in_progress', 'success')
      )
    order by min(t.id)
    limit 1
  )
  select open_run(
    the_user, w.provider, w.run_key, w.asking, 'live', tstzrange(w.window_start, w.window_end), w.streams
  )
  from whole w
$$;

-- Lets the run that fetches the past of a connection go back as far as is asked for: array of {stream, lo}. Streams that it
-- has finished go on where they ended. Returns its key; null: there is none.
create or replace function widen_history(the_grant uuid, the_connection uuid, the_user uuid, streams jsonb) returns text
language plpgsql as $$
declare
  run sync_run;
  added text[];
begin
  perform from provider_grant where id = the_grant and state = 'live' for update;
  if not found then
    return null;
  end if;
  select r.* into run
  from sync_task t
  join sync_run r on r.user_id = the_user and r.run_key = t.run_key
  where t.grant_id = the_grant and t.kind = 'history' and t.connection_id = the_connection
  order by t.id
  limit 1;
  if not found then
    return null;
  end if;
  -- A window that is cut off by the former start is asked for as a whole: whoever is asking for it begins anew.
  update sync_task t
  set lo = s.lo, position = null, generation = t.generation + 1
  from jsonb_to_recordset(streams) s (stream text, lo timestamptz)
  where t.grant_id = the_grant and t.kind = 'history' and t.connection_id = the_connection and t.stream = s.stream
    and t.lo > s.lo;
  with more as (
    insert into sync_task (grant_id, kind, key, stream, connection_id, run_key, lane, lo, hi)
    select the_grant, 'history', concat_ws(':', 'history', the_connection, s.stream), s.stream, the_connection,
           run.run_key, 'history', s.lo, case when p.status = 'success' then run.window_start else run.window_end end
    from jsonb_to_recordset(streams) s (stream text, lo timestamptz)
    left join sync_run_report p
      on p.user_id = the_user and p.run_key = run.run_key and p.native_type = s.stream and p.kind = 'task'
    where p.native_type is null or s.lo < run.window_start
    on conflict (grant_id, key) do nothing
    returning stream
  )
  select array_agg(stream) into added from more;
  perform open_reports(the_user, run.run_key, added);
  update sync_run r
  set window_start = least(r.window_start, (select min(s.lo) from jsonb_to_recordset(streams) s (lo timestamptz)))
  where r.user_id = the_user and r.run_key = run.run_key;
  update provider_grant set history_at = least(history_at, now()) where id = the_grant;
  perform pg_notify('sync_task', '');
  return run.run_key;
end
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
