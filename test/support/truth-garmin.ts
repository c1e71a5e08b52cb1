// What Garmin makes of the truth of a person, as lines of text (truth.ts).
import { round } from '../../simulator/random.ts'
import type { Json } from './simulator.ts'
import {
  type Add,
  asleepOf,
  iso,
  kcalLine,
  type Lines,
  ms,
  noonOf,
  ofSeries,
  oneOfEach,
  type Span,
  sample,
  score,
  sleepLine,
  stageLine,
  total,
  unsureDays,
  weightOf,
  within,
  workoutLine,
} from './truth.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const SLOT_MINUTES = 15
const TENSION_MS = 3 * MINUTE_MS
const SLEEPING = 1
const TRAINING = 2

const TYPES: Record<string, string> = {
  ...{ running: 'running', 'trail running': 'trail_running', walking: 'walking', hiking: 'hiking' },
  ...{ cycling: 'cycling', swimming: 'pool_swimming', rowing: 'rowing', strength: 'strength_training', yoga: 'yoga' },
  ...{ hiit: 'cardio_training', tennis: 'tennis', floorball: 'team_sports', unknown: 'generic' },
}
const INDOORS: Record<string, string> = { cycling: 'indoor_cycling', rowing: 'rowing_machine' }

interface Adding {
  readonly add: Add
  readonly allow: Add
  readonly anyhow: Set<string>
  /** Whether it was told as it became known: deletions are not, and a day that is over is not told again. */
  readonly asItWas: boolean
}

/** The lines that Garmin's summaries become, with heart rates of each minute. */
export function garminLines(truth: Json, span: Span): Lines {
  const [required, allowed, anyhow] = [new Set<string>(), new Set<string>(), new Set<string>()]
  const asItWas = span.asItWas === true
  const adding: Adding = { add: within(span, required), allow: within(span, allowed), anyhow, asItWas }
  // Once it is over at night, a day is told for the last time at four in the morning.
  const days: Json[] = asItWas ? truth.days : truth.calendar_days
  const whole = new Set(days.flatMap((day): string[] => (day.complete ? [day.date] : [])))
  const isNew = truth.person.ring !== 'gen3'
  const datesOf = (sleeps: Json[]) => new Set(sleeps.flatMap(({ nap, date }) => (nap ? [] : [date])))
  const [nights, gone] = [datesOf(truth.sleeps), datesOf(truth.gone.sleeps)]
  for (const sleep of truth.sleeps) {
    if (!sleep.nap) nightLines(adding, sleep, isNew)
    else if (nights.has(sleep.date)) add(adding, sleep, napLine(sleep))
    // Told with a night that was deleted later.
    else if (asItWas && gone.has(sleep.date)) allow(adding, sleep, napLine(sleep))
  }
  for (const workout of truth.workouts) workoutLines(adding.add, workout)
  if (asItWas) goneLines(adding, truth, isNew)
  for (const day of truth.minutes) {
    const told = whole.has(day.date) ? adding.add : adding.allow
    minuteLines(told, truth, day)
    breathLines(told, truth, day)
    dayLines(adding, truth, day, whole.has(day.date))
    for (const { start, end } of walksOf(truth, day)) told(walkLine(start, end), ms(start))
  }
  measurementLines(adding.add, truth)
  cycleLines(adding.add, truth, whole)
  oneOfEach(required, allowed)
  for (const line of required) if (anyhow.has(line.slice(0, line.lastIndexOf(' ')))) required.delete(line)
  // What was measured before the start that a person has moved, and what is told of the night at its start: the mean of its
  // variability, and the temperature if both were told at once.
  const ofEdited = asItWas ? ['oxygen_saturation', 'heart_rate_variability_rmssd', 'skin_temperature_deviation'] : []
  const byInstant = ['respiratory_rate', ...ofEdited]
  return { required, allowed, unsure: ofSeries(byInstant, unsureDays(truth)), anyhow }
}

const add = ({ add }: Adding, { start }: Json, line: string) => add(line, ms(start))
const allow = ({ allow }: Adding, { start }: Json, line: string) => allow(line, ms(start))

const napLine = (nap: Json) => sleepLine(nap, null, (ms(nap.end) - ms(nap.start)) / 1000)

const WORDS: readonly [number, string][] = [
  [90, 'EXCELLENT'],
  [80, 'GOOD'],
  [60, 'FAIR'],
  [0, 'POOR'],
]

