import { round } from '../random.ts'
import { floorsOf, SLEEPING, TRAINING } from '../truth/minutes.ts'
import { type Day, eachMinute, nightAt, type Person, sumsOf } from '../truth/person.ts'
import { knownMs, knownUntil, type Sport } from '../truth/personas.ts'
import { MEANS_SECONDS } from '../truth/sleep.ts'
import type { WorkoutView } from '../truth/workouts.ts'
import { dateOf, MINUTE_MS } from '../zones.ts'
import { chosen, deviceId, longId, type Row, seconds, watchOf } from './devices.ts'

/** Shares of the highest heart rate at which zones begin; below is zone 0. */
const ZONES = [0.5, 0.7, 0.85]

function zoneSeconds({ maxHr }: Person, beats: readonly number[]): Row {
  const zoneOf = (value: number) => ZONES.filter((share) => value >= share * maxHr).length
  const counts = [0, 0, 0, 0]
  for (const value of beats) counts[zoneOf(value)] = (counts[zoneOf(value)] ?? 0) + 60
  return Object.fromEntries(counts.map((count, zone) => [`hr_zone_${zone}`, count]))
}

function pulse(beats: readonly number[]): Row {
  if (beats.length === 0) return { hr_average: null, hr_min: null, hr_max: null }
  const sum = beats.reduce((total, value) => total + value, 0)
  return { hr_average: Math.round(sum / beats.length), hr_min: Math.min(...beats), hr_max: Math.max(...beats) }
}

/** From midnight to midnight: metres and kcal to 0.1. What other apps measured comes as a row of another brand. */
export function activities(person: Person, { day, zone }: Day, nowMs: number, fields: ReadonlySet<string>): Row[] {
  const { startMs, met } = person.minutes(day)
  const endMs = startMs + met.length * MINUTE_MS
  const untilMs = Math.min(endMs, knownUntil(person, nowMs))
  if (untilMs <= startMs) return []
  const sums = sumsOf(person, startMs, untilMs)
  const beats: number[] = []
  eachMinute(person, startMs, untilMs, ({ heartRate }, i) => void (heartRate[i] && beats.push(heartRate[i])))
  const calories = round(sums.activeKcal, 1)
  const values = {
    ...{ steps: sums.steps, distance: round(sums.distanceM, 1), elevation: sums.floors },
    ...{ soft: sums.lowSeconds, moderate: sums.mediumSeconds, intense: sums.highSeconds },
    ...{ active: sums.mediumSeconds + sums.highSeconds, calories },
    ...{ totalcalories: round(calories + sums.basalKcal, 1), ...pulse(beats), ...zoneSeconds(person, beats) },
  }
  const { model, model_id } = watchOf(person)
  const id = deviceId(person, watchOf(person))
  const modified = seconds(untilMs === endMs ? knownMs(person, endMs) : untilMs)
  const shared = { timezone: zone, date: dateOf(day), modified }
  const own = { ...chosen(fields, values), deviceid: id, hash_deviceid: id, ...shared, brand: 1 }
  const copy = { ...chosen(fields, { ...values, steps: sums.steps + 311 }), deviceid: null, hash_deviceid: null }
  const foreign = { ...copy, ...shared, brand: 18, modelid: 1058, model: 'HealthKit', is_tracker: false }
  return [{ ...own, modelid: model_id, model, is_tracker: true }, ...(day % 10 === 0 ? [foreign] : [])]
}

/** Every minute with something, heart rate each tenth minute: by epoch seconds. */
export function intraday(person: Person, [fromMs, toMs]: readonly [number, number], fields: ReadonlySet<string>) {
  const { model, model_id } = watchOf(person)
  const device = { deviceid: deviceId(person, watchOf(person)), model, model_id }
  const series: Record<string, Row> = {}
  eachMinute(person, fromMs, toMs, (minutes, i) => {
    const ms = minutes.startMs + i * MINUTE_MS
    const beats = minutes.heartRate[i] ?? 0
    const steps = minutes.steps[i] ?? 0
    const measures = beats > 0 && (ms / MINUTE_MS) % 10 === 0 && minutes.during[i] !== TRAINING
    const sums = steps > 0 ? sumsOf(person, ms, ms + MINUTE_MS) : null
    const values = {
      ...(measures && { heart_rate: beats }),
      ...(sums && { steps, distance: round(sums.distanceM, 2), calories: round(sums.activeKcal, 2) }),
      ...(sums && { elevation: floorsOf(minutes)[i] }),
      ...(minutes.during[i] === SLEEPING && (ms / MINUTE_MS) % 60 === 0 && atNight(person, ms)),
    }
    const kept = chosen(fields, values)
    if (Object.keys(kept).length > 0) series[String(ms / 1000)] = { ...device, ...kept, duration: 60 }
  })
  return series
}

