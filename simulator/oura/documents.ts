import { between, random, round, uuidOf, whole } from '../random.ts'
import { type Day, eachMinute, level, type Person, sumsOf } from '../truth/person.ts'
import type { Rest, Run, SleepView, Stage } from '../truth/sleep.ts'
import type { WorkoutView } from '../truth/workouts.ts'
import { dateOf, isoAt, localMs, MINUTE_MS, offsetAt } from '../zones.ts'

/** A document as the API shows it. */
export type Document = Record<string, unknown>

/** The id of a document; it stays when the document is edited. */
export function idOf(person: Person, key: string): string {
  return uuidOf(`oura/${person.seed}/${key}`)
}

/** The id of a person's account, which notices carry, too. */
export function accountOf(person: Person): string {
  return uuidOf(`oura/account/${person.seed}`)
}

/** Local time with its offset, as `daily` documents carry it. */
export function localTime(zone: string, ms: number, fraction = ''): string {
  return isoAt(ms, offsetAt(zone, ms), fraction)
}

function midnight({ zone, day }: { zone: string; day: number }): string {
  return localTime(zone, localMs(zone, day, 0))
}

const CODES: Record<Stage, string> = { deep: '1', light: '2', rem: '3', awake: '4' }

/** One character for each 30 seconds; stages change at no other time. */
function phasesOf(runs: readonly Run[]): string {
  return runs.map(({ stage, seconds }) => CODES[stage].repeat(Math.ceil(seconds / 30))).join('')
}

/** One character for each five minutes: that of the stage which takes most of them. */
function coarse(phases: string): string {
  return phases.replaceAll(/.{1,10}/g, (part) => {
    const counts = Object.values(CODES).map((code) => [code, part.split(code).length - 1] as const)
    return counts.reduce((most, one) => (one[1] > most[1] ? one : most))[0]
  })
}

/** `sleep`: rounded to whole seconds, percent and ms, breaths to an eighth. */
export function sleepDocument(person: Person, view: SleepView): Document {
  const { sleep, startMs, endMs, seconds, runs } = view
  const start = isoAt(startMs, view.startOffset, '.000')
  const values = (items: Uint8Array) => Array.from(items, (value) => (value > 0 ? value : null))
  const inBed = Math.round((endMs - startMs) / 1000)
  const fine = person.ring !== 'gen3'
  const phases = phasesOf(runs)
  return {
    id: idOf(person, sleep.key),
    day: dateOf(sleep.day),
    type: sleepType(view),
    period: sleep.nap ? 1 : 0,
    bedtime_start: isoAt(startMs, view.startOffset),
    bedtime_end: isoAt(endMs, view.endOffset),
    time_in_bed: inBed,
    total_sleep_duration: seconds.deep + seconds.light + seconds.rem,
    deep_sleep_duration: seconds.deep,
    light_sleep_duration: seconds.light,
    rem_sleep_duration: seconds.rem,
    awake_time: seconds.awake,
    latency: runs[0]?.stage === 'awake' ? runs[0].seconds : 0,
    efficiency: Math.round(view.efficiency),
    average_breath: Math.round(sleep.breaths * 8) / 8,
    average_heart_rate: round(view.averageHeartRate, 2),
    lowest_heart_rate: view.lowestHeartRate,
    average_hrv: Math.round(view.averageHrv),
    heart_rate: { interval: 300, items: values(view.heartRate), timestamp: start },
    hrv: { interval: 300, items: values(view.hrv), timestamp: start },
    sleep_phase_5_min: coarse(phases),
    ...(fine && { sleep_phase_30_sec: phases, movement_30_sec: '1'.repeat(Math.ceil(inBed / 30)) }),
    restless_periods: sleep.disturbances * 9,
    low_battery_alert: false,
    readiness: sleep.nap ? null : readiness(person, view),
    sleep_algorithm_version: 'v2',
    sleep_analysis_reason: view.edited ? 'bedtime_edit' : 'foreground_sleep_analysis',
  }
}

