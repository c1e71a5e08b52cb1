import { between, normal, pick, random, round, whole } from '../random.ts'
import { dateOf, HOUR_MS, localMs, MINUTE_MS } from '../zones.ts'
import { isShift, knownMs, type Persona, type Sport, zoneOn } from './personas.ts'

/** A workout on whole minutes. */
export interface Workout {
  readonly key: string
  readonly day: number
  readonly zone: string
  readonly startMs: number
  readonly endMs: number
  /** Of each minute. */
  readonly heartRate: Uint8Array
  /** Active energy. */
  readonly kcal: number
  readonly distanceM: number | null
  readonly climbedM: number | null
  /** Height of the end above the start. */
  readonly altitudeChangeM: number | null
  /** Metabolic equivalent, and steps a minute, all the way. */
  readonly met: number
  readonly cadence: number
  readonly manual: boolean
  readonly unscorable: boolean
  /** What it was called, and since when; the first entry is when it became known. */
  readonly versions: readonly { atMs: number; sport: Sport }[]
  readonly deletedMs: number | null
}

/** Speed in m/s (0: distance is not measured), metabolic equivalent, steps a minute, climbed metres an hour. */
const KINDS: Record<Sport, readonly [speed: number, met: number, cadence: number, climb: number]> = {
  running: [2.9, 9.4, 164, 60],
  'trail running': [2.4, 9.8, 158, 260],
  walking: [1.4, 3.6, 108, 30],
  hiking: [1.2, 5.4, 100, 220],
  cycling: [6.4, 7.1, 0, 150],
  swimming: [0.75, 6.6, 0, 0],
  rowing: [2.6, 7.4, 0, 0],
  strength: [0, 4.9, 0, 0],
  yoga: [0, 2.6, 0, 0],
  hiit: [0, 8.3, 40, 0],
  tennis: [0, 7.2, 60, 0],
  floorball: [0, 7.9, 80, 0],
  unknown: [0, 4.2, 50, 0],
}

/** Something that takes time. */
interface Taken {
  readonly startMs: number
  readonly endMs: number
}

/** The workout of a day, if there is one; it keeps away from what else takes time. */
export function workoutOf(person: Persona, day: number, taken: readonly (Taken | null)[]): Workout | null {
  const next = random(`${person.seed}/workout/${day}`)
  const zone = zoneOn(person, day)
  const travels = zone !== zoneOn(person, day - 1) || zone !== zoneOn(person, day + 1)
  if (next() > 0.5 || travels) return null
  const sport = pick(next, person.sports)
  const morning = next() < 0.25 && !isShift(person, day)
  const startMs = localMs(zone, day, morning ? 600 : 1000) + whole(next, 0, morning ? 80 : 100) * MINUTE_MS
  const minutes = whole(next, 22, 95)
  const endMs = startMs + minutes * MINUTE_MS
  const near = (one: Taken | null) =>
    one !== null && one.startMs < endMs + 20 * MINUTE_MS && one.endMs > startMs - 20 * MINUTE_MS
  if (taken.some(near)) return null
  const [speed, met, cadence, climb] = KINDS[sport]
  const outdoor = speed > 0 && next() < 0.85
  const climbed = outdoor && climb > 0 ? round((climb * minutes * between(next, 0.3, 1.6)) / 60, 2) : null
  return {
    ...{ key: `workout/${dateOf(day)}`, day, zone, startMs, endMs, met, cadence },
    heartRate: beats(person, day, minutes, met),
    kcal: round(((met - 1) * person.weightKg * minutes) / 60, 2),
    distanceM: outdoor ? round(speed * minutes * 60 * between(next, 0.85, 1.15), 2) : null,
    climbedM: climbed,
    altitudeChangeM: climbed === null ? null : round(normal(next) * 2, 2),
    manual: next() < 0.1,
    unscorable: next() < 0.03,
    ...story(person, day, sport, endMs),
  }
}

function beats(person: Persona, day: number, minutes: number, met: number): Uint8Array {
  const next = random(`${person.seed}/workout-beats/${day}`)
  const reserve = person.maxHr - person.restingHr
  const effort = Math.min(0.9, met / 11 + normal(next) * 0.04)
  return Uint8Array.from({ length: minutes }, (_, minute) => {
    const warm = Math.min(1, (minute + 3) / 10)
    return Math.round(Math.min(person.maxHr, person.restingHr + reserve * effort * warm + normal(next) * 4))
  })
}

/** One in ten is noticed by the device and named a day later by the person; a few are deleted. */
function story(person: Persona, day: number, sport: Sport, endMs: number): Pick<Workout, 'versions' | 'deletedMs'> {
  const next = random(`${person.seed}/workout-story/${day}`)
  const atMs = knownMs(person, endMs + between(next, 4, 30) * MINUTE_MS)
  if (next() < 0.1) {
    const named = { atMs: atMs + whole(next, 5, 26) * HOUR_MS, sport }
    return { versions: [{ atMs, sport: 'unknown' }, named], deletedMs: null }
  }
  return { versions: [{ atMs, sport }], deletedMs: next() < 0.03 ? atMs + whole(next, 2, 40) * HOUR_MS : null }
}

/** A workout as providers know it at an instant. */
export interface WorkoutView {
  readonly workout: Workout
  readonly sport: Sport
  /** Whether the person has said what it was. */
  readonly confirmed: boolean
  readonly averageHeartRate: number
  readonly maxHeartRate: number
  /** 0 to 21. */
  readonly strain: number
  readonly createdMs: number
  readonly updatedMs: number
  readonly deleted: boolean
}

/** The view of each workout that was asked for last. */
const views = new WeakMap<Workout, { version: Workout['versions'][number]; view: WorkoutView }>()

/** What providers know of a workout now; null as long as they know nothing. */
export function workoutAt(workout: Workout, nowMs: number): WorkoutView | null {
  const [first] = workout.versions
  const version = workout.versions.findLast(({ atMs }) => atMs <= nowMs)
  if (!first || !version) return null
  const deleted = workout.deletedMs !== null && workout.deletedMs <= nowMs
  const last = views.get(workout)
  if (last?.version === version && last.view.deleted === deleted) return last.view
  const view = {
    ...{ workout, sport: version.sport, deleted },
    confirmed: version !== first,
    averageHeartRate: workout.heartRate.reduce((sum, value) => sum + value, 0) / workout.heartRate.length,
    maxHeartRate: Math.max(...workout.heartRate),
    strain: 21 * (1 - Math.exp(-workout.kcal / 700)),
    createdMs: first.atMs,
    updatedMs: deleted ? (workout.deletedMs ?? 0) : version.atMs,
  }
  views.set(workout, { version, view })
  return view
}

/** A weighing on the bathroom scales, about twice a week. */
export interface Weighing {
  readonly atMs: number
  readonly knownMs: number
  readonly kg: number
}

/** The weighing of a day, if there is one: weight goes up and down by two kilograms over four months. */
export function weighingOf(person: Persona, day: number): Weighing | null {
  const next = random(`${person.seed}/weighing/${day}`)
  if (next() > 0.3) return null
  const atMs = localMs(zoneOn(person, day), day, isShift(person, day) ? 960 : 715) + whole(next, 0, 240) * 1000
  const kg = round(person.weightKg + 2 * Math.sin((day / 120) * 2 * Math.PI) + normal(next) * 0.3, 1)
  return { atMs, knownMs: knownMs(person, atMs), kg }
}
