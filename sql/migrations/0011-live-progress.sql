-- What a phone says of its export, and progress events that can be told apart and followed.

-- Per platform type of a run: how much the phone announced or says it sent, and how that ended.
create table sync_run_report (
  user_id uuid not null,
  run_key text not null,
  -- The platform's own name of the type.
  native_type text not null,
  -- Series type it becomes, else the native type again.
  data_type text not null,
  kind text not null,
  reported_records int8,
  status text not null constraint sync_run_report_status check (status in ('in_progress', 'success', 'failed', 'unfinished')),
  error_code text,
  error text,
  attempt int4 not null default 1,
  -- Time of the newest report by the phone's clock: an older one that comes later changes nothing.
  reported_at timestamptz not null,
  constraint sync_run_report_pkey primary key (user_id, run_key, native_type),
  constraint sync_run_report_run_fkey foreign key (user_id, run_key) references sync_run (user_id, run_key) on delete cascade
);

-- A log that is sent again has the same event ids; a follower that comes back names the last one it saw.
create unique index sync_event_event_id_key on sync_event (user_id, event_id);
