import type { EntrySource, Workout } from '../server/batch/columns.ts'
import { originHash } from '../server/batch/origins.ts'
import { MAX_WORKOUT_DAYS } from '../server/batch/workout-measures.ts'
import { normaliseDeviceString } from '../server/catalogue/devices.ts'
import type { WorkoutType } from '../server/catalogue/workouts.ts'
import { type RecordRule, recordRule } from '../server/providers/sdk.ts'
import {
  externalId,
  instantProblem,
  isObject,
  isProblem,
  type Json,
  numeric,
  type Problem,
  plausibleInstant,
  type Span,
  spanOf,
  valueProblem,
  WRONG_UNIT,
} from './sdk-fields.ts'
import type { Reading } from './sdk-reading.ts'
import { MAX_VALUE, TOO_LARGE } from './sdk-records.ts'
import { recordingMethodOf, TOO_MANY_SOURCES } from './sdk-sources.ts'
import { folded, readStatistics, type Statistics } from './sdk-statistics.ts'
import { movingSeconds, readLaps, readRoute, readSegments } from './sdk-workout-documents.ts'

const MAX_SECONDS = MAX_WORKOUT_DAYS * 86_400

const END_BEFORE_START = ['end_before_start', 'End should not be before the start'] as const
const TOO_LONG = ['implausible_duration', `Workout should last at most ${MAX_WORKOUT_DAYS} days`] as const

const MAX_TITLE_LENGTH = 255
const MAX_NOTES_LENGTH = 4_000

// How the source got a workout, in the words of the SDKs (sdk-types 8.1).
const entrySources: ReadonlyMap<string, EntrySource> = new Map([
  ['active', 'automatic'],
  ['automatic', 'automatic'],
  ['manual', 'manual'],
  ['unknown', 'unknown'],
])

// The types of `samples` of a workout (sdk-types 8.4).
const sampleRules: ReadonlyMap<string, RecordRule> = new Map([
  [folded('heartRate'), recordRule('heart_rate', 'bpm')],
  [folded('cadence'), recordRule('cadence', 'rpm')],
  [folded('speed'), recordRule('speed', 'm/s')],
  [folded('power'), recordRule('power', 'W')],
])

/** Reads an item of `data.workouts`: the workout, and its samples (sdk-types 8). */
export function readWorkout(reading: Reading, item: Json, index: number): Problem | undefined {
  const span = spanOf(item, reading.latestMs)
  if (isProblem(span)) return span
  const elapsedSeconds = Math.trunc((span.endMs - span.startMs) / 1000)
  if (span.endMs < span.startMs) return ['endDate', ...END_BEFORE_START]
  if (elapsedSeconds > MAX_SECONDS) return ['endDate', ...TOO_LONG]
  const source = reading.sources.indexOf(item.source)
  if (source === undefined) return ['source', ...TOO_MANY_SOURCES]
  const statistics = readStatistics(item.values, reading.decode)
  const workout: Workout = {
    source,
    ...span,
    ...described(reading, item, statistics),
    ...parts(reading, item, elapsedSeconds),
    ...measures(statistics),
    durationSeconds: duration(statistics, elapsedSeconds),
  }
  reading.events.workouts.push(workout)
  for (const [series, value] of statistics.samples)
    addSample(reading, workout, { seriesId: series.id, timeMs: span.endMs, value })
  reportStatistics(reading, statistics, { item, index, span })
  readSamples(reading, workout, item, index)
  return undefined
}

function described({ ability, sources, decode }: Reading, item: Json, statistics: Statistics) {
  const text = (value: unknown, max: number) =>
    typeof value === 'string' ? normaliseDeviceString(decode(value), max) || null : null
  const type = ability.workoutType(typeof item.type === 'string' ? decode(item.type) : null)
  return {
    externalId: externalId(item.id, decode),
    type: refined(type, statistics),
    title: text(item.title, MAX_TITLE_LENGTH),
    notes: text(item.notes, MAX_NOTES_LENGTH),
    entrySource: entrySources.get(recordingMethodOf(sources, item)) ?? null,
  }
}

