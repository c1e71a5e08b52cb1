import type { Database } from '../db/database.ts'

/** Events that are fanned out in one transaction. */
export const EVENTS_AT_ONCE = 500

/**
 * Gives all pending events their places in the feed, where endpoints find them with `toEndpoints`; returns how many
 * events it took. None while another process does so (sql/routines/webhooks/fan_out.sql).
 */
export async function fanOut(db: Database, toEndpoints: boolean): Promise<number> {
  let total = 0
  for (;;) {
    const { fanned } = await db.one<{ fanned: number }>('select fan_out($1, $2) as fanned', [
      EVENTS_AT_ONCE,
      toEndpoints,
    ])
    total += fanned
    if (fanned < EVENTS_AT_ONCE) return total
  }
}
