import { kept } from '../kept.ts'
import { normal, random, round } from '../random.ts'
import { dateOf, localDay, localMs, MINUTE_MS } from '../zones.ts'
import { floorsOf, type Minutes, minutesOf, SLEEPING } from './minutes.ts'
import { knownUntil, type Persona, type Span, zoneOn } from './personas.ts'
import { napOf, nightOf, type Rest, restOf, type Sleep, type SleepView, sleepAt } from './sleep.ts'
import { type Weighing, type Workout, type WorkoutView, weighingOf, workoutAt, workoutOf } from './workouts.ts'

/** What happens to a person on a local day. Everything follows from seed and date, so days can be asked in any order. */
export interface Day {
  readonly day: number
  readonly zone: string
  /** 04:00 local time, where a day ends for somebody who goes to bed late. */
  readonly startMs: number
  /** The main sleep that ends on it. */
  readonly night: Sleep | null
  readonly nap: Sleep | null
  readonly rest: Rest | null
  readonly workout: Workout | null
  readonly weighing: Weighing | null
  /** 0 to 100. */
  readonly activity: number
  readonly stressSeconds: number
  readonly calmSeconds: number
  /** 0 (limited) to 4 (exceptional). */
  readonly resilience: number
  readonly vo2Max: number
  readonly vascularAge: number
}

/** A persona with a life. */
export interface Person extends Persona {
  readonly span: Span
  day(day: number): Day
  minutes(day: number): Minutes
}

/** A person; days and minutes are made when they are asked for, and kept. */
export function livePerson(persona: Persona, span: Span): Person {
  const nights = new Map<number, Sleep | null>()
  const days = new Map<number, Day>()
  const minutes = new Map<number, Minutes>()
  const night = (day: number) => kept(nights, day, () => nightOf(persona, day))
  const day = (number: number) => kept(days, number, () => dayOf(persona, number, [night(number), night(number + 1)]))
  return {
    ...persona,
    span,
    day,
    minutes: (number) =>
      kept(minutes, number, () => {
        const { nap, workout } = day(number)
        const sleeps = [night(number), nap, night(number + 1)].filter((sleep) => sleep !== null)
        const missing = { nightMissing: !night(number), nextNightMissing: !night(number + 1) }
        return minutesOf(persona, number, { sleeps, workout, ...missing })
      }),
  }
}

function dayOf(persona: Persona, day: number, [night = null, following = null]: (Sleep | null)[]): Day {
  const next = random(`${persona.seed}/day/${day}`)
  const zone = zoneOn(persona, day)
  const nap = napOf(persona, day)
  const rest = restOf(persona, day)
  return {
    ...{ day, zone, night, nap, rest },
    startMs: localMs(zone, day, 240),
    workout: workoutOf(persona, day, [night, following, nap, rest]),
    weighing: weighingOf(persona, day),
    activity: round(Math.min(100, Math.max(30, 80 + normal(next) * 9))),
    stressSeconds: Math.floor(next() * 16) * 900,
    calmSeconds: Math.floor(next() * 10) * 900,
    resilience: Math.floor(((night?.recovery ?? 60) / 100) * 5),
    vo2Max: round(38 + 8 * Math.sin(day / 90) + normal(next)),
    vascularAge: round(yearOf(day) - persona.birthYear - 3 + 2 * Math.sin(day / 60)),
  }
}

function yearOf(day: number): number {
  return Number(dateOf(day).slice(0, 4))
}

/** The local days with data that some of the given time touches, first to last. */
export function daysBetween(person: Person, fromMs: number, toMs: number): Day[] {
  const first = Math.max(person.span.firstDay, localDay('UTC', fromMs) - 1)
  const last = localDay('UTC', toMs) + 1
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => person.day(first + i))
}

/** Nights and naps that providers know at an instant, by start, with those that were deleted. */
export function sleepsOf(days: readonly Day[], nowMs: number): SleepView[] {
  const sleeps = days.flatMap(({ night, nap }) => [night, nap].filter((sleep) => sleep !== null))
  return sleeps.map((sleep) => sleepAt(sleep, nowMs)).filter((view) => view !== null)
}

/** The main sleep that somebody has at an instant, as it was measured. */
export function nightAt(person: Person, ms: number): Sleep | undefined {
  const day = localDay('UTC', ms)
  const nights = [day - 1, day, day + 1, day + 2].flatMap((one) => person.day(one).night ?? [])
  return nights.find(({ startMs, endMs }) => startMs <= ms && ms < endMs)
}

/** Workouts that providers know at an instant, by start, with those that were deleted. */
export function workoutsOf(days: readonly Day[], nowMs: number): WorkoutView[] {
  return days.flatMap(({ workout }) => (workout ? [workoutAt(workout, nowMs)] : [])).filter((view) => view !== null)
}

/** The last weighing that providers know; before the first, what the person gave when signing up. */
export function currentWeight(person: Person, nowMs: number): number {
  for (let day = localDay('UTC', nowMs) + 1; day >= person.span.firstDay; day--) {
    const { weighing } = person.day(day)
    if (weighing && weighing.knownMs <= nowMs) return weighing.kg
  }
  return person.weightKg
}