function sleepType({ deleted, sleep, startMs, startOffset }: SleepView): string {
  if (deleted) return 'deleted'
  if (!sleep.nap) return 'long_sleep'
  return new Date(startMs + startOffset * MINUTE_MS).getUTCHours() >= 18 ? 'late_nap' : 'sleep'
}

/** A `sleep` of type `rest`: in bed, and awake all the time. */
export function restDocument(person: Person, { key, day, zone, startMs, endMs }: Rest): Document {
  const seconds = (endMs - startMs) / 1000
  return {
    id: idOf(person, key),
    day: dateOf(day),
    type: 'rest',
    period: 2,
    bedtime_start: localTime(zone, startMs),
    bedtime_end: localTime(zone, endMs),
    ...{ time_in_bed: seconds, awake_time: seconds, latency: 0, efficiency: 0, total_sleep_duration: 0 },
    ...{ deep_sleep_duration: 0, light_sleep_duration: 0, rem_sleep_duration: 0 },
    ...{ average_breath: null, average_heart_rate: null, lowest_heart_rate: null, average_hrv: null },
    ...{ heart_rate: null, hrv: null, sleep_phase_5_min: CODES.awake.repeat(Math.ceil(seconds / 300)) },
    ...{ restless_periods: 0, low_battery_alert: false, readiness: null, sleep_algorithm_version: 'v2' },
  }
}

/** Parts of a score, 50 to 100: the same ones whenever they are asked for. */
function contributors(person: Person, kind: string, day: number, names: string): Record<string, number> {
  const next = random(`${person.seed}/oura/${kind}/${day}`)
  return Object.fromEntries(names.split(' ').map((name) => [name, whole(next, 50, 100)]))
}

const READINESS =
  'activity_balance body_temperature hrv_balance previous_day_activity previous_night recovery_index resting_heart_rate sleep_balance sleep_regularity'

function readiness(person: Person, { sleep }: SleepView): Document {
  return {
    contributors: contributors(person, 'readiness', sleep.day, READINESS),
    score: sleep.recovery,
    temperature_deviation: sleep.temperatureDeviation,
    temperature_trend_deviation: sleep.temperatureTrend,
  }
}

export function dailyReadiness(person: Person, view: SleepView): Document {
  const { sleep } = view
  const day = { day: dateOf(sleep.day), timestamp: midnight(sleep) }
  return { id: idOf(person, `readiness/${sleep.day}`), ...day, ...readiness(person, view) }
}

export function dailySleep(person: Person, { sleep }: SleepView): Document {
  const names = 'deep_sleep efficiency latency rem_sleep restfulness timing total_sleep'
  return {
    id: idOf(person, `sleep/${sleep.day}`),
    day: dateOf(sleep.day),
    score: sleep.quality,
    timestamp: midnight(sleep),
    contributors: contributors(person, 'sleep', sleep.day, names),
  }
}

/** The three ways in which a night shows that a value is missing. */
export function dailySpo2(person: Person, { sleep }: SleepView): Document {
  const missing = [null, { average: null }, { average: 0 }][sleep.day % 3]
  return {
    id: idOf(person, `spo2/${sleep.day}`),
    day: dateOf(sleep.day),
    spo2_percentage: sleep.spo2 === null ? missing : { average: round(sleep.spo2, 1) },
    breathing_disturbance_index: sleep.spo2 === null ? null : sleep.disturbances,
  }
}

/** Without id and time, like the real lists. */
export function cardiovascularAge({ day, vascularAge }: Day): Document {
  return { day: dateOf(day), vascular_age: day % 11 === 0 ? null : vascularAge }
}

export function vo2Max(person: Person, { day, zone, vo2Max: value }: Day): Document {
  const timestamp = localTime(zone, localMs(zone, day, 492))
  return { id: idOf(person, `vo2_max/${day}`), day: dateOf(day), timestamp, vo2_max: value }
}

const LEVELS = ['limited', 'adequate', 'solid', 'strong', 'exceptional']

