-- Removes stored bodies that no upload since `before` needs, at most `most` of them; returns how many. Queued uploads
-- need their body, and failed ones keep it for 30 days, since it is the only copy. Bodies of a user or connection that
-- is being deleted are left for the next run.
create or replace function forget_bodies(before timestamptz, most int4) returns int8
language sql as $$
  with doomed as (
    select b.user_id, b.sha256
    from upload_body b
    join app_user a on a.id = b.user_id
    where not exists (
      select 1
      from upload u
      where u.user_id = b.user_id
        and u.sha256 = b.sha256
        and (
          u.status = 'queued'
          or u.received_at >= before
          or (u.status = 'failed' and u.received_at >= now() - interval '30 days')
        )
    )
    limit most
    for key share of a skip locked
    for update of b skip locked
  ), cleared as (
    update upload u set sha256 = null from doomed d where u.user_id = d.user_id and u.sha256 = d.sha256
  ), gone as (
    delete from upload_body b using doomed d where b.user_id = d.user_id and b.sha256 = d.sha256 returning 1
  )
  select count(*) from gone;
$$;

-- Queues the stored body of an upload again, as a new upload; no row if the body is no longer stored.
create or replace function replay_upload(the_upload uuid) returns table (batch_id uuid, run_key text)
language sql as $$
  select a.batch_id, a.run_key
  from upload u
  cross join lateral gen_random_uuid() again
  cross join lateral accept_upload(again, u.user_id, u.provider, u.sha256, null, 0, u.received, null,
                                   u.sync_session_id, u.sync_type, u.sdk_version, again::text, u.id,
                                   u.channel, u.connection_id) a
  where u.id = the_upload and u.sha256 is not null;
$$;

-- Versions before 0.9.0 left sleep, workouts, meals and cycles in the stored bodies and counted them as deferred.
-- Queues all uploads of such users again from the first deferred one on, so the latest data still wins; returns how
-- many.
create or replace function replay_deferred() returns int8
language plpgsql as $$
declare
  old record;
  queued int8 := 0;
begin
  perform pg_advisory_xact_lock(hashtextextended('replay deferred', 0));
  for old in
    select u.id
    from upload u
    join (select user_id, min(seq) as seq from upload where deferred <> '{}' group by 1) f
      on f.user_id = u.user_id and u.seq >= f.seq
    where u.sha256 is not null and u.status <> 'queued'
    order by u.seq
  loop
    perform replay_upload(old.id);
    queued := queued + 1;
  end loop;
  update upload set deferred = '{}' where deferred <> '{}';
  return queued;
end
$$;
