-- What cloud providers give as a whole: nights and naps, scores, menstrual cycles. What people deleted here.

-- Nights and naps as a provider gives them; the sessions in `sleep` are made of them (server/store/sleep/night-rules.ts).
create table sleep_part (
  source_id int4 not null references data_source (id) on delete cascade,
  external_id text not null,
  -- Of two that overlap by more than half the higher one counts.
  rank int2 not null,
  -- The provider's time of the last change, epoch ms; null = it does not say.
  version int8,
  -- When the provider said so: of two without a version an older answer never overwrites.
  answered_at timestamptz,
  start_at timestamptz not null,
  end_at timestamptz not null,
  zone_offset_min int2,
  -- Seconds; null = the provider does not say.
  asleep_s int4,
  in_bed_s int4,
  awake_s int4,
  light_s int4,
  deep_s int4,
  rem_s int4,
  efficiency_percent float8,
  is_nap boolean,
  -- [[stage, start, end], …] in epoch milliseconds, no two of them overlapping; null = not known.
  stages jsonb,
  -- The session it belongs to, or which counts in its place.
  sleep_id uuid references sleep (id) on delete set null,
  constraint sleep_part_pkey primary key (source_id, external_id)
);
create index sleep_part_start_idx on sleep_part (source_id, start_at);
create index sleep_part_sleep_idx on sleep_part (sleep_id);

-- Whether the provider calls it a nap; null = it does not say, so that its length and hour decide.
alter table sleep add column said_nap boolean;

-- As for nights.
alter table workout add column version int8, add column answered_at timestamptz;

alter table menstrual_cycle
  -- A provider gave it as a whole: it does not follow from observations.
  add column given boolean not null default false,
  add column answered_at timestamptz;

alter table health_score
  -- The provider's id; null: of a session of a phone, or computed here.
  add column external_id text,
  -- External ids of the night and of the workout that it describes, and goes with: these may come later.
  add column night text,
  add column workout text,
  add column version int8,
  add column answered_at timestamptz;
create unique index health_score_external_key on health_score (user_id, provider, external_id, category);
create index health_score_night_idx on health_score (user_id, night) where night is not null;
create index health_score_workout_idx on health_score (user_id, workout) where workout is not null;

-- What was deleted through the API and is not brought back, unless the provider changes it afterwards.
create table hidden_item (
  user_id uuid not null references app_user (id) on delete cascade,
  provider text not null,
  kind text not null constraint hidden_item_kind check (kind in ('workout', 'sleep', 'menstrual_cycle')),
  -- Of sleep: of a night, of a platform's own session, or of a stage.
  external_id text not null,
  hidden_at timestamptz not null default now(),
  constraint hidden_item_pkey primary key (user_id, provider, kind, external_id)
);
