import type { Transaction } from '../db/database.ts'
import type { Meal, Nutrient, SampleColumns } from './columns.ts'
import type { EventCounts, EventTarget } from './events.ts'

export async function writeMeals(
  _tx: Transaction,
  _target: EventTarget,
  meals: readonly Meal[],
  nutrients: readonly Nutrient[],
): Promise<{ counts: EventCounts | undefined; loose: SampleColumns[] }> {
  if (meals.length + nutrients.length === 0) return { counts: undefined, loose: [] }
  throw new Error('not built yet')
}