export function dailyResilience(person: Person, { day, resilience }: Day): Document {
  const next = random(`${person.seed}/oura/resilience/${day}`)
  const part = () => round(between(next, 20, 99), 1)
  return {
    id: idOf(person, `resilience/${day}`),
    day: dateOf(day),
    level: LEVELS[resilience],
    contributors: { sleep_recovery: part(), daytime_recovery: part(), stress: part() },
  }
}

/** Of a day that goes on: the share of it that is known, and no summary. */
export function dailyStress(person: Person, day: Day, share: number): Document {
  const { stressSeconds, calmSeconds } = day
  const known = (seconds: number) => Math.floor((seconds * share) / 900) * 900
  const summary = stressSeconds > 7200 ? 'stressful' : calmSeconds > stressSeconds ? 'restored' : 'normal'
  return {
    id: idOf(person, `stress/${day.day}`),
    day: dateOf(day.day),
    stress_high: known(stressSeconds),
    recovery_high: known(calmSeconds),
    day_summary: share < 1 ? null : summary,
  }
}

/** From 04:00 to the next 04:00, or to what is known. */
export function dailyActivity(person: Person, day: Day, untilMs: number): Document {
  const sums = sumsOf(person, day.startMs, untilMs)
  const mets: number[] = []
  eachMinute(person, day.startMs, untilMs, ({ met }, i) => mets.push((met[i] || 1) / 10))
  const names = 'meet_daily_targets move_every_hour recovery_time stay_active training_frequency training_volume'
  const timestamp = localTime(day.zone, day.startMs)
  return {
    id: idOf(person, `activity/${day.day}`),
    day: dateOf(day.day),
    score: untilMs - day.startMs < 360 * MINUTE_MS ? null : day.activity,
    active_calories: Math.round(sums.activeKcal),
    total_calories: Math.round(sums.activeKcal) + Math.round(sums.basalKcal),
    steps: sums.steps,
    equivalent_walking_distance: Math.round(sums.distanceM),
    ...{ high_activity_time: sums.highSeconds, medium_activity_time: sums.mediumSeconds },
    ...{ low_activity_time: sums.lowSeconds, sedentary_time: sums.sedentarySeconds },
    ...{ resting_time: sums.restingSeconds, non_wear_time: sums.offSeconds },
    average_met_minutes: round(sums.averageMet, 2),
    class_5_min: classes(mets),
    met: { interval: 60, items: mets, timestamp: localTime(day.zone, day.startMs, '.000') },
    timestamp,
    contributors: contributors(person, 'activity', day.day, names),
  }
}

/** Not worn 0, rest 1, then by how lively five minutes were. */
function classes(mets: readonly number[]): string {
  const signs = { sedentary: '2', low: '3', medium: '4', high: '5' }
  let text = ''
  for (let i = 0; i < mets.length; i += 5) {
    const met = Math.max(...mets.slice(i, i + 5))
    text += met < 0.2 ? '0' : met < 1 ? '1' : signs[level(met * 10)]
  }
  return text
}

/** Oura's names of sports; one of them is undocumented. */
const ACTIVITIES: Record<string, string> = {
  'trail running': 'trailRunning',
  strength: 'strengthTraining',
  floorball: 'floorball',
  unknown: 'other',
}

/** What a person has named is `confirmed`; distances to 0.1 m, energy to 0.001 kcal. */
export function workoutDocument(person: Person, { workout, sport, confirmed }: WorkoutView): Document {
  const { key, day, zone, startMs, endMs, kcal, distanceM, met, manual } = workout
  return {
    id: idOf(person, key),
    activity: ACTIVITIES[sport] ?? sport,
    calories: round(kcal, 3),
    day: dateOf(day),
    distance: distanceM === null ? null : round(distanceM, 1),
    start_datetime: localTime(zone, startMs),
    end_datetime: localTime(zone, endMs),
    intensity: met < 4 ? 'easy' : met < 8 ? 'moderate' : 'hard',
    label: null,
    source: manual ? 'manual' : confirmed ? 'confirmed' : sport === 'unknown' ? 'autodetected' : 'workout_heart_rate',
  }
}
