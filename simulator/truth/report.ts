import type { Ids, Provider } from '../provider.ts'
import { round } from '../random.ts'
import { DAY_MS, dateOf, isoAt, offsetAt, offsetText } from '../zones.ts'
import { drinksOf, mealsOf } from './meals.ts'
import {
  bloodPressureOf,
  compositionOf,
  glucoseOf,
  menstrualCycleOn,
  snapshotOf,
  spotOxygenOf,
  temperatureOf,
  walksOf,
} from './measurements.ts'
import {
  type Cycle,
  currentWeight,
  cyclesOf,
  type Day,
  loadOf,
  type Person,
  sleepsOf,
  sumsOf,
  workoutsOf,
} from './person.ts'
import { knownUntil } from './personas.ts'
import type { Rest, SleepView } from './sleep.ts'
import { TENSION_MINUTES, tensionOf } from './stress.ts'
import { type Track, trackOf } from './tracks.ts'
import type { Weighing, WorkoutView } from './workouts.ts'

interface Asked {
  readonly person: Person
  readonly providers: readonly Provider[]
  /** Local days, both ends included. */
  readonly first: number
  readonly last: number
  readonly nowMs: number
  /** Whether the minutes are wanted, too. */
  readonly minutes: boolean
  /** Whether each second of workouts is wanted, too. */
  readonly samples: boolean
}

type Name = (id: (ids: Ids) => string | null) => Record<string, string | null>

/** What is true of a person on some days, as far as providers may know it by now (docs/simulator.md, "The truth"). */
export function truthOf({ person, providers, first, last, nowMs, minutes, samples }: Asked) {
  const days: Day[] = []
  for (let day = Math.max(first, person.span.firstDay); day <= last; day++) days.push(person.day(day))
  const ids = providers.map((provider) => [provider.name, provider.ids(person)] as const)
  const name: Name = (id) => Object.fromEntries(ids.map(([provider, of]) => [provider, id(of)]))
  const sleeps = sleepsOf(days, nowMs)
  const workouts = workoutsOf(days, nowMs)
  const untilMs = knownUntil(person, nowMs)
  return {
    person: personTruth(person, providers, nowMs),
    known_until: utc(untilMs),
    sleeps: sleeps.filter(({ deleted }) => !deleted).map((view) => sleepTruth(view, name)),
    rests: days.flatMap(({ rest }) => (rest && rest.knownMs <= nowMs ? [restTruth(rest, name)] : [])),
    workouts: workouts
      .filter(({ deleted }) => !deleted)
      .map((view) => ({
        ...workoutTruth(view, name),
        ...(samples && { samples: trackTruth(trackOf(person, view.workout)) }),
      })),
    deleted: [
      ...sleeps.filter(({ deleted }) => deleted).map(({ sleep }) => sleep.key),
      ...workouts.filter(({ deleted }) => deleted).map(({ workout }) => workout.key),
    ],
    gone: {
      sleeps: sleeps.filter(({ deleted }) => deleted).map((view) => sleepTruth(view, name)),
      workouts: workouts.filter(({ deleted }) => deleted).map((view) => workoutTruth(view, name)),
    },
    weighings: days.flatMap(({ weighing }) =>
      weighing && weighing.knownMs <= nowMs ? [weighingTruth(person, weighing)] : [],
    ),
    ...measurementsTruth(person, days, nowMs),
    days: days.flatMap((day) => dayTruth(person, day, untilMs)),
    calendar_days: days.flatMap((day) => calendarTruth(person, day, untilMs)),
    cycles: cyclesOf(person, days, nowMs).map((cycle) => cycleTruth(person, cycle, name)),
    ...(minutes && { minutes: days.flatMap((day) => minutesTruth(person, day, untilMs)) }),
  }
}

/** Who somebody is, with the ids of their accounts. */
export function personTruth(person: Person, providers: readonly Provider[], nowMs: number) {
  const { key, firstName, lastName, email, sex, birthYear, heightCm, maxHr, homeZone, awayZone, ring, strap } = person
  return {
    key,
    first_name: firstName,
    last_name: lastName,
    ...{ email, sex, birth_year: birthYear, height_cm: heightCm, max_heart_rate: maxHr },
    weight_kg: currentWeight(person, nowMs),
    ...{ home_zone: homeZone, away_zone: awayZone, night_shifts: person.nightShifts, phone_away: person.phoneAway },
    ...{ ring, strap, first_day: dateOf(person.span.firstDay) },
    accounts: Object.fromEntries(providers.map((provider) => [provider.name, provider.accountOf(person)])),
  }
}

function utc(ms: number): string {
  return new Date(ms).toISOString()
}

