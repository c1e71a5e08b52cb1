import type { Client } from 'pg'
import { HISTORY_START, YEAR_SECONDS } from './history.ts'

interface Owner {
  userId: string
  sourceId: number
}

/** $1 user, $2 source, $3 first second, $4 days. A night ends in the morning of its day; some days have a nap. */
const SLEEP_SQL = `
  insert into sleep (
    user_id, source_id, start_at, end_at, zone_offset_min, asleep_s, in_bed_s, awake_s, light_s, deep_s, rem_s,
    efficiency_percent, is_nap, stages, closed_at
  )
  select $1, $2, to_timestamp(starts), to_timestamp(starts + 24 * step), 60, 20 * step, 24 * step, 4 * step, 11 * step,
         5 * step, 4 * step, 83.33, nap, (
           select jsonb_agg(jsonb_build_array(
             (array['light', 'deep', 'light', 'rem', 'awake', 'light'])[1 + n % 6], starts + n * step, starts + (n + 1) * step
           ))
           from generate_series(0, 23) n
         ), to_timestamp(starts + 24 * step)
  from (
    select $3::int8 + day * 86400 + (abs(hashint4(day)) % 3600) - 7200 as starts, 1150 + abs(hashint4(day)) % 120 as step,
           false as nap
    from generate_series(0, $4::int4 - 1) day
    union all
    select $3::int8 + day * 86400 + 50400, 100, true from generate_series(0, $4::int4 - 1, 219) day
  ) night`

/** Sources often omit the mean heart rate, so that it is computed from samples. */
const WORKOUTS_SQL = `
  insert into workout (
    user_id, source_id, external_id, type, start_at, end_at, zone_offset_min, duration_s, calories_kcal, distance_m, steps,
    heart_rate_avg, heart_rate_max, average_speed, elevation_gain_m, hr_zones, segments
  )
  select $1, $2, 'workout ' || n, (array['running', 'cycling', 'walking', 'yoga'])[1 + n % 4], at, at + interval '45 minutes',
         60, 2700, 300 + n % 200, 6000 + n % 4000, 5000 + n % 3000, case when n % 2 = 0 then 130 + n % 30 end, 165 + n % 20,
         2.4, n % 200, '{"zone_1": 600, "zone_2": 1200, "zone_3": 900}',
         '[{"type": "interval", "start_time": 0, "duration_seconds": 1350}]'
  from generate_series(0, ($4::int4 * 500 / 1095) - 1) n,
       to_timestamp($3 + n * 189216::int8 + 61200) at`

const MEALS_SQL = `
  insert into meal (user_id, source_id, provider, external_id, title, meal_type, start_at, end_at, zone_offset_min, nutrients)
  select $1, $2, 'apple', 'meal ' || n, 'Rice and beans', (array['breakfast', 'lunch', 'dinner'])[1 + n % 3], at, at, 60,
         jsonb_build_object('dietary_energy_consumed', 400 + n % 300, 'dietary_protein', 20 + n % 20)
  from generate_series(0, $4::int4 * 3 - 1) n, to_timestamp($3 + n * 28800::int8) at`

const CYCLES_SQL = `
  insert into menstrual_cycle (
    user_id, source_id, provider, external_id, start_at, end_at, zone_offset_min, day_in_cycle, cycle_length, period_length
  )
  select $1, $2, 'apple', 'cycle ' || n, at, at + interval '28 days', 60, 28, 28, 5
  from generate_series(0, $4::int4 / 28 - 1) n, to_timestamp($3 + n * 2419200::int8) at`

const SCORES_SQL = `
  insert into health_score (user_id, source_id, provider, category, value, recorded_at, zone_offset_min, components)
  select $1, $2, 'apple', category, 60 + n % 40, to_timestamp($3 + n * 86400::int8 + 25200), 60, '{"efficiency": {"value": 80}}'
  from generate_series(0, $4::int4 - 1) n, unnest(array['recovery', 'sleep']) category`

const CONNECTIONS_SQL = `
  insert into connection (user_id, provider, provider_user_id, last_synced_at)
  select $1, provider, 'account ' || provider || abs(hashint4($2::int4)) % 40, to_timestamp($3 + $4::int4 * 86400::int8)
  from unnest(array['apple', 'garmin', 'oura', 'polar']) provider`

/** A run per day, with its results for ten series, its progress, and two uploads. */
const RUNS_SQL = `
  with run as (
    insert into sync_run (
      user_id, run_key, provider, source, stage, status, window_start, window_end, started_at, ended_at, updated_at,
      items_received, items_inserted
    )
    select $1, 'run ' || $2::int4 || ' ' || n, 'apple', 'sdk', 'completed', 'success', at - interval '1 day', at, at,
           at + interval '13 seconds', at + interval '13 seconds', 1400, 1400
    from generate_series(0, $4::int4 - 1) n, to_timestamp($3 + (n + 1) * 86400::int8) at
    returning user_id, run_key, started_at
  ), type as (
    insert into sync_run_type (user_id, run_key, data_type, kind, items_inserted, covered_start, covered_end)
    select user_id, run_key, 'series ' || n, 'series', 140, started_at - interval '1 day', started_at
    from run, generate_series(1, 10) n
  ), event as (
    insert into sync_event (user_id, run_key, stage, status, items_processed, items_total, created_at)
    select user_id, run_key, stage, case stage when 'completed' then 'success' else 'in_progress' end, 700, 1400, started_at
    from run, unnest(array['queued', 'processing', 'saving', 'completed']) stage
  )
  insert into upload (
    user_id, provider, run_key, status, received_at, finished_at, received, inserted, ignored, days, first_day, last_day, unstored
  )
  select user_id, 'apple', run_key, 'success', started_at + n * interval '1 second', started_at + n * interval '2 seconds',
         702, 700, 2,
         (
           select jsonb_object_agg(type, jsonb_build_object((started_at - interval '1 day')::date::text, 70))
           from unnest(array['heart_rate', 'steps', 'energy', 'basal_energy', 'distance_walking_running', 'respiratory_rate',
                             'oxygen_saturation', 'heart_rate_variability_sdnn', 'sleep', 'workout']) type
         ),
         (started_at - interval '1 day')::date, (started_at - interval '1 day')::date,
         '[{"collection": "records", "type": "HKQuantityTypeIdentifierX", "reason": "ignored_type", "items": 2}]'
  from run, generate_series(1, 2) n`

/**
 * Stores a user's data in addition to the samples of `storeHistory`, as imports leave it: over three years 1,100 sleep
 * sessions, 500 workouts, 3,300 meals, 39 cycles, 2,200 scores, and a sync per day.
 */
export async function storeRecords(db: Client, { userId, sourceId }: Owner, years: number): Promise<void> {
  const values = [userId, sourceId, HISTORY_START, (years * YEAR_SECONDS) / 86_400]
  for (const sql of [SLEEP_SQL, WORKOUTS_SQL, MEALS_SQL, CYCLES_SQL, SCORES_SQL, CONNECTIONS_SQL, RUNS_SQL])
    await db.query(sql, values)
}

/** Vacuums and analyzes, as autovacuum does within minutes. */
export async function settleRecords(db: Client): Promise<void> {
  const tables = 'sleep workout meal menstrual_cycle health_score connection sync_run sync_run_type sync_event upload'
  for (const table of ['app_user', 'data_source', ...tables.split(' ')]) await db.query(`vacuum (analyze) ${table}`)
}
