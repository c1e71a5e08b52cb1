import { numberOf, round } from '../random.ts'
import { daysBetween, eachMinute, nightAt, type Person, sleepsOf, sumsOf, workoutsOf } from '../truth/person.ts'
import { knownUntil, type Sport } from '../truth/personas.ts'
import { MEANS_SECONDS, type SleepView } from '../truth/sleep.ts'
import { summaryOf } from '../truth/tracks.ts'
import type { WorkoutView } from '../truth/workouts.ts'
import { DAY_MS, MINUTE_MS } from '../zones.ts'

export type Row = Record<string, unknown>

const SPORTS: Record<Sport, string> = {
  ...{ running: 'Running', 'trail running': 'Run', walking: 'Walk', hiking: 'Hike', cycling: 'Bike Ride' },
  ...{ swimming: 'Swim', rowing: 'Rowing', strength: 'Strength Training', yoga: 'Yoga', hiit: 'HIIT' },
  ...{ tennis: 'Tennis', floorball: 'Cardio', unknown: 'Workout' },
}

/** Some workouts have no id. */
export function workoutId(person: Person, { workout }: WorkoutView): string | null {
  if (workout.day % 6 === 0) return null
  return `act-${numberOf(`sensorbio/${person.seed}/${workout.key}`)}`
}

/** By their end, which is the cursor: metres, kcal to 0.1. */
export function workouts(person: Person, afterMs: number, nowMs: number): Row[] {
  const views = workoutsOf(daysBetween(person, afterMs - 2 * DAY_MS, nowMs), nowMs)
  const found = views.filter(({ deleted, workout }) => !deleted && workout.endMs > afterMs)
  return found.map((view) => {
    const { workout, sport } = view
    const { startMs, endMs, distanceM, manual } = workout
    const id = workoutId(person, view)
    const heartRate = {
      ...{ avg_bpm: round(view.averageHeartRate, 1), max_bpm: view.maxHeartRate },
      min_bpm: Math.min(...workout.heartRate),
    }
    const activity = {
      ...(id !== null && { id }),
      ...{ start_time: startMs, end_time: endMs, likely_name: SPORTS[sport], calories: round(workout.kcal, 1) },
      ...(distanceM !== null && { distance: round(distanceM, 1) }),
      active_time: manual ? (endMs - startMs) / 1000 : summaryOf(person, workout).movingSeconds,
      duration: (endMs - startMs) / 1000,
      cardio_metrics: manual ? {} : heartRate,
    }
    return { timestamp: endMs, name: SPORTS[sport], activities: [activity] }
  })
}

/** Of each so many minutes in which something was measured, after an instant: at most so many. */
export function biometrics(
  person: Person,
  { afterMs, nowMs, every, most }: { afterMs: number; nowMs: number; every: number; most: number },
): Row[] {
  const rows: Row[] = []
  const untilMs = knownUntil(person, nowMs)
  const first = Math.max(afterMs, (person.span.firstDay - 1) * DAY_MS)
  // Day after day, so that a page of a long time is made as fast as one of a short one.
  for (let fromMs = first; fromMs < untilMs && rows.length < most; fromMs += DAY_MS)
    eachMinute(person, fromMs, Math.min(fromMs + DAY_MS, untilMs), ({ startMs, heartRate }, i) => {
      const timestamp = startMs + i * MINUTE_MS
      const bpm = heartRate[i] ?? 0
      if (timestamp <= afterMs || bpm === 0 || (timestamp / MINUTE_MS) % every !== 0) return
      rows.push({ timestamp, bpm, ...atNight(person, timestamp) })
    })
  return rows.slice(0, most)
}

/** What is measured besides while somebody sleeps: of the five minutes in which the minute lies. */
function atNight(person: Person, ms: number): Row {
  const sleep = nightAt(person, ms)
  const hrv = sleep?.hrv[Math.floor((ms - sleep.startMs) / 1000 / MEANS_SECONDS)] ?? 0
  if (!sleep || hrv === 0) return {}
  return {
    ...{ hrv, brpm: round(sleep.breaths, 1) },
    ...(sleep.spo2 !== null && { spo2: round(sleep.spo2, 1) }),
  }
}

export function sleepId(person: Person, { sleep }: SleepView): string {
  return `slp-${numberOf(`sensorbio/${person.seed}/${sleep.key}`)}`
}

/** Nights and naps that end on a local date. */
export function sleepsOn(person: Person, day: number, nowMs: number): SleepView[] {
  if (day < person.span.firstDay || day * DAY_MS > nowMs + 2 * DAY_MS) return []
  return sleepsOf([person.day(day)], nowMs).filter(({ deleted }) => !deleted)
}

/** Seconds since 1970, whole minutes; without stages, and without what could not be scored. */
export function sleepRow(person: Person, view: SleepView, inMs: boolean): Row {
  const { sleep, startMs, endMs, seconds } = view
  const unit = inMs ? 1 : 1000
  const mins = (part: number) => Math.round(part / 60)
  const asleep = seconds.deep + seconds.light + seconds.rem
  return {
    id: sleepId(person, view),
    ...{ start_timestamp: Math.floor(startMs / unit), end_timestamp: Math.floor(endMs / unit) },
    ...{ total_sleep_mins: mins(asleep), deep_sleep_mins: mins(seconds.deep), light_sleep_mins: mins(seconds.light) },
    ...{ rem_sleep_mins: mins(seconds.rem), awake_time_mins: mins(seconds.awake) },
    avg_heart_rate: Math.round(view.averageHeartRate),
    biometrics: sleep.unscorable ? {} : { bpm: Math.round(view.averageHeartRate), ...resting(view) },
    score: sleep.unscorable ? {} : { value: sleep.quality },
  }
}

/** What is said of a night; the lowest heart rate is that at rest. */
export function resting({ sleep, averageHrv, lowestHeartRate }: SleepView): Row {
  return {
    ...{ resting_bpm: lowestHeartRate, resting_hrv: round(averageHrv, 1), hrv: round(averageHrv - 3, 1) },
    ...(sleep.spo2 !== null && { spo2: round(sleep.spo2, 1) }),
  }
}

/** Totals from local midnight on: kilometres to 0.01, kcal to 0.1. */
export function stepMetrics(person: Person, day: number, nowMs: number): Row[] | null {
  if (day < person.span.firstDay || day * DAY_MS > nowMs + 2 * DAY_MS) return null
  const { startMs, met } = person.minutes(day)
  const untilMs = Math.min(startMs + met.length * MINUTE_MS, knownUntil(person, nowMs))
  if (untilMs <= startMs) return null
  const sums = sumsOf(person, startMs, untilMs)
  const active = (sums.highSeconds + sums.mediumSeconds + sums.lowSeconds) / 60
  const metric = (name: string, value: number, unit: string) => ({ name, value, unit, value_is_an_avg: false })
  return [
    metric('Steps', sums.steps, ''),
    metric('Distance', round(sums.distanceM / 1000, 2), 'km'),
    metric('Calories', round(sums.activeKcal, 1), 'kcal'),
    metric('Duration', active, 'min'),
  ]
}
