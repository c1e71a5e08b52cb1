import { numberOf, random, round, uuidOf, whole } from '../random.ts'
import { type Cycle, currentWeight, loadOf, type Person } from '../truth/person.ts'
import type { Sport } from '../truth/personas.ts'
import type { SleepView } from '../truth/sleep.ts'
import type { Workout, WorkoutView } from '../truth/workouts.ts'
import { MINUTE_MS, offsetAt, offsetText } from '../zones.ts'

export type Row = Record<string, unknown>

const KJ_PER_KCAL = 4.184
/** How long a new sleep or workout has no score. */
export const SCORING_MS = 20 * MINUTE_MS

/** The number of an account. */
export function accountOf(person: Person): number {
  return numberOf(`whoop/account/${person.seed}`) % 50_000_000
}

/** An edited sleep is a new one. */
export function sleepId(person: Person, { sleep, edited }: SleepView): string {
  return uuidOf(`whoop/${person.seed}/${sleep.key}${edited ? '/edited' : ''}`)
}

export function workoutId(person: Person, { workout }: WorkoutView): string {
  return uuidOf(`whoop/${person.seed}/${workout.key}`)
}

/** Beyond 32 bits. */
export function cycleId(person: Person, day: number): number {
  return accountOf(person) * 100_000 + day
}

/** Ids of the retired API. */
export function v1Id(id: string): number {
  return numberOf(id)
}

function utc(ms: number): string {
  return new Date(ms).toISOString()
}

/** Of the start. */
function zoneOf(zone: string, startMs: number): string {
  const minutes = offsetAt(zone, startMs)
  return minutes === 0 ? 'Z' : offsetText(minutes)
}

type State = 'SCORED' | 'PENDING_SCORE' | 'UNSCORABLE'

/** Whether a sleep or workout has its score by now. */
export function stateOf(record: { unscorable: boolean }, createdMs: number, nowMs: number): State {
  if (record.unscorable) return 'UNSCORABLE'
  return nowMs < createdMs + SCORING_MS ? 'PENDING_SCORE' : 'SCORED'
}

/** The last change; the score is one. */
function updatedMs(state: State, view: { createdMs: number; updatedMs: number }): number {
  return Math.max(view.updatedMs, state === 'SCORED' ? view.createdMs + SCORING_MS : 0)
}

/** When a sleep got its id. */
function bornMs({ edited, createdMs, updatedMs: editedMs }: SleepView): number {
  return edited ? editedMs : createdMs
}

/** Times in ms; efficiency to 0.1 percent, breaths to 0.01. */
export function sleepRecord(person: Person, view: SleepView, nowMs: number): Row {
  const { sleep, startMs, endMs } = view
  const id = sleepId(person, view)
  const createdMs = bornMs(view)
  const state = stateOf(sleep, createdMs, nowMs)
  return {
    id,
    cycle_id: cycleId(person, sleep.day),
    v1_id: v1Id(id),
    user_id: accountOf(person),
    created_at: utc(createdMs),
    updated_at: utc(updatedMs(state, { ...view, createdMs })),
    start: utc(startMs),
    end: utc(endMs),
    timezone_offset: zoneOf(sleep.zone, startMs),
    nap: sleep.nap,
    score_state: state,
    ...(state === 'SCORED' && { score: sleepScore(person, view) }),
  }
}

function sleepScore(person: Person, { sleep, startMs, endMs, seconds, efficiency }: SleepView): Row {
  const next = random(`${person.seed}/whoop/${sleep.key}`)
  return {
    stage_summary: {
      total_in_bed_time_milli: endMs - startMs,
      total_awake_time_milli: seconds.awake * 1000,
      total_no_data_time_milli: 0,
      total_light_sleep_time_milli: seconds.light * 1000,
      total_slow_wave_sleep_time_milli: seconds.deep * 1000,
      total_rem_sleep_time_milli: seconds.rem * 1000,
      sleep_cycle_count: Math.max(1, Math.round((endMs - startMs) / 5_400_000)),
      disturbance_count: sleep.disturbances,
    },
    sleep_needed: {
      baseline_milli: person.inBedMinutes * MINUTE_MS - 1_204_284,
      need_from_sleep_debt_milli: whole(next, 0, 2_400_000),
      need_from_recent_strain_milli: whole(next, 0, 900_000),
      need_from_recent_nap_milli: -whole(next, 0, 600_000),
    },
    respiratory_rate: round(sleep.breaths, 2),
    sleep_performance_percentage: sleep.quality,
    sleep_consistency_percentage: whole(next, 55, 95),
    sleep_efficiency_percentage: round(efficiency, 1),
  }
}

