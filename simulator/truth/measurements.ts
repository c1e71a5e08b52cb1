import { pick, random, round, whole } from '../random.ts'
import { localDay, localMs, MINUTE_MS } from '../zones.ts'
import { type Minutes, TRAINING } from './minutes.ts'
import type { Person } from './person.ts'
import { isShift, knownMs } from './personas.ts'
import type { Weighing } from './workouts.ts'

/** A measurement with a cuff. */
export interface BloodPressure {
  readonly atMs: number
  readonly knownMs: number
  readonly systolic: number
  readonly diastolic: number
  readonly pulse: number
}

/** The blood pressure that somebody took on a day, if they did. */
export function bloodPressureOf(person: Person, day: number): BloodPressure | null {
  const next = random(`${person.seed}/pressure/${day}`)
  if (next() > 0.2) return null
  const atMs = momentOf(person, day, whole(next, 0, 100))
  const systolic = whole(next, 104, 142)
  const diastolic = systolic - whole(next, 36, 52)
  return { atMs, knownMs: knownMs(person, atMs), systolic, diastolic, pulse: person.restingHr + whole(next, 4, 18) }
}

/** Oxygen that somebody measured on a day sitting still, percent. */
export interface SpotOxygen {
  readonly atMs: number
  readonly knownMs: number
  readonly percent: number
}

export function spotOxygenOf(person: Person, day: number): SpotOxygen | null {
  const next = random(`${person.seed}/oxygen/${day}`)
  if (next() > 0.15) return null
  const atMs = momentOf(person, day, whole(next, 100, 200))
  return { atMs, knownMs: knownMs(person, atMs), percent: whole(next, 93, 99) }
}

/** A temperature that somebody took with a thermometer, °C. */
export interface Temperature {
  readonly atMs: number
  readonly knownMs: number
  readonly celsius: number
}

export function temperatureOf(person: Person, day: number): Temperature | null {
  const next = random(`${person.seed}/temperature/${day}`)
  if (next() > 0.1) return null
  const atMs = momentOf(person, day, whole(next, 30, 60))
  return { atMs, knownMs: knownMs(person, atMs), celsius: round(36.2 + next() * 1.1, 2) }
}

/** Glucose under the skin, mg/dL. */
export interface Glucose {
  readonly atMs: number
  readonly knownMs: number
  readonly mgPerDl: number
}

const GLUCOSE_MINUTES = 15

/** Whether somebody wears a sensor for glucose. */
export function hasGlucoseSensor({ seed }: Person): boolean {
  return random(`${seed}/sensor`)() < 0.3
}

/** Each quarter of an hour of a local day, of those who wear a sensor. */
export function glucoseOf(person: Person, day: number): Glucose[] {
  if (!hasGlucoseSensor(person)) return []
  const next = random(`${person.seed}/glucose/${day}`)
  const { startMs, met } = person.minutes(day)
  return Array.from({ length: Math.floor(met.length / GLUCOSE_MINUTES) }, (_, i) => {
    const atMs = startMs + i * GLUCOSE_MINUTES * MINUTE_MS + 20_000
    const wave = Math.max(0, Math.sin((i / 32) * 2 * Math.PI)) * 34
    return { atMs, knownMs: knownMs(person, atMs), mgPerDl: Math.round(84 + wave + next() * 9) }
  })
}

/** What providers learn after one instant and up to another, of what is found by local day. */
export function learned<One extends { readonly knownMs: number }>(
  person: Person,
  find: (person: Person, day: number) => One | readonly One[] | null,
  [fromMs, toMs]: readonly [number, number],
): One[] {
  const first = Math.max(person.span.firstDay, localDay('UTC', fromMs) - LATEST_DAYS)
  const last = localDay('UTC', toMs) + 1
  const days = Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i)
  const found = days.flatMap((day) => find(person, day) ?? [])
  return found.filter(({ knownMs }) => knownMs > fromMs && knownMs <= toMs)
}

/** What is learnt of many small things at once: every three hours, if there was anything. */
export interface Gathered {
  /** When it is told. */
  readonly knownMs: number
  /** Of the first and the last. */
  readonly fromMs: number
  readonly toMs: number
}

const GATHERED_MS = 180 * MINUTE_MS

