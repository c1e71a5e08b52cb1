import { numberOf, round } from '../random.ts'
import type { Person } from '../truth/person.ts'
import type { Sport } from '../truth/personas.ts'
import type { Run, SleepView } from '../truth/sleep.ts'
import { summaryOf } from '../truth/tracks.ts'
import type { WorkoutView } from '../truth/workouts.ts'
import { dateOf, isoAt, offsetAt } from '../zones.ts'
import { type Row, wallText } from './times.ts'

/** Wakes up to three minutes stand beside the stages. */
const SHORT_SECONDS = 180

export function sleepId(person: Person, { sleep }: SleepView): number {
  return 40_000_000_000 + numberOf(`fitbit/${person.seed}/${sleep.key}`)
}

/** Local times without a zone, all by the offset of the start; whole minutes. What cannot be scored is classic. */
export function sleepLog(person: Person, view: SleepView): Row {
  const { sleep, startMs, endMs, startOffset, seconds } = view
  const total = (endMs - startMs) / 1000
  const minutes = (part: number) => Math.round(part / 60)
  return {
    ...{ logId: sleepId(person, view), dateOfSleep: dateOf(sleep.day) },
    ...{ startTime: wallText(startMs, startOffset), endTime: wallText(endMs, startOffset), duration: endMs - startMs },
    ...{ timeInBed: minutes(total), minutesAsleep: minutes(total - seconds.awake) },
    ...{ minutesAwake: minutes(seconds.awake), minutesToFallAsleep: 0, minutesAfterWakeup: 0 },
    ...{ efficiency: Math.round(view.efficiency), isMainSleep: !sleep.nap },
    ...{ type: sleep.unscorable ? 'classic' : 'stages', logType: view.edited ? 'manual' : 'auto_detected' },
    ...{ infoCode: sleep.unscorable ? 2 : 0, levels: sleep.unscorable ? classic(view) : staged(view) },
  }
}

const LEVELS = { awake: 'wake', light: 'light', deep: 'deep', rem: 'rem' } as const

function staged({ startMs, startOffset, runs, seconds }: SleepView): Row {
  const data: { dateTime: string; level: string; seconds: number }[] = []
  const shortData: Row[] = []
  let at = startMs
  runs.forEach(({ stage, seconds: length }, index) => {
    const row = { dateTime: wallText(at, startOffset), level: LEVELS[stage], seconds: length }
    at += length * 1000
    const last = data.at(-1)
    const isShort = stage === 'awake' && length <= SHORT_SECONDS && last && index < runs.length - 1
    if (isShort) shortData.push(row)
    if (isShort || last?.level === row.level) (last as { seconds: number }).seconds += length
    else data.push(row)
  })
  const levels = (['deep', 'light', 'rem', 'awake'] as const).map((stage) => {
    const count = runs.filter((run) => run.stage === stage).length
    const minutes = Math.round(seconds[stage] / 60)
    return [LEVELS[stage], { count, minutes, thirtyDayAvgMinutes: minutes }] as const
  })
  return { summary: Object.fromEntries(levels), data, shortData }
}

function classic({ startMs, startOffset, runs }: SleepView): Row {
  let at = startMs
  const data = runs.map(({ stage, seconds }: Run) => {
    const dateTime = wallText(at, startOffset)
    at += seconds * 1000
    return { dateTime, level: stage === 'awake' ? (seconds < 60 ? 'restless' : 'awake') : 'asleep', seconds }
  })
  const summary = ['asleep', 'awake', 'restless'].map((level) => {
    const own = data.filter((row) => row.level === level)
    return [level, { count: own.length, minutes: Math.round(own.reduce((sum, row) => sum + row.seconds, 0) / 60) }]
  })
  return { summary: Object.fromEntries(summary), data }
}

const SPORTS: Record<Sport, readonly [name: string, type: number]> = {
  ...{ running: ['Run', 90_009], 'trail running': ['Trail Run', 20_047], walking: ['Walk', 90_013] },
  ...{ hiking: ['Hike', 1071], cycling: ['Outdoor Bike', 90_001], swimming: ['Swim', 82], rowing: ['Rowing', 15_000] },
  ...{ strength: ['Weights', 3000], yoga: ['Yoga', 52_001], hiit: ['Interval Workout', 55_001] },
  ...{ tennis: ['Tennis', 27], floorball: ['Sport', 15_000], unknown: ['Workout', 3_000] },
}

export function workoutId(person: Person, { workout }: WorkoutView): number {
  return 1_000_000_000_000 + numberOf(`fitbit/${person.seed}/${workout.key}`)
}

/** Kilometres to 0.00001; energy includes what somebody burns at rest; what was entered by hand says little. */
export function workoutLog(person: Person, view: WorkoutView): Row {
  const { workout, sport } = view
  const { startMs, endMs, distanceM, manual, climbedM, zone } = workout
  const [activityName, activityTypeId] = SPORTS[sport]
  const startTime = isoAt(startMs, offsetAt(zone, startMs), '.000')
  const minutes = (endMs - startMs) / 60_000
  const moving = manual ? minutes * 60 : summaryOf(person, workout).movingSeconds
  const km = distanceM === null ? null : round(distanceM / 1000, 5)
  return {
    ...{ logId: workoutId(person, view), activityTypeId, activityName, startTime, originalStartTime: startTime },
    ...{ duration: endMs - startMs, activeDuration: moving * 1000, originalDuration: endMs - startMs },
    calories: caloriesOf(person, view),
    lastModified: new Date(view.updatedMs).toISOString(),
    logType: manual ? 'manual' : view.confirmed ? 'auto_detected' : 'tracker',
    ...(!manual && {
      ...{ averageHeartRate: Math.round(view.averageHeartRate), hasGps: km !== null && sport !== 'swimming' },
      ...(workout.cadence > 0 && { steps: Math.round(workout.cadence * minutes) }),
      ...(km !== null && {
        ...{ distance: km, distanceUnit: 'Kilometer', speed: round((km * 3600) / moving, 2) },
        pace: round(moving / km, 1),
      }),
      ...(climbedM !== null && { elevationGain: round(climbedM, 3) }),
      source: { id: '2283', name: 'Charge 5', type: 'tracker', url: 'https://www.fitbit.com/', trackerFeatures: [] },
      heartRateZones: [{ name: 'Cardio', min: 132, max: 162, minutes: 20, caloriesOut: 190.5 }],
    }),
  }
}

function caloriesOf({ weightKg }: Person, { workout }: WorkoutView): number {
  const minutes = (workout.endMs - workout.startMs) / 60_000
  return Math.round(workout.kcal + minutes * weightKg * 0.0162)
}
