// What providers make of the truth of a person, and what the service tells of it: both as lines of text, so that two
// sets of them can be compared. Roundings are those of docs/simulator.md, places those of docs/providers.md.
import type { TestApp } from './app.ts'
import type { Json } from './simulator.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const KJ_PER_KCAL = 4.184

/** The lines about what begins in a span. */
export interface Lines {
  /** Has to be there. */
  readonly required: ReadonlySet<string>
  /** May be there. */
  readonly allowed: ReadonlySet<string>
}

/** Half-open, epoch milliseconds. */
export interface Span {
  readonly fromMs: number
  readonly untilMs: number
}

/** JavaScript's own rounding of decimals, half up. */
const round = (value: number, digits = 0) => Number(`${Math.round(Number(`${value}e${digits}`))}e-${digits}`)
const ms = (text: string) => Date.parse(text)
const seconds = (text: string) => Math.floor(ms(text) / 1000)
const offsetMs = (text: string) => {
  const [, sign, hours, minutes] = /^([+-])(\d\d):(\d\d)$/.exec(text) ?? []
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * MINUTE_MS
}

const TYPES: Record<string, [oura: string, whoop: string]> = {
  running: ['running', 'running'],
  'trail running': ['trail_running', 'running'],
  walking: ['walking', 'walking'],
  hiking: ['hiking', 'hiking'],
  cycling: ['cycling', 'cycling'],
  swimming: ['swimming', 'swimming'],
  rowing: ['rowing', 'rowing'],
  strength: ['strength_training', 'strength_training'],
  yoga: ['yoga', 'yoga'],
  hiit: ['cardio_training', 'cardio_training'],
  tennis: ['tennis', 'tennis'],
  floorball: ['other', 'other'],
  unknown: ['generic', 'generic'],
}

const LEVELS = ['limited', 'adequate', 'solid', 'strong', 'exceptional']

type Add = (line: string, atMs: number) => void

const sample = (add: Add, type: string, atMs: number, value: number) => add(`${type} ${atMs / 1000} ${value}`, atMs)
const total = (add: Add, type: string, date: string, value: number) =>
  add(`${type} of ${date} ${value}`, ms(`${date}T12:00:00Z`))
const score = (add: Add, category: string, place: string | number, value: number | string | null, atMs: number) =>
  add(`score ${category} ${place} ${value}`, atMs)

function sleepLine(sleep: Json, efficiency: number | null, asleep: number | null): string {
  const { start, end, start_offset: offset, nap } = sleep
  return `sleep ${seconds(start)} ${seconds(end)} ${offset} ${nap ? 'nap' : 'night'} ${asleep} s ${efficiency} %`
}

const asleepOf = ({ seconds: of }: Json) => of.deep + of.light + of.rem
const stageLine = ({ stage, start, end }: Json) => `stage ${stage} ${seconds(start)} ${seconds(end)}`

