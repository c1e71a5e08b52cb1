-- Starts asking for the past of a grant that its provider sends as notices: of each stream from `earliest`, or from where the
-- last range that was asked for ended, until `until`; less than an hour is not worth it. Ranges of which the answer was lost
-- are asked for again, as they were. Returns the key of the user's run: the one that is under way, a new one, or, when there
-- is nothing to ask for, the last one; no row when the grant has ended, or there is no run. Locks the grant.
create or replace function start_backfill(
  the_grant uuid, the_user uuid, streams text[], earliest timestamptz, until timestamptz
) returns table (run_key text, running boolean)
language plpgsql as $$
#variable_conflict use_column
declare
  the_provider text;
  the_run text;
  asking uuid;
  planned jsonb;
begin
  select provider into the_provider from provider_grant where id = the_grant and state = 'live' for update;
  if not found then
    return;
  end if;
  select t.run_key into the_run from sync_task t where t.grant_id = the_grant and t.kind = 'backfill' limit 1;
  if found then
    select user_id into asking from sync_run r where r.run_key = the_run;
    return query
      select open_run(
        the_user, the_provider, the_run, asking, 'historical',
        (select tstzrange(min(p.lo), max(p.hi)) from backfill_part p where p.grant_id = the_grant and p.run_key = the_run),
        (select array_agg(t.stream) from sync_task t where t.grant_id = the_grant and t.run_key = the_run)
      ), true;
    return;
  end if;
  delete from backfill_part p
  where p.grant_id = the_grant and (p.asked_at is null and not p.attempted or p.hi < earliest - interval '1 day');
  -- The key of the run is not known yet.
  insert into backfill_part (grant_id, stream, lo, hi, run_key)
  select the_grant, s.stream, s.lo, until, ''
  from (
    select w.stream, greatest(earliest, (
             select max(p.hi) from backfill_part p where p.grant_id = the_grant and p.stream = w.stream
           )) as lo
    from unnest(streams) w (stream)
  ) s
  where until - s.lo >= interval '1 hour';
  select jsonb_agg(jsonb_build_object('stream', s.stream, 'lo', s.lo) order by s.place) into planned
  from (
    select w.stream, w.place, min(p.lo) as lo
    from unnest(streams) with ordinality w (stream, place)
    join backfill_part p on p.grant_id = the_grant and p.stream = w.stream and p.asked_at is null
    group by 1, 2
  ) s;
  if planned is null then
    return query
      select r.run_key, true
      from sync_run r
      where r.user_id = the_user and r.provider = the_provider and r.scope = 'historical'
      order by r.started_at desc
      limit 1;
    return;
  end if;
  the_run := start_sync(the_grant, null, the_user, 'backfill', 'history', until, '{}', planned);
  update backfill_part p set run_key = the_run, state = 'planned', cuts = 0, error = null
  where p.grant_id = the_grant and p.asked_at is null and p.stream = any (streams);
  return query select the_run, false;
end
$$;

-- A run that says why nothing can be asked for: everything was, for another user of the account. The caller holds the grant.
create or replace function refuse_backfill(the_grant uuid, the_user uuid, streams text[]) returns text
language plpgsql as $$
declare
  the_run text := gen_random_uuid();
begin
  perform open_run(
    the_user, g.provider, the_run, the_user, 'historical', tstzrange(null, null), '{}', 'backfill'
  )
  from provider_grant g
  where g.id = the_grant;
  perform fail_reports(the_user, the_run, jsonb_agg(jsonb_build_object(
    'stream', s.stream, 'code', 'asked_before', 'error', 'The provider sends it only once, and has sent it to another user of this account'
  )))
  from unnest(streams) s (stream);
  perform settle_run(the_user, the_run, null);
  return the_run;
end
$$;

-- Notes that a range is about to be asked for; false when the process has lost the grant, or the range is not wanted any more.
create or replace function attempt_part(
  the_grant uuid, the_process int8, the_fence int8, the_run text, the_stream text, the_hi timestamptz
) returns boolean
language plpgsql as $$
begin
  update backfill_part p set attempted = true
  from provider_grant g
  where g.id = the_grant and g.process_id = the_process and g.fence = the_fence and g.state = 'live'
    and p.grant_id = g.id and p.run_key = the_run and p.stream = the_stream and p.hi = the_hi and p.asked_at is null;
  return found;
end
$$;

-- Notes what became of ranges of a run: `part` of outcomes (store_parcel.sql) is {hi, state, lo, asked, refused, error}; without
-- `hi` all of the stream that the provider has not taken, or, where nothing comes any more (`quiet`), all that it has.
-- `refused`: it has certainly not taken it. What came while it was being asked for counts. The caller holds the grant.
create or replace function note_parts(the_grant uuid, the_run text, outcomes jsonb) returns void
language sql as $$
  update backfill_part p
  set state = case
        when s.state = 'quiet' and p.items > 0 then 'done'
        when s.state = 'quiet' then case p.state when 'duplicate' then 'duplicate' else 'no_data' end
        when s.state in ('asked', 'duplicate') and p.items > 0 then 'receiving'
        else coalesce(s.state, p.state)
      end,
      lo = coalesce(s.lo, p.lo), cuts = p.cuts + (s.lo is not null)::int, error = s.error,
      asked_at = case when s.asked then clock_timestamp() else p.asked_at end,
      attempted = p.attempted and s.refused is null
  from jsonb_to_recordset(outcomes) o (stream text, part jsonb)
  cross join lateral jsonb_to_record(o.part) s (
    hi timestamptz, state text, lo timestamptz, asked boolean, refused boolean, error text
  )
  where o.part is not null and p.grant_id = the_grant and p.run_key = the_run and p.stream = o.stream
    and (p.hi = s.hi or s.hi is null and (s.state is not distinct from 'quiet') = (p.asked_at is not null));
$$;

-- Notes what notices brought of ranges that were asked for: array of {stream, lo, hi, items, at}, instants of the first and
-- last record and of the receipt; without `lo`, it is not known of when. What comes late is told to the run, which stays
-- ended. The caller holds the grant.
create or replace function note_items(the_grant uuid, brought jsonb) returns void
language sql as $$
  with came as (
    select p.stream, p.hi, p.run_key, p.state, sum(b.items) as items, max(b.at) as at
    from jsonb_to_recordset(brought) b (stream text, lo timestamptz, hi timestamptz, items int8, at timestamptz)
    join backfill_part p on p.grant_id = the_grant and p.stream = b.stream and p.hi >= coalesce(b.hi, p.hi)
    where p.asked_at is not null and b.lo >= p.lo
       or exists (
         select from sync_task t
         where t.grant_id = the_grant and t.kind = 'backfill' and t.stream = p.stream and t.run_key = p.run_key
       )
    group by 1, 2, 3, 4
  ), noted as (
    update backfill_part p
    set items = p.items + c.items, last_item_at = greatest(p.last_item_at, c.at),
        state = case when p.state in ('asked', 'duplicate') then 'receiving' when p.state = 'no_data' then 'done' else p.state end
    from came c
    where p.grant_id = the_grant and p.stream = c.stream and p.hi = c.hi
  )
  insert into sync_event (created_at, user_id, run_key, stage, status, message)
  select clock_timestamp(), r.user_id, r.run_key, r.stage, r.status, 'Came late: ' || string_agg(c.stream, ', ' order by c.stream)
  from came c
  join sync_run r on r.run_key = c.run_key or r.run_key = c.run_key || '_' || r.user_id
  where c.state = 'no_data' and r.status <> 'in_progress'
  group by r.user_id, r.run_key, r.stage, r.status
  order by r.user_id;
$$;