/** A night; of the newer watches its variability and the temperature of the skin, too. */
function nightLines({ add }: Pick<Adding, 'add'>, night: Json, isNew: boolean): void {
  const [start, end, asleep] = [ms(night.start), ms(night.end), asleepOf(night)]
  add(sleepLine(night, Math.round((asleep / ((end - start) / 1000)) * 10_000) / 100, asleep), start)
  for (const stage of night.stages) add(stageLine(stage), start)
  for (let at = Math.ceil(start / MINUTE_MS) * MINUTE_MS; at < end; at += MINUTE_MS) {
    sample(add, 'respiratory_rate', at, round(night.respiratory_rate, 1))
    if (night.spo2_percent !== null) sample(add, 'oxygen_saturation', at, Math.round(night.spo2_percent))
  }
  if (!night.unscorable) {
    const word = WORDS.find(([from]) => night.quality >= from)?.[1]
    score(add, 'sleep', start / 1000, `${night.quality}/${word}`, start)
  }
  if (!isNew) return
  sample(add, 'skin_temperature_deviation', start, night.temperature_deviation_celsius)
  const [first] = night.hrv_rmssd_5_min
  if (first === null) sample(add, 'heart_rate_variability_rmssd', start, Math.round(night.average_hrv_rmssd_ms))
  night.hrv_rmssd_5_min.forEach((hrv: number | null, i: number) => {
    if (hrv !== null) sample(add, 'heart_rate_variability_rmssd', start + i * 5 * MINUTE_MS, hrv)
  })
}

function workoutLines(add: Add, workout: Json): void {
  const start = ms(workout.start)
  const type = (workout.distance_m === null ? INDOORS[workout.sport] : undefined) ?? TYPES[workout.sport]
  add(workoutLine(workout, type, workout.distance_m === null ? null : round(workout.distance_m, 1)), start)
  add(kcalLine(workout.start, Math.round(workout.active_kcal)), start)
}

/** What was told before it was deleted stays. So does what a day said before its night was edited, or a workout deleted. */
function goneLines({ allow, anyhow }: Adding, truth: Json, isNew: boolean): void {
  const { sleeps, workouts } = truth.gone
  for (const sleep of sleeps) {
    if (sleep.nap) allow(napLine(sleep), ms(sleep.start))
    else nightLines({ add: allow }, sleep, isNew)
  }
  const dayOf = (date: string) => truth.minutes.find((day: Json) => day.date === date)?.start
  for (const night of [...sleeps, ...truth.sleeps.filter(({ edited }: Json) => edited)]) {
    const start = dayOf(night.date)
    if (!night.nap && start) anyhow.add(`resting_heart_rate ${ms(start) / 1000}`)
  }
  for (const workout of workouts) {
    workoutLines(allow, workout)
    anyhow.add(`flights_climbed of ${workout.date}`)
  }
}

/** Heart rate, tension and quarters of an hour. */
function minuteLines(add: Add, truth: Json, day: Json): void {
  const start = ms(day.start)
  day.heart_rate.forEach((bpm: number, minute: number) => {
    if (bpm > 0) sample(add, 'heart_rate', start + minute * MINUTE_MS, bpm)
  })
  day.stress_3_min.forEach((level: number, i: number) => {
    if (level > 0) sample(add, 'garmin_stress_level', start + i * TENSION_MS, level)
  })
  day.body_battery_3_min.forEach((charge: number, i: number) => {
    if (charge > 0) sample(add, 'garmin_body_battery', start + i * TENSION_MS, charge)
  })
  const kg = weightOf(truth, day)
  for (let first = 0; first + SLOT_MINUTES <= day.met_tenths.length; first += SLOT_MINUTES) {
    const parts = waysOf(day, first)
    if (parts.length === 0) continue
    const at = start + first * MINUTE_MS
    const sums = parts.map((minutes) => slotOf(day, minutes, { kg, heightCm: truth.person.height_cm }))
    const of = (field: 'steps' | 'metres' | 'kcal') => sums.reduce((sum, one) => sum + one[field], 0)
    sample(add, 'steps', at, of('steps'))
    sample(add, 'energy', at, of('kcal'))
    sample(add, 'distance_walking_running', at, round(of('metres'), 1))
  }
}

/** The minutes of a quarter of an hour, by the way of moving. */
function waysOf({ met_tenths: met, during }: Json, first: number): number[][] {
  const ways = new Map<string, number[]>()
  for (let minute = first; minute < first + SLOT_MINUTES; minute += 1) {
    if (met[minute] === 0) continue
    const isRunning = during[minute] === TRAINING && met[minute] >= 80
    const way = met[minute] < 15 ? 'sitting' : isRunning ? 'running' : 'walking'
    ways.set(way, [...(ways.get(way) ?? []), minute])
  }
  return [...ways.values()]
}

function slotOf(
  { steps, met_tenths: met }: Json,
  minutes: number[],
  { kg, heightCm }: { kg: number; heightCm: number },
) {
  const sum = (of: (minute: number) => number) => minutes.reduce((all, minute) => all + of(minute), 0)
  const walked = sum((minute) => steps[minute])
  return {
    steps: walked,
    metres: round(walked * heightCm * 0.00414, 1),
    kcal: Math.round((sum((minute) => (met[minute] >= 15 ? met[minute] - 10 : 0)) / 10) * (kg / 60)),
  }
}

/** Of naps breaths are told with the quarters of an hour only. */
function breathLines(add: Add, truth: Json, day: Json): void {
  const naps = truth.sleeps.filter(({ nap }: Json) => nap)
  day.during.forEach((what: number, minute: number) => {
    const at = ms(day.start) + minute * MINUTE_MS
    const nap = naps.find(({ start, end }: Json) => ms(start) <= at && at + MINUTE_MS <= ms(end))
    if (what === SLEEPING && nap) sample(add, 'respiratory_rate', at, round(nap.respiratory_rate, 1))
  })
}

