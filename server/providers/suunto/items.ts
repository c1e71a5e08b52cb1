import type { At, Item, Out, Part } from '../part.ts'

/** Our name of the source, beside its device. */
export const APP = 'Suunto'

/** Rows with their times: a list, or those of a notice. */
export function* rowsOf(out: Out, { body }: Part): Iterable<readonly [row: Item, at: At]> {
  for (const row of Array.isArray(body) ? out.items() : out.items('samples')) {
    const at = row.instant('timestamp')
    if (at) yield [row, at]
    else row.reject('missing', 'timestamp')
  }
}

/** A number above zero: zero is nothing measured. */
export function positive(item: Item, ...path: readonly string[]): number | undefined {
  const value = item.numeric(...path)
  return value !== undefined && value > 0 ? value : undefined
}

/** No heart beats so slowly: it is hertz. */
const MAX_HERTZ = 5

/** Beats per minute. */
export function beats(item: Item, ...path: readonly string[]): number | undefined {
  const value = positive(item, ...path)
  return value !== undefined && value < MAX_HERTZ ? value * 60 : value
}
