import { random, round } from '../simulator/random.ts'
import { HOUR_MS, MINUTE_MS } from '../simulator/zones.ts'
import { offsetOf, startOf } from './calendar.ts'
import { type Beat, restingHearts, restingOf, type Sample, workoutHearts } from './heart.ts'
import { type Quarter, quartersOf } from './motion.ts'
import { type Sleep, sleepIn } from './nights.ts'
import type { Person } from './people.ts'
import { contains, napsOf, nightOf, type Span, sessionsOf, unwornOf } from './plans.ts'
import { within } from './random.ts'
import { breathsIn, oxygenIn, variabilityIn } from './vitals.ts'
import { type Workout, workoutOf } from './workouts.ts'

/** A local day as the devices of a person measured it. */
export interface Day extends Span {
  /** Days since 1970-01-01. */
  readonly day: number
  /** The night that ended on it, if the watch was worn, and its naps. */
  readonly sleeps: readonly Sleep[]
  readonly workouts: readonly Workout[]
  readonly heart: readonly Sample[]
  /** Null on a day without the watch. */
  readonly restingBpm: number | null
  readonly variability: readonly Sample[]
  readonly oxygen: readonly Sample[]
  readonly breaths: readonly Sample[]
  /** Quarters of an hour in which the watch counted anything. */
  readonly quarters: readonly Quarter[]
  /** The same of the phone. */
  readonly phoneQuarters: readonly Quarter[]
}

/** The days of one person; each is made once. */
export interface Life {
  readonly person: Person
  day(day: number): Day
}

/** Days that are kept: a window and its neighbours. */
const KEPT = 40

/** Makes the days of a person, in any order. */
export function lifeOf(person: Person): Life {
  const made = new Map<number, Day>()
  return {
    person,
    day(day) {
      const known = made.get(day) ?? dayOf(person, day)
      made.set(day, known)
      if (made.size > KEPT) made.delete(made.keys().next().value ?? day)
      return known
    },
  }
}

function dayOf(person: Person, day: number): Day {
  const span = { startMs: startOf(person, day).ms, endMs: startOf(person, day + 1).ms }
  const night = sleepIn(person, day, nightOf(person, day))
  const tonight = sleepIn(person, day + 1, nightOf(person, day + 1))
  const naps = napsOf(person, day).map((nap) => sleepIn(person, day, nap, true))
  const unworn = [...unwornOf(person, day - 1), ...unwornOf(person, day)]
  const restingBpm = restingOf(person, day)
  const sessions = sessionsOf(person, day)
  const workouts = sessions.map((session) => workoutOf(person, day, session, restingBpm + 18))
  const asleep = [night, tonight, ...naps]
  const beat: Beat = { span, restingBpm, sleeps: asleep, workouts, quarters: [] }
  const quarters = quartersOf(
    person,
    day,
    asleep.map(({ inBed }) => inBed),
    workouts,
  )
  const isWorn = (ms: number) => !unworn.some((one) => contains(one, ms))
  const hearts = [...restingHearts(person, day, { ...beat, quarters }), ...workouts.flatMap(workoutHearts)]
  const isSeen = ({ inBed }: Sleep) => isWorn(inBed.startMs) && isWorn(middle(inBed))
  // Without the night, a nap would be the main sleep of its date.
  const sleeps = isSeen(night) ? [night, ...naps.filter(isSeen)] : []
  const main = sleeps.find(({ isNap }) => !isNap)
  const wholeDay = unworn.some((one) => one.startMs <= span.startMs && one.endMs >= span.endMs)
  return {
    ...{ day, ...span, sleeps, workouts: workouts.filter(({ startMs }) => isWorn(startMs)) },
    heart: hearts.filter(({ ms }) => isWorn(ms)).sort((a, b) => a.ms - b.ms),
    restingBpm: wholeDay ? null : restingBpm,
    ...{ variability: main ? variabilityIn(person, day, main) : [], oxygen: main ? oxygenIn(person, day, main) : [] },
    breaths: main ? breathsIn(person, day, main) : [],
    quarters: quarters.filter((one) => isMoving(one) && isWorn(middle(one))),
    phoneQuarters: ofPhone(person, day, quarters, isWorn),
  }
}