/** As `learned`, gathered. */
export function gathered(
  person: Person,
  find: (person: Person, day: number) => readonly { readonly atMs: number; readonly knownMs: number }[],
  [fromMs, toMs]: readonly [number, number],
): Gathered[] {
  const whole = (ms: number) => Math.floor(ms / GATHERED_MS) * GATHERED_MS
  const groups = new Map<number, Gathered>()
  for (const { atMs, knownMs } of learned(person, find, [whole(fromMs), whole(toMs)])) {
    const end = Math.ceil(knownMs / GATHERED_MS) * GATHERED_MS
    const before = groups.get(end) ?? { fromMs: atMs, toMs: atMs }
    const span = { fromMs: Math.min(before.fromMs, atMs), toMs: Math.max(before.toMs, atMs) }
    groups.set(end, { knownMs: end, ...span })
  }
  return [...groups.values()]
}

/** How late providers learn what was measured, at most: a phone without a network. */
const LATEST_DAYS = 5

/** Two minutes of sitting still with everything measured. */
export interface Snapshot {
  readonly startMs: number
  readonly knownMs: number
  readonly seconds: number
  /** Of each five seconds. */
  readonly heartRate: Uint8Array
  readonly breaths: number
  readonly stress: number
  readonly spo2: number
  readonly rmssdMs: number
  readonly sdnnMs: number
}

export function snapshotOf(person: Person, day: number): Snapshot | null {
  const next = random(`${person.seed}/snapshot/${day}`)
  if (next() > 0.12) return null
  const startMs = momentOf(person, day, whole(next, 200, 280))
  const base = person.restingHr + whole(next, 3, 12)
  return {
    ...{ startMs, knownMs: knownMs(person, startMs + 2 * MINUTE_MS), seconds: 120 },
    heartRate: Uint8Array.from({ length: 24 }, () => base + whole(next, -3, 3)),
    ...{ breaths: round(12 + next() * 4, 1), stress: whole(next, 8, 45), spo2: whole(next, 94, 99) },
    ...{ rmssdMs: whole(next, 20, 90), sdnnMs: whole(next, 30, 110) },
  }
}

/** A moment of the day at which somebody who sleeps at night or after a shift is awake, to the second. */
function momentOf(person: Person, day: number, minutes: number): number {
  const first = isShift(person, day) ? 960 : 540
  return localMs(person.day(day).zone, day, first) + minutes * MINUTE_MS + ((day * 7) % 60) * 1000
}

/** Share of fat in percent, and kilograms of muscle, that scales show with the weight. */
export function compositionOf(person: Person, { kg, atMs }: Weighing): { fatPercent: number; muscleKg: number } {
  const next = random(`${person.seed}/composition/${atMs}`)
  const fatPercent = round((person.sex === 'female' ? 24 : 16) + next() * 3, 1)
  return { fatPercent, muscleKg: round(kg * (0.92 - fatPercent / 100) * 0.6, 2) }
}

/** A quarter of an hour or more on foot that nobody called a workout. */
export interface Walk {
  readonly startMs: number
  readonly endMs: number
}

/** The longer walks of a local day. */
export function walksOf({ startMs, met, during }: Minutes): Walk[] {
  const walks: Walk[] = []
  let length = 0
  for (let minute = 0; minute <= met.length; minute++) {
    const walking = (met[minute] ?? 0) >= 24 && during[minute] !== TRAINING
    if (walking) length++
    else {
      const endMs = startMs + minute * MINUTE_MS
      if (length >= 15) walks.push({ startMs: endMs - length * MINUTE_MS, endMs })
      length = 0
    }
  }
  return walks
}

/** A menstrual cycle: days since 1970-01-01 and lengths in days. */
export interface MenstrualCycle {
  readonly startDay: number
  readonly length: number
  /** What it was expected to be. */
  readonly predictedLength: number
  readonly periodLength: number
  /** Day of the cycle on which the fertile days begin, 1 being its first; they are six. */
  readonly fertileDay: number
}

export const FERTILE_DAYS = 6

/** The cycle in which a day lies; null for men and from fifty on. */
export function menstrualCycleOn(person: Person, day: number): MenstrualCycle | null {
  if (person.sex !== 'female' || person.birthYear < 1976) return null
  const usual = whole(random(`${person.seed}/cycles`), 26, 31)
  const shift = whole(random(`${person.seed}/cycles/first`), 0, 30)
  const startOf = (number: number) =>
    number * usual - shift + pick(random(`${person.seed}/cycle/${number}`), [-1, 0, 0, 1])
  let number = Math.floor((day + shift) / usual)
  while (startOf(number) > day) number--
  while (startOf(number + 1) <= day) number++
  const startDay = startOf(number)
  const next = random(`${person.seed}/period/${number}`)
  const periodLength = whole(next, 3, 6)
  return {
    ...{ startDay, length: startOf(number + 1) - startDay, predictedLength: usual, periodLength },
    fertileDay: usual - 18,
  }
}
