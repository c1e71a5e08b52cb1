-- Stores what a turn of a grant brought, and what became of its tasks, in one statement and so in one transaction: the
-- parcel (brotli; null: nothing new) as an upload of everybody whose data it is, with the jobs that import it, the ends
-- and next requests of tasks, cursors, and the reports of streams. All tasks are of one run. Returns false, and stores
-- nothing, when the process has lost the grant, a task was cancelled meanwhile, or answers were left out for being the same
-- as before and somebody to whom they are new has connected the account since (server/intake/pulls/plan.ts).
--
-- `outcomes`: array of {id, stream, answers, ended, lo, hi, position, due_at, attempts, failing, report: {status, code,
-- error}, cursor: {covered_until, week, month, hash (hex), unchanged, closed_seconds, closed_why, failing}}. Of a task that
-- has not ended, what is absent stays, but for `position` and `attempts`.
create or replace function store_parcel(
  the_grant uuid, the_process int8, the_fence int8, the_run text, the_zone text, parcel bytea, parcel_sha256 bytea,
  parcel_bytes int4, outcomes jsonb
) returns boolean
language plpgsql as $$
declare
  the_provider text;
  the_kind text;
  the_connection uuid;
  known int8;
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
  select count(*), min(t.kind), min(t.connection_id::text) into known, the_kind, the_connection
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
  if the_kind = 'pull' then
    perform move_cursors(the_grant, outcomes);
  end if;
  select user_id into asking from sync_run where run_key = the_run;
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
      one.user_id, the_provider, the_run, asking,
      case the_kind when 'history' then 'historical' else 'live' end, tstzrange(null, null), left_streams
    );
    if parcel is not null then
      perform accept_upload(
        gen_random_uuid(), one.user_id, the_provider, parcel_sha256, parcel, parcel_bytes, 0, null, null,
        case the_kind when 'history' then 'historical' else 'live' end, null, own_key, null, 'pull', one.id
      );
    end if;
    update sync_run_report r
    set status = coalesce(o.report ->> 'status', r.status), error_code = o.report ->> 'code',
        error = o.report ->> 'error', reported_records = coalesce(r.reported_records, 0) + coalesce(o.answers, 0),
        reported_at = clock_timestamp()
    from jsonb_to_recordset(outcomes) o (stream text, answers int4, report jsonb)
    where r.user_id = one.user_id and r.run_key = own_key and r.native_type = o.stream;
    run := settle_run(one.user_id, own_key, null);
    if the_kind <> 'history' and not exists (select from sync_task where grant_id = the_grant and run_key = the_run) then
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

-- Removes ended tasks, and notes where the others go on. The caller holds the grant.
create or replace function end_tasks(the_grant uuid, outcomes jsonb) returns void
language sql as $$
  delete from sync_task t
  using jsonb_to_recordset(outcomes) o (id int8, ended boolean)
  where t.grant_id = the_grant and t.id = o.id and o.ended;
  update sync_task t
  set lo = coalesce(o.lo, t.lo), hi = coalesce(o.hi, t.hi), position = o.position, due_at = coalesce(o.due_at, t.due_at),
      attempts = coalesce(o.attempts, 0), failing_since = case when o.failing then coalesce(t.failing_since, now()) end
  from jsonb_to_recordset(outcomes) o (
    id int8, lo timestamptz, hi timestamptz, position jsonb, due_at timestamptz, attempts int2, failing boolean
  )
  where t.grant_id = the_grant and t.id = o.id;
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
