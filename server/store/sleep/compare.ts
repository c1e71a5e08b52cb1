import { groupBy } from '../group-by.ts'
import { type Stage, sessionKey } from './sessions.ts'
import { firstEndingAfter, type Range, union } from './totals.ts'

// What an upload changes in the stored stages of sleep: pure.

/** What an upload or a deletion does to the stored stages. */
export interface StageChanges {
  /** New stages, and stored ones of which more than the time changed. */
  written: Stage[]
  removed: Stage[]
}

/** The result for the stages of an upload. */
export interface ComparedStages extends StageChanges {
  inserted: number
  updated: number
  unchanged: number
  duplicates: number
}

/** The key of a stored stage. */
export const stageKey = ({ sourceId, session, startMs, endMs, stage }: Stage): string =>
  `${sourceId} ${startMs} ${endMs} ${stage} ${session}`

/** Identifies a stage of a session given by the platform by its id; undefined if only the interval identifies it. */
const idKey = (stage: Stage) =>
  stage.session === '' || stage.externalId === null ? undefined : `${sessionKey(stage)}\0${stage.externalId}`

/**
 * Computes what the stages of an upload change in the stored ones, which must include every stage of the same interval
 * and every given session that is touched; `stored.whole` holds the keys of those that came whole. Intervals count: an
 * interval that arrives under several ids keeps the smallest id, so their order does not matter. In a session given by
 * the platform, an id that arrives with another interval or stage was rewritten: its old interval is removed, and so are
 * those it overlaps, unless they are in the upload as well. A whole session that arrives whole again loses the stages it
 * no longer has. Everything else is added, since a session may be divided among uploads in any order.
 */
export function compareStages(
  incoming: readonly Stage[],
  { stages: stored, whole }: { stages: readonly Stage[]; whole: ReadonlySet<string> },
): ComparedStages {
  const items = withoutRepeatedIds(incoming)
  const latest = new Map<string, Stage>()
  for (const item of items) {
    const same = latest.get(stageKey(item))
    latest.set(stageKey(item), same ? { ...item, externalId: smaller(same.externalId, item.externalId) } : item)
  }
  const { rewritten, replaced } = rewrittenOf(items, stored)
  const sent = new Set(items.map(idKey))
  const wasSent = (stage: Stage) => idKey(stage) !== undefined && sent.has(idKey(stage))
  const storedByKey = new Map(stored.map((stage) => [stageKey(stage), stage]))

  const written: Stage[] = []
  const counts = { inserted: 0, updated: 0, unchanged: 0, duplicates: incoming.length - latest.size }
  for (const [key, item] of latest) {
    const before = storedByKey.get(key)
    // An id that the upload assigns to another interval is not kept.
    const kept = before && !(wasSent(before) && before.externalId !== item.externalId) ? before.externalId : null
    const stage = { ...item, externalId: smaller(kept, item.externalId) }
    if (before && sameDetails(before, stage)) counts.unchanged += 1
    else {
      written.push(stage)
      counts[before || rewritten.has(key) ? 'updated' : 'inserted'] += 1
    }
  }
  const gone = new Set(replaced)
  for (const stage of overlapping(stored, [...rewritten.values()])) if (!wasSent(stage)) gone.add(stage)
  for (const stage of noMoreIn(items, stored, whole)) gone.add(stage)
  return { written, removed: [...gone].filter((stage) => !latest.has(stageKey(stage))), ...counts }
}

/**
 * The stored stages that may go: those of sessions that came whole before and come whole now, and items that are a session
 * without stages when its stages arrive. The received ones among them stay.
 */
function noMoreIn(items: readonly Stage[], stored: readonly Stage[], whole: ReadonlySet<string>): Stage[] {
  const sentWhole = new Set(items.filter((item) => item.whole).map(sessionKey))
  const staged = new Set(items.filter((item) => isGiven(item) && !isSessionItself(item)).map(sessionKey))
  return stored.filter((stage) => {
    const key = sessionKey(stage)
    return (sentWhole.has(key) && whole.has(key)) || (isSessionItself(stage) && staged.has(key))
  })
}

/** Whether an item is a session without stages (sdk-payload 4.7). */
const isSessionItself = ({ session, externalId }: Stage) => session !== '' && externalId === session

/**
 * For each given session that an upload changes or contains whole, by key: whether the upload contained it whole and
 * brought everything that is stored of it from now on.
 */
export function wholeAfter(
  incoming: readonly Stage[],
  stored: readonly Stage[],
  changes: StageChanges,
): Map<string, boolean> {
  const sentWhole = new Set(incoming.filter((item) => item.whole).map(sessionKey))
  const sent = new Set(incoming.map(stageKey))
  const isElse = (stage: Stage) => isGiven(stage) && !sent.has(stageKey(stage))
  const partly = new Set(changedStages(stored, changes).filter(isElse).map(sessionKey))
  const changed = [...changes.written, ...changes.removed].filter(isGiven).map(sessionKey)
  return new Map([...changed, ...sentWhole].map((key) => [key, sentWhole.has(key) && !partly.has(key)]))
}

/** The items without those of a given session whose id a later one repeats. */
function withoutRepeatedIds(items: readonly Stage[]): Stage[] {
  const last = new Map(items.map((item) => [idKey(item), item]))
  return items.filter((item) => idKey(item) === undefined || last.get(idKey(item)) === item)
}

/** The items, by key, whose id had another interval or stage before, with what is stored of it. */
function rewrittenOf(items: readonly Stage[], stored: readonly Stage[]) {
  const storedById = new Map(stored.map((stage) => [idKey(stage), stage]))
  const rewritten = new Map<string, Stage>()
  const replaced: Stage[] = []
  for (const item of items) {
    const before = idKey(item) === undefined ? undefined : storedById.get(idKey(item))
    if (!before || stageKey(before) === stageKey(item)) continue
    rewritten.set(stageKey(item), item)
    replaced.push(before)
  }
  return { rewritten, replaced }
}

const smaller = (one: string | null, other: string | null) =>
  one === null || (other !== null && other < one) ? other : one

const sameDetails = (one: Stage, other: Stage) =>
  one.externalId === other.externalId && one.zoneMin === other.zoneMin && one.score === other.score

/** The stored stages that overlap one of `changed` of the same session. */
function overlapping(stored: readonly Stage[], changed: readonly Stage[]): Stage[] {
  const ranges = new Map(
    [...groupBy(changed, sessionKey)].map(([key, stages]) => [
      key,
      union(stages.map(({ startMs, endMs }): Range => [startMs, endMs])),
    ]),
  )
  return stored.filter((stage) => {
    const changes = ranges.get(sessionKey(stage)) ?? []
    const [startMs] = changes[firstEndingAfter(changes, stage.startMs)] ?? [Number.POSITIVE_INFINITY]
    return startMs < stage.endMs
  })
}

/** The stored stages after `changes`. */
export function changedStages(stored: readonly Stage[], { written, removed }: StageChanges): Stage[] {
  const stages = new Map(stored.map((stage) => [stageKey(stage), stage]))
  for (const stage of removed) stages.delete(stageKey(stage))
  for (const stage of written) stages.set(stageKey(stage), stage)
  return [...stages.values()]
}

/** Whether the platform said which session a stage belongs to. */
export const isGiven = ({ session }: Stage): boolean => session !== ''
