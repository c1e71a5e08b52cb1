import type { Transaction } from '../db/database.ts'
import type { Workout } from './columns.ts'
import type { EventCounts, EventTarget } from './events.ts'

export async function writeWorkouts(
  _tx: Transaction,
  _target: EventTarget,
  workouts: readonly Workout[],
): Promise<EventCounts | undefined> {
  if (workouts.length === 0) return undefined
  throw new Error('not built yet')
}
