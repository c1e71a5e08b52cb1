import { createHash } from 'node:crypto'
import { normaliseDeviceString } from '../server/catalogue/devices.ts'
import { zoneOffsetOf } from '../server/providers/zone-offset.ts'
import { instant, ownOffset } from './instants.ts'
import type { Decode } from './json-bytes.ts'

// How to read single fields of an SDK upload, in every collection (sdk-payload 4, 5.3).

/**
 * Earliest plausible instant (README: limits), since weights of 1985 exist and a device without a clock writes 1970-01-01;
 * later than now + 24 h is implausible too.
 */
export const MIN_TIME_MS = Date.UTC(1970, 0, 2)

/** Stored characters of a platform's id; a longer one is hashed, never cut (sdk-payload 5.3). */
const MAX_ID_LENGTH = 100

/** A JSON object. */
export type Json = Record<string, unknown>

/** Which field is wrong, and why: code and message of contract 1.8. */
export type Problem = readonly [field: string, type: string, msg: string]

export const MISSING = ['missing', 'Field required'] as const
export const WRONG_UNIT = ['unit', 'Input should be a unit that the value can be converted from'] as const
const NOT_FINITE = ['finite_number', 'Input should be a finite number'] as const
const NOT_A_NUMBER = ['float_parsing', 'Input should be a valid number'] as const
const IMPLAUSIBLE = ['implausible_timestamp', 'Time should be between 1970-01-02 and 24 hours from now'] as const

/** Whether a value is an object, neither null nor a list. */
export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Time of an item: epoch milliseconds, and minutes east of UTC or null. */
export interface Span {
  startMs: number
  endMs: number
  zoneMin: number | null
}

/** The span of an item, or which of its fields is wrong; `latestMs` is the last plausible instant. */
export function spanOf(item: Json, latestMs: number): Span | Problem {
  const startMs = instant(item.startDate)
  if (startMs === undefined) return ['startDate', ...dateProblem(item.startDate)]
  const endMs = item.endDate === item.startDate ? startMs : instant(item.endDate)
  if (endMs === undefined) return ['endDate', ...dateProblem(item.endDate)]
  const startPlausible = startMs >= MIN_TIME_MS && startMs <= latestMs
  if (!startPlausible || endMs > latestMs) return [startPlausible ? 'endDate' : 'startDate', ...IMPLAUSIBLE]
  return { startMs, endMs, zoneMin: zoneOf(item, startMs) }
}

/** An instant from 1970-01-02 to `latestMs`, in epoch milliseconds; undefined for anything else. */
export function plausibleInstant(value: unknown, latestMs: number): number | undefined {
  const ms = instant(value)
  return ms !== undefined && ms >= MIN_TIME_MS && ms <= latestMs ? ms : undefined
}

/** Why something is no `plausibleInstant`. */
export const instantProblem = (value: unknown): readonly [type: string, msg: string] =>
  instant(value) === undefined ? dateProblem(value) : IMPLAUSIBLE

/** Why something is not `numeric`. */
export function valueProblem(value: unknown): readonly [type: string, msg: string] {
  if (value === undefined || value === null) return MISSING
  return typeof value === 'number' ? NOT_FINITE : NOT_A_NUMBER
}

/** Whether the result of reading is a problem instead of a value. */
export const isProblem = (value: unknown): value is Problem => Array.isArray(value)

/** The stored form of a platform's id: null when absent, hashed when it is longer than 100 characters. */
export function externalId(value: unknown, decode: Decode): string | null {
  if (typeof value !== 'string' || value === '') return null
  const id = normaliseDeviceString(decode(value), Number.MAX_SAFE_INTEGER)
  if (id.length <= MAX_ID_LENGTH) return id || null
  return `sha256:${createHash('sha256').update(id).digest('hex')}`
}

/** Each digit matches in one way only: otherwise a long text takes the square of its length. */
const NUMERIC = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*$/

/** A number, or numeric text; undefined for everything else, including numbers that are not finite (JSON 1e400). */
export function numeric(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (typeof value !== 'string' || !NUMERIC.test(value)) return undefined
  const number = Number(value)
  return Number.isFinite(number) ? number : undefined
}

function dateProblem(value: unknown): [type: string, msg: string] {
  if (value === undefined || value === null) return [...MISSING]
  return ['datetime_parsing', 'Input should be a valid datetime with time of day']
}

/**
 * Minutes east of UTC of an item that starts at `startMs`: of its zone offset, else of the zone that the app which wrote it
 * named in the metadata (HealthKit's HKTimeZone), else of the start itself, else null. It costs no item (sdk-payload 4.5).
 */
export function zoneOf(item: Json, startMs: number): number | null {
  return (
    zoneOffsetOf(item.zoneOffset, startMs) ??
    zoneOffsetOf(metadataOf(item, 'HKTimeZone'), startMs) ??
    ownOffset(item.startDate)
  )
}

/**
 * An entry of an item's metadata, which are an object, or a list of them from old SDKs, or anything else (sdk-payload
 * 4.2).
 */
export function metadataOf({ metadata }: Json, key: string): unknown {
  if (metadata === null || metadata === undefined) return undefined
  const parts = Array.isArray(metadata) ? metadata : [metadata]
  return parts.find((part): part is Json => isObject(part) && Object.hasOwn(part, key))?.[key]
}
