import { Type } from 'typebox'
import { workoutTypes } from '../../catalogue/workouts.ts'
import { Enum } from '../../http/schema.ts'
import { eventFilters } from './selection.ts'

/** The parameters that select workouts (contract 5.2). */
export const workoutFilters = {
  ...eventFilters,
  record_type: Type.Optional(
    Type.String({ description: 'Part of the type, case-insensitive: `run` finds trail_running' }),
  ),
  type: Type.Optional(Enum(workoutTypes, { title: 'WorkoutType', description: 'Exact type' })),
}

/** The conditions of `workoutFilters` on `e`; their parameters begin at `first`. */
export const whereWorkout = (first: number): string => `
  and ($${first}::text is null or strpos(e.type, $${first}) > 0)
  and ($${first + 1}::text is null or e.type = $${first + 1})`

/** The parameters of `whereWorkout`. */
export const workoutParams = ({ record_type, type }: { record_type?: string; type?: string }) => [
  record_type?.toLowerCase() ?? null,
  type ?? null,
]
