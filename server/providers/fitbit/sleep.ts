import type { SleepStageName } from '../../batch/columns.ts'
import { parseInstant } from '../../time.ts'
import { valueAt } from '../answers.ts'
import { listedWithin } from '../listed.ts'
import { localInstant } from '../local-time.ts'
import type { At, Item, NightPart, Out, Part } from '../part.ts'
import { type Stage, stagesApart } from '../stages.ts'

/** Fitbit's levels; a classic log counts restless minutes as awake. */
const stages: ReadonlyMap<string, SleepStageName> = new Map([
  ['wake', 'awake'],
  ['awake', 'awake'],
  ['restless', 'awake'],
  ['asleep', 'sleeping'],
  ['light', 'light'],
  ['deep', 'deep'],
  ['rem', 'rem'],
])

/** Nights and naps (docs/providers.md). */
export function sleep(out: Out, part: Part): void {
  // What is not found is answered with errors.
  if (valueAt(part.body, 'errors') !== undefined) return
  const starts: number[] = []
  for (const log of out.items('sleep')) {
    const startMs = addNight(out, log, part.zone)
    if (startMs !== undefined) starts.push(startMs)
  }
  listedWithin(out, part, starts, 'nights')
}

/** Adds a night; returns its start if it can be stored. All its times have the offset of its start. */
function addNight(out: Out, log: Item, zone: string | null): number | undefined {
  const externalId = log.id('logId')
  const start = localInstant(log.text('startTime') ?? '', zone)
  if (!externalId) log.reject('missing', 'logId')
  if (!start) log.reject('missing', 'startTime')
  if (!externalId || !start) return undefined
  const durationMs = log.numeric('duration')
  const endMs = shown(log.text('endTime'), start) ?? (durationMs === undefined ? undefined : start.ms + durationMs)
  if (endMs === undefined) {
    log.reject('missing', 'endTime')
    return undefined
  }
  const seconds = (...path: readonly string[]) => {
    const minutes = log.numeric(...path)
    return minutes === undefined ? undefined : minutes * 60
  }
  const ofStage = (stage: string) => seconds('levels', 'summary', stage, 'minutes')
  const isMain = log.boolean('isMainSleep')
  const isStored = out.night({
    ...{ externalId, start, endMs, isNap: isMain === undefined ? undefined : !isMain },
    inBedSeconds: seconds('timeInBed'),
    asleepSeconds: seconds('minutesAsleep'),
    awakeSeconds: ofStage('wake') ?? seconds('minutesAwake'),
    lightSeconds: ofStage('light'),
    deepSeconds: ofStage('deep'),
    remSeconds: ofStage('rem'),
    efficiencyPercent: log.numeric('efficiency'),
    stages: stagesOf(log, start, endMs),
  })
  return isStored ? start.ms : undefined
}

/** When a clock that kept the offset of the start showed a time. */
function shown(text: string | undefined, { zoneMin }: At): number | undefined {
  const ms = parseInstant(text ?? '')
  return ms === undefined ? undefined : ms - (zoneMin ?? 0) * 60_000
}

/** The stages, with the short awakenings that interrupt them. */
function stagesOf(log: Item, start: At, endMs: number): NightPart['stages'] {
  const long = levelsOf(log, start, 'data')
  if (long.length === 0) return undefined
  const short = stagesApart(levelsOf(log, start, 'shortData'), start.ms, endMs)
  const pieces = stagesApart(long, start.ms, endMs).flatMap((one) => without(one, short))
  return joined([...pieces, ...short].sort(([, a], [, b]) => a - b))
}

function levelsOf(log: Item, start: At, list: string): Stage[] {
  return log.objects('levels', list).flatMap((level): Stage[] => {
    const [fromMs, seconds] = [shown(level.text('dateTime'), start), level.numeric('seconds')]
    const stage = stages.get(level.text('level') ?? '')
    if (fromMs === undefined) level.reject('missing', 'dateTime')
    if (seconds === undefined) level.reject('missing', 'seconds')
    return stage === undefined || fromMs === undefined || seconds === undefined || seconds <= 0
      ? []
      : [[stage, fromMs, fromMs + seconds * 1000]]
  })
}

/** What is left of a stage between awakenings, which are in order and apart. */
function without([stage, fromMs, untilMs]: Stage, awakenings: readonly Stage[]): Stage[] {
  const left: Stage[] = []
  let atMs = fromMs
  for (const [, loMs, hiMs] of awakenings) {
    if (hiMs <= atMs || loMs >= untilMs) continue
    if (loMs > atMs) left.push([stage, atMs, loMs])
    atMs = hiMs
  }
  return atMs < untilMs ? [...left, [stage, atMs, untilMs]] : left
}

/** Equal neighbours are one. */
function joined(levels: readonly Stage[]): Stage[] {
  const found: [SleepStageName, number, number][] = []
  for (const [stage, fromMs, untilMs] of levels) {
    const last = found.at(-1)
    if (last && last[0] === stage && last[2] === fromMs) last[2] = untilMs
    else found.push([stage, fromMs, untilMs])
  }
  return found
}
