import { type OriginHash, originHash } from '../server/batch/origins.ts'
import type { SampleStreams } from '../server/batch/sample-streams.ts'
import { localMidnight } from '../server/batch/zones.ts'
import { normaliseDeviceString } from '../server/catalogue/devices.ts'
import { DAILY_TOTAL_OFFSET, hasManualTwin, storedId } from '../server/catalogue/series.ts'
import { type ActivityRule, type CycleRule, isNutrient, type RecordRule } from '../server/providers/sdk.ts'
import { DAY_MS } from '../server/time.ts'
import type { Place } from './account.ts'
import {
  externalId,
  isProblem,
  type Json,
  MISSING,
  metadataOf,
  numeric,
  type Problem,
  plausibleInstant,
  type Span,
  spanOf,
  valueProblem,
  WRONG_UNIT,
  zoneOf,
} from './sdk-fields.ts'
import type { DayTotal, Reading } from './sdk-reading.ts'
import { recordingMethodOf, TOO_MANY_SOURCES } from './sdk-sources.ts'

const HOUR_MS = 3_600_000

/**
 * Far above any measurement, far below values whose sum over a year would overflow and make good samples unreadable.
 */
export const MAX_VALUE = 1e15

/** Far longer than any activity, and than any period. */
const MAX_ACTIVITY_MS = 24 * HOUR_MS
const MAX_PERIOD_MS = 60 * DAY_MS

/** Stored characters of a meal's title and type (sdk-types 6). */
const MAX_TITLE = 255
const MAX_MEAL_TYPE = 64

export const TOO_LARGE = ['implausible_value', 'Input should be a number of at most 15 digits'] as const
const NO_LEVEL = ['enum', 'Input should be a value the platform documents'] as const
const END_BEFORE_START = ['end_before_start', 'Input should not be before startDate'] as const
const TOO_LONG = ['implausible_duration', 'Input is too long after startDate'] as const

/** Reads an item of `data.records`: a sample, or a part of meals, cycles and activities (sdk-types 1). */
export function readRecord(reading: Reading, item: Json): Problem | 'ignored' | undefined {
  const kind = typeof item.type === 'string' ? reading.ability.recordKind(item.type) : 'ignored'
  if (kind === 'ignored') return kind
  if (kind === 'meal') return readMeal(reading, item)
  if ('series' in kind) return readSample(reading, item, kind)
  return 'observation' in kind ? readObservation(reading, item, kind) : readActivity(reading, item, kind)
}

/**
 * Where an item of `data.records` counts if it cannot be stored; undefined when its start or its type cannot be read.
 */
export function placeOfRecord({ ability, latestMs, decode }: Reading, item: Json): Place | undefined {
  const kind = typeof item.type === 'string' ? ability.recordKind(item.type) : 'ignored'
  const startMs = plausibleInstant(item.startDate, latestMs)
  if (kind === 'ignored' || startMs === undefined) return undefined
  const zoneMin = zoneOf(item, startMs)
  const place = (type: string) => ({ type, ms: startMs, zoneMin })
  if (kind === 'meal') return place('meal')
  if ('observation' in kind) return place('menstrual_cycle')
  if ('activity' in kind) return place('activity')
  if (isNutrient(kind.series) && externalId(item.parentId, decode)) return place('meal_nutrient')
  const { type } = kind.series
  return kind.dailyTotal ? { type, ms: localMidnight(startMs, zoneMin), zoneMin } : place(type)
}

function readSample(reading: Reading, item: Json, rule: RecordRule): Problem | undefined {
  const { sources, decode, events } = reading
  const value = numeric(item.value)
  if (value === undefined) return ['value', ...valueProblem(item.value)]
  const span = spanOf(item, reading.latestMs)
  if (isProblem(span)) return span
  const converted = rule.convert(value, typeof item.unit === 'string' ? decode(item.unit) : null)
  if (converted === undefined) return ['unit', ...WRONG_UNIT]
  if (!(Math.abs(converted) <= MAX_VALUE)) return ['value', ...TOO_LARGE]
  const id = externalId(item.id, decode)
  const source = sources.indexOf(item.source)
  if (source === undefined) return ['source', ...TOO_MANY_SOURCES]
  const origin = id === null ? null : originHash(id, externalId(item.parentId, decode))
  const meal = isNutrient(rule.series) ? externalId(item.parentId, decode) : null
  if (meal) {
    events.nutrients.push({
      source,
      externalId: id,
      ...span,
      meal,
      seriesId: storedId(rule.series.id, converted),
      value: converted,
    })
  } else {
    const isManual = hasManualTwin(rule.series.id) && wasEntered(reading, item)
    addSample(reading, rule, { source, span, value: converted, origin, isManual })
  }
  return undefined
}

