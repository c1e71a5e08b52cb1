import { listAt } from '../answers.ts'
import { listedBetween } from '../listed.ts'
import type { At, Item, MapPart, Out, Part, WorkoutPart } from '../part.ts'
import { type Recording, zoneMinOf } from './recording.ts'
import { type Args, isLast } from './streams.ts'
import { cadenceFactor, workoutType } from './workouts.ts'

// What Strava's activities become: docs/providers.md.

/** Our name of the source, beside its device. */
const APP = 'Strava'

/** An activity as a workout; undefined, and rejected, when its id or its times are missing. */
function workoutOf(activity: Item): WorkoutPart | undefined {
  const externalId = activity.id('id')
  const at = activity.instant('start_date')
  const elapsed = activity.number('elapsed_time')
  if (!externalId) activity.reject('missing', 'id')
  if (!at) activity.reject('missing', 'start_date')
  if (elapsed === undefined) activity.reject('missing', 'elapsed_time')
  if (!externalId || !at || elapsed === undefined) return undefined
  const zoneMin = zoneMinOf(activity.number('utc_offset'), at.ms, activity.text('start_date_local'))
  const type = workoutType(activity.text('sport_type'), activity.text('type'))
  const cadence = activity.number('average_cadence')
  return {
    externalId,
    type,
    start: { ms: at.ms, zoneMin },
    endMs: at.ms + Math.round(elapsed * 1000),
    title: activity.text('name'),
    entrySource: activity.boolean('manual') ? 'manual' : undefined,
    durationSeconds: elapsed,
    movingSeconds: activity.number('moving_time'),
    distanceMeters: activity.number('distance'),
    heartRateAvg: activity.number('average_heartrate') || undefined,
    heartRateMax: rounded(activity.number('max_heartrate')) || undefined,
    averageSpeed: activity.number('average_speed'),
    maxSpeed: activity.number('max_speed'),
    averageCadence: cadence === undefined ? undefined : cadence * cadenceFactor(type),
    elevationGainMeters: activity.number('total_elevation_gain'),
    elevationHighMeters: activity.number('elev_high'),
    elevationLowMeters: activity.number('elev_low'),
    ...power(activity),
  }
}

const rounded = (value: number | undefined) => (value === undefined ? undefined : Math.round(value))

/** Measured, not estimated. */
const power = (activity: Item) =>
  activity.boolean('device_watts') === false
    ? {}
    : { averageWatts: activity.number('average_watts'), maxWatts: activity.number('max_watts') }

/** A muscle turns about a quarter of what it burns into work: 1 kJ of work is nearly 1 kcal. */
const calories = (activity: Item) => activity.number('calories') || activity.number('kilojoules') || undefined

/** What is listed; the detail of those that will be asked for says their calories, and is not to be overwritten. */
function list(out: Out, part: Part, { aloneBeforeMs = Number.NEGATIVE_INFINITY }: Extract<Args, { of: 'list' }>): void {
  out.source('', APP)
  const starts: number[] = []
  for (const activity of out.items()) {
    const workout = workoutOf(activity)
    if (!workout) continue
    const caloriesKcal = workout.start.ms < aloneBeforeMs ? calories(activity) : undefined
    if (out.workout({ ...workout, caloriesKcal, partial: true })) starts.push(workout.start.ms)
  }
  listedBetween(out, isLast(part.body) ? part : { ...part, args: null }, starts, 'workouts')
}

function detail(out: Out): void {
  for (const activity of out.whole()) {
    out.source(activity.text('device_name') ?? '', APP)
    const workout = workoutOf(activity)
    if (workout) out.workout({ ...workout, caloriesKcal: calories(activity) })
  }
}

/** The series of what is recorded beside the time. */
const series = [
  ['heart_rate', 'heartrate'],
  ['speed', 'velocity_smooth'],
  ['elevation', 'altitude'],
  ['air_temperature', 'temp'],
] as const

function samples(out: Out, { body }: Part, recording: Recording): void {
  const { id, device, zoneMin, startMs } = recording
  out.source(device, APP)
  for (const recorded of out.whole()) {
    const seconds = recorded.numbers('time', 'data')
    if (!seconds) {
      recorded.reject('missing', 'time', 'data')
      continue
    }
    const times = seconds.map((second) => (second === undefined ? undefined : { ms: startMs + second * 1000, zoneMin }))
    const add = (name: Parameters<Out['sample']>[0], values: readonly (number | undefined)[] = [], factor = 1) => {
      for (const [place, value] of values.entries()) {
        const at = times[place]
        if (at && value !== undefined) out.sample(name, at, value * factor, id)
      }
    }
    for (const [name, key] of series)
      add(name, without(recorded.numbers(key, 'data'), name === 'heart_rate' ? 0 : undefined))
    add('cadence', recorded.numbers('cadence', 'data'), recording.cadenceFactor)
    if (recording.hasPower) add('power', recorded.numbers('watts', 'data'))
    places(out, body, times, id)
  }
}

/** Nothing was measured. */
const without = (values: readonly (number | undefined)[] | undefined, none: number | undefined) =>
  values?.map((value) => (value === none ? undefined : value))

/** Pairs of degrees north and east. */
function places(out: Out, body: unknown, times: readonly (At | undefined)[], id: string): void {
  for (const [place, pair] of listAt(body, 'latlng', 'data').entries()) {
    const [at, [north, east]] = [times[place], Array.isArray(pair) ? pair : []]
    if (!at || typeof north !== 'number' || typeof east !== 'number') continue
    out.sample('latitude', at, north, id)
    out.sample('longitude', at, east, id)
  }
}

function athlete(out: Out): void {
  out.source('', APP)
  for (const person of out.whole()) out.current('weight', person.number('weight') || undefined)
}

/** Adds what a part of Strava's holds. */
export const map: MapPart = (part, out) => {
  if (part.stream === 'athlete') return athlete(out)
  if (part.stream !== 'activities') return out.ignore(part.stream)
  const args = (part.args ?? { of: 'list' }) as unknown as Args
  switch (args.of) {
    case 'detail':
      return detail(out)
    case 'samples':
      return samples(out, part, args)
    default:
      return list(out, part, args)
  }
}