/** The lines that Oura's documents become. */
export function ouraLines(truth: Json, span: Span): Lines {
  const required = new Set<string>()
  const allowed = new Set<string>()
  const within =
    (to: Set<string>): Add =>
    (line, atMs) => {
      if (atMs >= span.fromMs && atMs < span.untilMs) to.add(line)
    }
  const add = within(required)
  const nights = new Map<string, Json>()
  for (const sleep of truth.sleeps) {
    if (sleep.ids.oura === null) continue
    const at = ms(sleep.start)
    add(sleepLine(sleep, Math.round(sleep.efficiency_percent), asleepOf(sleep)), at)
    // The oldest ring tells the stages of five minutes.
    if (truth.person.ring !== 'gen3') for (const stage of sleep.stages) add(stageLine(stage), at)
    sleep.heart_rate_5_min.forEach((bpm: number | null, i: number) => {
      if (bpm !== null) sample(add, 'heart_rate', at + i * 300_000, bpm)
    })
    sleep.hrv_rmssd_5_min.forEach((hrv: number | null, i: number) => {
      if (hrv !== null) sample(add, 'heart_rate_variability_rmssd', at + i * 300_000, hrv)
    })
    sample(add, 'respiratory_rate', at, Math.round(sleep.respiratory_rate * 8) / 8)
    sample(add, 'resting_heart_rate', at, sleep.lowest_heart_rate)
    if (!sleep.nap) nights.set(sleep.date, sleep)
  }
  for (const [date, night] of nights) {
    const at = ms(`${date}T12:00:00Z`)
    score(add, 'sleep', date, night.quality, at)
    score(add, 'readiness', date, night.recovery, at)
    total(add, 'skin_temperature_deviation', date, night.temperature_deviation_celsius)
    total(add, 'skin_temperature_trend_deviation', date, night.temperature_trend_deviation_celsius)
    if (night.spo2_percent === null) continue
    total(add, 'oxygen_saturation', date, round(night.spo2_percent, 1))
    total(add, 'breathing_disturbance_index', date, night.disturbances)
  }
  for (const day of truth.days) ouraDay(add, day, nights.has(day.date))
  for (const workout of truth.workouts) {
    if (workout.ids.oura === null) continue
    const distance = workout.distance_m === null ? null : round(workout.distance_m, 1)
    add(workoutLine(workout, TYPES[workout.sport]?.[0], round(workout.active_kcal, 3), distance), ms(workout.start))
  }
  ouraHeartRate(truth, add, within(allowed))
  return { required, allowed }
}

/** A day that goes on has values that change: they are compared when it is over. */
function ouraDay(add: Add, day: Json, hasNight: boolean): void {
  const { date } = day
  const at = ms(`${date}T12:00:00Z`)
  const number = at / DAY_MS - 0.5
  if (hasNight) {
    score(add, 'resilience', date, LEVELS[day.resilience] ?? '', at)
    if (number % 11 !== 0) total(add, 'cardiovascular_age', date, day.vascular_age)
  }
  if (!day.complete) return
  const { stress_seconds: stress, calm_seconds: calm } = day
  score(add, 'activity', date, day.activity, at)
  score(add, 'stress', date, stress > 7200 ? 'stressful' : calm > stress ? 'restored' : 'normal', at)
  total(add, 'steps', date, day.steps)
  total(add, 'energy', date, Math.round(day.active_kcal))
  total(add, 'basal_energy', date, Math.round(day.basal_kcal))
  total(add, 'distance_walking_running', date, Math.round(day.distance_m))
  total(add, 'active_time', date, Math.floor(day.active_seconds / 60))
  if (number % 7 === 0) total(add, 'vo2_max', date, day.vo2_max)
}

/** Awake, every fifth minute has a value, at one of its seconds; of a workout, each minute. */
function ouraHeartRate(truth: Json, required: Add, allowed: Add): void {
  const asleep = truth.sleeps.map(({ start, end }: Json) => [ms(start) - MINUTE_MS, ms(end) + MINUTE_MS])
  const during = truth.workouts.map(({ start, end }: Json) => [ms(start), ms(end)])
  const isIn = (spans: number[][], at: number) => spans.some(([from = 0, until = 0]) => at >= from && at < until)
  // Of a sleep that was deleted there is no line, and no telling when it was.
  const unsure = new Set<string>(truth.deleted.map((key: string) => /\d{4}-\d\d-\d\d|\d{5}/.exec(key)?.[0] ?? key))
  for (const { date, start, heart_rate: beats } of truth.minutes) {
    const number = String(ms(`${date}T00:00:00Z`) / DAY_MS)
    const sure = ![date, number, String(Number(number) + 1)].some((day) => unsure.has(day))
    beats.forEach((bpm: number, minute: number) => {
      const at = ms(start) + minute * MINUTE_MS
      if (bpm === 0) return
      const certain = sure && !isIn(asleep, at) && (minute % 5 === 0 || isIn(during, at))
      ;(certain ? required : allowed)(`heart_rate ${at / 1000 + 21} ${bpm}`, at)
    })
  }
}

