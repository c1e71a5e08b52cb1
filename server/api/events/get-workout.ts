import { Type } from 'typebox'
import type { RoutePoint, WorkoutLap } from '../../batch/columns.ts'
import { WORKOUT_COLUMNS, type WorkoutRow, workoutItem } from '../../events/workout.ts'
import { route } from '../../http/route.ts'
import { Instant, Nullable, Uuid } from '../../http/schema.ts'
import { isoInstant } from '../../time.ts'
import { heartRateOf, Workout, workoutExample } from './list-workouts.ts'
import { answerEvent } from './one-event.ts'

const Metres = (description: string) => Nullable(Type.Number({ description }))

const Lap = Type.Object(
  {
    start_time: Instant(),
    end_time: Instant(),
    type: Nullable(Type.String({ description: "The platform's word, such as lap, segment or marker" })),
    duration_seconds: Nullable(Type.Number({ description: 'Without pauses, if the source reports that' })),
    distance_meters: Nullable(Type.Number()),
  },
  { title: 'WorkoutLap' },
)

const Point = Type.Object(
  {
    timestamp: Instant(),
    latitude: Type.Number({ description: 'Degrees north' }),
    longitude: Type.Number({ description: 'Degrees east' }),
    altitude_meters: Nullable(Type.Number()),
    horizontal_accuracy_meters: Metres('As the source reports it'),
    vertical_accuracy_meters: Metres('As the source reports it'),
  },
  { title: 'RoutePoint' },
)

const WorkoutDetail = Type.Object(
  {
    ...Workout.properties,
    laps: Nullable(Type.Array(Lap)),
    route: Nullable(Type.Array(Point, { description: 'In the order it was recorded, at most 20,000 points' })),
  },
  { title: 'WorkoutDetail' },
)

interface DetailRow extends WorkoutRow {
  laps: WorkoutLap[] | null
  route: RoutePoint[] | null
}

const kind = {
  table: 'workout',
  columns: `${WORKOUT_COLUMNS}, e.hr_zones, e.power_zones, e.segments, e.laps, e.route`,
  missing: 'Workout not found',
}

/** One workout with everything that is stored of it (contract 5.3). */
export const getWorkout = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/events/workouts/{workout_id}',
    operationId: 'getWorkout',
    summary: 'A workout with its zones, segments, laps and route',
    description: "What the source did not report is null. The ETag changes when the user's data does.",
    tag: 'Events',
    guard: 'key',
    fromReplicas: true,
    params: Type.Object({ user_id: Uuid(), workout_id: Uuid() }),
    revalidated: true,
    response: WorkoutDetail,
    example: {
      ...workoutExample,
      laps: [
        {
          start_time: '2026-02-24T06:00:00Z',
          end_time: '2026-02-24T06:08:36Z',
          type: 'lap',
          duration_seconds: 516,
          distance_meters: 1000,
        },
      ],
      route: [
        {
          timestamp: '2026-02-24T06:00:00Z',
          latitude: 52.52,
          longitude: 13.405,
          altitude_meters: 140,
          horizontal_accuracy_meters: 4.5,
          vertical_accuracy_meters: null,
        },
      ],
    },
    errors: { 404: 'Unknown user or workout' },
  },
  async ({ params: { user_id: userId, workout_id: id }, ctx }, { db }) =>
    answerEvent<DetailRow>(db, kind, { userId, id, ctx }, async (row, source) => ({
      ...workoutItem(row, source, await heartRateOf(db, row)),
      laps: row.laps,
      route: row.route?.map(pointItem) ?? null,
    })),
)

const pointItem = ([seconds, latitude, longitude, altitude, horizontal, vertical]: RoutePoint) => ({
  timestamp: isoInstant(Math.round(seconds * 1000)),
  ...{ latitude, longitude, altitude_meters: altitude },
  ...{ horizontal_accuracy_meters: horizontal, vertical_accuracy_meters: vertical },
})
