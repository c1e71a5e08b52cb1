-- Stores what a turn of a grant brought, and what became of its tasks, in one statement and so in one transaction: the
-- parcel (brotli; null: nothing new) as an upload of everybody whose data it is, with the jobs that import it, the ends
-- and next requests of tasks, cursors, and the reports of streams. All tasks are of one run. Returns false, and stores
-- nothing, when the process has lost the grant, a task was cancelled meanwhile, or answers were left out for being the same
-- as before and somebody to whom they are new has connected the account since (server/intake/pulls/plan.ts).
--
-- `outcomes`: array of {id, stream, generation, answers, ended, lo, hi, position, due_at, attempts, failing, wishes (see
-- queue_wishes.sql), report: {status, code, error}, cursor: {covered_until, week, month, hash (hex), unchanged,
-- closed_seconds, closed_why, failing}, waits: why it is not done yet, part: see note_parts}. Of a task that has not ended, what is absent stays, but for `position` and
-- `attempts`; one that was wished for again meanwhile (`generation`) does not end, and begins anew.
create or replace function store_parcel(
  the_grant uuid, the_process int8, the_fence int8, the_run text, the_zone text, parcel bytea, parcel_sha256 bytea,
  parcel_bytes int4, outcomes jsonb
) returns boolean
language plpgsql as $$
declare
  the_provider text;
  the_lane text;
  the_scope text;
  the_channel text;
  the_connection uuid;
  known int8;
  added text[];
  left_streams text[];
  asking uuid;
  one record;
  own_key text;
  run sync_run;
begin
  select provider into the_provider
  from provider_grant
  where id = the_grant and process_id = the_process and fence = the_fence and state = 'live'
  for update;
  if not found then
    return false;
  end if;
  select count(*), min(t.lane), min(t.connection_id::text) into known, the_lane, the_connection
  from sync_task t
  join jsonb_to_recordset(outcomes) o (id int8) on o.id = t.id
  where t.grant_id = the_grant and t.run_key = the_run;
  if known < jsonb_array_length(outcomes) then
    return false;
  end if;
  if exists (
    select from jsonb_to_recordset(outcomes) o (stream text, cursor jsonb)
    left join stream_cursor s on s.grant_id = the_grant and s.stream = o.stream
    where o.cursor ? 'unchanged' and encode(s.last_hash, 'hex') is distinct from o.cursor ->> 'hash'
  ) then
    return false;
  end if;
  select array_agg(stream) into left_streams from sync_task where grant_id = the_grant and run_key = the_run;
  update provider_grant set zone = the_zone where id = the_grant and zone is distinct from the_zone and the_zone is not null;
  perform end_tasks(the_grant, outcomes);
  perform move_cursors(the_grant, outcomes);
  perform note_parts(the_grant, the_run, outcomes);
  select queue_wishes(the_grant, the_connection, the_run, the_lane, jsonb_agg(w.wish)) into added
  from jsonb_to_recordset(outcomes) o (wishes jsonb)
  cross join lateral jsonb_array_elements(o.wishes) w (wish)
  having count(*) > 0;
  the_scope := case the_lane when 'history' then 'historical' else 'live' end;
  select user_id, case source when 'webhook' then 'webhook' else 'pull' end into asking, the_channel
  from sync_run
  where run_key = the_run;
  the_channel := coalesce(the_channel, 'pull');
  perform 1 from connection c
  where c.grant_id = the_grant and c.status = 'active' and c.id = coalesce(the_connection, c.id)
  order by c.id for no key update;
  -- Uploads, runs and events of several users are written in one order by everybody.
  for one in
    select c.id, c.user_id from connection c
    where c.grant_id = the_grant and c.status = 'active' and c.id = coalesce(the_connection, c.id)
    order by c.user_id
  loop
    -- Whoever connected after the sync began has no run yet: theirs is of what was left of it.
    own_key := open_run(
      one.user_id, the_provider, the_run, asking, the_scope, tstzrange(null, null), left_streams, the_channel
    );
    perform open_reports(one.user_id, own_key, added);
    if parcel is not null then
      perform accept_upload(
        gen_random_uuid(), one.user_id, the_provider, parcel_sha256, parcel, parcel_bytes, 0, null, null, the_scope,
        null, own_key, null, the_channel, one.id
      );
    end if;
    perform report_outcomes(the_grant, the_run, one.user_id, own_key, outcomes);
    run := settle_run(one.user_id, own_key, null);
    if the_lane <> 'history' and not exists (select from sync_task where grant_id = the_grant and run_key = the_run) then
      update connection
      set last_synced_at = greatest(last_synced_at, run.started_at), updated_at = now()
      where id = one.id and exists (
        select from sync_run_report r where r.user_id = one.user_id and r.run_key = own_key and r.status = 'success'
      );
    end if;
    if run.status <> 'in_progress' then
      insert into sync_event (created_at, user_id, run_key, stage, status, message)
      values (clock_timestamp(), one.user_id, own_key, run.stage, run.status, run.message);
    end if;
  end loop;
  return true;
