import { valueAt } from '../answers.ts'
import type { At, Item, Out, Part } from '../part.ts'

/** Our name of the source, beside its device. */
export const APP = 'Polar'

/** What an answer holds: a list, one within a field of this name, or a single thing. */
export function itemsOf(out: Out, { body }: Part, field?: string): Iterable<Item> {
  if (Array.isArray(body)) return out.items()
  return field !== undefined && valueAt(body, field) !== undefined ? out.items(field) : out.whole()
}

/** The date that something is of, at 00:00 UTC, and as text. */
export interface Dated {
  readonly at: At
  readonly date: string
}

/** The date of a field; undefined, and rejected, when there is none. */
export function dateOf(item: Item, ...path: readonly string[]): Dated | undefined {
  const at = item.day(...path)
  if (at) return { at, date: new Date(at.ms).toISOString().slice(0, 10) }
  item.reject('missing', ...path)
  return undefined
}

/** Minutes east of UTC in a field; null when there is none, or it cannot be. */
export function minutesIn(item: Item, field: string): number | null {
  const minutes = item.number(field)
  return minutes !== undefined && Math.abs(minutes) <= 1_080 ? minutes : null
}
