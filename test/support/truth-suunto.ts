// What Suunto makes of the truth of a person, as lines of text (truth.ts).
import { round } from '../../simulator/random.ts'
import type { Json } from './simulator.ts'
import {
  type Add,
  asleepOf,
  kcalLine,
  type Lines,
  ms,
  offsetMs,
  ofSeries,
  type Span,
  sample,
  score,
  sleepLine,
  total,
  unsureDays,
  weightOf,
  within,
  workoutLine,
} from './truth.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const JOULES = 4_184
const SLEEPING = 1
const TENSION_MINUTES = 3
const RECOVERY_MINUTES = 30

const TYPES: Record<string, string> = {
  ...{ running: 'running', 'trail running': 'trail_running', walking: 'walking', hiking: 'hiking' },
  ...{ cycling: 'cycling', swimming: 'swimming', rowing: 'rowing', strength: 'strength_training', yoga: 'yoga' },
  ...{ hiit: 'strength_training', tennis: 'tennis', floorball: 'floorball', unknown: 'sport' },
}
const INDOORS: Record<string, string> = { cycling: 'indoor_cycling', rowing: 'rowing_machine' }

/** The lines that Suunto's answers become. */
export function suuntoLines(truth: Json, span: Span): Lines {
  const [required, allowed, anyhow] = [new Set<string>(), new Set<string>(), new Set<string>()]
  const [add, allow] = [within(span, required), within(span, allowed)]
  const isNew = truth.person.ring !== 'gen3'
  for (const sleep of truth.sleeps) sleepLines(add, sleep, isNew)
  for (const workout of truth.workouts) workoutLines(add, workout)
  // Nobody tells that they are gone.
  for (const sleep of truth.gone.sleeps) sleepLines(allow, sleep, isNew)
  for (const workout of truth.gone.workouts) workoutLines(allow, workout)
  for (const day of truth.minutes) {
    activityLines(add, truth, day)
    recoveryLines(add, day)
  }
  totalLines({ add, allow, anyhow }, truth)
  const ofNights = ['heart_rate_variability_rmssd', 'oxygen_saturation']
  return { required, allowed, unsure: ofSeries(ofNights, unsureDays(truth)), anyhow }
}

/** Older watches say how long it lasted, not when and where it ended. */
function sleepLines(add: Add, sleep: Json, isNew: boolean): void {
  const [start, end, asleep] = [ms(sleep.start), ms(sleep.end), asleepOf(sleep)]
  const offset = isNew && !sleep.nap ? sleep.end_offset : sleep.start_offset
  const efficiency = Math.round((asleep / ((end - start) / 1000)) * 10_000) / 100
  add(sleepLine({ ...sleep, start_offset: offset }, efficiency, asleep), start)
  if (sleep.nap) return
  sample(add, 'resting_heart_rate', end, sleep.lowest_heart_rate)
  sample(add, 'heart_rate_variability_rmssd', end, Math.round(sleep.average_hrv_rmssd_ms))
  if (!sleep.unscorable) score(add, 'sleep', start / 1000, `${sleep.quality}/null`, start)
}

function workoutLines(add: Add, workout: Json): void {
  const start = ms(workout.start)
  const type = (workout.distance_m === null ? INDOORS[workout.sport] : undefined) ?? TYPES[workout.sport]
  add(workoutLine(workout, type, workout.distance_m === null ? null : round(workout.distance_m, 1)), start)
  add(kcalLine(workout.start, Math.round(workout.active_kcal)), start)
}

/** Parts of so many minutes of a day that are known whole, the last one of the day perhaps shorter. */
function partsOf(truth: Json, day: Json, minutes: number) {
  const whole = truth.calendar_days.find(({ date }: Json) => date === day.date)?.complete === true
  const known = day.met_tenths.length
  const parts: { at: number; first: number; last: number }[] = []
  for (let first = 0; first < known; first += minutes) {
    const last = Math.min(first + minutes, known)
    if (last - first === minutes || whole) parts.push({ at: ms(day.start) + first * MINUTE_MS, first, last })
  }
  return parts
}

