import type { Transaction } from '../db/database.ts'
import type { SleepStage } from './columns.ts'
import type { EventCounts, EventTarget } from './events.ts'

export async function writeSleep(
  _tx: Transaction,
  _target: EventTarget,
  stages: readonly SleepStage[],
): Promise<EventCounts | undefined> {
  if (stages.length === 0) return undefined
  throw new Error('not built yet')
}
