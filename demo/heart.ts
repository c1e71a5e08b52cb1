import { normal, random, round } from '../simulator/random.ts'
import { HOUR_MS, MINUTE_MS } from '../simulator/zones.ts'
import { fitness, illness, journey, offsetOf, runOf } from './calendar.ts'
import { QUARTER_MS, SECOND_MS } from './clock.ts'
import type { Quarter } from './motion.ts'
import type { Sleep } from './nights.ts'
import { named, type Person } from './people.ts'
import { contains, type Span } from './plans.ts'
import { drift } from './random.ts'
import { TICK_S, type Workout } from './workouts.ts'

/** A value at an instant. */
export interface Sample {
  readonly ms: number
  readonly value: number
}

/** The heart rate at rest of a date: training lowers it, a cold, jet lag and a hard day before raise it. */
export function restingOf(person: Person, day: number): number {
  const trained = person.key === 'ada' ? fitness(person, day) * 7 - 1.5 : 0
  const load = (days: number) => (runOf(person, day - days)?.km ?? 0) / 42.2
  const tired = load(1) * 5 + load(2) * 3 + load(3) * 1.5
  const { there, back } = journey(person, day)
  const jetLag = Math.max(0, 2.5 - (there ?? back ?? 9) * 0.6)
  const usual = person.restingBpm + drift(named(person, 'resting'), day, 0.6) * 1.3
  return round(usual - trained + illness(person, day) * 8 + tired + jetLag)
}

/** Everything that a heart follows on a date. */
export interface Beat {
  readonly span: Span
  readonly restingBpm: number
  readonly sleeps: readonly Sleep[]
  readonly quarters: readonly Quarter[]
  readonly workouts: readonly Workout[]
}

/** A watch at rest measures every five minutes. */
const STEP_MS = 5 * MINUTE_MS
/** Swing of the inner clock in beats a minute, lowest at half past four. */
const SWING = 6
const LOWEST_HOUR = 4.5
/** Awake, somebody sits or stands; asleep, the heart slows down through the night. */
const AWAKE = 9
const ASLEEP = 6.5
const NIGHT = 8
/** Minutes after which two thirds of what a workout left are gone. */
const RECOVERY_MINUTES = 22

/** Heart rates outside workouts: about every five minutes, not by the clock. */
export function restingHearts(person: Person, day: number, beat: Beat): Sample[] {
  const next = random(named(person, `heart/${day}`))
  const samples: Sample[] = []
  const { startMs, endMs } = beat.span
  let noise = 0
  for (let tick = startMs; tick < endMs; tick += STEP_MS) {
    const ms = tick + Math.floor(next() * 240) * SECOND_MS
    const [shake, chance] = [normal(next), next()]
    if (beat.workouts.some((workout) => contains(workout, ms))) continue
    const sleep = beat.sleeps.find(({ stages }) => contains(spanOf(stages), ms))
    noise = noise * 0.7 + shake * (sleep ? 1 : 2.1)
    const surprise = !sleep && chance < 0.08 ? 4 + chance * 90 : 0
    const level = sleep ? asleepAt(sleep, ms) : AWAKE + movedAt(person, beat, ms) + surprise
    const bpm = beat.restingBpm + clockAt(person, ms) + level + leftOver(beat, ms) + noise
    samples.push({ ms, value: round(Math.max(36, bpm)) })
  }
  return samples
}

/** From the first to the last of these. */
export const spanOf = (stages: readonly Span[]): Span => ({
  startMs: stages[0]?.startMs ?? 0,
  endMs: stages.at(-1)?.endMs ?? 0,
})

/** Heart rates of a workout. */
export function workoutHearts(workout: Workout): Sample[] {
  return workout.heart.map((value, at) => ({ ms: workout.startMs + at * TICK_S * SECOND_MS, value }))
}

function clockAt(person: Person, ms: number): number {
  const hour = (ms + offsetOf(person, ms) * MINUTE_MS) / HOUR_MS
  // Somebody who works at night swings less: the inner clock never gets used to it.
  const swing = person.key === 'ben' ? SWING / 2 : SWING
  return -swing * Math.cos(((hour - LOWEST_HOUR) / 24) * 2 * Math.PI)
}

function asleepAt({ stages, isNap }: Sleep, ms: number): number {
  const { startMs, endMs } = spanOf(stages)
  const progress = isNap ? 0.4 : (ms - startMs) / (endMs - startMs)
  const stage = stages.find((one) => contains(one, ms))?.stage
  const by = { awake: 8, rem: 4, light: 0, deep: -1 }
  return ASLEEP - NIGHT * progress + by[stage ?? 'light']
}

/** What steps add: most of it above a hundred a minute. */
function movedAt(person: Person, { span, quarters }: Beat, ms: number): number {
  const quarter = quarters[Math.floor((ms - span.startMs) / QUARTER_MS)]
  if (!quarter || quarter.strolled === 0) return 0
  const third = Math.floor((ms - quarter.startMs) / STEP_MS)
  const aMinute = (quarter.strolled * (quarter.thirds[third] ?? 0)) / 5
  return person.walkBpm * Math.min(1.15, aMinute / 105) ** 0.8
}

/** What the last workout left. */
function leftOver({ workouts, restingBpm }: Beat, ms: number): number {
  let left = 0
  for (const { endMs, heart } of workouts) {
    if (ms < endMs) continue
    const high = (heart.at(-1) ?? 0) - restingBpm
    left += high * 0.35 * Math.exp(-(ms - endMs) / RECOVERY_MINUTES / MINUTE_MS)
  }
  return left
}
