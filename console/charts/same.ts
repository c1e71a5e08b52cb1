import type { Schemas } from '../api/client.ts'
import { words } from '../ui/words.ts'

type Workout = Schemas['Workout']

/** A workout of the source that ranks highest, and the same one as others recorded it. */
export interface Folded {
  workout: Workout
  others: Workout[]
}

const at = (instant: string) => Date.parse(instant)

/** Whether two records are of one workout: of two sources, and together for half of the longer one at least. */
function areSame(one: Workout, other: Workout): boolean {
  const together = Math.min(at(one.end_time), at(other.end_time)) - Math.max(at(one.start_time), at(other.start_time))
  const longer = Math.max(...[one, other].map((each) => at(each.end_time) - at(each.start_time)))
  return nameOfSource(one.source) !== nameOfSource(other.source) && together > 0 && together >= longer / 2
}

/** What a source is called: its provider, device and app. */
export const nameOfSource = ({ provider, device_name, device, source }: Schemas['SourceMetadata']): string =>
  [...new Set([device_name ?? device, source, words(provider)].filter(Boolean))].join(', ')

/**
 * Workouts with those that are the same, in the order they came in: each is of the source that comes first in `ranked`,
 * where several recorded it.
 */
export function folded(workouts: readonly Workout[], ranked: readonly Schemas['SourceMetadata'][] = []): Folded[] {
  const names = ranked.map(nameOfSource)
  const rank = ({ source }: Workout) => (names.indexOf(nameOfSource(source)) + names.length + 1) % (names.length + 1)
  const found: Folded[] = []
  for (const workout of workouts.toSorted((a, b) => rank(a) - rank(b))) {
    const same = found.find((one) => areSame(one.workout, workout))
    if (same) same.others.push(workout)
    else found.push({ workout, others: [] })
  }
  return found.sort((a, b) => workouts.indexOf(a.workout) - workouts.indexOf(b.workout))
}
