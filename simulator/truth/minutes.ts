import { type Random, random } from '../random.ts'
import { localMs, MINUTE_MS } from '../zones.ts'
import { type Persona, zoneOn } from './personas.ts'
import { MEANS_SECONDS, type Sleep } from './sleep.ts'
import type { Workout } from './workouts.ts'

/** The minutes of a local day, from midnight to midnight: of 23 to 25 hours, more or less on a journey. */
export interface Minutes {
  readonly startMs: number
  /** Beats per minute; 0 = not worn, or nothing measured. */
  readonly heartRate: Uint8Array
  readonly steps: Uint8Array
  /** Tenths of a metabolic equivalent; 0 = not worn. */
  readonly met: Uint8Array
  /** What the minute belongs to: 0 nothing, 1 sleep, 2 workout. */
  readonly during: Uint8Array
}

export const SLEEPING = 1
export const TRAINING = 2

/** What fills a day. */
export interface Content {
  /** Naps of the day, its night and the next one. */
  readonly sleeps: readonly Sleep[]
  readonly workout: Workout | null
  /** Whether the device lay in a drawer in the night that ends on this day, or begins on it. */
  readonly nightMissing: boolean
  readonly nextNightMissing: boolean
}

/** Makes the minutes of a day. */
export function minutesOf(person: Persona, day: number, content: Content): Minutes {
  const startMs = localMs(zoneOn(person, day), day, 0)
  const count = Math.round((localMs(zoneOn(person, day + 1), day + 1, 0) - startMs) / MINUTE_MS)
  const bytes = new Uint8Array(4 * count)
  const part = (number: number) => bytes.subarray(number * count, (number + 1) * count)
  const minutes: Minutes = { startMs, heartRate: part(0), steps: part(1), met: part(2), during: part(3) }
  const next = random(`${person.seed}/minutes/${day}`)
  awake(person, next, minutes)
  takenOff(next, minutes, content)
  for (const sleep of content.sleeps) asleep(minutes, sleep)
  if (content.workout) training(minutes, content.workout)
  return minutes
}

const floors = new WeakMap<Minutes, Uint8Array>()
const STEPS_A_FLOOR = 900

/** Floors climbed in each minute: one for so many steps since midnight. */
export function floorsOf(minutes: Minutes): Uint8Array {
  const known = floors.get(minutes)
  if (known) return known
  let walked = 0
  const made = Uint8Array.from(minutes.steps, (steps) => {
    const before = Math.floor(walked / STEPS_A_FLOOR)
    walked += steps
    return Math.floor(walked / STEPS_A_FLOOR) - before
  })
  floors.set(minutes, made)
  return made
}

/** Hours at a desk with walks in between. */
function awake(person: Persona, next: Random, { heartRate, steps, met }: Minutes): void {
  const sitting = person.restingHr + 12
  const lively = 0.012 + next() * 0.012
  let walk = 0
  for (let minute = 0; minute < heartRate.length; minute++) {
    const dice = next()
    if (walk > 0) walk--
    else if (dice < lively) walk = 3 + Math.floor((dice / lively) * 22)
    const noise = dice * 1000 - Math.floor(dice * 1000)
    if (walk > 0) {
      steps[minute] = 60 + Math.floor(noise * 55)
      met[minute] = 24 + Math.floor(noise * 14)
      heartRate[minute] = sitting + 24 + Math.floor(noise * 12)
    } else {
      steps[minute] = noise < 0.06 ? 4 + Math.floor(noise * 200) : 0
      met[minute] = 11 + Math.floor(noise * 5)
      heartRate[minute] = sitting + Math.floor(noise * 9)
    }
  }
}

/** To the charger in the evening; and left there in some nights. */
function takenOff(next: Random, minutes: Minutes, { nightMissing, nextNightMissing }: Content): void {
  const charging = 1215 + Math.floor(next() * 20)
  const off = (from: number, to: number) => {
    minutes.heartRate.fill(0, from, to)
    minutes.steps.fill(0, from, to)
    minutes.met.fill(0, from, to)
  }
  off(charging, charging + 20 + Math.floor(next() * 20))
  if (nightMissing) off(0, 450)
  if (nextNightMissing) off(1275, minutes.met.length)
}

function asleep({ startMs, heartRate, steps, met, during }: Minutes, sleep: Sleep): void {
  const minuteAt = (ms: number) => Math.max(0, Math.ceil((ms - startMs) / MINUTE_MS))
  const first = minuteAt(sleep.startMs)
  const end = Math.max(first, Math.floor((sleep.endMs - startMs) / MINUTE_MS))
  for (let i = 0; i <= sleep.heartRate.length; i++) {
    const fromMs = sleep.startMs + i * MEANS_SECONDS * 1000
    const until = i < sleep.heartRate.length ? minuteAt(fromMs + MEANS_SECONDS * 1000) : end
    heartRate.fill(sleep.heartRate[i] ?? 0, minuteAt(fromMs), until)
  }
  steps.fill(0, first, end)
  met.fill(9, first, end)
  during.fill(SLEEPING, first, end)
}

function training({ startMs, heartRate, steps, met, during }: Minutes, workout: Workout): void {
  const first = Math.round((workout.startMs - startMs) / MINUTE_MS)
  workout.heartRate.forEach((beats, i) => {
    heartRate[first + i] = beats
    steps[first + i] = workout.cadence
    met[first + i] = Math.round(workout.met * 10)
    during[first + i] = TRAINING
  })
}