/** Sums over minutes. Energy: 1 MET is 1 kcal per kg and hour; minutes from 1.5 MET on are active. */
export interface Sums {
  readonly steps: number
  readonly floors: number
  readonly distanceM: number
  readonly activeKcal: number
  readonly basalKcal: number
  /** From 6 MET on, from 3, from 1.5; awake below that; asleep; not worn. Seconds. */
  readonly highSeconds: number
  readonly mediumSeconds: number
  readonly lowSeconds: number
  readonly sedentarySeconds: number
  readonly restingSeconds: number
  readonly offSeconds: number
  /** Over worn minutes; 0 without. */
  readonly averageMet: number
  readonly averageHeartRate: number
  readonly maxHeartRate: number
}

/** Sums from one instant to another, both on whole minutes. */
export function sumsOf(person: Person, fromMs: number, toMs: number): Sums {
  const seconds = { high: 0, medium: 0, low: 0, sedentary: 0, resting: 0, off: 0 }
  let [floors, steps, activeMet, worn, metSum, beats, beating, max, all] = [0, 0, 0, 0, 0, 0, 0, 0, 0]
  let ofDay: { minutes: Minutes; floors: Uint8Array } | undefined
  eachMinute(person, fromMs, toMs, (minutes, i) => {
    if (ofDay?.minutes !== minutes) ofDay = { minutes, floors: floorsOf(minutes) }
    all++
    steps += minutes.steps[i] ?? 0
    floors += ofDay.floors[i] ?? 0
    const heartRate = minutes.heartRate[i] ?? 0
    if (heartRate > 0) beating++
    beats += heartRate
    max = Math.max(max, heartRate)
    const met = minutes.met[i] ?? 0
    if (met > 0) worn++
    metSum += met
    if (met >= 15) activeMet += met - 10
    const sleeping = minutes.during[i] === SLEEPING
    seconds[met === 0 ? 'off' : sleeping ? 'resting' : level(met)] += 60
  })
  return {
    ...{ steps, floors },
    distanceM: steps * person.heightCm * 0.00414,
    activeKcal: (activeMet / 10) * (person.weightKg / 60),
    basalKcal: all * person.weightKg * 0.0162,
    ...{ highSeconds: seconds.high, mediumSeconds: seconds.medium, lowSeconds: seconds.low },
    ...{ sedentarySeconds: seconds.sedentary, restingSeconds: seconds.resting, offSeconds: seconds.off },
    averageMet: worn > 0 ? metSum / 10 / worn : 0,
    averageHeartRate: beating > 0 ? beats / beating : 0,
    maxHeartRate: max,
  }
}

/** How lively a minute is, by tenths of MET. */
export function level(met: number): 'high' | 'medium' | 'low' | 'sedentary' {
  return met >= 60 ? 'high' : met >= 30 ? 'medium' : met >= 15 ? 'low' : 'sedentary'
}

/** Calls for each minute that begins from `fromMs` on and before `toMs`. */
export function eachMinute(
  person: Person,
  fromMs: number,
  toMs: number,
  minute: (minutes: Minutes, i: number) => void,
): void {
  for (let day = localDay('UTC', fromMs) - 1; day <= localDay('UTC', toMs) + 1; day++) {
    if (day < person.span.firstDay) continue
    const minutes = person.minutes(day)
    const first = Math.max(0, Math.ceil((fromMs - minutes.startMs) / MINUTE_MS))
    const end = Math.min(minutes.met.length, Math.ceil((toMs - minutes.startMs) / MINUTE_MS))
    for (let i = first; i < end; i++) minute(minutes, i)
  }
}

/** From one main sleep to the next: the day of a strap. */
export interface Cycle {
  readonly day: number
  readonly zone: string
  readonly startMs: number
  /** Null while it goes on. */
  readonly endMs: number | null
  /** What is known of it reaches to here. */
  readonly untilMs: number
  /** The sleep it begins with; null when none was measured or it was deleted. */
  readonly night: SleepView | null
  readonly createdMs: number
  readonly updatedMs: number
}

/** The cycles that begin on these days, as known at an instant. */
export function cyclesOf(person: Person, days: readonly Day[], nowMs: number): Cycle[] {
  return days.flatMap((day) => {
    const start = cycleStart(day, person, nowMs)
    if (!start) return []
    const following = cycleStart(person.day(day.day + 1), person, nowMs)
    const endMs = following?.startMs ?? null
    const untilMs = Math.max(start.startMs, endMs ?? knownUntil(person, nowMs))
    const updatedMs = following?.createdMs ?? Math.max(start.createdMs, untilMs)
    return [{ day: day.day, zone: day.zone, ...start, endMs, untilMs, updatedMs }]
  })
}

/** What a cycle has brought so far, and its strain from 0 to 21. */
export function loadOf(person: Person, { startMs, untilMs }: Cycle): Sums & { readonly strain: number } {
  const sums = sumsOf(person, minuteOf(startMs), untilMs)
  return { ...sums, strain: 21 * (1 - Math.exp(-sums.activeKcal / 900)) }
}

function cycleStart({ day, night, startMs }: Day, person: Person, nowMs: number) {
  if (day < person.span.firstDay) return undefined
  if (!night) {
    const atMs = startMs + 180 * MINUTE_MS
    return knownUntil(person, nowMs) >= atMs ? { startMs, night: null, createdMs: atMs } : undefined
  }
  const view = sleepAt(night, nowMs)
  if (!view) return undefined
  return { startMs: view.startMs, night: view.deleted ? null : view, createdMs: view.createdMs }
}

/** The whole minute at which or before which an instant lies. */
function minuteOf(ms: number): number {
  return Math.floor(ms / MINUTE_MS) * MINUTE_MS
}
