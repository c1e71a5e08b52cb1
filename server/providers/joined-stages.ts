import { type Level, type Stage, stagesApart } from './stages.ts'

/**
 * The stages of a night from `nightMs` until `wokeMs`, as `NightPart.stages`: `stagesApart`, with what follows upon the same
 * joined to it. Undefined: there is none.
 */
export function joinedStages(levels: readonly Level[], nightMs: number, wokeMs: number): readonly Stage[] | undefined {
  const found: Stage[] = []
  for (const [stage, startMs, endMs] of stagesApart(levels, nightMs, wokeMs)) {
    const last = found.at(-1)
    if (last && last[0] === stage && last[2] === startMs) found[found.length - 1] = [stage, last[1], endMs]
    else found.push([stage, startMs, endMs])
  }
  return found.length > 0 ? found : undefined
}
