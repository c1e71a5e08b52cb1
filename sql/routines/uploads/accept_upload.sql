-- Stores everything a 202 promises in one statement, and so in one transaction: the body, the upload, its run and the
-- job that imports it. `stored_body` is null if the same body is already stored. Returns the upload, or the one stored
-- within the last 24 hours for the same request id and body. `the_original` is the upload to import again. Of a parcel
-- `the_channel` and `the_connection` say how and for whom it came; its items are counted when it is imported. With `lock_ms`
-- it fails when it has to wait that long for a lock, as a statement of its own.
drop function if exists accept_upload(uuid, uuid, text, bytea, bytea, int4, int4, text, text, text, text, text, uuid, text, uuid);
create or replace function accept_upload(
  the_id uuid, the_user uuid, the_provider text, body_sha256 bytea, stored_body bytea, body_bytes int4, items int4,
  the_request_id text, session_id text, the_sync_type text, the_sdk_version text, the_run_key text,
  the_original uuid default null, the_channel text default 'sdk', the_connection uuid default null,
  lock_ms int4 default null
) returns table (batch_id uuid, run_key text, provider text)
language plpgsql as $$
#variable_conflict use_column
declare
  job_id int8;
  reached text := case the_channel when 'sdk' then 'queued' else 'fetching' end;
begin
  if lock_ms is not null then
    perform set_config('lock_timeout', lock_ms::text, true);
  end if;
  if the_request_id is not null then
    -- A phone that lost the answer sends again, perhaps while the first request is still running.
    perform pg_advisory_xact_lock(hashtextextended('request:' || the_user || ':' || the_request_id, 0));
    return query
      select u.id, u.run_key, u.provider
      from upload u
      where u.user_id = the_user
        and u.request_id = the_request_id
        and u.sha256 = body_sha256
        and u.received_at > now() - interval '24 hours'
      limit 1;
    if found then
      return;
    end if;
  end if;
  -- No purge can interfere: a body found here stays, and one already removed is stored again. The foreign keys reject
  -- an unknown user.
  perform 1 from app_user where id = the_user for key share;
  if stored_body is not null then
    insert into upload_body (user_id, sha256, body, decoded_bytes)
    values (the_user, body_sha256, stored_body, body_bytes)
    on conflict do nothing;
  end if;
  insert into upload (id, user_id, provider, sha256, request_id, sync_session_id, sync_type, sdk_version, run_key, received, replay_of, channel, connection_id)
  values (the_id, the_user, the_provider, body_sha256, the_request_id, session_id, the_sync_type, the_sdk_version, the_run_key, items, the_original, the_channel, the_connection);
  insert into sync_run as run (run_key, user_id, provider, source, scope, stage, items_received, pending)
  values (the_run_key, the_user, the_provider, the_channel, the_sync_type, reached, items, 1)
  on conflict (user_id, run_key) do update
  set provider = excluded.provider, pending = run.pending + 1, items_received = run.items_received + excluded.items_received,
      stage = reached, status = 'in_progress', ended_at = null, updated_at = now();
  insert into sync_event (user_id, run_key, stage, status, items_total, metadata)
  values (the_user, the_run_key, reached, 'in_progress', case the_channel when 'sdk' then items end, jsonb_build_object('batch_id', the_id));
  -- One job per user drains its uploads in order; a queued job covers this upload too. It keeps its position, so users
  -- take turns, unless it is scheduled for later, after a failure or behind a running job: new data is tried at once.
  -- If a worker takes the job at this very moment, the queue adds none and returns null: the next attempt sees the job
  -- taken.
  loop
    select j.id into job_id
    from graphile_worker.add_job(
      'import_uploads',
      payload => json_build_object('user_id', the_user),
      job_key => 'import:' || the_user,
      job_key_mode => case
        when exists (
          select 1 from graphile_worker.jobs w
          where w.key = 'import:' || the_user and (w.attempts > 0 or w.run_at > now()) and w.locked_at is null
        ) then 'replace'
        else 'preserve_run_at'
      end,
      priority => (case the_sync_type when 'historical' then 10 else 0 end)
    ) j;
    exit when job_id is not null;
  end loop;
  return query select the_id, the_run_key, the_provider;
end
$$;
