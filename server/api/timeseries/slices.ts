import { setImmediate as nextTurn } from 'node:timers/promises'

/** Rows that take a few milliseconds. */
const ROWS_AT_ONCE = 4_000

/** Calls `work` for all of so many rows, in slices [start, end), and lets other requests have their turn in between. */
export async function inSlices(rows: number, work: (start: number, end: number) => void): Promise<void> {
  if (rows <= ROWS_AT_ONCE) return work(0, rows)
  for (let start = 0; start < rows; start += ROWS_AT_ONCE) {
    work(start, Math.min(rows, start + ROWS_AT_ONCE))
    await nextTurn()
  }
}
