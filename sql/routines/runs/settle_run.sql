-- Sets stage and status of a run from its uploads and its reports (sync_run_report): the types that a phone announced, or
-- the streams that a provider is asked for. In progress while an upload is queued or a report has not ended; a run with
-- neither keeps its initial state. A run of a provider also says which streams failed.
create or replace function settle_run(the_user uuid, the_run_key text, the_message text) returns sync_run
language plpgsql as $$
declare
  run sync_run;
  of_phone boolean;
  kept int8;
  reports int8;
  opened int8;
  unfinished int8;
  failed int8;
  reasons text;
  uploaded boolean;
  -- Until something is.
  nothing_kept constant text := 'Nothing was stored: dropped by validation.';
begin
  select * into run from sync_run where user_id = the_user and run_key = the_run_key for update;
  of_phone := run.source = 'sdk';
  kept := run.items_inserted + run.items_updated + run.items_unchanged + run.items_deleted;
  uploaded := exists (select from upload where user_id = the_user and run_key = the_run_key);
  select count(*), count(*) filter (where status = 'in_progress'), count(*) filter (where status = 'unfinished'),
         count(*) filter (where status = 'failed'),
         left(string_agg(data_type || ': ' || coalesce(error, error_code), '; ' order by data_type)
              filter (where status = 'failed'), 2000)
  into reports, opened, unfinished, failed, reasons
  from sync_run_report
  where user_id = the_user and run_key = the_run_key;

  if run.status = 'cancelled' then
    -- What came before its connection ended is imported, and changes nothing about that.
    null;
  elsif run.pending > 0 or opened > 0 then
    run.status := 'in_progress';
    run.stage := case
      -- A phone sends what it has read while it reads on; a provider's answers are imported behind those to come.
      when opened = 0 or of_phone and run.pending > 0 then 'processing'
      when of_phone or uploaded or opened < reports or run.stage <> 'queued' then 'fetching'
      else 'queued'
    end;
  elsif reports > 0 or uploaded then
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
      error = coalesce(
        case when not of_phone then reasons end,
        nullif(s.error, nothing_kept),
        case when run.status = 'failed' and run.items_rejected > 0 then nothing_kept end
      ),
      ended_at = case when run.status <> 'in_progress' then coalesce(s.ended_at, clock_timestamp()) end,
      updated_at = clock_timestamp()
  where s.user_id = the_user and s.run_key = the_run_key
  returning s.* into run;
  return run;
end
$$;
