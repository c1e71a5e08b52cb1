import type { BatchEvents } from '../batch/columns.ts'
import { groupBy } from '../batch/group-by.ts'
import type { Transaction } from '../db/database.ts'
import { writeActivities } from './activities.ts'
import { writeCycles } from './cycles.ts'
import { type EventCounts, type EventTarget, sumCounts } from './event-items.ts'
import type { Loose } from './loose-nutrients.ts'
import { writeMeals } from './meals.ts'
import { writeScores } from './scores.ts'
import { writeNights } from './sleep/nights.ts'
import { writeSleep } from './sleep/sleep.ts'
import { writeWholeCycles } from './whole-cycles.ts'
import { writeWorkouts } from './workouts.ts'

/**
 * Writes the events of a batch inside the caller's transaction, under the user's ingest lock and after its samples.
 * `again`: it was imported before, so derived rows are built again by the current rules even if items are unchanged.
 * Returns the results, and the samples that stand for nutrients without a meal (sdk-types 6).
 */
export async function writeEvents(
  tx: Transaction,
  target: EventTarget,
  events: BatchEvents,
  again: boolean,
): Promise<{ counts: EventCounts[]; loose: Loose }> {
  const meals = await writeMeals(tx, target, events.meals, events.nutrients)
  const counts = [
    await writeSleep(tx, target, events.sleep, again),
    await writeNights(tx, target, events.nights, again),
    await writeWorkouts(tx, target, events.workouts),
    meals.counts,
    await writeCycles(tx, target, events.cycles, again),
    await writeWholeCycles(tx, target, events.wholeCycles),
    await writeActivities(tx, target, events.activities),
    await writeScores(tx, target, events),
  ]
  const known = counts.filter((one): one is EventCounts => one !== undefined)
  return { counts: [...groupBy(known, ({ type }) => type).values()].map(sumCounts), loose: meals.loose }
}