end
$$;

-- Notes in the reports of a user's run what became of its streams; a report ends with the last task of its stream. The
-- caller holds the grant.
create or replace function report_outcomes(the_grant uuid, the_run text, the_user uuid, own_key text, outcomes jsonb)
returns void
language sql as $$
  with ended as (
    select o.stream, sum(o.answers) as answers, count(o.report) as reports,
           (array_agg(o.report order by o.report ->> 'code') filter (where o.report ? 'code'))[1] as failure,
           max(o.waits) as waits, max(o.attempts) as attempts
    from jsonb_to_recordset(outcomes) o (stream text, answers int4, report jsonb, waits text, attempts int4)
    group by o.stream
  )
  update sync_run_report r
  set status = case
        when e.reports = 0 or exists (
          select from sync_task t where t.grant_id = the_grant and t.run_key = the_run and t.stream = e.stream
        ) then r.status
        when coalesce(e.failure ->> 'code', r.error_code) is not null then 'failed'
        else 'success'
      end,
      error_code = coalesce(e.failure ->> 'code', r.error_code),
      -- Without a code it is why the stream waits, which is over once it goes on.
      error = coalesce(e.failure ->> 'error', case when r.error_code is not null then r.error else e.waits end),
      attempt = case when e.waits is not null then greatest(r.attempt, coalesce(e.attempts, 0)) + 1 else r.attempt end,
      reported_records = coalesce(r.reported_records, 0) + coalesce(e.answers, 0), reported_at = clock_timestamp()
  from ended e
  where r.user_id = the_user and r.run_key = own_key and r.native_type = e.stream;
$$;

-- Removes ended tasks, and notes where the others go on. What was wished for again meanwhile begins anew. The caller holds
-- the grant.
create or replace function end_tasks(the_grant uuid, outcomes jsonb) returns void
language sql as $$
  delete from sync_task t
  using jsonb_to_recordset(outcomes) o (id int8, generation int4, ended boolean)
  where t.grant_id = the_grant and t.id = o.id and o.ended and t.generation = coalesce(o.generation, t.generation);
  update sync_task t
  set lo = coalesce(o.lo, t.lo), hi = coalesce(o.hi, t.hi), position = o.position, due_at = coalesce(o.due_at, t.due_at),
      attempts = coalesce(o.attempts, 0), failing_since = case when o.failing then coalesce(t.failing_since, now()) end
  from jsonb_to_recordset(outcomes) o (
    id int8, generation int4, lo timestamptz, hi timestamptz, position jsonb, due_at timestamptz, attempts int2,
    failing boolean
  )
  where t.grant_id = the_grant and t.id = o.id and t.generation = coalesce(o.generation, t.generation);
  update sync_task t
  set position = null, due_at = case when o.failing then o.due_at else now() end, attempts = coalesce(o.attempts, 0),
      failing_since = case when o.failing then coalesce(t.failing_since, now()) end
  from jsonb_to_recordset(outcomes) o (id int8, generation int4, due_at timestamptz, attempts int2, failing boolean)
  where t.grant_id = the_grant and t.id = o.id and t.generation <> o.generation;
$$;

-- Notes how far streams are stored. The caller holds the grant.
create or replace function move_cursors(the_grant uuid, outcomes jsonb) returns void
language sql as $$
  insert into stream_cursor as s (
    grant_id, stream, covered_until, reached_week_at, reached_month_at, last_hash, closed_until, closed_why, failing_since
  )
  select the_grant, o.stream, c.covered_until, case when c.week then now() end, case when c.month then now() end,
         decode(c.hash, 'hex'), now() + make_interval(secs => c.closed_seconds), c.closed_why,
         case when c.failing then now() end
  from jsonb_to_recordset(outcomes) o (stream text, cursor jsonb)
  cross join lateral jsonb_to_record(o.cursor) c (
    covered_until timestamptz, week boolean, month boolean, hash text, closed_seconds float8, closed_why text,
    failing boolean
  )
  where o.cursor is not null
  on conflict (grant_id, stream) do update
  set covered_until = greatest(s.covered_until, excluded.covered_until),
      reached_week_at = coalesce(excluded.reached_week_at, s.reached_week_at),
      reached_month_at = coalesce(excluded.reached_month_at, s.reached_month_at),
      last_hash = case when excluded.covered_until is null then s.last_hash else excluded.last_hash end,
      closed_until = excluded.closed_until, closed_why = excluded.closed_why,
      failing_since = case when excluded.failing_since is not null then coalesce(s.failing_since, now()) end;
$$;
