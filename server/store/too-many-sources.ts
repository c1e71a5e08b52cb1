import { type Batch, type BatchEvents, countSamples, MAX_SOURCES } from '../batch/columns.ts'
import { withRejected } from '../batch/day-counts.ts'
import { counted } from '../counted.ts'

/** The reason of a rejection. */
const REASON = 'too_many_sources'

/** Events by the collection of an upload they come from. */
const COLLECTIONS = {
  sleep: ['sleep', 'nights'],
  workouts: ['workouts'],
  records: ['meals', 'nutrients', 'cycles', 'activities', 'wholeCycles', 'scores', 'currents'],
} satisfies Record<string, (keyof BatchEvents)[]>

/** The batch without the items of sources that have no key in `ids`, which it counts as rejected. */
export function rejectFurtherSources(batch: Batch, ids: readonly (number | null)[]): Batch {
  if (!ids.includes(null)) return batch
  const isFurther = ({ source }: { source: number }) => ids[source] === null
  const isKept = (item: { source: number }) => !isFurther(item)
  const events = (wanted: (item: { source: number }) => boolean): BatchEvents => ({
    sleep: batch.events.sleep.filter(wanted),
    workouts: batch.events.workouts.filter(wanted),
    meals: batch.events.meals.filter(wanted),
    nutrients: batch.events.nutrients.filter(wanted),
    cycles: batch.events.cycles.filter(wanted),
    activities: batch.events.activities.filter(wanted),
    nights: batch.events.nights.filter(wanted),
    scores: batch.events.scores.filter(wanted),
    wholeCycles: batch.events.wholeCycles.filter(wanted),
    currents: batch.events.currents.filter(wanted),
    spans: batch.events.spans.filter(wanted),
    unscored: batch.events.unscored,
    deletions: batch.events.deletions,
  })
  const samples = batch.samples.filter(isFurther)
  const gone = events(isFurther)
  const counts = Object.entries(COLLECTIONS).map(([collection, kinds]) => {
    const ofSamples = collection === 'records' ? countSamples(samples) : 0
    return { collection, items: kinds.reduce((sum, kind) => sum + gone[kind].length, ofSamples) }
  })
  const rejected = counts.filter(({ items }) => items > 0)
  const derived = batch.derived.filter(isFurther)
  return {
    ...batch,
    samples: batch.samples.filter(isKept),
    derived: batch.derived.filter(isKept),
    events: events(isKept),
    ...withRejected(batch, REASON, [...samples, ...derived], gone),
    rejected: rejected.reduce((sum, { items }) => sum + items, batch.rejected),
    rejections: [
      ...batch.rejections,
      ...rejected.map(({ collection, items }) => {
        const msg = `${counted(items, 'item')} of further sources; a user may have at most ${MAX_SOURCES}`
        return { collection, index: null, id: null, loc: ['data', collection], type: REASON, msg }
      }),
    ],
    unstored: [
      ...batch.unstored,
      ...rejected.map(({ collection, items }) => ({ collection, type: null, reason: REASON, items })),
    ],
  }
}
