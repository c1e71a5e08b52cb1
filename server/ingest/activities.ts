import type { Transaction } from '../db/database.ts'
import type { Activity } from './columns.ts'
import type { EventCounts, EventTarget } from './events.ts'

export async function writeActivities(
  _tx: Transaction,
  _target: EventTarget,
  activities: readonly Activity[],
): Promise<EventCounts | undefined> {
  if (activities.length === 0) return undefined
  throw new Error('not built yet')
}
