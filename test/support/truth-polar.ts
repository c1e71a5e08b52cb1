// What Polar makes of the truth of a person, as lines of text (truth.ts).
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
  offsetMs,
  ofSeries,
  oneOfEach,
  type Span,
  sample,
  score,
  sleepLine,
  stageLine,
  total,
  unsureDays,
  within,
  workoutLine,
} from './truth.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

const TYPES: Record<string, string> = {
  ...{ running: 'running', 'trail running': 'trail_running', walking: 'walking', hiking: 'hiking' },
  ...{ cycling: 'cycling', swimming: 'pool_swimming', rowing: 'rowing', strength: 'strength_training', yoga: 'yoga' },
  ...{ hiit: 'cardio_training', tennis: 'tennis', floorball: 'floorball', unknown: 'generic' },
}

/** Tests and temperatures of a night that is edited or deleted are told by the instant, and stay. */
const BY_INSTANT = [
  ...['heart_rate', 'heart_rate_variability_rmssd', 'oxygen_saturation'],
  ...['skin_temperature', 'skin_temperature_deviation'],
]

interface Adding {
  readonly add: Add
  readonly allow: Add
  readonly anyhow: Set<string>
}

/** The lines that Polar's answers become; it lists workouts of 30 days, and nights of 28. */
export function polarLines(truth: Json, span: Span): Lines {
  const [required, allowed, anyhow] = [new Set<string>(), new Set<string>(), new Set<string>()]
  const adding: Adding = { add: within(span, required), allow: within(span, allowed), anyhow }
  const isNew = truth.person.ring !== 'gen3'
  for (const workout of truth.workouts) workoutLines(adding, workout)
  for (const night of truth.sleeps) {
    if (night.nap) continue
    nightLines(adding, night)
    if (isNew) elixirLines(adding, night, span.nowMs)
  }
  // What the day that has just begun is worth is asked for later.
  anyhow.add(`score strain ${new Date(span.nowMs).toISOString().slice(0, 10)}`)
  for (const day of truth.calendar_days) dayLines(adding, truth, day)
  const unsure = new Set([...unsureDays(truth), ...daysOfJourneys(truth)])
  heartRates(adding, truth, isNew ? 1 : 5, unsure)
  oneOfEach(required, allowed)
  return { required, allowed, unsure: ofSeries(BY_INSTANT, unsure), anyhow }
}

function workoutLines({ add }: Adding, workout: Json): void {
  const start = ms(workout.start)
  const isIndoors = workout.sport === 'cycling' && workout.distance_m === null
  const distance = workout.distance_m === null ? null : round(workout.distance_m, 1)
  add(workoutLine(workout, isIndoors ? 'indoor_cycling' : TYPES[workout.sport], distance), start)
  add(kcalLine(workout.start, Math.round(workout.active_kcal)), start)
}

function nightLines({ add, anyhow }: Adding, night: Json): void {
  const [start, end, asleep] = [ms(night.start), ms(night.end), asleepOf(night)]
  add(sleepLine(night, Math.round((asleep / ((end - start) / 1000)) * 10_000) / 100, asleep), start)
  for (const stage of ofMinutes(night)) add(stageLine(stage), start)
  // Told by the minute in which they are.
  const instant = (i: number) => Math.max(start, Math.floor((start + i * 5 * MINUTE_MS) / MINUTE_MS) * MINUTE_MS)
  night.heart_rate_5_min.forEach((bpm: number | null, i: number) => {
    if (bpm !== null) sample(add, 'heart_rate', instant(i), bpm)
  })
  if (night.unscorable) return
  score(add, 'sleep', start / 1000, night.quality, start)
  sample(add, 'heart_rate_variability_rmssd', end, Math.round(night.average_hrv_rmssd_ms))
  sample(add, 'respiratory_rate', end, round(night.respiratory_rate, 1))
  night.hrv_rmssd_5_min.forEach((hrv: number | null, i: number) => {
    if (hrv !== null) sample(add, 'heart_rate_variability_rmssd', instant(i), hrv)
    // Around the mean, nobody but Polar knows how far.
    anyhow.add(`respiratory_rate ${instant(i) / 1000}`)
  })
  const status = Math.min(6, Math.max(1, Math.ceil((night.recovery - 25) / 12)))
  score(add, 'recovery', night.date, status, noonOf(night.date))
}

