-- Sets stage and status of a run from its uploads and from the phone's reports (sync_run_report): in progress while an
-- upload is queued or an announced type has not ended. A run with neither keeps its initial state.
create or replace function settle_run(the_user uuid, the_run_key text, the_message text) returns sync_run
language plpgsql as $$
declare
  run sync_run;
  kept int8;
  reports int8;
  opened int8;
  unfinished int8;
  failed int8;
begin
  select * into run from sync_run where user_id = the_user and run_key = the_run_key for update;
  kept := run.items_inserted + run.items_updated + run.items_unchanged + run.items_deleted;
  select count(*), count(*) filter (where status = 'in_progress'), count(*) filter (where status = 'unfinished'),
         count(*) filter (where status = 'failed')
  into reports, opened, unfinished, failed
  from sync_run_report
  where user_id = the_user and run_key = the_run_key;

  if run.pending > 0 or opened > 0 then
    run.status := 'in_progress';
    run.stage := case when run.pending > 0 then 'processing' else 'fetching' end;
  elsif reports > 0 or exists (select from upload where user_id = the_user and run_key = the_run_key) then
    run.status := case
      when kept = 0 and (run.failures > 0 or (reports > 0 and failed = reports)) then 'failed'
      when unfinished > 0 then 'unfinished'
      when run.items_rejected > 0 or run.failures > 0 or failed > 0 then 'partial'
      -- Nothing was wrong with the uploads, but none of their types is stored.
      when kept = 0 and exists (
        select from upload where user_id = the_user and run_key = the_run_key and status = 'skipped'
      ) then 'skipped'
      else 'success'
    end;
    run.stage := case run.status when 'failed' then 'failed' else 'completed' end;
  end if;

  update sync_run s
  set stage = run.stage, status = run.status, message = coalesce(the_message, s.message),
      ended_at = case when run.status <> 'in_progress' then coalesce(s.ended_at, clock_timestamp()) end,
      updated_at = clock_timestamp()
  where s.user_id = the_user and s.run_key = the_run_key
  returning s.* into run;
  return run;
end
$$;
