import { between, normal, type Random, random } from '../simulator/random.ts'
import { MINUTE_MS } from '../simulator/zones.ts'
import { illness, journey } from './calendar.ts'
import { SECOND_MS } from './clock.ts'
import { named, type Person } from './people.ts'
import type { Span } from './plans.ts'
import { within } from './random.ts'

export type StageName = 'awake' | 'light' | 'deep' | 'rem'

/** One interval of a night. */
export interface Stage extends Span {
  readonly stage: StageName
}

/** A night or a nap as a watch sees it. */
export interface Sleep {
  /** Time in bed: falling asleep takes a while. */
  readonly inBed: Span
  /** Without holes, from falling asleep to waking up. */
  readonly stages: readonly Stage[]
  readonly isNap: boolean
}

/** Watches score sleep in epochs of half a minute. */
const EPOCH_MS = 30 * SECOND_MS

/** Share of the deep sleep of a night, and of the REM sleep, by cycle: deep sleep comes early, REM sleep late. */
const DEEP = [0.4, 0.3, 0.17, 0.09, 0.04, 0.0]
const REM = [0.08, 0.18, 0.23, 0.25, 0.26, 0.28]

/** Shares of the stages of a night, from falling asleep to waking up. */
interface Shares {
  deep: number
  rem: number
  awake: number
}

/** Divides a time in bed into 4 to 6 cycles (fewer in a short sleep) of light, deep and REM sleep. */
export function sleepIn(person: Person, day: number, inBed: Span, isNap = false): Sleep {
  const next = random(named(person, `${isNap ? `doze/${inBed.startMs}` : 'stages'}/${day}`))
  const latency = Math.round(between(next, isNap ? 3 : 5, isNap ? 9 : 22) * 2) * EPOCH_MS
  const up = Math.round(between(next, 0, 6) * 2) * EPOCH_MS
  const startMs = inBed.startMs + latency
  const epochs = Math.max(20, Math.floor((inBed.endMs - up - startMs) / EPOCH_MS))
  const shares = isNap ? napShares(epochs) : sharesOf(person, day, next)
  return { inBed, stages: joined(startMs, cyclesOf(epochs, shares, next)), isNap }
}

function sharesOf(person: Person, day: number, next: Random): Shares {
  const ill = illness(person, day)
  const awayFromHome = journey(person, day)
  // Sleeping by day, in a plane or with a stuffed nose is light, and often interrupted.
  const bad = within(0, ill * 0.8 + (awayFromHome.back === 0 ? 1 : 0) + (awayFromHome.there === 1 ? 0.4 : 0), 1)
  const byDay = person.key === 'ben' ? 0.5 : 0
  return {
    deep: within(0.14, 0.18 + normal(next) * 0.016 - bad * 0.025, 0.215),
    rem: within(0.187, 0.215 + normal(next) * 0.018 - bad * 0.025 - byDay * 0.015, 0.245),
    awake: within(0.045, 0.065 + Math.abs(normal(next)) * 0.017 + bad * 0.04 + byDay * 0.012, 0.13),
  }
}

/** A nap of less than 40 minutes stays light; a longer one reaches deep sleep, and seldom REM sleep. */
function napShares(epochs: number): Shares {
  const minutes = (epochs * EPOCH_MS) / MINUTE_MS
  return { deep: minutes < 40 ? 0 : 0.2, rem: minutes < 75 ? 0 : 0.08, awake: 0.03 }
}

type Block = [stage: StageName, epochs: number]

