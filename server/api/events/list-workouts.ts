import { Type } from 'typebox'
import { seriesByName } from '../../catalogue/series.ts'
import type { Database } from '../../db/database.ts'
import { WORKOUT_COLUMNS, type WorkoutRow, workoutItem } from '../../events/workout.ts'
import { route } from '../../http/route.ts'
import { CursorPage, Enum, Instant, List, Nullable, SourceMetadata, UserPath, Uuid } from '../../http/schema.ts'
import { listEvents, listParameters } from './page.ts'
import { whereWorkout, workoutFilters, workoutParams } from './workout-filters.ts'

const Document = Type.Record(Type.String(), Type.Unknown())

/** A workout of lists. */
export const Workout = Type.Object(
  {
    id: Uuid(),
    type: Type.String(),
    name: Nullable(Type.String()),
    start_time: Instant(),
    end_time: Instant(),
    zone_offset: Nullable(Type.String()),
    duration_seconds: Nullable(Type.Integer()),
    source: SourceMetadata,
    entry_source: Nullable(Enum(['manual', 'automatic', 'unknown'])),
    intensity: Nullable(Enum(['low', 'moderate', 'high', 'unknown'])),
    calories_kcal: Nullable(Type.Number()),
    distance_meters: Nullable(Type.Number()),
    avg_heart_rate_bpm: Nullable(
      Type.Integer({
        description:
          'As the source reports it, else the mean of its samples during the workout, also after they are archived; of a workout that came later, the mean of the whole quarter hours within it',
      }),
    ),
    max_heart_rate_bpm: Nullable(Type.Integer()),
    avg_pace_sec_per_km: Nullable(Type.Number({ description: 'Only for types with a meaningful pace' })),
    elevation_gain_meters: Nullable(Type.Number()),
    heart_rate_min: Nullable(Type.Integer()),
    steps_count: Nullable(Type.Integer()),
    average_speed: Nullable(Type.Number({ description: 'Metres per second' })),
    max_speed: Nullable(Type.Number({ description: 'Metres per second' })),
    average_cadence: Nullable(Type.Number()),
    average_watts: Nullable(Type.Number()),
    max_watts: Nullable(Type.Number()),
    moving_time_seconds: Nullable(Type.Integer()),
    elev_high: Nullable(Type.Number({ description: 'Metres' })),
    elev_low: Nullable(Type.Number({ description: 'Metres' })),
    hr_zones: Nullable(Document),
    power_zones: Nullable(Document),
    segments: Nullable(Type.Array(Document)),
  },
  { title: 'Workout' },
)

/** A `Workout` for the API description. */
export const workoutExample = {
  id: '3f0c8a52-7c1e-4f53-9a0b-5d6e2c1b7a94',
  type: 'running',
  name: null,
  start_time: '2026-02-24T06:00:00Z',
  end_time: '2026-02-24T06:45:00Z',
  zone_offset: '+01:00',
  duration_seconds: 2700,
  source: {
    provider: 'samsung',
    source: 'com.sec.android.app.shealth',
    device: 'SM-R960',
    device_type: 'watch',
    device_name: 'Galaxy Watch6 Classic',
  },
  entry_source: 'automatic',
  intensity: null,
  calories_kcal: 345.5,
  distance_meters: 5234,
  avg_heart_rate_bpm: 142,
  max_heart_rate_bpm: 178,
  avg_pace_sec_per_km: 515.9,
  elevation_gain_meters: 45,
  heart_rate_min: 95,
  steps_count: null,
  average_speed: null,
  max_speed: 3.2,
  average_cadence: 165,
  average_watts: null,
  max_watts: null,
  moving_time_seconds: null,
  elev_high: 185,
  elev_low: 140,
  hr_zones: null,
  power_zones: null,
  segments: null,
}

const example = {
  data: [workoutExample],
  pagination: {
    next_cursor: 'MjAyNi0wMi0yNFQwNjowMDowMFp8M2YwYzhhNTJ8NTh8QUJDREVG',
    previous_cursor: null,
    has_more: true,
    total_count: 58,
  },
  metadata: { resolution: null, sample_count: 1, start_time: '2026-02-01T00:00:00Z', end_time: '2026-03-01T00:00:00Z' },
}

const listing = {
  name: 'workouts',
  table: 'workout',
  columns: `${WORKOUT_COLUMNS},
    case when $11 then e.hr_zones end as hr_zones, case when $11 then e.power_zones end as power_zones,
    case when $12 then jsonb_array_length(e.segments) end as parts`,
  where: whereWorkout(9),
}