function sleepTruth(view: SleepView, name: Name) {
  const { sleep, startMs, runs, seconds } = view
  let at = startMs
  const stages = runs.map((run) => {
    const start = utc(at)
    at += run.seconds * 1000
    return { stage: run.stage, start, end: utc(at) }
  })
  const means = (items: Uint8Array) => Array.from(items, (value) => (value > 0 ? value : null))
  return {
    key: sleep.key,
    ids: name((ids) => ids.sleep(view)),
    ...{ nap: sleep.nap, edited: view.edited, complete: view.endMs === sleep.endMs },
    ...{ unscorable: sleep.unscorable, date: dateOf(sleep.day) },
    ...{ start: utc(startMs), end: utc(view.endMs) },
    ...{ start_offset: offsetText(view.startOffset), end_offset: offsetText(view.endOffset) },
    seconds,
    stages,
    efficiency_percent: view.efficiency,
    heart_rate_5_min: means(view.heartRate),
    hrv_rmssd_5_min: means(view.hrv),
    average_heart_rate: view.averageHeartRate,
    lowest_heart_rate: view.lowestHeartRate,
    average_hrv_rmssd_ms: view.averageHrv,
    respiratory_rate: sleep.breaths,
    spo2_percent: sleep.spo2,
    skin_temperature_celsius: sleep.skinTemperature,
    temperature_deviation_celsius: sleep.temperatureDeviation,
    temperature_trend_deviation_celsius: sleep.temperatureTrend,
    ...{ disturbances: sleep.disturbances, quality: sleep.quality, recovery: sleep.recovery },
    updated_at: utc(view.updatedMs),
  }
}

function restTruth({ key, day, zone, startMs, endMs, ...rest }: Rest, name: Name) {
  const times = { start: utc(startMs), end: utc(endMs), start_offset: offsetText(offsetAt(zone, startMs)) }
  const whole = { key, day, zone, startMs, endMs, ...rest }
  return { key, ids: name((ids) => ids.rest(whole)), date: dateOf(day), ...times }
}

function workoutTruth(view: WorkoutView, name: Name) {
  const { workout, sport } = view
  return {
    key: workout.key,
    ids: name((ids) => ids.workout(view)),
    ...{ sport, manual: workout.manual, unscorable: workout.unscorable, date: dateOf(workout.day) },
    ...{ start: utc(workout.startMs), end: utc(workout.endMs) },
    start_offset: offsetText(offsetAt(workout.zone, workout.startMs)),
    end_offset: offsetText(offsetAt(workout.zone, workout.endMs)),
    active_kcal: workout.kcal,
    distance_m: workout.distanceM,
    climbed_m: workout.climbedM,
    average_heart_rate: view.averageHeartRate,
    max_heart_rate: view.maxHeartRate,
    strain: view.strain,
    updated_at: utc(view.updatedMs),
  }
}

/** From 04:00 to the next, or to what is known. */
function dayTruth(person: Person, day: Day, untilMs: number) {
  const endMs = person.day(day.day + 1).startMs
  if (untilMs <= day.startMs) return []
  const sums = sumsOf(person, day.startMs, Math.min(endMs, untilMs))
  return [
    {
      date: dateOf(day.day),
      start: isoAt(day.startMs, offsetAt(day.zone, day.startMs)),
      end: isoAt(endMs, offsetAt(person.day(day.day + 1).zone, endMs)),
      complete: untilMs >= endMs,
      ...{ steps: sums.steps, distance_m: sums.distanceM },
      ...{ active_kcal: sums.activeKcal, basal_kcal: sums.basalKcal },
      active_seconds: sums.highSeconds + sums.mediumSeconds + sums.lowSeconds,
      ...{ activity: day.activity, stress_seconds: day.stressSeconds, calm_seconds: day.calmSeconds },
      ...{ resilience: day.resilience, vo2_max: day.vo2Max, vascular_age: day.vascularAge },
    },
  ]
}

function cycleTruth(person: Person, cycle: Cycle, name: Name) {
  const { endMs } = cycle
  const load = loadOf(person, cycle)
  return {
    ids: name((ids) => ids.cycle(cycle)),
    ...{ date: dateOf(cycle.day), start: utc(cycle.startMs), end: endMs === null ? null : utc(endMs) },
    start_offset: offsetText(offsetAt(cycle.zone, cycle.startMs)),
    ...{ night: cycle.night?.sleep.key ?? null, strain: load.strain, total_kcal: load.activeKcal + load.basalKcal },
    ...{ average_heart_rate: round(load.averageHeartRate, 3), max_heart_rate: load.maxHeartRate },
  }
}

function weighingTruth(person: Person, weighing: Weighing) {
  const { fatPercent, muscleKg } = compositionOf(person, weighing)
  return { at: utc(weighing.atMs), kg: weighing.kg, fat_percent: fatPercent, muscle_kg: muscleKg }
}

