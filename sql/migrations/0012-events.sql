-- What is no sample: sleep, workouts, meals, menstrual cycles, other sessions, scores. Columns for what reads show and
-- filter by; jsonb only for what is a document. Everything goes with its source, and so with its user.

-- Intervals of sleep as phones send them, in any order and number; the sessions in `sleep` are made of them.
create table sleep_stage (
  source_id int4 not null references data_source (id) on delete cascade,
  -- The platform's own session; '' where sessions follow from the gaps between stages.
  session text not null,
  stage text not null,
  start_at timestamptz not null,
  end_at timestamptz not null,
  zone_offset_min int2,
  external_id text,
  -- The platform's score of the session.
  score float8,
  constraint sleep_stage_pkey primary key (source_id, session, start_at, end_at, stage)
);
create index sleep_stage_external_idx on sleep_stage (external_id, source_id);

create table sleep (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null references app_user (id) on delete cascade,
  source_id int4 not null references data_source (id) on delete cascade,
  -- As in `sleep_stage`.
  session text not null default '',
  start_at timestamptz not null,
  end_at timestamptz not null,
  zone_offset_min int2,
  -- Seconds; null = the source does not say.
  asleep_s int4,
  in_bed_s int4,
  awake_s int4,
  light_s int4,
  deep_s int4,
  rem_s int4,
  efficiency_percent float8,
  is_nap boolean,
  -- [[stage, start, end], …] in epoch seconds, no two of them overlapping.
  stages jsonb,
  -- Of sessions that turn out to be one, the oldest row stays.
  created_at timestamptz not null default clock_timestamp(),
  changed_at timestamptz not null default clock_timestamp(),
  -- Since when nothing more is expected of it; null = the night may go on.
  closed_at timestamptz
);
create index sleep_user_idx on sleep (user_id, start_at, id);
create index sleep_source_idx on sleep (source_id, end_at);
create unique index sleep_session_key on sleep (source_id, session) where session <> '';
create index sleep_open_idx on sleep (end_at) where closed_at is null;

create table workout (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null references app_user (id) on delete cascade,
  source_id int4 not null references data_source (id) on delete cascade,
  external_id text,
  type text not null,
  title text,
  notes text,
  entry_source text,
  intensity text,
  start_at timestamptz not null,
  end_at timestamptz not null,
  zone_offset_min int2,
  duration_s int4 not null,
  moving_s int4,
  calories_kcal float8,
  distance_m float8,
  steps int4,
  heart_rate_min float8,
  heart_rate_avg float8,
  heart_rate_max float8,
  average_speed float8,
  max_speed float8,
  average_cadence float8,
  average_watts float8,
  max_watts float8,
  elevation_gain_m float8,
  elevation_high_m float8,
  elevation_low_m float8,
  hr_zones jsonb,
  power_zones jsonb,
  segments jsonb,
  laps jsonb,
  -- [[epoch seconds, latitude, longitude, altitude, horizontal accuracy, vertical accuracy], …], the last three in metres.
  route jsonb,
  -- Deferrable, since one statement may let two workouts change places.
  constraint workout_time_key unique (source_id, start_at, end_at) deferrable
);
create index workout_user_idx on workout (user_id, start_at, id);
create index workout_external_idx on workout (user_id, external_id) where external_id is not null;

create table meal (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null references app_user (id) on delete cascade,
  source_id int4 not null references data_source (id) on delete cascade,
  provider text not null,
  external_id text not null,
  title text,
  meal_type text,
  start_at timestamptz not null,
  end_at timestamptz not null,
  zone_offset_min int2,
  -- {series type: amount in the unit of the series}
  nutrients jsonb not null default '{}',
  constraint meal_external_key unique (user_id, provider, external_id)
);
create index meal_user_idx on meal (user_id, start_at, id);

