import type { Transaction } from '../db/database.ts'
import { writeActivities } from './activities.ts'
import type { ChangedSamples } from './changes.ts'
import type { BatchEvents } from './columns.ts'
import { writeCycles } from './cycles.ts'
import type { Loose } from './loose-nutrients.ts'
import { writeMeals } from './meals.ts'
import { writeSleep } from './sleep.ts'
import { writeWorkouts } from './workouts.ts'

/** Whose events are written; `sourceIds` are the keys of the batch's sources, in its order. */
export interface EventTarget {
  userId: string
  provider: string
  sourceIds: readonly number[]
  /** What the batch has changed so far; absent when nobody asks. */
  changes?: ChangedSamples[] | undefined
}

/** What became of the items of one kind of event; the instants (epoch ms) bound those that changed something. */
export interface EventCounts {
  type: 'sleep' | 'workout' | 'meal' | 'menstrual_cycle' | 'activity'
  inserted: number
  updated: number
  unchanged: number
  /** Items whose key another item of the same batch repeated. */
  duplicates: number
  firstMs: number | null
  lastMs: number | null
  /** Rows that developers are told of (contract 10.1): new ones, and sleep that changed. */
  told: string[]
  /** What follows from such items and is different now; absent where nothing does. */
  derived?: DerivedChange[]
}

/** What of the rows that follow from items is different, and which of them developers are told of. */
export type Rebuilt = Required<Pick<EventCounts, 'derived' | 'told'>>

/** Rows of one kind that developers are told of. */
export type ToldRows = Pick<EventCounts, 'type' | 'told'>

/** What became of items that are deleted by the platform's ids: those found, and the rows that developers are told of. */
export interface RemovedItems {
  found: string[]
  told: string[]
}

/** A session of sleep or a cycle that was written, or removed, and when it is (epoch ms), or was. */
export interface DerivedChange {
  isNew: boolean
  startMs: number
  endMs: number
}

/**
 * Writes the events of a batch inside the caller's transaction, under the user's ingest lock and after its samples.
 * `again`: it was imported before, so what follows from its items is derived even where they are unchanged, by the
 * rules of today. Returns what became of them, and the samples that nutrients whose meal is not there are (sdk-types 6).
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
    await writeWorkouts(tx, target, events.workouts),
    meals.counts,
    await writeCycles(tx, target, events.cycles, again),
    await writeActivities(tx, target, events.activities),
  ]
  return { counts: counts.filter((one): one is EventCounts => one !== undefined), loose: meals.loose }
}
