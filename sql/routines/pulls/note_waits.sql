-- Notes in the reports of runs why nothing can be asked for a grant now, by lane: array of {lane, why, failed}; `failed`: it
-- was tried. The process that serves the grant says so.
create or replace function note_waits(the_grant uuid, the_process int8, the_fence int8, waits jsonb) returns void
language plpgsql as $$
begin
  perform from provider_grant where id = the_grant and process_id = the_process and fence = the_fence for update;
  if not found then
    return;
  end if;
  update sync_run_report r
  set error = w.why, attempt = r.attempt + w.failed::int4, reported_at = clock_timestamp()
  from (
    select distinct c.user_id, t.run_key, t.stream, w.why, w.failed
    from jsonb_to_recordset(waits) w (lane text, why text, failed boolean)
    join sync_task t on t.grant_id = the_grant and t.lane = w.lane and t.due_at <= now()
    join connection c on c.grant_id = the_grant and c.status = 'active'
  ) w
  where r.user_id = w.user_id and r.run_key in (w.run_key, w.run_key || '_' || w.user_id) and r.native_type = w.stream
    and r.kind = 'task' and r.status = 'in_progress' and r.error_code is null;
end
$$;

-- Makes due what failed or is held back for a grant, since somebody asks for it, at most once a minute. A refusal of the
-- refresh token is confirmed no sooner than otherwise. The caller holds the grant.
create or replace function retry_grant(the_grant uuid) returns void
language plpgsql as $$
begin
  update provider_grant
  set retried_at = now(), refresh_due_at = case when refusals > 0 then refresh_due_at end
  where id = the_grant and state = 'live' and coalesce(retried_at, '-infinity') < now() - interval '1 minute';
  if not found then
    return;
  end if;
  update sync_task set due_at = now()
  where grant_id = the_grant and lane = 'asked' and failing_since is not null and due_at > now();
  update provider_grant
  set asked_at = case when asked_at is not null then least(asked_at, now()) end,
      live_at = case when live_at is not null then least(live_at, now()) end,
      history_at = case when history_at is not null then least(history_at, now()) end
  where id = the_grant;
  perform pg_notify('sync_task', '');
end
$$;
