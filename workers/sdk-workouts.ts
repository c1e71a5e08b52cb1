import type { EntrySource, Workout } from '../server/batch/columns.ts'
import { originHash } from '../server/batch/origins.ts'
import { normaliseDeviceString } from '../server/catalogue/devices.ts'
import type { WorkoutType } from '../server/catalogue/workouts.ts'
import { type RecordRule, recordRule } from '../server/providers/sdk.ts'
import {
  externalId,
  isObject,
  isProblem,
  type Json,
  numeric,
  type Problem,
  plausibleInstant,
  spanOf,
} from './sdk-fields.ts'
import type { Reading } from './sdk-reading.ts'
import { TOO_MANY_SOURCES } from './sdk-sources.ts'
import { folded, readStatistics, type Statistics } from './sdk-statistics.ts'
import { movingSeconds, readLaps, readRoute, readSegments } from './sdk-workout-documents.ts'

/** Longest workout; a longer one was never ended, or has a wrong date. */
const MAX_DAYS = 7
const MAX_SECONDS = MAX_DAYS * 86_400

const END_BEFORE_START = ['end_before_start', 'End should not be before the start'] as const
const TOO_LONG = ['implausible_duration', `Workout should last at most ${MAX_DAYS} days`] as const

const MAX_TITLE_LENGTH = 255
const MAX_NOTES_LENGTH = 4_000

/** Bound of a sample, as of those in `data.records`. */
const MAX_VALUE = 1e15

// How the source got a workout, in the words of the SDKs (sdk-types 8.1).
const RECORDING_METHOD = ['recordingMethod', 'recording_method'] as const
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
export function readWorkout(reading: Reading, item: Json): Problem | undefined {
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
  readSamples(reading, workout, item.samples)
  return undefined
}

function described({ ability, sources, decode }: Reading, item: Json, statistics: Statistics) {
  const text = (value: unknown, max: number) =>
    typeof value === 'string' ? normaliseDeviceString(decode(value), max) || null : null
  const type = ability.workoutType(typeof item.type === 'string' ? decode(item.type) : null)
  const method = sources.textOf(item.source, RECORDING_METHOD).trim().toLowerCase()
  return {
    externalId: externalId(item.id, decode),
    type: refined(type, statistics),
    title: text(item.title, MAX_TITLE_LENGTH),
    notes: text(item.notes, MAX_NOTES_LENGTH),
    entrySource: entrySources.get(method) ?? null,
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

function duration({ durationSeconds }: Statistics, elapsedSeconds: number): number {
  if (durationSeconds === null || durationSeconds > MAX_SECONDS) return elapsedSeconds
  return Math.trunc(durationSeconds)
}

function readSamples(reading: Reading, workout: Workout, values: unknown): void {
  for (const item of Array.isArray(values) ? values : []) {
    if (!isObject(item) || typeof item.type !== 'string') continue
    const rule = sampleRules.get(folded(item.type))
    const value = numeric(item.value)
    const timeMs = plausibleInstant(item.timestamp, reading.latestMs)
    if (!rule || value === undefined || timeMs === undefined) continue
    const converted = rule.convert(value, typeof item.unit === 'string' ? reading.decode(item.unit) : null)
    if (converted === undefined || Math.abs(converted) > MAX_VALUE) continue
    addSample(reading, workout, { seriesId: rule.series.id, timeMs, value: converted })
  }
}

/** Adds a sample of a workout: it has the workout's source and zone, and is deleted with its id. */
function addSample(
  { derived }: Reading,
  workout: Workout,
  { seriesId, timeMs, value }: { seriesId: number; timeMs: number; value: number },
): void {
  const origin = workout.externalId === null ? null : originHash(workout.externalId, null)
  derived.of(workout.source, seriesId).add(timeMs, value, workout.zoneMin, origin)
}