function workoutLine(workout: Json, type: string | undefined, kcal: number | null, distance: number | null): string {
  const { start, end, start_offset: offset } = workout
  return `workout ${seconds(start)} ${seconds(end)} ${offset} ${type} ${kcal} kcal ${distance} m`
}

/** The lines that WHOOP's records become. */
export function whoopLines(truth: Json, span: Span): Lines {
  const required = new Set<string>()
  const add: Add = (line, atMs) => {
    if (atMs >= span.fromMs && atMs < span.untilMs) required.add(line)
  }
  for (const sleep of truth.sleeps) {
    if (sleep.ids.whoop === null) continue
    const [start, end] = [ms(sleep.start), ms(sleep.end)]
    if (sleep.unscorable) {
      add(sleepLine(sleep, null, null), start)
      continue
    }
    add(sleepLine(sleep, round(sleep.efficiency_percent, 1), asleepOf(sleep)), start)
    score(add, 'sleep', start / 1000, sleep.quality, start)
    sample(add, 'respiratory_rate', end, round(sleep.respiratory_rate, 2))
    if (!sleep.nap) recoveryLines(add, sleep, truth.person.strap > 3)
  }
  for (const workout of truth.workouts) {
    if (workout.ids.whoop === null) continue
    const type = TYPES[workout.sport]?.[1]
    const start = ms(workout.start)
    const kcal = round(round(workout.active_kcal * KJ_PER_KCAL, 2) / KJ_PER_KCAL, 2)
    if (workout.unscorable) add(workoutLine(workout, type, null, null), start)
    else {
      add(workoutLine(workout, type, kcal, workout.distance_m), start)
      score(add, 'strain', start / 1000, round(workout.strain, 4), start)
    }
  }
  for (const { start, strain, end } of truth.cycles)
    if (end !== null) score(add, 'strain', ms(start) / 1000, round(strain, 4), ms(start))
  return { required, allowed: new Set() }
}

function recoveryLines(add: Add, sleep: Json, hasSensors: boolean): void {
  const end = ms(sleep.end)
  score(add, 'recovery', end / 1000, sleep.recovery, end)
  sample(add, 'recovery_score', end, sleep.recovery)
  sample(add, 'resting_heart_rate', end, sleep.lowest_heart_rate)
  sample(add, 'heart_rate_variability_rmssd', end, round(sleep.average_hrv_rmssd_ms, 6))
  if (!hasSensors) return
  sample(add, 'skin_temperature', end, round(sleep.skin_temperature_celsius, 2))
  if (sleep.spo2_percent !== null) sample(add, 'oxygen_saturation', end, round(sleep.spo2_percent, 2))
}

/** Series whose values are those of a day, whatever the time they are recorded at. */
const OF_DAYS = new Set([
  ...['skin_temperature_deviation', 'skin_temperature_trend_deviation', 'cardiovascular_age', 'vo2_max'],
  ...['steps', 'energy', 'basal_energy', 'distance_walking_running', 'active_time', 'breathing_disturbance_index'],
])
const SCORES_OF_DAYS = new Set(['sleep', 'readiness', 'activity', 'stress', 'resilience'])

