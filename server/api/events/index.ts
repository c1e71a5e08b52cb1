import type { Route } from '../../http/route.ts'
import { deleteMenstrualCycle } from './delete-menstrual-cycle.ts'
import { deleteSleepSession } from './delete-sleep.ts'
import { deleteWorkout } from './delete-workout.ts'
import { listMeals } from './list-meals.ts'
import { listMenstrualCycles } from './list-menstrual-cycles.ts'
import { listSleep } from './list-sleep.ts'
import { listWorkoutTypes } from './list-workout-types.ts'
import { listWorkouts } from './list-workouts.ts'
import { totalSleep } from './total-sleep.ts'
import { totalWorkouts } from './total-workouts.ts'

/** Sleep, workouts, meals and menstrual cycles. */
export const eventRoutes: readonly Route[] = [
  listWorkouts,
  listWorkoutTypes,
  totalWorkouts,
  deleteWorkout,
  listSleep,
  totalSleep,
  deleteSleepSession,
  listMenstrualCycles,
  deleteMenstrualCycle,
  listMeals,
]
