import { between, normal, type Random, random } from '../simulator/random.ts'
import { HOUR_MS, localMs, MINUTE_MS, offsetAt } from '../simulator/zones.ts'
import { illness, journey, SHIFT_HOURS, shiftOf, startOf } from './calendar.ts'
import { QUARTER_MS, weekday } from './clock.ts'
import { named, type Person } from './people.ts'
import { contains, type Span } from './plans.ts'
import { addedBetween, type Workout } from './workouts.ts'

/** What somebody moves in a quarter of an hour, in workouts and between them. */
export interface Quarter extends Span {
  readonly steps: number
  readonly meters: number
  readonly kcal: number
  /** Floors climbed. */
  readonly floors: number
  /** Minutes of at least brisk movement. */
  readonly activeMinutes: number
  /** Share of the steps outside workouts that falls into each third of it. */
  readonly thirds: readonly [number, number, number]
  /** Steps outside workouts. */
  readonly strolled: number
}

const METERS_PER_STEP = 0.72
const KCAL_PER_STEP_KG = 0.00058
/** As many steps a minute count as walking. */
const BRISK = 75

interface Hour {
  /** Share of the quarters in which somebody is on their feet, and steps of such a quarter. */
  readonly often: number
  readonly steps: number
}

/** Movement of a date by quarter of an hour, from its first instant to `endMs`. */
export function quartersOf(
  person: Person,
  day: number,
  asleep: readonly Span[],
  workouts: readonly Workout[],
): Quarter[] {
  const { ms: startMs, zone } = startOf(person, day)
  const endMs = startOf(person, day + 1).ms
  const next = random(named(person, `steps/${day}`))
  const dayFactor = Math.exp(normal(next) * 0.22) * (1 - 0.75 * illness(person, day))
  const quarters: Quarter[] = []
  for (let ms = startMs; ms < endMs; ms += QUARTER_MS) {
    const span = { startMs: ms, endMs: ms + QUARTER_MS }
    const habit = habitOf(person, day, ms, zone)
    const strolled = strolledIn(habit, next) * dayFactor
    const thirds = thirdsOf(next)
    const climbs = next()
    const touches = (other: Span) => other.startMs < span.endMs && other.endMs > ms
    const isFree = !asleep.some(touches) && !workouts.some((one) => touches({ ...one, endMs: one.endMs + QUARTER_MS }))
    quarters.push(moved(person, span, workouts, { strolled: isFree ? Math.round(strolled) : 0, thirds, climbs }))
  }
  return quarters
}

interface Strolled {
  readonly strolled: number
  readonly thirds: readonly [number, number, number]
  readonly climbs: number
}

function moved(
  person: Person,
  span: Span,
  workouts: readonly Workout[],
  { strolled, thirds, climbs }: Strolled,
): Quarter {
  let steps = strolled
  let meters = strolled * METERS_PER_STEP
  let kcal = strolled * KCAL_PER_STEP_KG * person.weightKg
  let activeMinutes = strolled > BRISK * 4 ? Math.min(15, Math.round(strolled / 105)) : 0
  for (const workout of workouts) {
    const ridden = workout.sport === 'cycling'
    steps += addedBetween(workout, workout.stepsAt, span)
    if (!ridden) meters += addedBetween(workout, workout.metersAt, span)
    const shared = Math.min(span.endMs, workout.endMs) - Math.max(span.startMs, workout.startMs)
    if (shared <= 0) continue
    kcal += (workout.kcal * shared) / (workout.endMs - workout.startMs)
    if (workout.sport !== 'yoga') activeMinutes = Math.min(15, activeMinutes + Math.round(shared / MINUTE_MS))
  }
  const floors = strolled > 120 && climbs < 0.22 ? 1 + Math.floor(climbs * 12) : 0
  const sums = { steps: Math.round(steps), meters: Math.round(meters), kcal: Math.round(kcal * 10) / 10 }
  return { ...span, ...sums, floors, activeMinutes, thirds, strolled }
}

function strolledIn({ often, steps }: Hour, next: Random): number {
  const [chance, size] = [next(), normal(next)]
  if (chance > often) return 0
  return Math.min(1_650, steps * Math.exp(size * 0.6))
}

function thirdsOf(next: Random): [number, number, number] {
  const [a, b, c] = [between(next, 0.05, 1), between(next, 0.05, 1), between(next, 0.05, 1)]
  const sum = a + b + c
  return [a / sum, b / sum, c / sum]
}

/** How somebody usually moves at an instant. */
function habitOf(person: Person, day: number, ms: number, zone: string): Hour {
  const hour = (((ms + offsetAt(zone, ms) * MINUTE_MS) / HOUR_MS) % 24) + 0
  if (person.key === 'ben') return habitOfShift(person, day, ms, hour)
  const free = weekday(day) === 0 || weekday(day) === 6
  const { there, back } = journey(person, day)
  // A flight is mostly sat through; New York is seen on foot.
  if (there === 0 && hour > 8 && hour < 16) return { often: 0.15, steps: 60 }
  if (back === 0 && hour < 8) return { often: 0.1, steps: 50 }
  const sightseeing = there !== undefined && there > 0
  if (sightseeing && hour > 9.5 && hour < 19) return { often: 0.6, steps: 420 }
  if (hour < 7 || hour > 22) return { often: 0.3, steps: 45 }
  if (free) return hour > 9 && hour < 20 ? { often: 0.48, steps: 260 } : { often: 0.4, steps: 70 }
  const walks = person.key === 'ada' ? [8.25, 12.5, 17.25] : [8.5, 13, 18]
  if (walks.some((at) => hour >= at && hour < at + 0.5)) return { often: 0.85, steps: person.key === 'ada' ? 720 : 560 }
  return { often: 0.38, steps: 95 }
}

function habitOfShift(person: Person, day: number, ms: number, hour: number): Hour {
  const isOn = [day - 1, day].some((date) => {
    const [from, to] = SHIFT_HOURS[shiftOf(person, date)]
    const at = (hours: number) => localMs(person.zone, date, hours * 60)
    return to > from && contains({ startMs: at(from), endMs: at(to) }, ms)
  })
  // A nurse sits down for a break in the middle.
  if (isOn) return hour % 8 > 1.6 && hour % 8 < 2.3 ? { often: 0.2, steps: 60 } : { often: 0.72, steps: 330 }
  if (hour < 6 || hour > 22.5) return { often: 0.2, steps: 40 }
  return { often: 0.4, steps: shiftOf(person, day) === 'off' ? 210 : 110 }
}
