import { DAY_MS } from '../time.ts'

/** Consecutive records with the same zone offset, at most two hours apart: minutes east of UTC, times in epoch ms. */
export interface ZoneRun {
  loMs: number
  hiMs: number
  zoneMin: number
}

/** Records of the same upload take precedence over stored ones up to this distance. */
export const NEAR_MS = DAY_MS

/**
 * The longest gap in a run. Nobody travels to another zone and back within it, so every instant of a run has the zone of
 * the nearest record.
 */
export const GAP_MS = DAY_MS / 12

/** The times of records that have a zone offset, and their offsets; in any order. */
export class ZoneMarks {
  readonly #timeMs: number[] = []
  readonly #zoneMin: number[] = []
  #several = false

  add(timeMs: number, zoneMin: number): void {
    if (zoneMin !== (this.#zoneMin[0] ?? zoneMin)) this.#several = true
    this.#timeMs.push(timeMs)
    this.#zoneMin.push(zoneMin)
  }

  /** The runs of the added records, in order of time, without overlaps. At one instant the smallest offset counts. */
  runs(): ZoneRun[] {
    const [timeMs, zoneMin] = [this.#timeMs, this.#zoneMin]
    // True of nearly all uploads.
    if (!this.#several) return runsOf(Float64Array.from(timeMs).sort(), zoneMin[0] as number)
    const instants = Array.from(timeMs, (ms, at): ZoneRun => ({ loMs: ms, hiMs: ms, zoneMin: zoneMin[at] as number }))
    instants.sort((a, b) => a.loMs - b.loMs || a.zoneMin - b.zoneMin)
    return joined(instants.filter(({ loMs }, at) => loMs !== instants[at - 1]?.loMs))
  }
}

/** The runs of ascending instants that have one zone. */
function runsOf(instants: Float64Array, zoneMin: number): ZoneRun[] {
  const all: ZoneRun[] = []
  let last: ZoneRun | undefined
  for (const ms of instants) {
    if (last && ms - last.hiMs <= GAP_MS) last.hiMs = ms
    else {
      last = { loMs: ms, hiMs: ms, zoneMin }
      all.push(last)
    }
  }
  return all
}

/** Joins consecutive runs of the same zone that are at most GAP_MS apart; `runs` are in order of time, without overlaps. */
function joined(runs: readonly ZoneRun[]): ZoneRun[] {
  const all: ZoneRun[] = []
  for (const run of runs) {
    const last = all.at(-1)
    if (last?.zoneMin === run.zoneMin && run.loMs - last.hiMs <= GAP_MS) last.hiMs = Math.max(last.hiMs, run.hiMs)
    else all.push({ ...run })
  }
  return all
}

/**
 * Merges two lists of runs, each in order of time without overlaps, into one such list. If two overlap, the shorter one
 * counts; if they are equally long, the one of the second list.
 */
export function mergedRuns(some: readonly ZoneRun[], others: readonly ZoneRun[]): ZoneRun[] {
  const ends = new Set([...some, ...others].flatMap(({ loMs, hiMs }) => [loMs, hiMs + 1]))
  const cuts = Float64Array.from(ends).sort()
  const parts: ZoneRun[] = []
  let [one, other] = [0, 0]
  for (const [at, loMs] of cuts.subarray(0, -1).entries()) {
    while ((some[one]?.hiMs ?? Number.POSITIVE_INFINITY) < loMs) one += 1
    while ((others[other]?.hiMs ?? Number.POSITIVE_INFINITY) < loMs) other += 1
    const [a, b] = [some[one], others[other]].map((run) => (run && run.loMs <= loMs ? run : undefined))
    const best = a && b ? (lengthOf(a) < lengthOf(b) ? a : b) : (a ?? b)
    if (best) parts.push({ ...best, loMs, hiMs: (cuts[at + 1] as number) - 1 })
  }
  return joined(parts)
}

const lengthOf = ({ loMs, hiMs }: ZoneRun) => hiMs - loMs

/**
 * The run nearest to an instant (epoch ms) and its distance in ms; the earlier one if two are equally near. Runs are in
 * order of time and do not overlap.
 */
export function nearestRun(runs: readonly ZoneRun[], ms: number): { zoneMin: number; apartMs: number } | undefined {
  let [low, high] = [0, runs.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((runs[middle] as ZoneRun).loMs <= ms) low = middle + 1
    else high = middle
  }
  const [before, after] = [runs[low - 1], runs[low]]
  const sinceMs = before ? Math.max(0, ms - before.hiMs) : Number.POSITIVE_INFINITY
  const untilMs = after ? after.loMs - ms : Number.POSITIVE_INFINITY
  if (before && sinceMs <= untilMs) return { zoneMin: before.zoneMin, apartMs: sinceMs }
  return after && { zoneMin: after.zoneMin, apartMs: untilMs }
}

/** The start of the local day of an instant, in epoch ms; without a zone offset (minutes east of UTC), of the UTC day. */
export function localMidnight(ms: number, zoneMin: number | null): number {
  const shift = (zoneMin ?? 0) * 60_000
  return Math.floor((ms + shift) / DAY_MS) * DAY_MS - shift
}
