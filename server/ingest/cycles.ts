import type { Transaction } from '../db/database.ts'
import type { CycleObservation } from './columns.ts'
import type { EventCounts, EventTarget } from './events.ts'

export async function writeCycles(
  _tx: Transaction,
  _target: EventTarget,
  observations: readonly CycleObservation[],
): Promise<EventCounts | undefined> {
  if (observations.length === 0) return undefined
  throw new Error('not built yet')
}
