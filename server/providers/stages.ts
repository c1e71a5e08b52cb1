import type { SleepStageName } from '../batch/columns.ts'

/** A stage of sleep, epoch milliseconds; undefined: one that we do not have. */
export type Level = readonly [stage: SleepStageName | undefined, startMs: number, endMs: number]

/** A stage that is stored. */
export type Stage = readonly [stage: SleepStageName, startMs: number, endMs: number]

/** Ascending, without overlaps, within the night: of two that overlap, the one that begins first counts. */
export function stagesApart(levels: readonly Level[], startMs: number, endMs: number): Stage[] {
  let reachedMs = startMs
  return levels
    .toSorted(([, a], [, b]) => a - b)
    .flatMap(([stage, fromMs, untilMs]): Stage[] => {
      const [loMs, hiMs] = [Math.max(fromMs, reachedMs), Math.min(untilMs, endMs)]
      reachedMs = Math.max(reachedMs, hiMs)
      return stage !== undefined && hiMs > loMs ? [[stage, loMs, hiMs]] : []
    })
}
