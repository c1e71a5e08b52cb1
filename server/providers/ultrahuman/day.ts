import type { At, Item } from '../part.ts'

/** A day of the person's clock, and what is known of it. */
export interface Day {
  readonly date: string
  readonly at: At
  /** By type, in lower case. */
  readonly entries: ReadonlyMap<string, readonly Item[]>
  /** Minutes east of UTC at an instant. */
  zoneMin(ms: number): number | null
}

/** A number of the last entry of a type. */
export const figure = ({ entries }: Day, type: string, ...path: readonly string[]): number | undefined =>
  entries
    .get(type)
    ?.at(-1)
    ?.numeric(...path)
