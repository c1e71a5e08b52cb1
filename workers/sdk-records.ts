import { DAILY_TOTAL_OFFSET } from '../server/catalogue/series.ts'
import { originHash } from '../server/ingest/origins.ts'
import { isNutrient, type RecordRule } from '../server/providers/sdk.ts'
import type { Reading } from './sdk-batch.ts'
import { externalId, isProblem, type Json, MISSING, numeric, type Problem, spanOf } from './sdk-fields.ts'
import { TOO_MANY_SOURCES } from './sdk-sources.ts'

const DAY_MS = 86_400_000

/** Far above any measurement, far below where a year's sum would overflow and make good samples unreadable. */
const MAX_VALUE = 1e15

const NOT_FINITE = ['finite_number', 'Input should be a finite number'] as const
const NOT_A_NUMBER = ['float_parsing', 'Input should be a valid number'] as const
const TOO_LARGE = ['implausible_value', 'Input should be a number of at most 15 digits'] as const

/** Reads an item of `data.records`: a sample, or what meals, cycles and activities are made of (sdk-types 1). */
export function readRecord(reading: Reading, item: Json): Problem | 'ignored' | undefined {
  const kind = typeof item.type === 'string' ? reading.ability.recordKind(item.type) : 'ignored'
  return typeof kind === 'object' ? readSample(reading, item, kind) : 'ignored'
}

function readSample(reading: Reading, item: Json, rule: RecordRule): Problem | undefined {
  const { streams, sources, decode, events } = reading
  const value = numeric(item.value)
  if (value === undefined) {
    const absent = item.value === undefined || item.value === null
    return ['value', ...(absent ? MISSING : typeof item.value === 'number' ? NOT_FINITE : NOT_A_NUMBER)]
  }
  const span = spanOf(item, reading.latestMs)
  if (isProblem(span)) return span
  const { startMs, endMs, zoneMin } = span
  const converted = rule.convert(value, typeof item.unit === 'string' ? decode(item.unit) : null)
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
      startMs,
      endMs,
      zoneMin,
      meal,
      seriesId: rule.series.id,
      value: converted,
    })
  } else if (rule.dailyTotal) {
    const shift = (zoneMin ?? 0) * 60_000
    const midnight = Math.floor((startMs + shift) / DAY_MS) * DAY_MS - shift
    streams.add(source, rule.series.id + DAILY_TOTAL_OFFSET, midnight, converted, zoneMin, origin)
  } else streams.add(source, rule.series.id, startMs, converted, zoneMin, origin)
  return undefined
}
