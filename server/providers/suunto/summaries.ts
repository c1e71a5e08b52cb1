import { DAY_MS } from '../../time.ts'
import { listAt, valueAt } from '../answers.ts'
import type { Item, Out, Part, WorkoutPart } from '../part.ts'
import { APP, positive } from './items.ts'
import { cadenceFactor, workoutType } from './workouts.ts'

/** No heart beats faster. */
const MAX_BEATS = 250

/** No clock is further from UTC: 18 hours. */
const MAX_ZONE_MIN = 1_080

/** Workouts: a page, a single one, or what a notice says of one (docs/providers.md). */
export function addWorkouts(out: Out, part: Part): void {
  const { body } = part
  if (Array.isArray(valueAt(body, 'payload'))) {
    const bare = listAt(body, 'payload').filter((one) => typeof one === 'object' && one !== null && !Array.isArray(one))
    let place = 0
    for (const workout of out.items('payload')) {
      add(out, part, { workout, gear: workout.object('gear'), bare: bare[place] })
      place += 1
    }
    return
  }
  for (const whole of out.whole()) {
    const isNotice = valueAt(body, 'type') !== undefined
    const field = isNotice ? 'workout' : 'payload'
    const workout = whole.object(field)
    if (!workout) whole.reject('missing', field)
    else
      add(out, part, {
        workout,
        gear: (isNotice ? whole : workout).object('gear'),
        bare: valueAt(body, field),
        isNotice,
      })
  }
}

interface Told {
  readonly workout: Item
  readonly gear: Item | undefined
  /** As it was parsed. */
  readonly bare: unknown
  /** Some of what there is. */
  readonly isNotice?: boolean
}

function add(out: Out, { atMs }: Part, { workout, gear, bare, isNotice }: Told): void {
  const externalId = workout.id('workoutKey')
  const startMs = workout.numeric('startTime')
  if (!externalId) workout.reject('missing', 'workoutKey')
  if (startMs === undefined) workout.reject('missing', 'startTime')
  if (!externalId || startMs === undefined) return
  if (!(startMs >= DAY_MS && startMs <= atMs + DAY_MS)) {
    workout.reject('implausible_value', 'startTime')
    return
  }
  const [seconds, stopMs] = [positive(workout, 'totalTime'), workout.numeric('stopTime')]
  const isStopped = stopMs !== undefined && stopMs > startMs
  if (!isStopped && seconds === undefined) {
    workout.reject('missing', 'totalTime')
    return
  }
  const endMs = isStopped ? stopMs : startMs + Math.round((seconds ?? 0) * 1000)
  const minutes = workout.numeric('timeOffsetInMinutes')
  const zoneMin = minutes !== undefined && Math.abs(minutes) <= MAX_ZONE_MIN ? Math.trunc(minutes) : null
  out.source(gear?.text('displayName') ?? gear?.text('name') ?? '', APP)
  out.workout({
    ...{ externalId, start: { ms: startMs, zoneMin }, endMs },
    durationSeconds: seconds,
    title: workout.text('workoutName'),
    entrySource: workout.boolean('isManuallyAdded') ? 'manual' : undefined,
    ...measuresOf(workout, bare),
    ...(isNotice && { partial: true }),
  })
}

function measuresOf(workout: Item, bare: unknown) {
  const type = workoutType(workout.numeric('activityId'))
  const cadence =
    typeof valueAt(bare, 'cadence') === 'number' ? positive(workout, 'cadence') : positive(workout, 'cadence', 'avg')
  const highest = positive(workout, 'hrdata', 'hrmax') ?? positive(workout, 'hrdata', 'workoutMaxHR')
  const kmh = positive(workout, 'avgSpeedInKmH')
  const measures: Partial<WorkoutPart> & { type: WorkoutPart['type'] } = {
    type,
    caloriesKcal: positive(workout, 'energyConsumption'),
    distanceMeters: positive(workout, 'totalDistance'),
    steps: positive(workout, 'stepCount'),
    heartRateMin: positive(workout, 'hrdata', 'min'),
    heartRateAvg: positive(workout, 'hrdata', 'avg') ?? positive(workout, 'hrdata', 'workoutAvgHR'),
    heartRateMax: highest !== undefined && highest <= MAX_BEATS ? highest : undefined,
    averageSpeed: positive(workout, 'avgSpeed') ?? (kmh === undefined ? undefined : kmh / 3.6),
    maxSpeed: positive(workout, 'maxSpeed'),
    averageCadence: cadence === undefined ? undefined : cadence * cadenceFactor(type),
    averageWatts: positive(workout, 'avgPower'),
    maxWatts: positive(workout, 'maxPower'),
    elevationGainMeters: positive(workout, 'totalAscent'),
    elevationHighMeters: workout.numeric('maxAltitude'),
    elevationLowMeters: workout.numeric('minAltitude'),
  }
  return measures
}
