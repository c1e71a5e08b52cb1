/** A quarter hour, in milliseconds: the unit from which days are merged. */
const QUARTER_MS = 900_000

/** A record that lasts longer has a wrong date, or says nothing about when it happened. */
const MAX_LENGTH_S = 86_400

/** Records that last no longer count as an instant if they lie within one quarter hour. */
const SHORT_S = 60

/**
 * The stored length of a record, in seconds, at most a day. It is 0 if nothing depends on it: the record ends within a
 * minute, in the quarter hour of UTC in which it starts. `startMs` and `endMs` in epoch ms.
 */
export function keptLength(startMs: number, endMs: number): number {
  const lastsS = Math.min(Math.round((endMs - startMs) / 1000), MAX_LENGTH_S)
  const staysIn = Math.ceil((startMs + lastsS * 1000) / QUARTER_MS) - 1 <= Math.floor(startMs / QUARTER_MS)
  return lastsS > SHORT_S || (lastsS > 0 && !staysIn) ? lastsS : 0
}
