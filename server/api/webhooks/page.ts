import { setImmediate as nextTurn } from 'node:timers/promises'
import { Type } from 'typebox'
import type { Mark } from '../../http/cursors.ts'
import { Cursor, Instant, Limit } from '../../http/schema.ts'

/** The parameters of the lists that `iterator` pages (contract 10). */
export const pageParameters = {
  limit: Limit(250),
  iterator: Cursor('`iterator` or `prevIterator` of another page'),
  before: Type.Optional(Instant({ description: 'Only older items' })),
  after: Type.Optional(Instant({ description: 'Only items of this time or newer' })),
}

/** Approximate maximum of body bytes on a page: an event can be a megabyte. Such a page is shorter than `limit`. */
export const PAGE_BYTES = 8_000_000

/** Approximate bytes of the body of event `e`: samples take up to twelve times their packed size. */
export const BODY_BYTES = 'octet_length(e.data) * case when e.packed then 12 else 1 end'

/** The bounds of the rows that a page reads, both open: a time and an id of a row, and ids begin at 1. */
export type Bounds = [belowAt: string, belowId: number, aboveAt: string, aboveId: number]

/**
 * The rows between which the page requested with `mark` and these times lies. They are one pair of conditions, so the
 * database begins in its index where the page begins, and ends where `before` or `after` says.
 */
export function boundsOf(mark: Mark | undefined, before = 'infinity', after = '-infinity'): Bounds {
  if (!mark) return [before, 0, after, 0]
  const row = [mark.at, Number(mark.id)] as const
  return mark.backward ? [before, 0, ...row] : [...row, after, 0]
}

/** A row of a page in the order of reading; `fits` says whether it still fits on the page. */
interface PageRow {
  fits: boolean
}

/** The rows of a page among those read: as many as fit, `limit` at most; and whether more were read. */
export function cut<Row extends PageRow>(rows: readonly Row[], limit: number): { shown: Row[]; further: boolean } {
  const full = rows.findIndex(({ fits }) => !fits)
  const shown = rows.slice(0, full < 0 ? limit : Math.min(limit, full))
  return { shown, further: rows.length > shown.length }
}

/** A page of contract 10 without its data. */
export interface Turns<Row> {
  /** Newest first. */
  rows: Row[]
  done: boolean
  iterator: string | null
  prevIterator: string | null
}

/** Cuts rows to a page, where `mark` is the requested one, and adds the iterators. */
export function turnsOf<Row extends PageRow>(
  read: readonly Row[],
  limit: number,
  mark: Mark | undefined,
  iteratorAt: (row: Row, backward: boolean) => string,
): Turns<Row> {
  const { shown, further } = cut(read, limit)
  const rows = mark?.backward ? shown.reverse() : shown
  const [first, last] = [rows[0], rows.at(-1)]
  // An iterator points to the other side of the page.
  const older = mark?.backward ? last !== undefined : further
  const newer = mark?.backward ? further : mark !== undefined
  return {
    rows,
    done: !older,
    iterator: older && last ? iteratorAt(last, false) : null,
    prevIterator: newer && first ? iteratorAt(first, true) : null,
  }
}

/** Writes rows as a JSON array; other requests get their turn between two of them. */
export async function jsonArray<Row>(rows: readonly Row[], jsonOf: (row: Row) => string): Promise<string> {
  const items: string[] = []
  for (const row of rows) {
    items.push(jsonOf(row))
    await nextTurn()
  }
  return `[${items.join(',')}]`
}