/** Workouts of a user, the latest first (contract 5.3). */
export const listWorkouts = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/events/workouts',
    operationId: 'listWorkouts',
    summary: 'Workouts of a user',
    description: "Those that start within the range, the latest first. The ETag changes when the user's data does.",
    tag: 'Events',
    guard: 'key',
    csv: { name: 'workouts', list: 'data' },
    fromReplicas: true,
    params: UserPath,
    query: Type.Object({
      ...listParameters,
      ...workoutFilters,
      include: Type.Optional(List(Enum(['zones', 'segments']), { description: 'Parts that are null otherwise' })),
    }),
    revalidated: true,
    response: CursorPage(Workout),
    example,
    errors: { 400: 'Bad date or cursor' },
  },
  async (input, deps) => {
    const included = new Set(input.query.include)
    const params = [...workoutParams(input.query), included.has('zones'), included.has('segments')]
    return listEvents<WorkoutRow>({ ...listing, params }, input, deps, async (rows, sourceOf) => {
      const { means, segments } = await readDetails(deps.db, rows, included.has('segments'))
      return rows.map((row) => {
        const shown = { ...row, segments: segments.get(row.id) ?? null }
        return workoutItem(shown, sourceOf(row), row.heart_rate_avg ?? means.get(row) ?? null)
      })
    })
  },
)

/**
 * The mean of a series that the source of each span measured during it, including the end. Archiving keeps this mean. For
 * a span that was stored after its samples were archived, it is the mean of the whole quarter hours within it. A span
 * without any has no row. `place` counts from 1.
 */
const MEANS_SQL = `
  select s.places[v.place], v.total / v.n
  from (
    select k.source_id, array_agg(k.place order by k.place) as places, array_agg(k.lo order by k.place) as los,
           array_agg(k.hi order by k.place) as his
    from (
      select w.source_id, w.place,
             case when f.exact then w.starts
                  else time_bucket('15 minutes', w.starts + interval '15 minutes' - interval '1 microsecond') end as lo,
             case when f.exact then w.ends + interval '1 microsecond'
                  else time_bucket('15 minutes', w.ends) end as hi
      from unnest($1::int4[], $3::timestamptz[], $4::timestamptz[]) with ordinality w (source_id, starts, ends, place)
      cross join lateral (
        select is_live(w.source_id, $2::int2, tstzmultirange(tstzrange(w.starts, w.ends, '[]')))
            or exists (
              select from kept_sum m
              where m.source_id = w.source_id and m.series_id = $2 and m.starts = w.starts
                and m.ends = w.ends + interval '1 microsecond'
            ) as exact
      ) f
    ) k
    group by 1
  ) s
  cross join lateral sums_in_spans(s.source_id, $2::int2, s.los, s.his) v
  where v.n > 0`

/** The means, and the segments of workouts. */
const DETAILS_SQL = `
  select null as id, m.place, m.mean, null as segments from (${MEANS_SQL}) m (place, mean)
  union all
  select w.id, null, null, w.segments from workout w where w.id = any ($5::uuid[])`

type Detail = [id: string, place: null, mean: null, segments: object[] | null] | [null, number, number, null]

/**
 * For each workout without a reported mean heart rate, the mean that its source measured during it; and, if requested,
 * segments by the ids of the workouts. One statement for all of them.
 */
async function readDetails(db: Database, rows: readonly WorkoutRow[], withSegments: boolean) {
  const means = new Map<WorkoutRow, number>()
  const segments = new Map<string, object[] | null>()
  const unmeasured = rows.filter(({ heart_rate_avg }) => heart_rate_avg === null)
  const shown = withSegments ? rows.map(({ id }) => id) : []
  if (unmeasured.length + shown.length === 0) return { means, segments }
  const details = await db.rows<Detail>(DETAILS_SQL, [
    unmeasured.map(({ source_id }) => source_id),
    seriesByName.get('heart_rate')?.id as number,
    unmeasured.map(({ start_at }) => start_at),
    unmeasured.map(({ end_at }) => end_at),
    shown,
  ])
  for (const [id, place, mean, document] of details) {
    if (id === null) means.set(unmeasured[place - 1] as WorkoutRow, mean)
    else segments.set(id, document)
  }
  return { means, segments }
}

/** The mean heart rate of a workout: as its source reports it, else of the samples during it; null without any. */
export async function heartRateOf(db: Database, row: WorkoutRow): Promise<number | null> {
  const { means } = await readDetails(db, [row], false)
  return row.heart_rate_avg ?? means.get(row) ?? null
}
