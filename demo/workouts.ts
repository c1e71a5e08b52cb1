import { normal, random, round } from '../simulator/random.ts'
import { fitness, illness } from './calendar.ts'
import { SECOND_MS } from './clock.ts'
import { named, type Person } from './people.ts'
import { endOf, type Phase, type Session, type Span, type Sport } from './plans.ts'
import { within } from './random.ts'

/** A kilometre of a run. */
export interface Lap extends Span {
  readonly meters: number
}

/** A workout as a watch records it. */
export interface Workout extends Span {
  readonly sport: Sport
  readonly title: string
  /** 0 where nobody moves on. */
  readonly meters: number
  readonly steps: number
  readonly kcal: number
  /** Heart rate, every ten seconds from the start on. */
  readonly heart: readonly number[]
  readonly laps: readonly Lap[]
  /** Metres and steps from the start until each of these samples. */
  readonly metersAt: readonly number[]
  readonly stepsAt: readonly number[]
}

/** Seconds between two heart rates of a workout. */
export const TICK_S = 10

/** Seconds after which a heart rate has gone two thirds of the way up, or down. */
const UP_S = 45
const DOWN_S = 90

/** Steps a minute. */
const CADENCE: Record<Sport, number> = { running: 164, walking: 112, yoga: 0, strength_training: 8, cycling: 0 }

/** Energy: of a kilogram and kilometre, or of a minute. */
const KCAL_PER_KG_KM: Partial<Record<Sport, number>> = { running: 0.95, walking: 0.52 }
const KCAL_PER_MINUTE: Partial<Record<Sport, number>> = { yoga: 2.1, strength_training: 4.6, cycling: 7.4 }

/** What a watch records of a session on a date; the heart starts from `beforeBpm`. */
export function workoutOf(person: Person, day: number, session: Session, beforeBpm: number): Workout {
  const next = random(named(person, `workout/${session.startMs}`))
  const ticks = session.phases.flatMap((phase) =>
    Array.from({ length: Math.round(phase.seconds / TICK_S) }, () => phase),
  )
  const strain = illness(person, day) * 0.04 - fitness(person, day) * 0.012 + normal(next) * 0.008
  const heart: number[] = []
  const metersAt: number[] = []
  const stepsAt: number[] = []
  let bpm = beforeBpm
  let noise = 0
  let meters = 0
  let steps = 0
  for (const [at, { effort, metersPerSecond }] of ticks.entries()) {
    // The longer it lasts, the faster a heart beats at the same pace.
    const drifted = Math.min(0.035, (at * TICK_S) / 3600 / 45)
    const target = (effort + strain + drifted) * person.highestBpm
    bpm += (target - bpm) * (1 - Math.exp(-TICK_S / (target > bpm ? UP_S : DOWN_S)))
    noise = noise * 0.8 + normal(next) * 0.9
    heart.push(round(within(person.restingBpm, bpm + noise, person.highestBpm)))
    meters += metersPerSecond * TICK_S * (1 + normal(next) * 0.02)
    steps += (cadenceOf(session.sport, metersPerSecond) * TICK_S) / 60
    metersAt.push(meters)
    stepsAt.push(steps)
  }
  const { sport, title, startMs } = session
  const endMs = endOf(session)
  const minutes = (endMs - startMs) / 60 / SECOND_MS
  const perKm = (KCAL_PER_KG_KM[sport] ?? 0) * person.weightKg
  const kcal = (perKm * meters) / 1_000 + (KCAL_PER_MINUTE[sport] ?? 0) * minutes
  const laps = sport === 'running' ? lapsOf(startMs, metersAt) : []
  const sums = { meters: round(meters, 1), steps: Math.round(steps), kcal: round(kcal, 1) }
  return { sport, title, startMs, endMs, ...sums, heart, laps, metersAt, stepsAt }
}

/** Faster runners take somewhat more steps. */
function cadenceOf(sport: Sport, metersPerSecond: number): number {
  return sport === 'running' ? CADENCE.running + (metersPerSecond - 2.9) * 12 : CADENCE[sport]
}

function lapsOf(startMs: number, metersAt: readonly number[]): Lap[] {
  const laps: Lap[] = []
  let from = startMs
  let before = 0
  for (const [at, meters] of metersAt.entries()) {
    const isLast = at === metersAt.length - 1
    if (meters < (laps.length + 1) * 1_000 && !isLast) continue
    const endMs = startMs + (at + 1) * TICK_S * SECOND_MS
    laps.push({ startMs: from, endMs, meters: round(meters - before, 1) })
    from = endMs
    before = meters
  }
  return laps
}

/** What a workout adds between two instants to one of its running sums. */
export function addedBetween(workout: Workout, sums: readonly number[], { startMs, endMs }: Span): number {
  const upTo = (ms: number) => {
    const ticks = within(0, Math.round((ms - workout.startMs) / SECOND_MS / TICK_S), sums.length)
    return ticks === 0 ? 0 : (sums[ticks - 1] ?? 0)
  }
  return upTo(endMs) - upTo(startMs)
}

/** The mean effort of a phase list, as a share of the highest heart rate. */
export function meanEffort(phases: readonly Phase[]): number {
  const seconds = phases.reduce((sum, phase) => sum + phase.seconds, 0)
  return phases.reduce((sum, phase) => sum + phase.effort * phase.seconds, 0) / seconds
}
