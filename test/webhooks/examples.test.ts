// The example events of endpoint tests (contract 10.3, 10.5).
import t from 'tap'
import { type EventName, eventNames, seriesOfEvent } from '../../server/catalogue/events.ts'
import { seriesByName } from '../../server/catalogue/series.ts'
import { exampleData } from '../../server/webhooks/examples.ts'

const USER = '00000000-0000-0000-0000-000000000002'
const session = 'id user_id start_time end_time zone_offset source'

/** The fields of contract 10.3. */
const FIELDS: Partial<Record<EventName, string>> = {
  'connection.created': 'user_id provider connection_id connected_at',
  'connection.revoked': 'user_id provider connection_id reason revoked_at',
  'workout.created': `${session} type duration_seconds calories_kcal distance_meters avg_heart_rate_bpm max_heart_rate_bpm avg_pace_sec_per_km elevation_gain_meters`,
  'sleep.created': `${session} duration_seconds sleep_duration_seconds efficiency_percent stages sleep_stage_intervals is_nap`,
  'meal.created': `${session} timestamp title meal_type calories_kcal macros water_ml nutrients`,
  'menstrual_cycle.created': `${session} current_phase_type day_in_cycle cycle_length is_predicted_cycle pregnancy_snapshot`,
  'activity.created': `${session} type duration_seconds`,
}
const OF_SAMPLES = 'user_id provider series_type sample_count start_time end_time samples'

for (const name of eventNames) {
  t.test(name, async (t) => {
    const data = JSON.parse(exampleData(name))
    t.strictSame(Object.keys(data).sort(), (FIELDS[name] ?? OF_SAMPLES).split(' ').sort())
    t.equal(data.user_id, USER)
    if (FIELDS[name])
      return t.equal(data.id ?? '00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000001')
    t.ok(seriesOfEvent(name).includes(data.series_type), `${data.series_type} belongs to it`)
    const series = seriesByName.get(data.series_type)
    t.strictSame(Object.keys(data.samples[0]), [
      ...['timestamp', 'zone_offset', 'type', 'value', 'unit', 'source', 'is_daily_total'],
    ])
    t.match(data, {
      sample_count: 1,
      start_time: '2024-01-01T08:00:00Z',
      end_time: '2024-01-01T08:00:00Z',
      samples: [
        { type: data.series_type, unit: series?.unit, is_daily_total: series?.aggregation === 'sum' ? false : null },
      ],
    })
    t.equal(data.samples.length, 1)
  })
}

t.test('sleep and workout add up', async (t) => {
  const sleep = JSON.parse(exampleData('sleep.created'))
  const minutes: Record<string, number> = {}
  for (const { stage, start_time, end_time } of sleep.sleep_stage_intervals)
    minutes[stage] = (minutes[stage] ?? 0) + (Date.parse(end_time) - Date.parse(start_time)) / 60_000
  const { awake_minutes, ...asleep } = sleep.stages
  t.strictSame(sleep.stages, {
    deep_minutes: minutes.deep,
    rem_minutes: minutes.rem,
    light_minutes: minutes.light,
    awake_minutes: minutes.awake,
  })
  const slept = Object.values(asleep as Record<string, number>).reduce((sum, one) => sum + one, 0)
  t.equal(sleep.sleep_duration_seconds, slept * 60)
  t.equal(sleep.duration_seconds, (slept + awake_minutes) * 60)
  t.equal(sleep.efficiency_percent, Math.round((slept / (slept + awake_minutes)) * 1000) / 10)
  const workout = JSON.parse(exampleData('workout.created'))
  t.equal(workout.avg_pace_sec_per_km, (workout.duration_seconds / workout.distance_meters) * 1000)
})
