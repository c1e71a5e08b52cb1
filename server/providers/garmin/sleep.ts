import type { SleepStageName } from '../../batch/columns.ts'
import type { Item, NightPart, Out, Part } from '../part.ts'
import { byOffset, counted, instantOf, positive, startOf, zoneIn } from './items.ts'

// Nights, with the naps of their day in them (docs/providers.md).

/**
 * How final a night is. A watch sends a night first as it guesses it; what a person has corrected is the last word. Of
 * nights that nobody corrected, the more thoroughly analysed one counts.
 */
const ranks: ReadonlyMap<string, number> = new Map([
  ['OFF_WRIST', 0],
  ['AUTO_TENTATIVE', 1],
  ['ENHANCED_TENTATIVE', 1],
  ['DEVICE', 2],
  ['MANUAL', 2],
  ['AUTO_FINAL', 3],
  ['ENHANCED_FINAL', 4],
  ['AUTO_MANUAL', 5],
])

const rankOf = (item: Item, field: string) => ranks.get((item.text(field) ?? '').toUpperCase()) ?? 0

/** Garmin's stages that we have. */
const stages: readonly SleepStageName[] = ['deep', 'light', 'rem', 'awake']

/** Nights, naps, and what was measured in them. */
export function sleeps(out: Out, part: Part): void {
  for (const item of out.items()) {
    const externalId = item.id('summaryId')
    if (!externalId) item.reject('missing', 'summaryId')
    else {
      night(out, item, part, externalId)
      for (const nap of item.objects('naps')) addNap(out, nap, part, externalId)
    }
  }
}

function night(out: Out, item: Item, part: Part, externalId: string): void {
  const start = startOf(item, part)
  if (!start) return
  const seconds = (field: string) => counted(item, `${field}InSeconds`)
  const [deep, light, rem] = [seconds('deepSleepDuration'), seconds('lightSleepDuration'), seconds('remSleep')]
  const [awake, duration] = [seconds('awakeDuration'), seconds('duration')]
  const asleep =
    deep === undefined && light === undefined && rem === undefined ? duration : (deep ?? 0) + (light ?? 0) + (rem ?? 0)
  const unmeasured = seconds('unmeasurableSleep') ?? seconds('unmeasurableSleepDuration') ?? 0
  const levels = levelsOf(item)
  // The duration is that of the sleep alone, and levels may go on behind it.
  const endMs = Math.max(
    start.ms + ((duration ?? 0) + (awake ?? 0) + unmeasured) * 1000,
    ...levels.map(([, , untilMs]) => untilMs),
  )
  if (endMs <= start.ms) {
    // A day with a nap and no night.
    if (duration === undefined) item.reject('missing', 'durationInSeconds')
    return
  }
  const lengthS = (endMs - start.ms) / 1000
  const isStored = out.night({
    ...{ externalId, start, endMs, rank: rankOf(item, 'validation'), isNap: false },
    asleepSeconds: asleep,
    awakeSeconds: awake,
    lightSeconds: light,
    deepSeconds: deep,
    remSeconds: rem,
    efficiencyPercent: asleep === undefined ? undefined : Math.min(100, Math.round((asleep / lengthS) * 10_000) / 100),
    ...(levels.length > 0 && { stages: apart(levels, start.ms) }),
  })
  if (!isStored) return
  for (const [at, value] of byOffset(item, 'timeOffsetSleepRespiration', start))
    if (value > 0) out.sample('respiratory_rate', at, value)
  for (const [at, value] of byOffset(item, 'timeOffsetSleepSpo2', start))
    if (value > 0) out.sample('oxygen_saturation', at, value)
  // A guess of the night may have none; it is not to take that of the night away, nor is its own to take the place of that.
  if (!item.object('overallSleepScore')) return
  const scores = item.object('sleepScores')
  const components = (scores?.names() ?? []).map((name) => [snaked(name), scores?.text(name, 'qualifierKey')] as const)
  out.score({
    ...{ category: 'sleep', externalId, at: start, night: externalId, version: rankOf(item, 'validation') },
    value: positive(item, 'overallSleepScore', 'value'),
    qualifier: item.text('overallSleepScore', 'qualifierKey'),
    components: Object.fromEntries(components),
  })
}

const snaked = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).slice(0, 64)

type Level = NonNullable<NightPart['stages']>[number]

/** The stages of a night as Garmin lists them, epoch milliseconds; ones that we do not have are left out. */
function levelsOf(item: Item): Level[] {
  return stages.flatMap((stage) =>
    item.objects('sleepLevelsMap', stage).flatMap((level): Level[] => {
      const [from, until] = [level.numeric('startTimeInSeconds'), level.numeric('endTimeInSeconds')]
      if (from === undefined) level.reject('missing', 'startTimeInSeconds')
      if (until === undefined) level.reject('missing', 'endTimeInSeconds')
      return from === undefined || until === undefined || until <= from ? [] : [[stage, from * 1000, until * 1000]]
    }),
  )
}

/** Ascending and without overlaps: of two that overlap, the one that begins first counts. */
function apart(levels: readonly Level[], startMs: number): Level[] {
  let reachedMs = startMs
  return levels
    .toSorted(([, a], [, b]) => a - b)
    .flatMap(([stage, fromMs, untilMs]): Level[] => {
      const beganMs = Math.max(fromMs, reachedMs)
      reachedMs = Math.max(reachedMs, untilMs)
      return untilMs > beganMs ? [[stage, beganMs, untilMs]] : []
    })
}

/** A nap has no id of its own. */
function addNap(out: Out, nap: Item, part: Part, summaryId: string): void {
  const ms = instantOf(nap, part, 'napStartTimeInSeconds')
  const seconds = positive(nap, 'napDurationInSeconds')
  if (seconds === undefined) nap.reject('missing', 'napDurationInSeconds')
  if (ms === undefined || seconds === undefined) return
  out.night({
    externalId: `${summaryId}:nap:${Math.round(ms / 1000)}`,
    start: { ms, zoneMin: zoneIn(nap, 'napOffsetInSeconds') },
    endMs: ms + Math.round(seconds * 1000),
    rank: rankOf(nap, 'napValidation'),
    asleepSeconds: seconds,
    isNap: true,
  })
}
