-- Cancels the runs of a user at a provider, since the connection has ended, or moves to another account. Uploads that came
-- before are imported. The caller holds the grant and the connection.
create or replace function cancel_runs(the_user uuid, the_provider text) returns void
language sql as $$
  update sync_run_report r
  set status = 'failed', error_code = 'cancelled', error = 'The connection has ended'
  from sync_run s
  where s.user_id = the_user and s.provider = the_provider and s.source in ('pull', 'webhook', 'backfill', 'linked_account')
    and s.status = 'in_progress' and r.user_id = s.user_id and r.run_key = s.run_key and r.status = 'in_progress';
  with ended as (
    update sync_run s
    set stage = 'cancelled', status = 'cancelled', message = 'The connection has ended',
        ended_at = clock_timestamp(), updated_at = clock_timestamp()
    where s.user_id = the_user and s.provider = the_provider and s.source in ('pull', 'webhook', 'backfill', 'linked_account')
      and s.status = 'in_progress'
    returning s.*
  )
  insert into sync_event (created_at, user_id, run_key, stage, status, message)
  select clock_timestamp(), user_id, run_key, stage, status, message from ended;
$$;

-- The same, and removes the connection's own tasks.
create or replace function cancel_sync(the_user uuid, the_provider text) returns void
language sql as $$
  delete from sync_task t
  using connection c
  where c.user_id = the_user and c.provider = the_provider and t.connection_id = c.id;
  select cancel_runs(the_user, the_provider);
$$;
