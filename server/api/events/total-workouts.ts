import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { Nullable, UserPath } from '../../http/schema.ts'
import { tidied } from '../summaries/rounding.ts'
import { selectEvents, selected, selectedParams } from './selection.ts'
import { whereWorkout, workoutFilters, workoutParams } from './workout-filters.ts'

const TOTALS_SQL = `
  select count(*) as count, coalesce(sum(e.duration_s), 0) as duration_seconds, sum(e.calories_kcal) as calories_kcal,
         sum(e.distance_m) as distance_meters
  ${selected('workout')} ${whereWorkout(5)}`

interface Totals {
  count: number
  duration_seconds: number
  calories_kcal: number | null
  distance_meters: number | null
}

/** Sums over workouts, of nine decimals at most; values that none of them reports are null (contract 5.3). */
export const totalWorkouts = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/events/workouts/totals',
    operationId: 'totalWorkouts',
    summary: 'Sums over workouts of a user',
    tag: 'Events',
    guard: 'key',
    share: 'report',
    fromReplicas: true,
    params: UserPath,
    query: Type.Object(workoutFilters),
    response: Type.Object(
      {
        count: Type.Integer(),
        duration_seconds: Type.Integer(),
        calories_kcal: Nullable(Type.Number()),
        distance_meters: Nullable(Type.Number()),
      },
      { title: 'WorkoutTotals' },
    ),
    example: { count: 3, duration_seconds: 5400, calories_kcal: 1300.5, distance_meters: 15_000 },
    errors: { 400: 'Bad date' },
  },
  async ({ params, query }, { db }) => {
    const selection = await selectEvents(db, params.user_id, query)
    const sums = await db.one<Totals>(TOTALS_SQL, [...selectedParams(selection), ...workoutParams(query)])
    return { ...sums, calories_kcal: tidied(sums.calories_kcal), distance_meters: tidied(sums.distance_meters) }
  },
)
