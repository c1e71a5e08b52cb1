/** Seconds from one attempt to the next (contract 10.6): ten attempts, the first at once. */
export const DELAYS_SECONDS: readonly number[] = [0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]

/** Fraction by which a delay varies, so that deliveries that failed together are not retried together. */
const JITTER = 0.2

/**
 * Seconds to wait after failed attempt number `attempts` (from 1); undefined after the last. The receiver's request
 * counts between the scheduled delay and twice as much (contract 10.6). `random` is in [0, 1).
 */
export function delayAfter(attempts: number, askedSeconds: number | undefined, random: number): number | undefined {
  const delay = DELAYS_SECONDS[attempts]
  if (delay === undefined) return undefined
  const scheduled = delay * (1 + JITTER * (2 * random - 1))
  return Math.min(Math.max(scheduled, askedSeconds ?? 0), 2 * scheduled)
}

/**
 * Seconds that `Retry-After` requests (RFC 9110, 10.2.3): a number of them, or a date, which is compared with the
 * `Date` of the same answer, else with `nowMs`. Undefined for anything else.
 */
export function retryAfterSeconds(retryAfter: string, date: string | undefined, nowMs: number): number | undefined {
  if (/^\d{1,9}$/.test(retryAfter)) return Number(retryAfter)
  // Every form of a date begins with the name of a day; Date.parse accepts much more.
  const until = /^[A-Z][a-z]+,? /.test(retryAfter) ? Date.parse(retryAfter) : Number.NaN
  if (Number.isNaN(until)) return undefined
  const from = Date.parse(date ?? '')
  return Math.max(0, (until - (Number.isNaN(from) ? nowMs : from)) / 1000)
}