/** The recovery of a main sleep; it has no id of its own. */
export function recoveryRecord(person: Person, view: SleepView, nowMs: number): Row {
  const { sleep } = view
  const createdMs = bornMs(view)
  const state = stateOf(sleep, createdMs, nowMs)
  const score = {
    user_calibrating: sleep.day < person.span.firstDay + 4,
    recovery_score: sleep.recovery,
    resting_heart_rate: view.lowestHeartRate,
    hrv_rmssd_milli: round(view.averageHrv, 6),
    ...(person.strap > 3 && { skin_temp_celsius: round(sleep.skinTemperature, 2) }),
    ...(person.strap > 3 && sleep.spo2 !== null && { spo2_percentage: round(sleep.spo2, 2) }),
  }
  return {
    cycle_id: cycleId(person, sleep.day),
    sleep_id: sleepId(person, view),
    user_id: accountOf(person),
    created_at: utc(createdMs),
    updated_at: utc(updatedMs(state, { ...view, createdMs })),
    score_state: state,
    ...(state === 'SCORED' && { score }),
  }
}

/** An open cycle has no end; how that is said differs between accounts. */
export function cycleRecord(person: Person, cycle: Cycle): Row {
  const { endMs } = cycle
  const load = loadOf(person, cycle)
  const open = person.strap > 3 ? {} : { end: null }
  return {
    id: cycleId(person, cycle.day),
    user_id: accountOf(person),
    created_at: utc(cycle.createdMs),
    updated_at: utc(cycle.updatedMs),
    start: utc(cycle.startMs),
    ...(endMs === null ? open : { end: utc(endMs) }),
    timezone_offset: zoneOf(cycle.zone, cycle.startMs),
    score_state: 'SCORED',
    score: {
      strain: round(load.strain, 4),
      kilojoule: round((load.activeKcal + load.basalKcal) * KJ_PER_KCAL, 3),
      average_heart_rate: Math.round(load.averageHeartRate),
      max_heart_rate: load.maxHeartRate,
    },
  }
}

/** The app's names of sports, and their former numbers; `floorball` is undocumented. */
const SPORTS: Record<Sport, readonly [name: string, id: number]> = {
  running: ['running', 0],
  'trail running': ['running', 0],
  walking: ['walking', 63],
  hiking: ['hiking-rucking', 52],
  cycling: ['cycling', 1],
  swimming: ['swimming', 33],
  rowing: ['rowing', 18],
  strength: ['weightlifting_msk', 123],
  yoga: ['yoga', 44],
  hiit: ['hiit', 96],
  tennis: ['tennis', 34],
  floorball: ['floorball', 9001],
  unknown: ['activity', -1],
}

/** Energy in kJ; distances to 0.01 m. */
export function workoutRecord(person: Person, view: WorkoutView, nowMs: number): Row {
  const { workout, sport } = view
  const id = workoutId(person, view)
  const state = stateOf(workout, view.createdMs, nowMs)
  const [name, number] = SPORTS[sport]
  return {
    id,
    v1_id: v1Id(id),
    user_id: accountOf(person),
    created_at: utc(view.createdMs),
    updated_at: utc(updatedMs(state, view)),
    start: utc(workout.startMs),
    end: utc(workout.endMs),
    timezone_offset: zoneOf(workout.zone, workout.startMs),
    sport_name: name,
    sport_id: number,
    score_state: state,
    ...(state === 'SCORED' && { score: workoutScore(person, view) }),
  }
}

function workoutScore(person: Person, { workout, averageHeartRate, maxHeartRate, strain }: WorkoutView): Row {
  const { distanceM, climbedM, altitudeChangeM } = workout
  return {
    strain: round(strain, 4),
    average_heart_rate: Math.round(averageHeartRate),
    max_heart_rate: maxHeartRate,
    kilojoule: round(workout.kcal * KJ_PER_KCAL, 2),
    percent_recorded: 100,
    ...(distanceM !== null && { distance_meter: distanceM }),
    ...(climbedM !== null && { altitude_gain_meter: climbedM, altitude_change_meter: altitudeChangeM }),
    zone_durations: zoneDurations(person, workout),
  }
}

/** Minutes below half of the highest heart rate, and in each tenth above. */
function zoneDurations({ maxHr }: Person, { heartRate }: Workout): Row {
  const counts = [0, 0, 0, 0, 0, 0]
  for (const beats of heartRate) {
    const zone = Math.min(5, Math.max(0, Math.floor((beats / maxHr) * 10) - 4))
    counts[zone] = (counts[zone] ?? 0) + MINUTE_MS
  }
  const names = ['zero', 'one', 'two', 'three', 'four', 'five']
  return Object.fromEntries(names.map((name, zone) => [`zone_${name}_milli`, counts[zone]]))
}

export function bodyRecord(person: Person, nowMs: number): Row {
  const weight = round(currentWeight(person, nowMs), 4)
  return { height_meter: person.heightCm / 100, weight_kilogram: weight, max_heart_rate: person.maxHr }
}

export function profileRecord(person: Person): Row {
  const { email, firstName, lastName } = person
  return { user_id: accountOf(person), email, first_name: firstName, last_name: lastName }
}
