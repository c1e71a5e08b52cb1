import { valueAt } from '../answers.ts'
import type { At, Item, Out, Part, WorkoutPart } from '../part.ts'
import { APP, counted, instantOf, positive, startOf } from './items.ts'
import { workoutType } from './workouts.ts'

// Workouts, as summaries and with what was recorded in them, and what a watch noticed by itself (docs/providers.md).

/** The id of the activity, which is the same in all of its summaries. */
function idOf(item: Item): string | undefined {
  const id = item.id('activityId') ?? item.id('summaryId')?.replace(/-(?:detail|file)$/, '')
  if (!id) item.reject('missing', 'activityId')
  return id
}

/** A summary of an activity as a workout; undefined, and rejected, when its times are missing. */
function workoutOf(item: Item, part: Part, externalId: string): WorkoutPart | undefined {
  const start = startOf(item, part)
  const seconds = counted(item, 'durationInSeconds')
  if (seconds === undefined) item.reject('missing', 'durationInSeconds')
  if (!start || seconds === undefined) return undefined
  return {
    externalId,
    start,
    type: workoutType(item.text('activityType')),
    endMs: start.ms + Math.round(seconds * 1000),
    title: item.text('activityName'),
    entrySource: item.boolean('manual') ? 'manual' : undefined,
    // What a person corrected stays, whatever the watch said of it comes again.
    version: part.stream === 'manuallyUpdatedActivities' ? 1 : 0,
    durationSeconds: seconds,
    movingSeconds: positive(item, 'movingDurationInSeconds'),
    ...measuresOf(item),
  }
}

function measuresOf(item: Item): Partial<WorkoutPart> {
  const first = (...fields: readonly string[]) =>
    fields.map((field) => positive(item, field)).find((one) => one !== undefined)
  return {
    caloriesKcal: positive(item, 'activeKilocalories'),
    distanceMeters: positive(item, 'distanceInMeters'),
    steps: positive(item, 'steps'),
    heartRateAvg: positive(item, 'averageHeartRateInBeatsPerMinute'),
    heartRateMax: positive(item, 'maxHeartRateInBeatsPerMinute'),
    averageSpeed: positive(item, 'averageSpeedInMetersPerSecond'),
    maxSpeed: positive(item, 'maxSpeedInMetersPerSecond'),
    averageCadence: first(
      'averageRunCadenceInStepsPerMinute',
      'averageBikeCadenceInRoundsPerMinute',
      'averageBikingCadenceInRevPerMinute',
      'averageSwimCadenceInStrokesPerMinute',
    ),
    averageWatts: positive(item, 'averagePowerInWatts'),
    maxWatts: positive(item, 'maxPowerInWatts'),
    elevationGainMeters: counted(item, 'totalElevationGainInMeters') ?? counted(item, 'elevationGainInMeters'),
  }
}

/** Summaries of activities. Of one with several sports the parts are stored, not the whole. */
export function activities(out: Out, part: Part): void {
  for (const item of out.items()) {
    const externalId = idOf(item)
    if (!externalId) continue
    if (item.boolean('isParent')) {
      out.ignore('parent')
      continue
    }
    out.source(item.text('deviceName') ?? '', APP)
    const workout = workoutOf(item, part, externalId)
    if (workout) out.workout(workout)
  }
}

/** What is recorded by the second. */
const recorded = [
  ['heart_rate', 'heartRate'],
  ['power', 'powerInWatts'],
  ['elevation', 'elevationInMeters'],
  ['latitude', 'latitudeInDegree'],
  ['longitude', 'longitudeInDegree'],
  // As Garmin writes it.
  ['air_temperature', 'airTemperatureCelcius'],
  ['speed', 'speedMetersPerSecond'],
] as const

/** Activities with what was recorded in them; it is stored where an operator wants that. */
export function activityDetails(out: Out, part: Part): void {
  const wanted = valueAt(part.args, 'samples') === true
  for (const item of out.items()) {
    const externalId = idOf(item)
    const summary = item.object('summary')
    if (!summary) item.reject('missing', 'summary')
    if (!externalId || !summary || summary.boolean('isParent')) continue
    out.source(summary.text('deviceName') ?? '', APP)
    const workout = workoutOf(summary, part, externalId)
    if (!workout || !out.workout({ ...workout, partial: true }) || !wanted) continue
    for (const sample of item.objects('samples')) {
      const ms = instantOf(sample, part, 'startTimeInSeconds')
      if (ms !== undefined) addSample(out, sample, { ms, zoneMin: workout.start.zoneMin }, externalId)
    }
  }
}

function addSample(out: Out, sample: Item, at: At, externalId: string): void {
  for (const [series, field] of recorded) {
    const value = sample.numeric(field)
    if (value !== undefined && (series !== 'heart_rate' || value > 0)) out.sample(series, at, value, externalId)
  }
  const cadence = sample.numeric('stepsPerMinute') ?? positive(sample, 'bikeCadenceInRPM')
  out.sample('cadence', at, cadence, externalId)
}

/** Movement that a watch recognised by itself. */
export function moveIQ(out: Out, part: Part): void {
  for (const item of out.items()) {
    const [externalId, start] = [item.id('summaryId'), startOf(item, part)]
    const seconds = counted(item, 'durationInSeconds')
    if (!externalId) item.reject('missing', 'summaryId')
    if (seconds === undefined) item.reject('missing', 'durationInSeconds')
    if (!externalId || !start || seconds === undefined) continue
    const word = (item.text('activityType') ?? '').trim().toLowerCase().replace(/\s+/g, '_')
    const endMs = start.ms + Math.round(seconds * 1000)
    out.activity({ externalId, start, endMs, type: `moveiq_${word || 'unknown'}` })
  }
}
