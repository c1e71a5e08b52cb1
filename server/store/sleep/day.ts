import { groupBy } from '../../batch/group-by.ts'
import { DAY_MS } from '../../time.ts'

// Which sessions of a person count, and which are naps. Pure; when a session changes, those around it are judged again.

const HOUR_MS = 3_600_000

/** Bounds of a nap: asleep for less than this, begun between these hours of the local day (sdk-types 7.4). */
const NAP_ASLEEP_S = 3 * 3600
const NAP_FROM_MS = 9 * HOUR_MS
const NAP_UNTIL_MS = 20 * HOUR_MS

/** Sessions that end further apart never cover each other. */
export const SAME_SLEEP_MS = DAY_MS

/** The facts that decide how a session counts; epoch ms, minutes east of UTC or null, seconds asleep. */
export interface Judged {
  sourceId: number
  /** The platform's own session, or ''. */
  session: string
  startMs: number
  endMs: number
  zoneMin: number | null
  asleepS: number
  awakeS: number | null
  /** Seconds of light sleep; null if the source reported no stages. */
  lightS: number | null
  /** Whether the provider calls it a nap; null or absent if it does not say. */
  saidNap?: boolean | null
}

/** The day a session belongs to, as days since 1970: the local day of its end, UTC if the zone is unknown (7.4). */
export function sleepDay({ endMs, zoneMin }: Pick<Judged, 'endMs' | 'zoneMin'>): number {
  return Math.floor(localMs(endMs, zoneMin) / DAY_MS)
}

const localMs = (ms: number, zoneMin: number | null) => ms + (zoneMin ?? 0) * 60_000

/** Whether a session is as short as a nap and began when naps do. */
export function isShortByDay({ startMs, zoneMin, asleepS }: Pick<Judged, 'startMs' | 'zoneMin' | 'asleepS'>): boolean {
  const local = localMs(startMs, zoneMin)
  const inDayMs = local - Math.floor(local / DAY_MS) * DAY_MS
  return asleepS < NAP_ASLEEP_S && inDayMs >= NAP_FROM_MS && inDayMs < NAP_UNTIL_MS
}

/**
 * The naps among the sessions of one person and sleep day, from all sources (sdk-types 7.4): what its provider calls a nap;
 * else what is short, by day, and no part of the longest session that is not `covered`. Of equally long ones the earliest is
 * the longest. A session that overlaps the longest is the same sleep, seen by another device.
 */
export function napsOf<One extends Judged>(sessions: readonly One[], covered: ReadonlySet<One>): Set<One> {
  const [longest] = sessions
    .filter((one) => !covered.has(one))
    .sort((a, b) => b.asleepS - a.asleepS || a.startMs - b.startMs || a.endMs - b.endMs)
  const isNap = (one: One) =>
    isShortByDay(one) && (!longest || !overlap(one, longest) || (one !== longest && longest.saidNap === true))
  return new Set(sessions.filter((one) => one.saidNap ?? isNap(one)))
}

const overlap = (one: Judged, other: Judged) => one.startMs < other.endMs && one.endMs > other.startMs

/**
 * The sessions that do not count, since a better one of the same source that counts overlaps them: some apps store a night
 * again under a new id whenever it grows (contract 12.8). Better is what lasted longer, asleep or awake; what has stages
 * counts twice, since without stages all time in bed seems sleep. Both end less than a day apart, so that what a change
 * decides is near it, unless sessions overlap in a chain.
 */
export function coveredOf<One extends Judged>(sessions: readonly One[]): Set<One> {
  return new Set([...groupBy(sessions, ({ sourceId }) => sourceId).values()].flatMap(coveredOfSource))
}

function coveredOfSource<One extends Judged>(sessions: readonly One[]): One[] {
  if (sessions.length < 2) return []
  const byEnd = sessions.toSorted((a, b) => a.endMs - b.endMs)
  const place = new Map(byEnd.map((one, at) => [one, at]))
  const counting = new Minima(byEnd.length)
  return sessions.toSorted(byWorth).filter((one) => {
    const from = firstEndAfter(byEnd, Math.max(one.startMs, one.endMs - SAME_SLEEP_MS))
    const until = firstEndAfter(byEnd, one.endMs + SAME_SLEEP_MS - 1)
    if (counting.below(from, until) < one.endMs) return true
    counting.set(place.get(one) as number, one.startMs)
    return false
  })
}

const worth = ({ asleepS, awakeS, lightS }: Judged) => (asleepS + (awakeS ?? 0)) * (lightS === null ? 1 : 2)

const byWorth = (a: Judged, b: Judged) =>
  worth(b) - worth(a) ||
  b.asleepS - a.asleepS ||
  a.startMs - b.startMs ||
  a.endMs - b.endMs ||
  (a.session < b.session ? -1 : 1)

/** Index of the first session that ends after an instant; `byEnd` ascends by end. */
function firstEndAfter(byEnd: readonly Judged[], ms: number): number {
  let low = 0
  let high = byEnd.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((byEnd[middle] as Judged).endMs > ms) high = middle
    else low = middle + 1
  }
  return low
}

/** A segment tree of minima: an upload may contain 50,000 sessions of one night, each to be compared with all others. */
class Minima {
  readonly #tree: Float64Array
  readonly #size: number

  constructor(size: number) {
    this.#size = size
    this.#tree = new Float64Array(2 * size).fill(Number.POSITIVE_INFINITY)
  }

  set(place: number, value: number): void {
    for (let at = place + this.#size; at > 0; at >>= 1) this.#tree[at] = Math.min(this.#tree[at] as number, value)
  }

  /** The smallest number in [from, until). */
  below(from: number, until: number): number {
    let smallest = Number.POSITIVE_INFINITY
    for (let [low, high] = [from + this.#size, until + this.#size]; low < high; low >>= 1, high >>= 1) {
      if (low & 1) smallest = Math.min(smallest, this.#tree[low++] as number)
      if (high & 1) smallest = Math.min(smallest, this.#tree[--high] as number)
    }
    return smallest
  }
}
