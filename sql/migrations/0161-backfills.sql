-- The past that a provider sends as notices once it was asked for it, and takes no request that overlaps an earlier one.

-- A range of a stream that is asked for, and what came of it. Ranges of a stream do not overlap. They end with the consent:
-- after it everything may be asked for again.
create table backfill_part (
  grant_id uuid not null references provider_grant (id) on delete cascade,
  stream text not null,
  lo timestamptz not null,
  hi timestamptz not null,
  run_key text not null,
  -- planned; asked: the provider will send it; receiving: it does; done: nothing came any more; no_data: nothing came at all;
  -- duplicate: it was asked for before; forbidden: the person does not allow it; refused: nothing more is asked for in this run;
  -- disabled: the operator has not enabled it at the provider; failed.
  state text not null default 'planned' constraint backfill_part_state check (state in (
    'planned', 'asked', 'receiving', 'done', 'no_data', 'duplicate', 'forbidden', 'refused', 'disabled', 'failed'
  )),
  -- Null: the provider is not known to have taken a request for it.
  asked_at timestamptz,
  -- Whether it may have taken one, whose answer was lost: then no other range may overlap this one, which is asked for again.
  attempted boolean not null default false,
  -- Receipt of the newest notice, and how many records all of them had.
  last_item_at timestamptz,
  items int8 not null default 0,
  -- How often the provider moved its start.
  cuts int2 not null default 0,
  error text,
  constraint backfill_part_pkey primary key (grant_id, stream, hi)
);
create index backfill_part_open_idx on backfill_part (state) where state in ('planned', 'asked', 'receiving');

-- backfill: the past that comes as notices.
alter table sync_task
  drop constraint sync_task_kind,
  add constraint sync_task_kind check (kind in ('pull', 'sync', 'history', 'notice', 'object', 'backfill'));

drop function if exists store_notices(uuid, bytea, bytea, int4, jsonb);