function cyclesOf(epochs: number, shares: Shares, next: Random): Block[] {
  const count = within(1, Math.round((epochs * EPOCH_MS) / (94 * MINUTE_MS)), 6)
  const lengths = Array.from({ length: count }, () => between(next, 0.92, 1.08))
  const deep = dividedBy(DEEP.slice(0, count), epochs * shares.deep, next)
  const rem = dividedBy(REM.slice(0, count), epochs * shares.rem, next)
  const whole = dividedBy(lengths, epochs, () => 0.5)
  const awake = dividedBy(
    lengths.map((length, at) => length * (0.7 + (0.6 * at) / count)),
    epochs * shares.awake,
    next,
  )
  const blocks: Block[] = []
  for (let at = 0; at < count; at++) {
    const light = Math.max(4, (whole[at] ?? 0) - (deep[at] ?? 0) - (rem[at] ?? 0) - (awake[at] ?? 0))
    blocks.push(...cycle({ light, deep: deep[at] ?? 0, rem: rem[at] ?? 0, awake: awake[at] ?? 0 }, next))
  }
  return fitted(blocks, epochs)
}

/** Divides a number of epochs by weights, which vary a little from night to night. */
function dividedBy(weights: readonly number[], total: number, next: Random): number[] {
  const varied = weights.map((weight) => weight * (0.85 + 0.3 * next()))
  const sum = varied.reduce((a, b) => a + b, 0) || 1
  return varied.map((weight) => Math.round((weight / sum) * total))
}

/** One cycle: light, deep (in two parts), light, REM, with short awakenings in the light sleep and after REM sleep. */
function cycle(of: Record<StageName, number>, next: Random): Block[] {
  const first = Math.round(of.light * between(next, 0.3, 0.45))
  const turn = of.deep > 20 && next() < 0.5 ? 2 + Math.floor(next() * 4) : 0
  const later = of.light - first - turn
  const deep = turn > 0 ? Math.round(of.deep * between(next, 0.4, 0.7)) : of.deep
  // Most awakenings last a minute or two: they come in two or three pieces.
  const inFirst = next() < 0.35 ? Math.floor(of.awake * between(next, 0.1, 0.4)) : 0
  const inLater = next() < 0.7 ? Math.floor((of.awake - inFirst) * between(next, 0.3, 0.8)) : 0
  const half = Math.floor(first * between(next, 0.3, 0.7))
  const third = Math.floor(later * between(next, 0.35, 0.7))
  return [
    ['light', half],
    ['awake', inFirst],
    ['light', first - half],
    ['deep', deep],
    ['light', turn],
    ['deep', of.deep - deep],
    ['light', third],
    ['awake', inLater],
    ['light', later - third],
    ['rem', of.rem],
    ['awake', of.awake - inFirst - inLater],
  ]
}

/** Blocks of exactly so many epochs: what rounding added or lost is light sleep. */
function fitted(blocks: Block[], epochs: number): Block[] {
  const last = blocks.findLast(([stage]) => stage === 'awake')
  const sum = blocks.reduce((total, [, length]) => total + length, 0)
  const longest = blocks.reduce((best, block) => (block[0] === 'light' && block[1] > best[1] ? block : best))
  longest[1] += epochs - sum
  // Nobody is asleep after the last awakening: it ends the night, so it turns into light sleep.
  if (last) last[0] = 'light'
  return blocks
}

/** Blocks as intervals; neighbours of one stage are one, and nothing is shorter than an epoch. */
function joined(startMs: number, blocks: readonly Block[]): Stage[] {
  const stages: Stage[] = []
  let at = startMs
  for (const [stage, epochs] of blocks) {
    if (epochs <= 0) continue
    const endMs = at + epochs * EPOCH_MS
    const before = stages.at(-1)
    if (before?.stage === stage) stages[stages.length - 1] = { ...before, endMs }
    else stages.push({ stage, startMs: at, endMs })
    at = endMs
  }
  return stages
}

/** Minutes of each stage. */
export function stageMinutes(stages: readonly Stage[]): Record<StageName, number> {
  const minutes = { awake: 0, light: 0, deep: 0, rem: 0 }
  for (const { stage, startMs, endMs } of stages) minutes[stage] += (endMs - startMs) / MINUTE_MS
  return minutes
}