/** The lines about what the service has of a provider; not of what changes until a day is over. */
export async function storedLines(
  app: Pick<TestApp, 'request'>,
  user: string,
  provider: string,
  span: Span,
): Promise<Set<string>> {
  const lines = new Set<string>()
  const range = (name: string, more = 0) => {
    const at = (text: number) => new Date(text).toISOString()
    return `start_${name}=${at(span.fromMs - more)}&end_${name}=${at(span.untilMs + more)}`
  }
  const all = async (path: string) => {
    const found: Json[] = []
    for (let cursor = ''; ; ) {
      const { status, body } = await app.request('GET', `/api/v1/users/${user}/${path}&limit=1000${cursor}`)
      if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`)
      found.push(...body.data)
      if (!body.pagination.has_more) return found
      cursor = `&cursor=${encodeURIComponent(body.pagination.next_cursor)}`
    }
  }
  for (const sleep of await all(`events/sleep?provider=${provider}&include=stages&${range('date')}`)) {
    const { zone_offset: start_offset, is_nap: nap, start_time: start, end_time: end } = sleep
    lines.add(sleepLine({ start, end, start_offset, nap }, sleep.efficiency_percent, sleep.sleep_duration_seconds))
    for (const { stage, start_time, end_time } of sleep.sleep_stage_intervals ?? [])
      lines.add(stageLine({ stage, start: start_time, end: end_time }))
  }
  for (const { type, calories_kcal, distance_meters, zone_offset, ...workout } of await all(
    `events/workouts?provider=${provider}&${range('date')}`,
  )) {
    const times = { start: workout.start_time, end: workout.end_time, start_offset: zone_offset }
    lines.add(workoutLine(times, type, calories_kcal, distance_meters))
  }
  addScores(lines, await all(`health-scores?provider=${provider}&${range('date', DAY_MS)}`), provider, span)
  await addSamples(lines, app, { user, provider, span, range: range('time', DAY_MS) })
  return lines
}

interface Samples {
  user: string
  provider: string
  span: Span
  /** The span and a day around it, as a query. */
  range: string
}

async function addSamples(lines: Set<string>, app: Pick<TestApp, 'request'>, asked: Samples): Promise<void> {
  const { user, provider, span, range } = asked
  const path = `/api/v1/users/${user}/timeseries?provider=${provider}&limit=200000&${range}`
  const headers = { Accept: 'application/vnd.pulsebase.columns+json' }
  const { status, body } = await app.request('GET', path, { headers })
  if (status !== 200 || body.pagination.has_more) throw new Error(`${path}: ${status}`)
  const { timestamp_ms: times, value: values, zone_offset_min: zones, series } = body.columns
  for (let i = 0; i < times.length; i += 1) {
    const { type } = body.series[series[i]]
    if (type === 'weight' || type === 'height') continue
    const isOfDay = provider === 'oura' && (OF_DAYS.has(type) || type === 'oxygen_saturation')
    const date = new Date(times[i] + (zones[i] ?? 0) * MINUTE_MS).toISOString().slice(0, 10)
    const place = isOfDay ? ms(`${date}T12:00:00Z`) : times[i]
    if (place < span.fromMs || place >= span.untilMs) continue
    lines.add(isOfDay ? `${type} of ${date} ${values[i]}` : `${type} ${times[i] / 1000} ${values[i]}`)
  }
}

const localDate = (at: number, offset: string | null) =>
  new Date(at + (offset === null ? 0 : offsetMs(offset))).toISOString().slice(0, 10)

function addScores(lines: Set<string>, scores: Json[], provider: string, span: Span): void {
  for (const { category, recorded_at, zone_offset, value, qualifier } of scores) {
    const at = ms(recorded_at)
    const isOfDay = provider === 'oura' && SCORES_OF_DAYS.has(category)
    const date = localDate(at, zone_offset)
    const place = isOfDay ? ms(`${date}T12:00:00Z`) : at
    if (place < span.fromMs || place >= span.untilMs) continue
    lines.add(`score ${category} ${isOfDay ? date : at / 1000} ${qualifier ?? value}`)
  }
}

/** What differs, in words. */
export function differences(stored: ReadonlySet<string>, { required, allowed }: Lines): string[] {
  const missing = [...required].filter((line) => !stored.has(line)).map((line) => `missing: ${line}`)
  const more = [...stored]
    .filter((line) => !required.has(line) && !allowed.has(line))
    .map((line) => `not true: ${line}`)
  return [...missing, ...more].sort((a, b) => (a.slice(9) < b.slice(9) ? -1 : 1))
}
