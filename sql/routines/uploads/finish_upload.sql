-- Records the result of an upload: on its row, on its run (counts, per series) and as a progress event. Increments the
-- user's revision if data changed. `result` has the columns of `upload`; `series` is an array of {type, kind (series or
-- event), inserted, updated, first_ts, last_ts}; a type may occur more than once.
create or replace function finish_upload(batch_id uuid, the_user uuid, result jsonb, series jsonb) returns void
language plpgsql as $$
declare
  up upload;
  run sync_run;
  changed int4;
  said text;
  counted int4 := (select received from upload where id = batch_id);
begin
  update upload u
  set status = result ->> 'status', finished_at = clock_timestamp(),
      inserted = r.inserted, updated = r.updated, unchanged = r.unchanged, duplicates = r.duplicates,
      ignored = r.ignored, rejected = r.rejected,
      deleted = r.deleted, saved = coalesce(r.saved, '{}'), deferred = default, rejections = coalesce(r.rejections, '[]'), error = r.error,
      days = r.days, first_day = r.first_day, last_day = r.last_day, rejected_days = r.rejected_days,
      local_days = r.local_days, local_rejected_days = r.local_rejected_days,
      unstored = coalesce(r.unstored, '[]'), implausible = coalesce(r.implausible, '[]'),
      unknown_fields = coalesce(r.unknown_fields, '[]'), received = coalesce(r.received, u.received)
  from (
    select coalesce(inserted, 0) as inserted, coalesce(updated, 0) as updated, coalesce(unchanged, 0) as unchanged,
           coalesce(duplicates, 0) as duplicates, coalesce(ignored, 0) as ignored, coalesce(rejected, 0) as rejected,
           coalesce(deleted, 0) as deleted, saved, rejections, error,
           days, first_day, last_day, rejected_days, local_days, local_rejected_days, unstored, implausible, unknown_fields, received
    from jsonb_to_record(result) as x (received int4, inserted int4, updated int4, unchanged int4, duplicates int4,
                                       ignored int4, rejected int4, deleted int4, saved jsonb, rejections jsonb, error text,
                                       days jsonb, first_day date, last_day date, rejected_days jsonb,
                                       local_days jsonb, local_rejected_days jsonb,
                                       unstored jsonb, implausible jsonb, unknown_fields jsonb)
  ) r
  where u.id = batch_id and u.status = 'queued'
  returning u.* into up;
  -- Another process finished it in the meantime and counted it there.
  if not found then
    return;
  end if;
  changed := up.inserted + up.updated + up.deleted;

  update sync_run s
  set items_received = s.items_received + up.received - counted,
      items_inserted = s.items_inserted + up.inserted,
      items_updated = s.items_updated + up.updated,
      items_unchanged = s.items_unchanged + up.unchanged + up.duplicates,
      items_ignored = s.items_ignored + up.ignored,
      items_rejected = s.items_rejected + up.rejected,
      items_deleted = s.items_deleted + up.deleted,
      pending = greatest(s.pending - 1, 0),
      failures = s.failures + (up.status = 'failed')::int,
      error = coalesce(up.error, s.error),
      updated_at = now()
  where s.user_id = the_user and s.run_key = up.run_key
  returning s.* into run;

  said := initcap(replace(run.provider, '_', ' ')) || ' batch saved: ' || up.inserted || ' new, ' || up.updated || ' updated'
    || case when up.rejected > 0 then ' (' || up.rejected || case up.rejected when 1 then ' record' else ' records' end || ' dropped by validation)' else '' end;
  -- A batch is nothing that somebody who asked a provider knows of: the run counts all of them.
  run := settle_run(the_user, up.run_key, case run.source
    when 'sdk' then said
    else initcap(replace(run.provider, '_', ' ')) || ': ' || run.items_inserted || ' new, ' || run.items_updated || ' updated'
  end);

  insert into sync_run_type as t (user_id, run_key, data_type, kind, items_inserted, items_updated, covered_start, covered_end)
  select the_user, up.run_key, x.type, min(x.kind), sum(x.inserted), sum(x.updated), min(x.first_ts), max(x.last_ts)
  from jsonb_to_recordset(series) as x (type text, kind text, inserted int8, updated int8, first_ts timestamptz, last_ts timestamptz)
  group by x.type
  on conflict (user_id, run_key, data_type) do update
  set items_inserted = t.items_inserted + excluded.items_inserted,
      items_updated = t.items_updated + excluded.items_updated,
      covered_start = least(t.covered_start, excluded.covered_start),
      covered_end = greatest(t.covered_end, excluded.covered_end);

  insert into sync_event (created_at, user_id, run_key, stage, status, message, items_processed, items_total, error, metadata)
  values (clock_timestamp(), the_user, up.run_key, run.stage, run.status, said, up.received, up.received, up.error,
          jsonb_build_object('batch_id', up.id, 'records_saved', changed, 'records_inserted', up.inserted,
                             'records_updated', up.updated, 'records_unchanged', up.unchanged + up.duplicates,
                             'dropped_count', up.rejected, 'ignored_type', up.ignored, 'deleted', up.deleted, 'saved', up.saved));

  if (result ->> 'changed')::boolean then
    update app_user set revision = revision + 1 where id = the_user;
  end if;
end
$$;