const middle = ({ startMs, endMs }: Span) => (startMs + endMs) / 2
const isMoving = ({ steps, kcal }: Quarter) => steps >= 8 || kcal >= 1

/** Ben carries his phone most of the day; the others' phones count only while the watch is on its charger. */
function ofPhone(
  person: Person,
  day: number,
  quarters: readonly Quarter[],
  isWorn: (ms: number) => boolean,
): Quarter[] {
  const next = random(`${person.seed}/${person.key}/phone/${day}`)
  return quarters.flatMap((quarter) => {
    const [carried, counted] = [next(), 0.72 + next() * 0.24]
    const worn = isWorn(middle(quarter))
    if (worn && (person.key !== 'ben' || carried > 0.55)) return []
    // On a run, or asleep, the phone lies somewhere.
    if (quarter.strolled < 30 || carried > 0.9) return []
    const steps = Math.round(quarter.strolled * counted)
    return [{ ...quarter, steps, meters: Math.round(steps * 0.72), kcal: 0, floors: 0, activeMinutes: 0 }]
  })
}

/** What counts of a day, as the service should say it. */
export interface Totals {
  steps: number
  meters: number
  kcal: number
  asleepMinutes: number | null
  restingBpm: number | null
  workouts: number
}

/** Sums of a day, of what was over at an instant: in each quarter of an hour the watch counts, otherwise the phone. */
export function totalsOf(day: Day, untilMs: number): Totals {
  const over = ({ endMs }: Span) => endMs <= untilMs
  const watch = day.quarters.filter(over)
  const stepped = new Set(watch.filter(({ steps }) => steps > 0).map(({ startMs }) => startMs))
  const far = new Set(watch.filter(({ meters }) => meters > 0).map(({ startMs }) => startMs))
  const phone = day.phoneQuarters.filter(over)
  const steps = [...watch, ...phone.filter(({ startMs }) => !stepped.has(startMs))]
  const meters = [...watch, ...phone.filter(({ startMs }) => !far.has(startMs))]
  const nights = day.sleeps.filter((sleep) => !sleep.isNap && sleep.inBed.endMs <= untilMs)
  return {
    steps: steps.reduce((sum, one) => sum + one.steps, 0),
    meters: meters.reduce((sum, one) => sum + one.meters, 0),
    kcal: round(
      watch.reduce((sum, one) => sum + one.kcal, 0),
      1,
    ),
    asleepMinutes: nights.length > 0 ? nights.reduce((sum, one) => sum + asleepMinutes(one), 0) : null,
    restingBpm: day.restingBpm,
    workouts: day.workouts.filter(over).length,
  }
}

/** Minutes asleep. */
export function asleepMinutes({ stages }: Sleep): number {
  const asleep = stages.filter(({ stage }) => stage !== 'awake')
  return asleep.reduce((sum, one) => sum + (one.endMs - one.startMs) / MINUTE_MS, 0)
}

/** The lowest of the mean heart rates of whole hours, and the highest, of a day. */
export function hourlyMeans(day: Day): number[] {
  const hours = new Map<number, number[]>()
  for (const { ms, value } of day.heart) {
    const hour = Math.floor(ms / HOUR_MS)
    hours.set(hour, [...(hours.get(hour) ?? []), value])
  }
  return [...hours.values()].map((values) => values.reduce((a, b) => a + b, 0) / values.length)
}

/** The local time of an instant, in hours. */
export const localHour = (person: Person, ms: number) =>
  within(0, ((ms + offsetOf(person, ms) * MINUTE_MS) % (24 * HOUR_MS)) / HOUR_MS, 24)
