import { MAX_STAGE_MS, type SleepStage, type SleepStageName } from '../server/batch/columns.ts'
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
  const id = externalId(item.id, decode)
  const given = externalId(item.parentId, decode)
  if (given !== null) noteId(reading.sleepIds, given, id)
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
  // If the platform delivers sessions, an item without a parent is a session without stages (sdk-payload 4.7).
  const session = given ?? (reading.ability.givesSleepSessions ? (id ?? isoInstant(startMs)) : '')
  const score = scoreOf(item.values)
  // Without a parent, the item is its whole session.
  const whole = given === null && session !== ''
  events.sleep.push({ source, externalId: id, startMs, endMs, zoneMin, stage, session, whole, score })
  return undefined
}

function noteId(ids: Reading['sleepIds'], session: string, id: string | null): void {
  const known = ids.get(session)
  if (known) known.add(id)
  else ids.set(session, new Set([id]))
}

/**
 * Marks the stages whose upload contains their whole session: all its items are from one source, and their ids are numbered
 * from 0 without a gap, `{session}-s0`, `{session}-s1`, or `{session}-s0-0` in a night of several parts. The Android SDKs
 * number them like this and never divide a session among uploads (sdk-payload 4.7). Any other upload may contain a part.
 */
export function markWhole(stages: SleepStage[], ids: Reading['sleepIds']): void {
  const sources = new Map<string, number | null>()
  for (const { session, source } of stages) {
    sources.set(session, sources.has(session) && sources.get(session) !== source ? null : source)
  }
  const whole = new Set([...ids].filter(([session, known]) => isNumbered(session, known)).map(([session]) => session))
  for (const stage of stages) stage.whole ||= whole.has(stage.session) && sources.get(stage.session) !== null
}

const NUMBERS = /^-s(0|[1-9]\d{0,5})(?:-(0|[1-9]\d{0,5}))?$/

/** Whether each id is the first one of the session or its predecessor is present. */
function isNumbered(session: string, ids: ReadonlySet<string | null>): boolean {
  const part = (number: number) => `${session}-s${number}`
  return [...ids].every((id) => {
    const [, first, second] = (id?.startsWith(session) && NUMBERS.exec(id.slice(session.length))) || []
    if (first === undefined) return false
    if (second !== undefined && second !== '0') return ids.has(`${part(Number(first))}-${Number(second) - 1}`)
    return first === '0' || ids.has(part(Number(first) - 1)) || ids.has(`${part(Number(first) - 1)}-0`)
  })
}

/** The platform's score of the session, 0 to 100, repeated on its stages (sdk-types 7.1); null without one. */
function scoreOf(values: unknown): number | null {
  if (!Array.isArray(values)) return null
  const found = values.find((value) => isObject(value) && value.type === 'sleepScore') as Json | undefined
  const score = numeric(found?.value)
  return score !== undefined && score >= 0 && score <= 100 ? score : null
}