/** The hypnogram says what it is at its start, and at each whole minute. */
function ofMinutes({ start, end, stages }: Json): Json[] {
  const found: { stage: string; start: string; end: string }[] = []
  for (let at = ms(start); at < ms(end); at = (Math.floor(at / MINUTE_MS) + 1) * MINUTE_MS) {
    const stage = stages.find((one: Json) => ms(one.start) <= at && at < ms(one.end))?.stage
    const last = found.at(-1)
    if (last?.stage === stage) continue
    if (last) last.end = iso(at)
    found.push({ stage, start: iso(at), end })
  }
  return found
}

/** What newer devices measure of a night, and the tests after every third. */
function elixirLines({ add }: Adding, night: Json, nowMs: number): void {
  const [start, end] = [ms(night.start), ms(night.end)]
  score(add, 'readiness', end / 1000, round(night.quality / 10, 1), end)
  sample(add, 'skin_temperature', ms(night.date), night.skin_temperature_celsius)
  sample(add, 'skin_temperature_deviation', ms(night.date), night.temperature_deviation_celsius)
  for (let i = 0; i < Math.floor((end - start) / (15 * MINUTE_MS)); i += 1) {
    const celsius = round(night.skin_temperature_celsius + (i % 2 === 0 ? 0.1 : -0.1), 2)
    sample(add, 'skin_temperature', start + i * 15 * MINUTE_MS, celsius)
  }
  if ((ms(night.date) / DAY_MS) % 3 !== 0 || !night.complete) return
  const [oxygen, electro] = [300_000, 420_000].map((later) => Math.floor(end / 1000) * 1000 + later) as [number, number]
  const heart = (at: number) => {
    sample(add, 'heart_rate', at, Math.round(night.average_heart_rate))
    sample(add, 'heart_rate_variability_rmssd', at, round(night.average_hrv_rmssd_ms, 1))
  }
  if (electro <= nowMs) heart(electro)
  if (oxygen > nowMs || night.spo2_percent === null) return
  heart(oxygen)
  sample(add, 'oxygen_saturation', oxygen, Math.round(night.spo2_percent))
}

function dayLines({ add, anyhow }: Adding, truth: Json, day: Json): void {
  const { date } = day
  total(add, 'steps', date, day.steps)
  total(add, 'energy', date, Math.round(day.active_kcal))
  total(add, 'basal_energy', date, Math.round(day.basal_kcal))
  total(add, 'distance_walking_running', date, round(day.distance_m, 1))
  total(add, 'active_time', date, round(day.active_seconds / 60, 9))
  // The load of one that was deleted stays.
  if (truth.deleted.includes(`workout/${date}`)) return void anyhow.add(`score strain ${date}`)
  const isEarly = ms(date) < ms(truth.person.first_day) + 7 * DAY_MS
  const [workout] = truth.workouts.filter((one: Json) => one.date === date)
  if (!isEarly) score(add, 'strain', date, workout ? round(workout.active_kcal / 6, 1) : 0, noonOf(date))
}

/** Times of the watch, at the eighth second; without those of workouts. Where it is unsure what the watch showed, none has to be. */
function heartRates({ add, allow }: Adding, truth: Json, every: number, unsure: ReadonlySet<string>): void {
  const during = truth.workouts.map(({ start, end }: Json) => [ms(start), ms(end)] as const)
  const isTraining = (at: number) =>
    during.some(([from, until]: readonly number[]) => at >= (from ?? 0) && at < (until ?? 0))
  for (const { date, start, heart_rate: beats } of truth.minutes) {
    const isSure = !unsure.has(date)
    beats.forEach((bpm: number, minute: number) => {
      const at = ms(start) + minute * MINUTE_MS
      if (bpm === 0 || minute % every !== 0 || isTraining(at)) return
      ;(isSure ? add : allow)(`heart_rate ${at / 1000 + 8} ${bpm}`, at)
    })
  }
}

/** Days on which the watch showed another time than where the person woke, on that day or the nearest one that is known. */
export function daysOfJourneys({ minutes, sleeps }: Json): Set<string> {
  const days = minutes.filter(({ date, start }: Json, place: number) => {
    const zones = sleeps.flatMap((sleep: Json) => {
      const far = (ms(sleep.date) - ms(date)) / DAY_MS
      return sleep.nap ? [] : [{ far: far > 0 ? far + 0.5 : -far, zone: offsetMs(sleep.start_offset) }]
    })
    const [nearest] = zones.sort((a: Json, b: Json) => a.far - b.far)
    const next = minutes[place + 1]
    const shown = [ms(date) - ms(start), ...(next ? [ms(next.date) - ms(next.start)] : [])]
    return shown.some((zone) => zone !== nearest?.zone)
  })
  return new Set(days.map(({ date }: Json) => date))
}