/** What the flags among the statistics add to the type (sdk-types 8.2). */
function refined(type: WorkoutType, { indoor, water }: Statistics): WorkoutType {
  if (type === 'running' && indoor) return 'treadmill'
  if (type === 'cycling' && indoor) return 'indoor_cycling'
  if (type === 'swimming' && water) return water === 'pool' ? 'pool_swimming' : 'open_water_swimming'
  return type
}

function parts(reading: Reading, item: Json, elapsedSeconds: number) {
  const { idleSegments } = reading.ability
  const segments = readSegments(reading, item.segments)
  return {
    movingSeconds: idleSegments ? movingSeconds(segments, idleSegments, elapsedSeconds) : null,
    segments: document(segments),
    laps: document(readLaps(reading, item.laps)),
    route: document(readRoute(reading, item.route)),
  }
}

const document = (list: readonly unknown[]) => (list.length > 0 ? JSON.stringify(list) : null)

/** Platforms send fractions of steps (sdk-types 8.2). */
function measures({ measures }: Statistics) {
  return { ...measures, steps: measures.steps === null ? null : Math.trunc(measures.steps) }
}

const duration = ({ durationSeconds }: Statistics, elapsedSeconds: number): number =>
  durationSeconds === null ? elapsedSeconds : Math.trunc(durationSeconds)

function reportStatistics(
  { account, implausibleParts }: Reading,
  { leftOut, implausible }: Statistics,
  { item, index, span }: { item: Json; index: number; span: Span },
): void {
  for (const { id } of implausible) implausibleParts[id] = (implausibleParts[id] ?? 0) + 1
  for (const { at, part, problem, series } of leftOut) {
    const [field, ...reason] = problem
    const place = series && { type: series.type, ms: span.endMs, zoneMin: span.zoneMin }
    account.leaveOut({ path: ['workouts', index, 'values', at, field], part, item, reason, place })
  }
}

function readSamples(reading: Reading, workout: Workout, item: Json, index: number): void {
  const samples = Array.isArray(item.samples) ? item.samples : []
  for (const [at, part] of samples.entries()) {
    const rule = isObject(part) && typeof part.type === 'string' ? sampleRules.get(folded(part.type)) : undefined
    if (!rule) continue
    const sample = readSample(reading, part, rule)
    if (!isProblem(sample)) {
      addSample(reading, workout, { seriesId: rule.series.id, ...sample })
      continue
    }
    const [field, ...reason] = sample
    const timeMs = plausibleInstant(part.timestamp, reading.latestMs)
    const { zoneMin } = workout
    const place = timeMs === undefined ? undefined : { type: rule.series.type, ms: timeMs, zoneMin }
    reading.account.leaveOut({ path: ['workouts', index, 'samples', at, field], part, item, reason, place })
  }
}

/** Time and converted value of a sample of a workout, or which of its fields is wrong. */
function readSample({ latestMs, decode }: Reading, part: Json, rule: RecordRule): Problem | Instant {
  const value = numeric(part.value)
  if (value === undefined) return ['value', ...valueProblem(part.value)]
  const timeMs = plausibleInstant(part.timestamp, latestMs)
  if (timeMs === undefined) return ['timestamp', ...instantProblem(part.timestamp)]
  const converted = rule.convert(value, typeof part.unit === 'string' ? decode(part.unit) : null)
  if (converted === undefined) return ['unit', ...WRONG_UNIT]
  return Math.abs(converted) <= MAX_VALUE ? { timeMs, value: converted } : ['value', ...TOO_LARGE]
}

/** Epoch ms, and a value in the unit of the series. */
interface Instant {
  timeMs: number
  value: number
}

/** Adds a sample of a workout: it has the workout's source and zone, and is deleted with its id. */
function addSample(
  { derived }: Reading,
  workout: Workout,
  { seriesId, timeMs, value }: { seriesId: number; timeMs: number; value: number },
): void {
  const origin = workout.externalId === null ? null : originHash(workout.externalId, null)
  derived.of(workout.source, seriesId).add({ startMs: timeMs, endMs: timeMs, zoneMin: workout.zoneMin }, value, origin)
}
