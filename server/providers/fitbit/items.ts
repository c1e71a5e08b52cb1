import type { Item } from '../part.ts'

/** A number above zero: zero is nothing measured. */
export function positive(item: Item, ...path: readonly string[]): number | undefined {
  const value = item.numeric(...path)
  return value !== undefined && value > 0 ? value : undefined
}
