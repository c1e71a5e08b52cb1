import { DAY_MS } from '../time.ts'

/** Records one after another, at most a day apart, that all have one zone offset: minutes east of UTC, times in epoch ms. */
export interface ZoneRun {
  loMs: number
  hiMs: number
  zoneMin: number
}

/** Runs further away than this say little. */
export const NEAR_MS = DAY_MS

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

  /** The runs of what was added, in order of time; they do not overlap. */
  runs(): ZoneRun[] {
    const [timeMs, zoneMin] = [this.#timeMs, this.#zoneMin]
    if (!this.#several) {
      const sorted = Float64Array.from(timeMs).sort()
      return joined(Array.from(sorted, (ms) => ({ loMs: ms, hiMs: ms, zoneMin: zoneMin[0] as number })))
    }
    const order = [...timeMs.keys()].sort((a, b) => (timeMs[a] as number) - (timeMs[b] as number))
    return joined(
      order.map((at) => {
        return { loMs: timeMs[at] as number, hiMs: timeMs[at] as number, zoneMin: zoneMin[at] as number }
      }),
    )
  }
}

/** Joins runs, which are in order of time and do not overlap: those of one zone within a day, with nothing between them. */
function joined(runs: readonly ZoneRun[]): ZoneRun[] {
  const all: ZoneRun[] = []
  for (const run of runs) {
    const last = all.at(-1)
    if (last?.zoneMin === run.zoneMin && run.loMs - last.hiMs <= NEAR_MS) last.hiMs = Math.max(last.hiMs, run.hiMs)
    else all.push({ ...run })
  }
  return all
}

/** Runs of one person that are told apart; who has more than these within days does not travel. */
const MAX_RUNS = 500

/**
 * Runs of several uploads as one list, in order of time, none of which overlap: in time that is in several of them the
 * shortest one knows best.
 */
export function mergedRuns(runs: readonly ZoneRun[]): ZoneRun[] {
  const length = ({ loMs, hiMs }: ZoneRun) => hiMs - loMs
  let all: ZoneRun[] = []
  for (const run of [...runs].sort((a, b) => length(b) - length(a)).slice(0, MAX_RUNS)) {
    const rest = all.flatMap((one) => {
      if (one.hiMs < run.loMs || one.loMs > run.hiMs) return [one]
      if (one.zoneMin === run.zoneMin) return [one]
      const before = one.loMs < run.loMs ? [{ ...one, hiMs: run.loMs - 1 }] : []
      return one.hiMs > run.hiMs ? [...before, { ...one, loMs: run.hiMs + 1 }] : before
    })
    all = [...rest, run]
  }
  return joined(all.sort((a, b) => a.loMs - b.loMs || a.hiMs - b.hiMs))
}

/**
 * The run nearest to an instant (epoch ms) and how far away it is, in ms; the earlier one of two that are equally near. Runs
 * are in order of time and do not overlap.
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
