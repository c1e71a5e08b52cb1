import type { SleepStageName } from '../../batch/columns.ts'

/** A stage and when it was, epoch milliseconds. */
type Interval = [stage: SleepStageName, startMs: number, endMs: number]

/** What a character stands for in Oura's API; any other one is unknown. */
const stages: Readonly<Record<string, SleepStageName>> = { 1: 'deep', 2: 'light', 3: 'rem', 4: 'awake' }

/**
 * The intervals of a hypnogram that has a character for every `stepSeconds` from `startMs`: equal neighbours are one, the
 * last ends with the night, and what is unknown is left out.
 */
export function intervals(phases: string, stepSeconds: number, startMs: number, endMs: number): Interval[] {
  const found: Interval[] = []
  for (let place = 0; place < phases.length; place += 1) {
    const fromMs = startMs + place * stepSeconds * 1000
    const untilMs = Math.min(fromMs + stepSeconds * 1000, endMs)
    if (fromMs >= endMs) break
    const stage = stages[phases[place] as string]
    const last = found.at(-1)
    if (last && last[0] === stage && last[2] === fromMs) last[2] = untilMs
    else if (stage) found.push([stage, fromMs, untilMs])
  }
  return found
}
