import type { Route } from '../../http/route.ts'
import { deleteMeal } from './delete-meal.ts'
import { deleteMenstrualCycle } from './delete-menstrual-cycle.ts'
import { deleteSleepSession } from './delete-sleep.ts'
import { deleteWorkout } from './delete-workout.ts'
import { getSleepSession } from './get-sleep.ts'
import { getWorkout } from './get-workout.ts'
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
  getWorkout,
  deleteWorkout,
  listSleep,
  totalSleep,
  getSleepSession,
  deleteSleepSession,
  listMenstrualCycles,
  deleteMenstrualCycle,
  listMeals,
  deleteMeal,
]
