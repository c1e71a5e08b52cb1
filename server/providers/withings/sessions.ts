import type { Item, Out } from '../part.ts'
import { zoneOffsetOf } from '../zone-offset.ts'
import { deviceOf, fromDevice, isImported } from './devices.ts'
import { NO_ACTIVITY, workoutType } from './workouts.ts'

/** Perhaps of somebody else; typed in. */
const AMBIGUOUS = 1
const TYPED = 2

/** Workouts (docs/providers.md). */
export function workouts(out: Out): void {
  for (const workout of out.items('body', 'series')) {
    const device = deviceOf(workout)
    if (workout.numeric('category') === NO_ACTIVITY) out.ignore('no activity')
    else if (isImported(device.model)) out.ignore('imported')
    else if (workout.numeric('attrib') === AMBIGUOUS) out.ignore('of somebody else')
    else {
      fromDevice(out, device)
      add(out, workout)
    }
  }
}

function add(out: Out, workout: Item): void {
  const externalId = workout.id('id')
  const [start, end] = [workout.numeric('startdate'), workout.numeric('enddate')]
  if (externalId === undefined) workout.reject('missing', 'id')
  if (start === undefined) workout.reject('missing', 'startdate')
  if (end === undefined) workout.reject('missing', 'enddate')
  if (externalId === undefined || start === undefined || end === undefined) return
  const modified = workout.numeric('modified')
  const ms = start * 1000
  const paused = positive(workout, 'pause_duration') ?? positive(workout, 'algo_pause_duration')
  out.workout({
    ...{ externalId, start: { ms, zoneMin: zoneOffsetOf(workout.text('timezone'), ms) }, endMs: end * 1000 },
    type: workoutType(workout.numeric('category')),
    version: modified === undefined ? undefined : modified * 1000,
    durationSeconds: end - start,
    movingSeconds: paused === undefined ? undefined : Math.max(0, end - start - paused),
    entrySource: workout.numeric('attrib') === TYPED ? 'manual' : undefined,
    caloriesKcal: positive(workout, 'manual_calories') ?? positive(workout, 'calories'),
    distanceMeters: distanceOf(workout),
    steps: positive(workout, 'steps'),
    heartRateAvg: positive(workout, 'hr_average'),
    heartRateMax: positive(workout, 'hr_max'),
    heartRateMin: positive(workout, 'hr_min'),
  })
}

/** What somebody entered counts before what was measured; swimmers have laps. */
function distanceOf(workout: Item): number | undefined {
  const [laps, length] = [positive(workout, 'pool_laps'), positive(workout, 'pool_length')]
  const swum = laps === undefined || length === undefined ? undefined : laps * length
  return positive(workout, 'manual_distance') ?? positive(workout, 'distance') ?? swum
}

/** Zero is nothing. */
function positive(workout: Item, field: string): number | undefined {
  const value = workout.numeric('data', field)
  return value !== undefined && value > 0 ? value : undefined
}
