/** At most `requests` in any `seconds`, of one token or of the whole application. */
export interface Limit {
  readonly per: 'token' | 'application'
  readonly seconds: number
  readonly requests: number
  /** Tells limits of the same length apart. */
  readonly kind?: string
  /** What each person who has given consent adds to it. */
  readonly perMember?: number
  /** Part of the paths of requests that it is about; all where nothing is said. */
  readonly path?: string
  /** Whether its spans begin at multiples of their length since 1970, instead of with each request. */
  readonly aligned?: boolean
  /** Whether requests that were refused count, too. */
  readonly countsRefused?: boolean
}

/** How far a limit is used. */
export interface Use {
  readonly used: number
  readonly left: number
  /** 0, or the whole seconds until a request is accepted again. */
  readonly waitSeconds: number
  /** Whole seconds until the oldest request that counts no longer does. */
  readonly resetSeconds: number
}

/** Instants of requests, oldest first; those before `from` no longer count. */
interface Counted {
  times: number[]
  from: number
  /** Most requests, the refused ones too, in any span of the limit. */
  peak: number
  asked: number[]
  askedFrom: number
}

/** Counts requests strictly: no span of a limit's length, wherever it may begin, holds more than the limit allows. */
export class Budgets {
  readonly #counted = new Map<string, Counted>()

  /**
   * Takes a place in every limit, or in none when one of them is used up. Answers the use of each.
   */
  take(limits: readonly { limit: Limit; key: string }[], nowMs: number): Use[] {
    const uses = limits.map(({ limit, key }) => {
      const counted = this.#of(key)
      const since = beginning(limit, nowMs)
      counted.from = forget(counted.times, counted.from, since)
      counted.asked.push(nowMs)
      counted.askedFrom = forget(counted.asked, counted.askedFrom, since)
      counted.peak = Math.max(counted.peak, counted.asked.length - counted.askedFrom)
      const left = limit.requests - (counted.times.length - counted.from)
      const seconds = (index: number) => {
        const endMs = (limit.aligned ? since + 1 : (counted.times[index] ?? nowMs)) + limit.seconds * 1000
        return Math.max(1, Math.ceil((endMs - nowMs) / 1000))
      }
      const waitSeconds = left > 0 ? 0 : seconds(counted.times.length - limit.requests)
      return { limit, counted, left, waitSeconds, resetSeconds: seconds(counted.from) }
    })
    const taken = uses.every(({ waitSeconds }) => waitSeconds === 0)
    return uses.map(({ limit, counted, left, ...times }) => {
      const counts = taken || limit.countsRefused === true
      if (counts) counted.times.push(nowMs)
      return { left: Math.max(0, counts ? left - 1 : left), used: counted.times.length - counted.from, ...times }
    })
  }

  /** Requests in the current span, and the most there ever were in one, by key. */
  report(): Record<string, { used: number; peak: number }> {
    const rows = [...this.#counted].map(([key, { times, from, peak }]) => [key, { used: times.length - from, peak }])
    return Object.fromEntries(rows)
  }

  #of(key: string): Counted {
    let counted = this.#counted.get(key)
    if (!counted) {
      counted = { times: [], from: 0, peak: 0, asked: [], askedFrom: 0 }
      this.#counted.set(key, counted)
    }
    return counted
  }
}

/** The last instant that no longer counts. */
function beginning({ seconds, aligned }: Limit, nowMs: number): number {
  const length = seconds * 1000
  return aligned ? Math.floor(nowMs / length) * length - 1 : nowMs - length
}

/** Skips what lies at or before `since`; the list is shortened now and then. */
function forget(times: number[], from: number, since: number): number {
  let at = from
  while (at < times.length && (times[at] ?? 0) <= since) at++
  if (at < 1000) return at
  times.splice(0, at)
  return 0
}