/** What people measure with other devices, and what is noticed of their lives. */
function measurementsTruth(person: Person, days: readonly Day[], nowMs: number) {
  const untilMs = knownUntil(person, nowMs)
  const known = <One extends { knownMs: number }>(find: (person: Person, day: number) => One | One[] | null) =>
    days.flatMap(({ day }) => find(person, day) ?? []).filter(({ knownMs }) => knownMs <= nowMs)
  const cycles = new Map(
    days.flatMap(({ day }) => menstrualCycleOn(person, day) ?? []).map((one) => [one.startDay, one]),
  )
  return {
    blood_pressures: known(bloodPressureOf).map(({ atMs, systolic, diastolic, pulse }) => ({
      ...{ at: utc(atMs), systolic, diastolic, pulse },
    })),
    spot_oxygen: known(spotOxygenOf).map(({ atMs, percent }) => ({ at: utc(atMs), percent })),
    temperatures: known(temperatureOf).map(({ atMs, celsius }) => ({ at: utc(atMs), celsius })),
    glucose: known(glucoseOf).map(({ atMs, mgPerDl }) => ({ at: utc(atMs), mg_per_dl: mgPerDl })),
    meals: known(mealsOf).map(({ atMs, type, name, kcal, ...one }) => ({
      ...{ at: utc(atMs), type, name, kcal, protein_g: one.protein, carbohydrates_g: one.carbohydrates },
      ...{ fat_g: one.fat, fiber_g: one.fiber, sugar_g: one.sugar },
    })),
    drinks: known(drinksOf).map(({ atMs, millilitres }) => ({ at: utc(atMs), millilitres })),
    snapshots: known(snapshotOf).map(({ startMs, heartRate, ...one }) => ({
      ...{ start: utc(startMs), heart_rate_5_s: [...heartRate], respiratory_rate: one.breaths, stress: one.stress },
      ...{ spo2_percent: one.spo2, hrv_rmssd_ms: one.rmssdMs, hrv_sdnn_ms: one.sdnnMs },
    })),
    walks: days.flatMap(({ day }) =>
      walksOf(person.minutes(day))
        .filter(({ endMs }) => endMs <= untilMs)
        .map(({ startMs, endMs }) => ({ start: utc(startMs), end: utc(endMs) })),
    ),
    menstrual_cycles: [...cycles.values()].map((cycle) => ({
      ...{ start: dateOf(cycle.startDay), days: cycle.length, predicted_days: cycle.predictedLength },
      period_days: cycle.periodLength,
    })),
  }
}

/** From local midnight to the next, or to what is known. */
function calendarTruth(person: Person, day: Day, untilMs: number) {
  const { startMs, met } = person.minutes(day.day)
  const endMs = startMs + met.length * 60_000
  if (untilMs <= startMs) return []
  const sums = sumsOf(person, startMs, Math.min(endMs, untilMs))
  return [
    {
      ...{ date: dateOf(day.day), start: utc(startMs), complete: untilMs >= endMs },
      ...{ steps: sums.steps, distance_m: sums.distanceM, floors: sums.floors },
      ...{ active_kcal: sums.activeKcal, basal_kcal: sums.basalKcal },
      active_seconds: sums.highSeconds + sums.mediumSeconds + sums.lowSeconds,
      ...{ high_seconds: sums.highSeconds, medium_seconds: sums.mediumSeconds, low_seconds: sums.lowSeconds },
    },
  ]
}

/** Of each second from the start on; null: not recorded. */
function trackTruth(track: Track) {
  const list = (values: Float64Array | null) =>
    values && Array.from(values, (value) => (Number.isNaN(value) ? null : value))
  return {
    moving: [...track.moving],
    heart_rate: list(track.heartRate),
    ...{ speed_m_per_s: list(track.speed), distance_m: list(track.distance), altitude_m: list(track.altitude) },
    ...{ latitude: list(track.latitude), longitude: list(track.longitude) },
    ...{ cadence_per_minute: list(track.cadence), watts: list(track.watts), celsius: list(track.celsius) },
  }
}

/** Minutes from local midnight on; 0 = not worn. */
function minutesTruth(person: Person, { day }: Day, untilMs: number) {
  const { startMs, heartRate, steps, met, during } = person.minutes(day)
  const { stress, battery } = tensionOf(person, day)
  const known = Math.max(0, Math.min(met.length, Math.floor((untilMs - startMs) / 60_000)))
  if (known === 0) return []
  const list = (values: Uint8Array) => [...values.subarray(0, known)]
  return [
    {
      ...{ date: dateOf(day), start: utc(startMs) },
      ...{ heart_rate: list(heartRate), steps: list(steps), met_tenths: list(met), during: list(during) },
      stress_3_min: [...stress.subarray(0, Math.floor(known / TENSION_MINUTES))],
      body_battery_3_min: [...battery.subarray(0, Math.floor(known / TENSION_MINUTES))],
    },
  ]
}

/** The local days of two dates, or all up to now. */
export function allDays(person: Person, nowMs: number): { first: number; last: number } {
  return { first: person.span.firstDay, last: Math.floor(nowMs / DAY_MS) + 1 }
}