/** What the watch measures each hour of a night. */
function atNight(person: Person, ms: number): Row {
  const sleep = nightAt(person, ms)
  const rmssd = sleep?.hrv[Math.floor((ms - sleep.startMs) / 1000 / MEANS_SECONDS)] ?? 0
  if (!sleep || rmssd === 0) return {}
  return {
    ...{ rmssd, sdnn1: round(rmssd * 1.25, 1), hrv_quality: 3, rr: Math.round(sleep.breaths) },
    ...(sleep.spo2 !== null && { spo2_auto: Math.round(sleep.spo2) }),
  }
}

const SPORTS: Record<Sport, number> = {
  ...{ running: 2, 'trail running': 498, walking: 1, hiking: 3, cycling: 6, swimming: 7, rowing: 187 },
  ...{ strength: 16, yoga: 28, hiit: 550, tennis: 12, floorball: 36, unknown: 36 },
}
const INDOORS: Partial<Record<Sport, number>> = { cycling: 308, running: 307, walking: 306 }
const POOL_METRES = 25

export function workoutId(person: Person, { workout }: WorkoutView): number {
  return longId(`${person.seed}/${workout.key}`)
}

/** Whole kcal and metres; typed ones say what was typed, and 0 for what was not measured. */
export function workouts(person: Person, view: WorkoutView, fields: ReadonlySet<string>): Row[] {
  const { workout, sport } = view
  const { startMs, endMs, distanceM, manual, zone, day } = workout
  const laps = sport === 'swimming' && distanceM !== null ? Math.round(distanceM / POOL_METRES) : null
  const [kcal, metres] = [Math.round(workout.kcal), Math.round(distanceM ?? 0)]
  const data = {
    ...{ calories: manual ? 0 : kcal, intensity: 0 },
    ...{ manual_distance: manual ? metres : 0, manual_calories: manual ? kcal : 0 },
    ...(manual ? { hr_average: 0, hr_min: 0, hr_max: 0 } : pulse([...workout.heartRate])),
    ...zoneSeconds(person, manual ? [] : [...workout.heartRate]),
    ...{ pause_duration: 0, algo_pause_duration: null, spo2_average: null },
    steps: manual ? 0 : Math.round((workout.cadence * (endMs - startMs)) / 60_000),
    ...(laps === null || manual ? { distance: manual ? 0 : metres } : { pool_laps: laps, pool_length: POOL_METRES }),
    elevation: manual ? 0 : Math.floor((workout.climbedM ?? 0) / 3),
  }
  const row = {
    ...{ id: workoutId(person, view), category: (distanceM === null ? INDOORS[sport] : undefined) ?? SPORTS[sport] },
    ...{ timezone: zone, model: watchOf(person).model_id, attrib: manual ? 2 : view.confirmed ? 7 : 0 },
    ...{ startdate: seconds(startMs), enddate: seconds(endMs), date: dateOf(day) },
    ...{ deviceid: deviceId(person, watchOf(person)), data: chosen(fields, data), modified: seconds(view.updatedMs) },
  }
  const another = (name: string, more: Row) => ({ ...row, id: longId(`${person.seed}/${name}/${day}`), ...more })
  return [
    row,
    // What another app wrote down of the same; nothing that was found to be nothing.
    ...(day % 9 === 0 ? [another('copy', { model: 1060, deviceid: null })] : []),
    ...(day % 8 === 0 ? [another('nothing', { category: 128, enddate: seconds(startMs) + 600 })] : []),
  ]
}