/** What a record states of a series; `value` in its unit. */
interface Stated {
  source: number
  span: Span
  value: number
  origin: OriginHash | null
  /** Ignored for a series without a manual twin, and for totals of days. */
  isManual: boolean
}

/** Adds a sample, or the total of a day. */
export function addSample(reading: Reading, rule: RecordRule, stated: Stated): void {
  const { source, span, value, origin, isManual } = stated
  if (rule.dailyTotal) {
    const { startMs, zoneMin } = span
    reading.totals.push({ source, seriesId: rule.series.id + DAILY_TOTAL_OFFSET, startMs, zoneMin, value, origin })
  } else reading.streams.of(source, rule.series.id).add(span, value, origin, isManual)
}

/** Whether the platform says that somebody entered a record by hand (Health Connect's method, HealthKit's metadata). */
export function wasEntered({ sources, decode }: Reading, item: Json): boolean {
  if (recordingMethodOf(sources, item) === 'manual') return true
  const entered = item.metadata ? metadataOf(item, 'HKWasUserEntered') : undefined
  return entered !== undefined && truth(typeof entered === 'string' ? decode(entered) : entered) === true
}

/** Adds the total of a day at its local midnight; while its zone is not known, at its start. */
export function addTotal(
  streams: SampleStreams,
  { source, seriesId, startMs, zoneMin, value, origin }: DayTotal,
): void {
  const atMs = zoneMin === null ? startMs : localMidnight(startMs, zoneMin)
  streams.of(source, seriesId).add({ startMs: atMs, endMs: atMs, zoneMin }, value, origin)
}

/** A meal is keyed by its id; its nutrients are separate records that name it (sdk-types 6). */
function readMeal({ events, sources, decode, latestMs }: Reading, item: Json): Problem | undefined {
  const id = externalId(item.id, decode)
  if (!id) return ['id', ...MISSING]
  const span = spanOf(item, latestMs)
  if (isProblem(span)) return span
  const source = sources.indexOf(item.source)
  if (source === undefined) return ['source', ...TOO_MANY_SOURCES]
  const text = (key: string) => {
    const value = metadataOf(item, key)
    return typeof value === 'string' ? decode(value) : ''
  }
  events.meals.push({
    source,
    externalId: id,
    ...span,
    // As for other records, the start counts.
    endMs: Math.max(span.startMs, span.endMs),
    title: normaliseDeviceString(text('title'), MAX_TITLE) || null,
    mealType: normaliseDeviceString(text('mealType').toLowerCase(), MAX_MEAL_TYPE) || null,
  })
  return undefined
}

function readObservation(reading: Reading, item: Json, rule: CycleRule): Problem | undefined {
  const value = numeric(item.value)
  const level = value === undefined ? undefined : rule.levels.get(value)
  if (level === undefined && rule.onlyLevels) {
    return ['value', ...(value === undefined ? valueProblem(item.value) : NO_LEVEL)]
  }
  const event = intervalOf(reading, item, MAX_PERIOD_MS)
  if (isProblem(event)) return event
  const start = rule.startKey === null ? undefined : metadataOf(item, rule.startKey)
  const cycleStart = start === undefined ? null : truth(typeof start === 'string' ? reading.decode(start) : start)
  reading.events.cycles.push({ ...event, kind: rule.observation, level: level ?? null, cycleStart })
  return undefined
}

function readActivity(reading: Reading, item: Json, rule: ActivityRule): Problem | undefined {
  const event = intervalOf(reading, item, MAX_ACTIVITY_MS)
  if (isProblem(event)) return event
  reading.events.activities.push({ ...event, type: rule.activity })
  return undefined
}

/** Source and time of an interval of at most `maxMs`, or which field is wrong. */
function intervalOf(
  { sources, decode, latestMs }: Reading,
  item: Json,
  maxMs: number,
): (Span & { source: number; externalId: string | null }) | Problem {
  const span = spanOf(item, latestMs)
  if (isProblem(span)) return span
  if (span.endMs < span.startMs) return ['endDate', ...END_BEFORE_START]
  if (span.endMs - span.startMs > maxMs) return ['endDate', ...TOO_LONG]
  const source = sources.indexOf(item.source)
  if (source === undefined) return ['source', ...TOO_MANY_SOURCES]
  return { source, externalId: externalId(item.id, decode), ...span }
}

/** The wire form of HealthKit's booleans, as text or not; null for anything else. */
function truth(value: unknown): boolean | null {
  if (typeof value === 'object') return null
  const text = String(value).trim().toLowerCase()
  if (text === '1' || text === 'true') return true
  return text === '0' || text === 'false' ? false : null
}
