import type { Route } from '../../http/route.ts'
import { getBackfillStatus } from './get-backfill-status.ts'
import { getProviderWorkout } from './get-workout.ts'
import { listProviderWorkouts } from './list-workouts.ts'
import { startHistoricalSync } from './start-historical.ts'
import { startSync } from './start-sync.ts'

/** What a provider is asked for at a developer's word. */
export const providerSyncRoutes: readonly Route[] = [
  startSync,
  startHistoricalSync,
  getBackfillStatus,
  listProviderWorkouts,
  getProviderWorkout,
]
