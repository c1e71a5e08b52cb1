-- Queues what is to be asked for soon: things that notices or answers named, and spans of streams; for everybody who has
-- connected the account, or for `the_connection`. A thing that is waited for already is asked for once; one that is being
-- asked for, once more; spans of a stream grow together. Streams that are closed are left out. Returns the streams of the
-- tasks that were added to `the_run`. The caller holds the grant.
--
-- `wishes`: array of {kind, key, stream, object, args, options, lo, hi, every, after, last}: `every` and `after` in seconds;
-- `last`: the next answer that it is not there counts.
create or replace function queue_wishes(
  the_grant uuid, the_connection uuid, the_run text, the_lane text, wishes jsonb
) returns text[]
language plpgsql as $$
declare
  added text[];
begin
  with wished as (
    select w.kind, concat_ws(':', w.kind, the_connection, w.key) as key, w.stream, max(w.object) as object,
           (array_agg(w.args order by w.place desc))[1] as args,
           (array_agg(w.options order by w.place desc) filter (where w.options is not null))[1] as options,
           min(w.lo) as lo, max(w.hi) as hi, max(w.every) as every, min(coalesce(w.after, 0)) as after,
           bool_and(coalesce(w.last, false)) as last, min(w.place) as place
    from rows from (
      jsonb_to_recordset(wishes) as (
        kind text, key text, stream text, object text, args jsonb, options jsonb, lo timestamptz, hi timestamptz,
        every float8, after float8, last boolean
      )
    ) with ordinality w (kind, key, stream, object, args, options, lo, hi, every, after, last, place)
    group by w.kind, w.key, w.stream
  ), open as (
    select w.*, greatest(now(), c.notice_due_at + make_interval(secs => w.every)) + make_interval(secs => w.after) as due
    from wished w
    left join stream_cursor c on c.grant_id = the_grant and c.stream = w.stream
    where coalesce(c.closed_until, now()) <= now()
  ), queued as (
    insert into sync_task as t (
      grant_id, kind, key, stream, object, args, options, connection_id, run_key, lane, lo, hi, due_at, position
    )
    select the_grant, o.kind, o.key, o.stream, o.object, o.args, coalesce(o.options, '{}'), the_connection, the_run,
           the_lane, coalesce(o.lo, now()), coalesce(o.hi, now()), o.due, case when o.last then '{"missing": 2}'::jsonb end
    from open o
    order by o.place
    on conflict (grant_id, key) do update
    set generation = t.generation + 1, args = excluded.args, options = t.options || excluded.options,
        lo = least(t.lo, excluded.lo), hi = greatest(t.hi, excluded.hi),
        due_at = case t.kind when 'object' then least(t.due_at, excluded.due_at) else t.due_at end,
        position = case when t.position ? 'request' then t.position else excluded.position end
    returning t.stream, t.kind, t.due_at, t.generation
  ), noted as (
    insert into stream_cursor (grant_id, stream, notice_due_at)
    select the_grant, q.stream, max(q.due_at)
    from queued q
    where q.kind = 'notice' and q.generation = 0
    group by q.stream
    on conflict (grant_id, stream) do update set notice_due_at = excluded.notice_due_at
  )
  select array_agg(distinct q.stream) filter (where q.generation = 0) into added from queued q;
  -- What was asked for before may be due earlier now.
  update provider_grant g
  set asked_at = least(g.asked_at, t.asked), live_at = least(g.live_at, t.live), history_at = least(g.history_at, t.history)
  from (
    select min(due_at) filter (where lane = 'asked') as asked, min(due_at) filter (where lane = 'live') as live,
           min(due_at) filter (where lane = 'history') as history
    from sync_task
    where grant_id = the_grant
  ) t
  where g.id = the_grant;
  if the_lane <> 'history' then
    perform pg_notify('sync_task', '');
  end if;
  return added;
end
$$;

-- Reports of streams of a run that have something to do, so that it stays open, or is open again.
create or replace function open_reports(the_user uuid, the_run text, streams text[]) returns void
language sql as $$
  insert into sync_run_report as r (user_id, run_key, native_type, data_type, kind, status, reported_at)
  select the_user, the_run, s.stream, s.stream, 'task', 'in_progress', clock_timestamp()
  from (select distinct unnest(streams) as stream) s
  on conflict (user_id, run_key, native_type) do update
  set status = 'in_progress', error_code = case r.status when 'in_progress' then r.error_code end,
      error = case r.status when 'in_progress' then r.error end, reported_at = clock_timestamp();
$$;