/** The day as a whole; one that is not over is told as far as it was known. */
function dayLines({ add, allow, anyhow }: Adding, truth: Json, day: Json, isWhole: boolean): void {
  const { date } = day
  const start = ms(day.start)
  const sums = truth.calendar_days.find((one: Json) => one.date === date)
  const workout = truth.workouts.find((one: Json) => one.date === date)
  const night = truth.sleeps.find((one: Json) => one.date === date && !one.nap)
  const lively = day.met_tenths.filter((met: number) => met >= 30).length
  const levels = day.stress_3_min.filter((level: number) => level > 0)
  const lines = new Set<string>()
  const told: Add = (line, at) => (isWhole ? add(line, at) : lines.add(line.slice(0, line.lastIndexOf(' '))))
  total(told, 'steps', date, sums.steps)
  total(told, 'energy', date, Math.round(sums.active_kcal))
  total(told, 'basal_energy', date, Math.round(sums.basal_kcal))
  total(told, 'distance_walking_running', date, round(sums.distance_m, 1))
  total(told, 'active_time', date, Math.floor(sums.active_seconds / 60))
  total(told, 'exercise_time', date, lively)
  total(told, 'flights_climbed', date, Math.floor((workout?.climbed_m ?? 0) / 3))
  if (night) sample(told, 'resting_heart_rate', start, night.lowest_heart_rate)
  if (levels.length > 0) {
    const average = Math.round(levels.reduce((sum: number, level: number) => sum + level, 0) / levels.length)
    const word = ['Calm', 'Balanced', 'Stressful', 'Very_stressful'][Math.min(3, Math.floor(average / 20))]
    score(told, 'stress', start / 1000, `${average}/${word}`, start)
  }
  const charges = day.body_battery_3_min.filter((charge: number) => charge > 0)
  if (charges.length > 0) score(told, 'body_battery', start / 1000, `${Math.max(...charges)}/null`, start)
  for (const line of lines) anyhow.add(line)
  const metrics = truth.days.find((one: Json) => one.date === date)
  if (!metrics) return
  sample(isWhole ? add : allow, 'vo2_max', noonOf(date), metrics.vo2_max)
  sample(isWhole ? add : allow, 'garmin_fitness_age', noonOf(date), metrics.vascular_age)
}

/** What people measure themselves. */
function measurementLines(add: Add, truth: Json): void {
  const metres = truth.person.height_cm / 100
  for (const { at, kg, fat_percent: fat, muscle_kg: muscle } of truth.weighings) {
    sample(add, 'weight', ms(at), round(kg, 3))
    sample(add, 'skeletal_muscle_mass', ms(at), round(muscle, 3))
    sample(add, 'body_fat_percentage', ms(at), fat)
    sample(add, 'body_mass_index', ms(at), Math.round((kg / metres ** 2) * 10) / 10)
  }
  for (const { at, systolic, diastolic, pulse } of truth.blood_pressures) {
    sample(add, 'blood_pressure_systolic', ms(at), systolic)
    sample(add, 'blood_pressure_diastolic', ms(at), diastolic)
    sample(add, 'heart_rate', ms(at), pulse)
  }
  for (const { at, percent } of truth.spot_oxygen) sample(add, 'oxygen_saturation', ms(at), percent)
  for (const one of truth.snapshots) {
    const start = ms(one.start)
    for (const [i, bpm] of one.heart_rate_5_s.entries()) sample(add, 'heart_rate', start + i * 5_000, bpm)
    sample(add, 'respiratory_rate', start, one.respiratory_rate)
    sample(add, 'garmin_stress_level', start, one.stress)
    sample(add, 'oxygen_saturation', start, one.spo2_percent)
    sample(add, 'heart_rate_variability_rmssd', start, one.hrv_rmssd_ms)
    sample(add, 'heart_rate_variability_sdnn', start, one.hrv_sdnn_ms)
  }
}

const walksOf = ({ walks }: Json, { start, met_tenths: minutes }: Json) =>
  walks.filter((walk: Json) => walk.start >= start && ms(walk.start) < ms(start) + minutes.length * MINUTE_MS)

const walkLine = (start: string, end: string) => `activity ${ms(start) / 1000} ${ms(end) / 1000} moveiq_walking`

/** Once a day of it is over; its length is that expected until its last day is. `whole`: dates of days that were told. */
function cycleLines(add: Add, { menstrual_cycles: cycles }: Json, whole: ReadonlySet<string>): void {
  for (const { start, days, predicted_days: predicted, period_days: period } of cycles) {
    if (!whole.has(start)) continue
    const isOver = whole.has(iso(ms(start) + (days - 1) * DAY_MS).slice(0, 10))
    add(`cycle ${start} ${isOver ? days : predicted} ${predicted} ${period}`, ms(start))
  }
}
