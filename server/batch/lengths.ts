/** A quarter hour, in milliseconds: what merged days are put together from. */
const QUARTER_MS = 900_000

/** A record that lasts longer has a wrong date, or says nothing about when it happened. */
const MAX_LENGTH_S = 86_400

/** Records that last no longer are as good as an instant, as long as they are of one quarter hour. */
const SHORT_S = 60

/**
 * The length of a record that is stored, in seconds: 0 where nothing depends on it, since the record is over within a minute
 * and within the quarter hour of UTC in which it starts; a day at most. `startMs` and `endMs` in epoch ms.
 */
export function keptLength(startMs: number, endMs: number): number {
  const lastsS = Math.min(Math.round((endMs - startMs) / 1000), MAX_LENGTH_S)
  const staysIn = Math.ceil((startMs + lastsS * 1000) / QUARTER_MS) - 1 <= Math.floor(startMs / QUARTER_MS)
  return lastsS > SHORT_S || (lastsS > 0 && !staysIn) ? lastsS : 0
}
