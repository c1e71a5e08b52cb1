import { createHash } from 'node:crypto'
import { numberOf, round } from '../random.ts'
import type { Person } from '../truth/person.ts'
import type { Sport } from '../truth/personas.ts'
import { summaryOf } from '../truth/tracks.ts'
import type { Workout, WorkoutView } from '../truth/workouts.ts'
import { HOUR_MS, offsetAt } from '../zones.ts'
import { isNew } from './samples.ts'

/** Numbers of activities, and of those indoors. */
const SPORTS: Record<Sport, number> = {
  ...{ running: 1, 'trail running': 22, walking: 0, hiking: 11, cycling: 2, swimming: 21, rowing: 15 },
  ...{ strength: 23, yoga: 121, hiit: 73, tennis: 34, floorball: 43, unknown: 4 },
}
const INDOORS: Partial<Record<Sport, number>> = { cycling: 52, rowing: 57 }

/** How long some fields of what was just uploaded are missing. */
const FRESH_MS = 6 * HOUR_MS

type Row = Record<string, unknown>

export function workoutKey(person: Person, { key }: Workout): string {
  return createHash('sha256').update(`suunto/${person.seed}/${key}`).digest('hex').slice(0, 24)
}

/** What notices say of a workout. */
export function subset(person: Person, view: WorkoutView): Row {
  const { workout, sport } = view
  const { startMs, endMs, distanceM, manual, zone } = workout
  const track = manual ? null : summaryOf(person, workout)
  const place = (found: readonly [number, number] | null | undefined) => found && { x: found[1], y: found[0] }
  const [start, stop] = [place(track?.start), place(track?.end)]
  return {
    workoutKey: workoutKey(person, workout),
    activityId: (distanceM === null ? INDOORS[sport] : undefined) ?? SPORTS[sport],
    ...{ startTime: startMs, totalTime: (endMs - startMs) / 1000, timeOffsetInMinutes: offsetAt(zone, startMs) },
    ...{ totalDistance: round(distanceM ?? 0, 1), energyConsumption: Math.round(workout.kcal) },
    stepCount: manual ? 0 : Math.round((workout.cadence * (endMs - startMs)) / 60_000),
    totalAscent: manual ? 0 : round(workout.climbedM ?? 0, 1),
    avgSpeed: distanceM === null ? 0 : round((distanceM * 1000) / (endMs - startMs), 3),
    maxSpeed: track?.maxSpeed ?? 0,
    ...(start && { startPosition: start, stopPosition: stop }),
    hrdata: manual ? heartRate(0, 0) : heartRate(Math.round(view.averageHeartRate), view.maxHeartRate),
  }
}

function heartRate(average: number, highest: number): Row {
  return { workoutAvgHR: average, workoutMaxHR: highest }
}

/** Zeros where there is nothing; without an end and a number in the first hours. */
export function workoutRow(person: Person, view: WorkoutView, nowMs: number): Row {
  const { workout } = view
  const { endMs, manual } = workout
  const track = manual ? null : summaryOf(person, workout)
  const isFresh = nowMs - view.createdMs < FRESH_MS
  const { avgSpeed, hrdata, ...shared } = subset(person, view)
  const { workoutAvgHR: avg, workoutMaxHR: hrmax } = hrdata as Record<string, number>
  // Of one foot.
  const perFoot = view.sport === 'cycling' ? 1 : 2
  const cadence = track?.averageCadence == null ? null : round(track.averageCadence / perFoot)
  return {
    ...{ workoutId: isFresh ? 0 : numberOf(`suunto/workout/${person.seed}/${workout.key}`), ...shared, avgSpeed },
    ...(!isFresh && { stopTime: endMs }),
    ...{ workoutName: null, description: null },
    avgPace: avgSpeed === 0 ? 0 : round(1000 / 60 / Number(avgSpeed), 3),
    totalDescent: manual ? 0 : round(Math.max(0, (workout.climbedM ?? 0) - (workout.altitudeChangeM ?? 0)), 1),
    ...(track?.highest != null && { minAltitude: track.lowest, maxAltitude: track.highest }),
    ...(track?.averageWatts != null && { avgPower: round(track.averageWatts, 1), maxPower: track.maxWatts }),
    ...(cadence !== null && { cadence: { avg: cadence, max: cadence + 4 } }),
    hrdata: { ...(hrdata as Row), userMaxHR: person.maxHr, avg, hrmax, max: person.maxHr, min: avg && avg - 30 },
    ...{ recoveryTime: Math.round(view.strain * 3600), tss: { calculationMethod: 'HR', trainingStressScore: 70 } },
    ...(!manual && { gear: gearOf(person) }),
    ...{ isManuallyAdded: manual, isEdited: view.confirmed, extensionTypes: ['SUMMARY'] },
  }
}

export function gearOf(person: Person): Row {
  const name = isNew(person) ? 'Suunto Vertical' : 'Suunto 5'
  return {
    ...{ manufacturer: 'Suunto', name, displayName: name, productType: 'SPORT_WATCH' },
    ...{ serialNumber: String(233_510_000_000 + (numberOf(person.seed) % 1_000_000)), swVersion: '2.35.34' },
    hwVersion: 'C01',
  }
}
