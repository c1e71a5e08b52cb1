// What providers make of the truth of a person, and what the service tells of it: both as lines of text, so that two
// sets of them can be compared. Roundings are those of docs/simulator.md, places those of docs/providers.md.
import { round } from '../../simulator/random.ts'
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
  /** `series date`: what may be there though the truth does not tell it. */
  readonly unsure: ReadonlySet<string>
  /** Lines without their last word, which may be any. */
  readonly anyhow?: ReadonlySet<string>
  /** First words of the lines that are compared; absent: all. */
  readonly only?: ReadonlySet<string>
}

/** Half-open, and when providers were asked: epoch milliseconds. */
export interface Span {
  readonly fromMs: number
  readonly untilMs: number
  readonly nowMs: number
  /** What began since then was asked for one by one, where lists do not say everything; absent: all. */
  readonly aloneMs?: number
  /** Told as it became known, where providers tell the past as it is by now. */
  readonly asItWas?: boolean
}

/** How long WHOOP may take to score what is new. */
const SCORING_MS = 20 * MINUTE_MS

export const ms = (text: string) => Date.parse(text)
const seconds = (text: string) => Math.floor(ms(text) / 1000)
export const offsetMs = (text: string) => {
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

/** Kilograms with which the energies of a day are reckoned: 0.0162 kcal for each and every minute. */
export function weightOf({ calendar_days: days }: Json, { date, met_tenths: minutes }: Json): number {
  const day = days.find((one: Json) => one.date === date)
  return round(day.basal_kcal / (minutes.length * 0.0162), 1)
}

/** Of two values of a series at one instant, one is stored: neither has to be. */
export function oneOfEach(required: Set<string>, allowed: Set<string>): void {
  const seen = new Map<string, string>()
  for (const line of required) {
    if (!/^\w+ [\d.]+ \S+$/.test(line)) continue
    const instant = line.slice(0, line.lastIndexOf(' '))
    const before = seen.get(instant)
    seen.set(instant, line)
    for (const one of before === undefined ? [] : [before, line]) if (required.delete(one)) allowed.add(one)
  }
}

const LEVELS = ['limited', 'adequate', 'solid', 'strong', 'exceptional']

export type Add = (line: string, atMs: number) => void

/** Adds what is of a span to `lines`. */
export const within =
  ({ fromMs, untilMs }: Span, lines: Set<string>): Add =>
  (line, atMs) => {
    if (atMs >= fromMs && atMs < untilMs) lines.add(line)
  }

export const sample = (add: Add, type: string, atMs: number, value: number) =>
  add(`${type} ${atMs / 1000} ${value}`, atMs)
export const total = (add: Add, type: string, date: string, value: number) =>
  add(`${type} of ${date} ${value}`, ms(`${date}T12:00:00Z`))
export const score = (
  add: Add,
  category: string,
  place: string | number,
  value: number | string | null,
  atMs: number,
) => add(`score ${category} ${place} ${value}`, atMs)

export function sleepLine(sleep: Json, efficiency: number | null, asleep: number | null): string {
  const { start, end, start_offset: offset, nap } = sleep
  return `sleep ${seconds(start)} ${seconds(end)} ${offset} ${nap ? 'nap' : 'night'} ${asleep} s ${efficiency} %`
}

/** How long each stage of a night was, where there are no intervals. */
const partsLine = (start: string, { awake, light, deep, rem }: Json) =>
  `parts ${seconds(start)} ${[awake, light, deep, rem].map((one) => Math.floor(one / 60)).join('/')} minutes`

export const asleepOf = ({ seconds: of }: Json) => of.deep + of.light + of.rem
export const stageLine = ({ stage, start, end }: Json) => `stage ${stage} ${seconds(start)} ${seconds(end)}`

/** The lines that Oura's documents become. */
export function ouraLines(truth: Json, span: Span): Lines {
  const required = new Set<string>()
  const allowed = new Set<string>()
  const add = within(span, required)
  const nights = new Map<string, Json>()
  for (const sleep of truth.sleeps) {
    if (sleep.ids.oura === null) continue
    const at = ms(sleep.start)
    add(sleepLine(sleep, Math.round(sleep.efficiency_percent), asleepOf(sleep)), at)
    const stages = truth.person.ring === 'gen3' ? ofFiveMinutes(sleep) : sleep.stages
    for (const stage of stages) add(stageLine(stage), at)
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
  for (const day of truth.days) ouraDay({ required: add, allowed: within(span, allowed) }, day, nights.has(day.date))
  for (const workout of truth.workouts) {
    if (workout.ids.oura === null) continue
    const distance = workout.distance_m === null ? null : round(workout.distance_m, 1)
    add(workoutLine(workout, TYPES[workout.sport]?.[0], distance), ms(workout.start))
    add(kcalLine(workout.start, round(workout.active_kcal, 3)), ms(workout.start))
  }
  ouraHeartRate(truth, add, within(span, allowed))
  return { required, allowed, unsure: ofSeries(['heart_rate'], unsureDays(truth)) }
}

const STAGES = ['deep', 'light', 'rem', 'awake']

/** The oldest ring tells of each five minutes the stage that takes most of them. */
function ofFiveMinutes({ stages, start, end }: Json): Json[] {
  const found: { stage: string; start: string; end: string }[] = []
  for (let at = ms(start); at < ms(end); at += 300_000) {
    const untilMs = Math.min(at + 300_000, ms(end))
    const within = (name: string) => {
      const own = stages.filter(({ stage }: Json) => stage === name)
      return own.reduce((sum: number, one: Json) => sum + overlap(one, at, untilMs), 0)
    }
    const most = STAGES.reduce((best, name) => (within(name) > within(best) ? name : best))
    const last = found.at(-1)
    if (last?.stage === most) last.end = iso(untilMs)
    else found.push({ stage: most, start: iso(at), end: iso(untilMs) })
  }
  return found
}

const overlap = ({ start, end }: Json, fromMs: number, untilMs: number) =>
  Math.max(0, Math.min(ms(end), untilMs) - Math.max(ms(start), fromMs))

/** Words about a day come when it is over. */
function ouraDay({ required: add, allowed }: { required: Add; allowed: Add }, day: Json, hasNight: boolean): void {
  const { date } = day
  const at = ms(`${date}T12:00:00Z`)
  const number = at / DAY_MS - 0.5
  if (hasNight) {
    score(add, 'resilience', date, LEVELS[day.resilience] ?? '', at)
    if (number % 11 !== 0) total(add, 'cardiovascular_age', date, day.vascular_age)
  }
  const { stress_seconds: stress, calm_seconds: calm } = day
  const told = day.complete ? add : allowed
  score(told, 'activity', date, day.activity, at)
  score(told, 'stress', date, stress > 7200 ? 'stressful' : calm > stress ? 'restored' : 'normal', at)
  total(add, 'steps', date, day.steps)
  total(add, 'energy', date, Math.round(day.active_kcal))
  total(add, 'basal_energy', date, Math.round(day.basal_kcal))
  total(add, 'distance_walking_running', date, Math.round(day.distance_m))
  total(add, 'active_time', date, Math.floor(day.active_seconds / 60))
  if (number % 7 === 0) total(told, 'vo2_max', date, day.vo2_max)
}

/** Awake, every fifth minute has a value, at one of its seconds; of a workout, each minute. */
function ouraHeartRate(truth: Json, required: Add, allowed: Add): void {
  const asleep = truth.sleeps.map(({ start, end }: Json) => [ms(start) - MINUTE_MS, ms(end) + MINUTE_MS])
  const during = truth.workouts.map(({ start, end }: Json) => [ms(start), ms(end)])
  const isIn = (spans: number[][], at: number) => spans.some(([from = 0, until = 0]) => at >= from && at < until)
  const unsure = unsureDays(truth)
  for (const { date, start, heart_rate: beats } of truth.minutes) {
    const sure = !unsure.has(date)
    beats.forEach((bpm: number, minute: number) => {
      const at = ms(start) + minute * MINUTE_MS
      if (bpm === 0) return
      const certain = sure && !isIn(asleep, at) && (minute % 5 === 0 || isIn(during, at))
      ;(certain ? required : allowed)(`heart_rate ${at / 1000 + 21} ${bpm}`, at)
    })
  }
}

/**
 * The days of sleeps that were deleted or edited, or are not known yet, and those before: their heart rate is told all
 * the same, and there is no telling when they were.
 */
export function unsureDays(truth: Json): Set<string> {
  const edited = truth.sleeps.flatMap(({ edited, date }: Json) => (edited ? [date] : []))
  const deleted = truth.deleted.flatMap((key: string) => /\d{4}-\d\d-\d\d/.exec(key) ?? [])
  const last = truth.minutes.slice(-2).map(({ date }: Json) => date)
  const dates: string[] = [...edited, ...deleted, ...last]
  return new Set(dates.flatMap((date) => [date, iso(noonOf(date) - DAY_MS).slice(0, 10)]))
}

export const ofSeries = (series: readonly string[], days: ReadonlySet<string>): Set<string> =>
  new Set([...days].flatMap((day) => series.map((one) => `${one} ${day}`)))

export function workoutLine(workout: Json, type: string | undefined, distance: number | null): string {
  const { start, end, start_offset: offset } = workout
  return `workout ${seconds(start)} ${seconds(end)} ${offset} ${type} ${distance} m`
}

export const kcalLine = (start: string, kcal: number | '') => `kcal of workout ${seconds(start)} ${kcal}`

/** The lines that WHOOP's records become. */
export function whoopLines(truth: Json, span: Span): Lines {
  const required = new Set<string>()
  const allowed = new Set<string>()
  const isNew = ({ updated_at: at }: Json) => ms(at) > span.nowMs - SCORING_MS
  for (const sleep of truth.sleeps) {
    if (sleep.ids.whoop === null) continue
    const [start, end] = [ms(sleep.start), ms(sleep.end)]
    const add = within(span, isNew(sleep) ? allowed : required)
    if (isNew(sleep)) add(sleepLine(sleep, null, null), start)
    if (sleep.unscorable) {
      add(sleepLine(sleep, null, null), start)
      continue
    }
    add(sleepLine(sleep, round(sleep.efficiency_percent, 1), asleepOf(sleep)), start)
    add(partsLine(sleep.start, sleep.seconds), start)
    score(add, 'sleep', start / 1000, sleep.quality, start)
    sample(add, 'respiratory_rate', end, round(sleep.respiratory_rate, 2))
    if (!sleep.nap) recoveryLines(add, sleep, truth.person.strap > 3)
  }
  for (const workout of truth.workouts) {
    if (workout.ids.whoop === null) continue
    const type = TYPES[workout.sport]?.[1]
    const start = ms(workout.start)
    const add = within(span, isNew(workout) ? allowed : required)
    if (isNew(workout)) add(workoutLine(workout, type, null), start)
    const kcal = round(round(workout.active_kcal * KJ_PER_KCAL, 2) / KJ_PER_KCAL, 2)
    if (workout.unscorable) add(workoutLine(workout, type, null), start)
    else {
      add(workoutLine(workout, type, workout.distance_m), start)
      add(kcalLine(workout.start, kcal), start)
      score(add, 'strain', start / 1000, round(workout.strain, 4), start)
    }
  }
  for (const { start, strain } of truth.cycles)
    score(within(span, required), 'strain', ms(start) / 1000, round(strain, 4), ms(start))
  return { required, allowed, unsure: new Set() }
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

/** What is told by the day beside its totals, at whatever time it stands: series and scores. */
const OF_DAYS: Record<string, ReadonlySet<string>> = {
  oura: new Set([
    ...['oxygen_saturation', 'skin_temperature_deviation', 'skin_temperature_trend_deviation', 'cardiovascular_age'],
    ...['vo2_max', 'breathing_disturbance_index'],
    ...['sleep', 'readiness', 'activity', 'stress', 'resilience'].map((category) => `score ${category}`),
  ]),
  polar: new Set(['score recovery', 'score strain']),
  ...Object.fromEntries(['withings', 'sensorbio', 'fitbit'].map((provider) => [provider, new Set(['steps'])])),
}

/** Providers of whose nights and workouts the times are compared, and these of what is in them (truth-others.ts). */
export const PLAIN: Readonly<Record<string, { asleep?: true; metres?: true; anyOffset?: true }>> = {
  withings: { asleep: true, metres: true },
  google_health: { asleep: true, metres: true },
  // It shows days by the zone of the present.
  ultrahuman: { asleep: true, anyOffset: true },
  // A service knows the offset by what others tell.
  sensorbio: { metres: true, anyOffset: true },
  fitbit: {},
}

/** What profiles say is of the moment of the answer. */
const OF_PROFILES: Record<string, readonly string[]> = {
  ...{ oura: ['weight', 'height'], whoop: ['weight', 'height'], strava: ['weight', 'height'] },
  polar: ['weight', 'height', 'resting_heart_rate', 'vo2_max'],
  ...Object.fromEntries(Object.keys(PLAIN).map((provider) => [provider, []])),
}

/** What a score is shown as; absent: its word, else its value. */
const SHOWN: Record<string, (value: number | null, qualifier: string | null) => number | string | null> = {
  polar: (value) => value,
  garmin: (value, qualifier) => `${value}/${qualifier}`,
  suunto: (value, qualifier) => `${value}/${qualifier}`,
}

/** Collects the lines about what is known of a person at a provider. */
export class Told {
  readonly lines = new Set<string>()
  readonly #provider: string
  readonly #span: Span

  constructor(provider: string, span: Span) {
    this.#provider = provider
    this.#span = span
  }

  /** A night or a nap; its stages, where there are intervals. Times in epoch milliseconds. */
  sleep(sleep: SleepTold): void {
    if (!this.#has(sleep.startMs)) return
    const times = { start: iso(sleep.startMs), end: iso(sleep.endMs), start_offset: sleep.offset, nap: sleep.isNap }
    const plain = PLAIN[this.#provider]
    const shown = plain?.anyOffset ? { ...times, start_offset: null } : times
    if (plain) this.lines.add(sleepLine(shown, null, plain.asleep ? sleep.asleepS : null))
    else this.lines.add(sleepLine(times, sleep.efficiency, sleep.asleepS))
    if (this.#provider === 'whoop' && sleep.parts) this.lines.add(partsLine(times.start, sleep.parts))
    for (const [stage, startMs, endMs] of sleep.stages ?? [])
      this.lines.add(stageLine({ stage, start: iso(startMs), end: iso(endMs) }))
  }

  workout({ startMs, endMs, offset, type, kcal, distance }: WorkoutTold): void {
    if (!this.#has(startMs)) return
    const times = { start: iso(startMs), end: iso(endMs), start_offset: offset }
    const plain = PLAIN[this.#provider]
    const shown = plain?.anyOffset ? { ...times, start_offset: null } : times
    if (plain) this.lines.add(workoutLine(shown, '-', plain.metres ? distance : null))
    else this.lines.add(workoutLine(times, type, distance))
    if (kcal !== null) this.lines.add(kcalLine(times.start, kcal))
  }

  score({ category, atMs, zoneMin, value, qualifier }: ScoreTold): void {
    const date = localDate(atMs, zoneMin)
    const isOfDay = this.#isOfDay(`score ${category}`)
    if (!this.#has(isOfDay ? noonOf(date) : atMs)) return
    const shown = SHOWN[this.#provider] ?? (() => qualifier ?? value)
    this.lines.add(`score ${category} ${isOfDay ? date : atMs / 1000} ${shown(value, qualifier)}`)
  }

  /** `isTotal`: of a day. */
  sample({ type, isTotal }: SeriesTold, atMs: number, zoneMin: number | null, value: number): void {
    if (OF_PROFILES[this.#provider]?.includes(type)) return
    const date = localDate(atMs, zoneMin)
    const isOfDay = isTotal || this.#isOfDay(type)
    if (!this.#has(isOfDay ? noonOf(date) : atMs)) return
    this.lines.add(isOfDay ? `${type} of ${date} ${value}` : `${type} ${atMs / 1000} ${value}`)
  }

  /** Something that a person did, which is no workout. */
  activity({ startMs, endMs, type }: { startMs: number; endMs: number; type: string }): void {
    if (this.#has(startMs)) this.lines.add(`activity ${startMs / 1000} ${endMs / 1000} ${type}`)
  }

  /** A menstrual cycle; lengths in days. */
  cycle({ startMs, length, predicted, period }: CycleTold): void {
    if (this.#has(startMs)) this.lines.add(`cycle ${iso(startMs).slice(0, 10)} ${length} ${predicted} ${period}`)
  }

  #isOfDay(what: string): boolean {
    return OF_DAYS[this.#provider]?.has(what) ?? false
  }

  #has(atMs: number): boolean {
    return atMs >= this.#span.fromMs && atMs < this.#span.untilMs
  }
}

interface SleepTold {
  startMs: number
  endMs: number
  offset: string | null
  isNap: boolean
  asleepS: number | null
  efficiency: number | null
  stages: readonly (readonly [stage: string, startMs: number, endMs: number])[] | null
  /** Seconds of each stage. */
  parts: Record<'awake' | 'light' | 'deep' | 'rem', number> | null
}

interface WorkoutTold {
  startMs: number
  endMs: number
  offset: string | null
  type: string
  kcal: number | null
  distance: number | null
}

interface SeriesTold {
  type: string
  isTotal: boolean
}

interface CycleTold {
  startMs: number
  length: number | null
  predicted: number | null
  period: number | null
}

interface ScoreTold {
  category: string
  atMs: number
  zoneMin: number | null
  value: number | null
  qualifier: string | null
}

export const noonOf = (date: string) => ms(`${date}T12:00:00Z`)
export const iso = (at: number) => new Date(at).toISOString()
const localDate = (at: number, zoneMin: number | null) => iso(at + (zoneMin ?? 0) * MINUTE_MS).slice(0, 10)
const minutesOf = (offset: string | null) => (offset === null ? null : offsetMs(offset) / MINUTE_MS)

/** The lines about what the service has of a provider, as a reader gets it. */
export async function storedLines(
  app: Pick<TestApp, 'request' | 'db'>,
  user: string,
  provider: string,
  span: Span,
): Promise<Set<string>> {
  const told = new Told(provider, span)
  const get = async (path: string, headers = {}) => {
    const { status, body } = await app.request('GET', `/api/v1/users/${user}/${path}`, { headers })
    if (status !== 200 || (body.pagination.has_more && path.includes('200000')))
      throw new Error(`${path}: ${status} ${JSON.stringify(body).slice(0, 300)}`)
    return body
  }
  // What is told by the day stands at one of its ends.
  const range = (name: string) =>
    `start_${name}=${iso(span.fromMs - DAY_MS)}&end_${name}=${iso(span.untilMs + DAY_MS)}&provider=${provider}`
  const all = async (path: string) => {
    const found: Json[] = []
    for (let next = ''; ; ) {
      const { data, pagination } = await get(`${path}&limit=1000${next}`)
      found.push(...data)
      if (!pagination.has_more) return found
      // Scores have no cursor.
      const { next_cursor: cursor } = pagination
      next = cursor === null ? `&offset=${found.length}` : `&cursor=${encodeURIComponent(cursor)}`
    }
  }
  for (const sleep of await all(`events/sleep?include=stages&${range('date')}`))
    told.sleep({
      ...{ startMs: ms(sleep.start_time), endMs: ms(sleep.end_time), offset: sleep.zone_offset, isNap: sleep.is_nap },
      ...{ asleepS: sleep.sleep_duration_seconds, efficiency: sleep.efficiency_percent, parts: partsOf(sleep.stages) },
      stages:
        sleep.sleep_stage_intervals?.map((one: Json) => [one.stage, ms(one.start_time), ms(one.end_time)]) ?? null,
    })
  for (const workout of await all(`events/workouts?${range('date')}`))
    told.workout({
      ...{ startMs: ms(workout.start_time), endMs: ms(workout.end_time), offset: workout.zone_offset },
      ...{ type: workout.type, kcal: workout.calories_kcal, distance: workout.distance_meters },
    })
  for (const { category, recorded_at, zone_offset, value, qualifier } of await all(`health-scores?${range('date')}`))
    told.score({
      ...{ category, atMs: ms(recorded_at), zoneMin: minutesOf(zone_offset), value, qualifier },
    })
  const columnar = { Accept: 'application/vnd.pulsebase.columns+json' }
  const { columns, series } = await get(`timeseries?limit=200000&${range('time')}`, columnar)
  columns.timestamp_ms.forEach((at: number, i: number) => {
    const { type, is_daily_total: isTotal } = series[columns.series[i]]
    told.sample({ type, isTotal: isTotal === true }, at, columns.zone_offset_min[i], columns.value[i])
  })
  for (const one of await all(`events/menstrual-cycles?${range('date')}`))
    told.cycle({
      ...{ startMs: ms(one.start_time), length: one.cycle_length, predicted: one.predicted_cycle_length },
      period: one.period_length,
    })
  // No route lists them.
  for (const one of await app.db.query<{ startMs: number; endMs: number; type: string }>(ACTIVITIES_SQL, [
    user,
    provider,
  ]))
    told.activity(one)
  return told.lines
}

/** Of minutes as they are shown, seconds. */
const partsOf = (minutes: Json | null) =>
  minutes && {
    ...{ awake: minutes.awake_minutes * 60, light: minutes.light_minutes * 60 },
    ...{ deep: minutes.deep_minutes * 60, rem: minutes.rem_minutes * 60 },
  }

const ACTIVITIES_SQL = `
  select date_part('epoch', a.start_at) * 1000 as "startMs", date_part('epoch', a.end_at) * 1000 as "endMs", a.type
  from activity a join data_source d on d.id = a.source_id
  where a.user_id = $1 and d.provider = $2`

/** What differs, in words. */
export function differences(stored: ReadonlySet<string>, lines: Lines): string[] {
  const { required, allowed, unsure, anyhow, only } = lines
  const isCompared = (line: string) => only === undefined || only.has(line.slice(0, line.indexOf(' ')))
  const isUnsure = (line: string) => {
    if (anyhow?.has(line.slice(0, line.lastIndexOf(' ')))) return true
    const [, series, at] = /^(\w+) ([\d.]+) /.exec(line) ?? []
    if (at === undefined) return false
    // The day of a person may begin half a day before or after that of UTC.
    const dates = [-0.5, 0, 0.5].map((days) => iso(Number(at) * 1000 + days * DAY_MS).slice(0, 10))
    return dates.some((date) => unsure.has(`${series} ${date}`))
  }
  const missing = [...required].filter((line) => !stored.has(line)).map((line) => `missing: ${line}`)
  const more = [...stored]
    .filter((line) => isCompared(line) && !required.has(line) && !allowed.has(line) && !isUnsure(line))
    .map((line) => `not true: ${line}`)
  return [...missing, ...more].sort((a, b) => (a.slice(9) < b.slice(9) ? -1 : 1))
}
