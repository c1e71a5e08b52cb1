import { withoutNoise } from '../../batch/units.ts'
import { listedBetween } from '../listed.ts'
import type { Item, Out, Part } from '../part.ts'
import { positive } from './items.ts'
import { workoutType } from './workouts.ts'

/** Metres of Fitbit's units of distance; requests without a language get kilometres. */
const metres: Readonly<Record<string, number>> = { Kilometer: 1000, Mile: 1609.344, Meter: 1 }

/** Zones of heart rate, the lowest first. */
const zones = ['Out of Range', 'Fat Burn', 'Cardio', 'Peak']

const scaled = (value: number | undefined, factor: number) =>
  value === undefined ? undefined : withoutNoise(value * factor)

/** Workouts, the oldest first (docs/providers.md). */
export function activities(out: Out, part: Part): void {
  const starts: number[] = []
  for (const activity of out.items('activities')) {
    const startMs = addWorkout(out, activity)
    if (startMs !== undefined) starts.push(startMs)
  }
  listedBetween(out, part, starts, 'workouts')
}

/** Adds a workout; returns its start if it can be stored. */
function addWorkout(out: Out, activity: Item): number | undefined {
  const externalId = activity.id('logId')
  const start = activity.instant('startTime')
  const durationMs = activity.numeric('duration')
  if (!externalId) activity.reject('missing', 'logId')
  if (!start) activity.reject('missing', 'startTime')
  if (durationMs === undefined) activity.reject('missing', 'duration')
  if (!externalId || !start || durationMs === undefined) return undefined
  sourceOf(out, activity)
  const name = activity.text('activityName')
  const movingMs = positive(activity, 'activeDuration')
  const isStored = out.workout({
    ...{ externalId, start, endMs: start.ms + Math.round(durationMs), title: name },
    type: workoutType(name, activity.numeric('activityTypeId')),
    version: activity.instant('lastModified')?.ms,
    entrySource: activity.text('logType') === 'manual' ? 'manual' : undefined,
    durationSeconds: durationMs / 1000,
    movingSeconds: movingMs === undefined ? undefined : movingMs / 1000,
    caloriesKcal: positive(activity, 'calories'),
    distanceMeters: scaled(positive(activity, 'distance'), metres[activity.text('distanceUnit') ?? ''] ?? 1000),
    steps: positive(activity, 'steps'),
    heartRateAvg: positive(activity, 'averageHeartRate'),
    averageSpeed: scaled(positive(activity, 'speed'), 1 / 3.6),
    elevationGainMeters: positive(activity, 'elevationGain'),
    ...zoneSeconds(activity),
  })
  return isStored ? start.ms : undefined
}

/** A tracker, or the app that another service wrote it with. */
function sourceOf(out: Out, activity: Item): void {
  const name = activity.text('source', 'name')
  if (activity.text('source', 'type') === 'app') out.source('', name ?? 'Fitbit')
  else out.source(name ?? '', 'Fitbit')
}

function zoneSeconds(activity: Item): { zoneSeconds?: (number | undefined)[] } {
  const told = new Map(activity.objects('heartRateZones').map((zone) => [zone.text('name'), zone.numeric('minutes')]))
  const seconds = zones.map((name) => {
    const minutes = told.get(name)
    return minutes === undefined ? undefined : minutes * 60
  })
  return seconds.some((one) => one !== undefined) ? { zoneSeconds: seconds } : {}
}
