import { MAX_STAGE_MS, type SleepStageName } from '../server/batch/columns.ts'
import { isoInstant } from '../server/time.ts'
import { externalId, isObject, isProblem, type Json, MISSING, numeric, type Problem, spanOf } from './sdk-fields.ts'
import type { Reading } from './sdk-reading.ts'
import { TOO_MANY_SOURCES } from './sdk-sources.ts'

const NO_TEXT = ['string_type', 'Input should be a valid string'] as const
const END_BEFORE_START = ['end_before_start', 'End should be after the start'] as const
const TOO_LONG = ['implausible_duration', 'A stage of sleep should last 24 hours at most'] as const

/** Stages by their wire text in lower case and without underscores (sdk-types 7.1). */
const stageNames: ReadonlyMap<string, SleepStageName> = new Map([
  ['inbed', 'in_bed'],
  ['awake', 'awake'],
  ['sleeping', 'sleeping'],
  ['asleep', 'sleeping'],
  ['light', 'light'],
  ['core', 'light'],
  ['deep', 'deep'],
  ['rem', 'rem'],
])

/** Reads an item of `data.sleep`: one interval of a stage (sdk-payload 4.3). Unknown stages are ignored. */
export function readSleep(reading: Reading, item: Json): Problem | 'ignored' | undefined {
  const { decode, sources, events } = reading
  if (item.stage === undefined || item.stage === null) return ['stage', ...MISSING]
  if (typeof item.stage !== 'string') return ['stage', ...NO_TEXT]
  const stage = stageNames.get(decode(item.stage).toLowerCase().replaceAll('_', ''))
  if (!stage) return 'ignored'
  const span = spanOf(item, reading.latestMs)
  if (isProblem(span)) return span
  const { startMs, endMs, zoneMin } = span
  if (endMs <= startMs) return ['endDate', ...END_BEFORE_START]
  if (endMs - startMs > MAX_STAGE_MS) return ['endDate', ...TOO_LONG]
  const source = sources.indexOf(item.source)
  if (source === undefined) return ['source', ...TOO_MANY_SOURCES]
  const id = externalId(item.id, decode)
  const given = externalId(item.parentId, decode)
  // Where the platform delivers sessions, an item without a parent is a session without stages (sdk-payload 4.7).
  const session = given ?? (reading.ability.givesSleepSessions ? (id ?? isoInstant(startMs)) : '')
  events.sleep.push({ source, externalId: id, startMs, endMs, zoneMin, stage, session, score: scoreOf(item.values) })
  return undefined
}

/** The platform's score of the session, 0 to 100, repeated on its stages (sdk-types 7.1); null without one. */
function scoreOf(values: unknown): number | null {
  if (!Array.isArray(values)) return null
  const found = values.find((value) => isObject(value) && value.type === 'sleepScore') as Json | undefined
  const score = numeric(found?.value)
  return score !== undefined && score >= 0 && score <= 100 ? score : null
}