/** What a watch measures all day, of every five minutes, or ten. */
function activityLines(add: Add, truth: Json, day: Json): void {
  const isNew = truth.person.ring !== 'gen3'
  const nights = truth.sleeps.filter(({ nap }: Json) => !nap)
  const kg = weightOf(truth, day)
  for (const { at, first, last } of partsOf(truth, day, isNew ? 5 : 10)) {
    const met: number[] = day.met_tenths.slice(first, last)
    if (met.every((value) => value === 0)) continue
    const beats: number[] = day.heart_rate.slice(first, last).filter((bpm: number) => bpm > 0)
    if (beats.length > 0) sample(add, 'heart_rate', at, Math.round(sumOf(beats) / beats.length))
    sample(add, 'steps', at, sumOf(day.steps.slice(first, last)))
    sample(add, 'energy', at, round(round(kcalOf(met, kg) * JOULES, 1) / JOULES, 9))
    const night = nights.find(({ start, end }: Json) => ms(start) <= at && at < ms(end))
    if (!isNew || day.during[first] !== SLEEPING || !night) continue
    const hrv = night.hrv_rmssd_5_min[Math.floor((at - ms(night.start)) / (5 * MINUTE_MS))] ?? null
    if (hrv !== null) sample(add, 'heart_rate_variability_rmssd', at, hrv)
    const isHour = first % 60 === 0
    if (isHour && night.spo2_percent !== null) sample(add, 'oxygen_saturation', at, Math.round(night.spo2_percent))
  }
}

const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0)
const kcalOf = (met: readonly number[], kg: number) =>
  (sumOf(met.map((value) => (value >= 15 ? value - 10 : 0))) / 10) * (kg / 60)

/** Every half hour. */
function recoveryLines(add: Add, day: Json): void {
  const known = day.body_battery_3_min.length * TENSION_MINUTES
  for (let first = 0; first + RECOVERY_MINUTES <= known; first += RECOVERY_MINUTES) {
    const at = ms(day.start) + first * MINUTE_MS
    const balance = day.body_battery_3_min[first / TENSION_MINUTES]
    const levels = day.stress_3_min.slice(first / TENSION_MINUTES, (first + RECOVERY_MINUTES) / TENSION_MINUTES)
    if (balance > 0) score(add, 'recovery', at / 1000, `${balance}/${stateOf(levels)}`, at)
  }
}

function stateOf(levels: readonly number[]): string | null {
  if (levels.includes(-2)) return 'Active'
  const measured = levels.filter((level) => level > 0)
  if (measured.length === 0) return null
  const mean = sumOf(measured) / measured.length
  return mean <= 25 ? 'Relaxing' : mean <= 50 ? 'Passive' : 'Stressful'
}

/** Days of 24 hours from midnight by the clock of the person when they were asked for: of who travels, one of several. */
function totalLines({ add, allow, anyhow }: Record<'add' | 'allow', Add> & { anyhow: Set<string> }, truth: Json): void {
  const zones = zonesOf(truth)
  for (const day of truth.calendar_days) {
    if (!day.complete) {
      for (const series of ['steps', 'energy']) anyhow.add(`${series} of ${day.date}`)
      continue
    }
    for (const zone of zones) {
      const sums = sumsFrom(truth, ms(day.date) - zone)
      const told = zones.length === 1 ? add : allow
      total(told, 'steps', day.date, sums.steps)
      total(told, 'energy', day.date, round(Math.round(sums.kcal * JOULES) / JOULES, 9))
    }
  }
}

/** Every offset that the person's clocks had, milliseconds. */
function zonesOf(truth: Json): number[] {
  const offsets = truth.sleeps.flatMap((sleep: Json) => [sleep.start_offset, sleep.end_offset])
  const midnights = truth.minutes.map(({ date, start }: Json) => ms(date) - ms(start))
  return [...new Set<number>([...offsets.map(offsetMs), ...midnights])]
}

function sumsFrom(truth: Json, fromMs: number) {
  let [steps, tenths] = [0, 0]
  for (const day of truth.minutes) {
    const start = ms(day.start)
    const first = Math.max(0, (fromMs - start) / MINUTE_MS)
    const last = Math.min(day.met_tenths.length, (fromMs + DAY_MS - start) / MINUTE_MS)
    for (let minute = first; minute < last; minute += 1) {
      steps += day.steps[minute]
      const met = day.met_tenths[minute]
      if (met >= 15) tenths += met - 10
    }
  }
  return { steps, kcal: (tenths / 10) * (weightOf(truth, truth.minutes[0]) / 60) }
}
