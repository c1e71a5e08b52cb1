import { random, whole } from '../random.ts'
import { type Minutes, SLEEPING, TRAINING } from './minutes.ts'
import type { Person } from './person.ts'

/** How tense somebody is, and how much is left of their strength, of each three minutes from local midnight on. */
export interface Tension {
  /** 1 to 100; −1 not worn, −2 too much movement, −3 nothing measured. */
  readonly stress: Int8Array
  /** 5 to 100; 0 = not worn. */
  readonly battery: Uint8Array
}

/** Minutes that one value is about. */
export const TENSION_MINUTES = 3

const made = new WeakMap<Minutes, Tension>()

/** The tension of a local day, made once. */
export function tensionOf(person: Person, day: number): Tension {
  const minutes = person.minutes(day)
  const known = made.get(minutes)
  if (known) return known
  const stress = stressOf(person, day, minutes)
  const tension = { stress, battery: batteryOf(person, day, { minutes, stress }) }
  made.set(minutes, tension)
  return tension
}

function stressOf(person: Person, day: number, { heartRate, met, during }: Minutes): Int8Array {
  const next = random(`${person.seed}/stress/${day}`)
  return Int8Array.from({ length: Math.floor(met.length / TENSION_MINUTES) }, (_, i) => {
    const noise = whole(next, -4, 4)
    const from = i * TENSION_MINUTES
    const part = <Values extends Uint8Array>(values: Values) => values.subarray(from, from + TENSION_MINUTES)
    if (part(met).every((value) => value === 0)) return -1
    if (part(during).includes(TRAINING)) return -2
    const beats = part(heartRate).filter((value) => value > 0)
    if (beats.length === 0) return -3
    const mean = beats.reduce((sum, value) => sum + value, 0) / beats.length
    const base = part(during).includes(SLEEPING) ? 12 : 30
    return Math.min(100, Math.max(1, Math.round(base + (mean - person.restingHr - 12) * 1.4 + noise)))
  })
}

/** Sleep charges, stress and sports drain; each day goes on where the one before ended. */
function batteryOf(person: Person, day: number, { minutes, stress }: { minutes: Minutes; stress: Int8Array }) {
  const midnight = (date: number) => whole(random(`${person.seed}/battery/${date}`), 28, 48)
  let level = midnight(day)
  const raw = Float64Array.from(stress, (value, i) => {
    const sleeping = minutes.during[i * TENSION_MINUTES] === SLEEPING
    const drained = value === -2 ? 0.9 : value > 0 ? 0.06 + value / 400 : 0.05
    level += sleeping ? 0.5 : -drained
    return level
  })
  const missing = midnight(day + 1) - level
  return Uint8Array.from(stress, (value, i) => {
    const found = (raw[i] ?? 0) + (missing * (i + 1)) / stress.length
    return value === -1 ? 0 : Math.round(Math.min(100, Math.max(5, found)))
  })
}
