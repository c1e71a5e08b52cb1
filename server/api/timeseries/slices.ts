import { setImmediate as nextTurn } from 'node:timers/promises'

/** Rows that take a few milliseconds. */
const ROWS_AT_ONCE = 4_000

/** Calls `work` with all rows, in slices, and lets other requests have their turn in between. */
export async function inSlices<Row>(rows: readonly Row[], work: (slice: readonly Row[]) => void): Promise<void> {
  if (rows.length <= ROWS_AT_ONCE) return work(rows)
  for (let start = 0; start < rows.length; start += ROWS_AT_ONCE) {
    work(rows.slice(start, start + ROWS_AT_ONCE))
    await nextTurn()
  }
}