-- Every nutrient that names a meal. Those of a meal that is not there are samples as well, until it comes.
create table meal_nutrient (
  user_id uuid not null references app_user (id) on delete cascade,
  provider text not null,
  -- External id of the meal.
  meal text not null,
  -- The platform's id of the nutrient, or its series where it has none.
  item text not null,
  source_id int4 not null references data_source (id) on delete cascade,
  series_id int2 not null,
  ts timestamptz not null,
  value float8 not null,
  zone_offset_min int2,
  -- Whether it last came in one upload with its meal: the next such upload then says what the meal consists of.
  with_meal boolean not null,
  -- Whether its meal is not there.
  loose boolean not null,
  constraint meal_nutrient_pkey primary key (user_id, provider, meal, item)
);
create index meal_nutrient_loose_idx on meal_nutrient (source_id, series_id, ts) where loose;

-- Days of flow, tests and other observations; the cycles in `menstrual_cycle` are made of them.
create table cycle_observation (
  user_id uuid not null references app_user (id) on delete cascade,
  source_id int4 not null references data_source (id) on delete cascade,
  kind text not null,
  start_at timestamptz not null,
  end_at timestamptz not null,
  zone_offset_min int2,
  external_id text,
  level text,
  cycle_start boolean,
  constraint cycle_observation_pkey primary key (source_id, kind, start_at, end_at)
);
create index cycle_observation_external_idx on cycle_observation (user_id, external_id);

create table menstrual_cycle (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null references app_user (id) on delete cascade,
  source_id int4 not null references data_source (id) on delete cascade,
  provider text not null,
  external_id text not null,
  start_at timestamptz not null,
  end_at timestamptz not null,
  zone_offset_min int2,
  current_phase int4,
  current_phase_type text,
  day_in_cycle int4,
  cycle_length int4,
  predicted_cycle_length int4,
  period_length int4,
  length_of_current_phase int4,
  days_until_next_phase int4,
  fertile_window_start int4,
  length_of_fertile_window int4,
  is_predicted_cycle boolean,
  has_specified_cycle_length boolean,
  has_specified_period_length boolean,
  last_updated_at timestamptz,
  pregnancy_snapshot jsonb,
  constraint menstrual_cycle_external_key unique (user_id, provider, external_id)
);
create index menstrual_cycle_user_idx on menstrual_cycle (user_id, start_at, id);

create table activity (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null references app_user (id) on delete cascade,
  source_id int4 not null references data_source (id) on delete cascade,
  external_id text,
  type text not null,
  start_at timestamptz not null,
  end_at timestamptz not null,
  zone_offset_min int2,
  constraint activity_time_key unique (source_id, type, start_at, end_at)
);
create index activity_user_idx on activity (user_id, start_at, id);
create index activity_external_idx on activity (user_id, external_id) where external_id is not null;

create table health_score (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null references app_user (id) on delete cascade,
  source_id int4 references data_source (id) on delete cascade,
  provider text not null,
  category text not null,
  value float8,
  qualifier text,
  recorded_at timestamptz not null,
  zone_offset_min int2,
  components jsonb,
  -- The session the score describes.
  sleep_id uuid constraint health_score_sleep_key unique references sleep (id) on delete cascade
);
-- Two devices may tell of one night, from the same instant on: scores of sessions are told apart by the session.
create unique index health_score_time_key on health_score (user_id, provider, category, recorded_at) where sleep_id is null;
create index health_score_user_idx on health_score (user_id, recorded_at);

-- Which sample a record of a platform became, so that its deletion finds it: samples carry no id. `ids` has an entry
-- per record between `lo` and `hi` (server/ingest/origins.ts).
create table sample_origin (
  -- The later of two that know an instant is right.
  seq int8 generated always as identity primary key,
  source_id int4 not null references data_source (id) on delete cascade,
  series_id int2 not null,
  lo timestamptz not null,
  hi timestamptz not null,
  ids bytea not null
);
create index sample_origin_series_idx on sample_origin (source_id, series_id, lo);
alter table sample_origin alter column ids set storage external;

-- Records the upload deleted, and what it brought by collection: {sleep: {inserted, updated, unchanged}, …}.
alter table upload add column deleted int4 not null default 0, add column saved jsonb not null default '{}';
alter table sync_run add column items_deleted int8 not null default 0;
