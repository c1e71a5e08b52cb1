import { groupBy } from '../../batch/group-by.ts'
import { columnsOf, idsIn, sameIds, withIds } from '../platform-ids.ts'
import { type Stage, sessionKey } from './sessions.ts'
import { firstEndingAfter, type Range, union } from './totals.ts'

// Computes what an upload changes in the stored stages of sleep: pure functions.

/** The changes of an upload or a deletion to the stored stages. */
export interface StageChanges {
  /** New stages, and stored ones of which more than the time changed. */
  written: Stage[]
  removed: Stage[]
  /** Stored ones of which only the ids changed, which no session shows. */
  relabelled?: Stage[]
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

/** The platform's ids of a stage. */
export const stageIds = ({ externalId, otherIds }: Stage): string[] =>
  idsIn({ external_id: externalId, other_ids: otherIds ?? null })

/** A stage with these ids instead of its own. */
export function stageWithIds(stage: Stage, ids: readonly string[]): Stage {
  const { external_id: externalId, other_ids: otherIds } = columnsOf(ids)
  return { ...stage, externalId, otherIds }
}

/** The ids that identify a stage of a platform's session; none if only the interval identifies it. */
const idKeys = (stage: Stage) =>
  stage.session === '' ? [] : stageIds(stage).map((id) => `${sessionKey(stage)}\0${id}`)

/**
 * Computes what the stages of an upload change in the stored ones. `stored` must include every stage of the same interval
 * and every touched session of a platform; `stored.whole` has the keys of those that arrived whole. Intervals identify
 * stages: an interval that arrives under several ids keeps them. In a platform's session, an id that arrives with another
 * interval or stage was rewritten: its old interval is removed unless another id has it, and so are the stages that the new
 * one overlaps, unless they are in the upload as well. A whole session that arrives whole again loses the stages it no
 * longer has. Everything else is added, since uploads may contain parts of a session in any order.
 */
export function compareStages(
  incoming: readonly Stage[],
  { stages: stored, whole }: { stages: readonly Stage[]; whole: ReadonlySet<string> },
): ComparedStages {
  const items = withoutRepeatedIds(incoming)
  const latest = new Map<string, Stage>()
  for (const item of items) {
    const same = latest.get(stageKey(item))
    latest.set(stageKey(item), same ? stageWithIds(item, withIds(stageIds(same), stageIds(item))) : item)
  }
  const sent = new Set(items.flatMap(idKeys))
  // An id that the upload assigns to another interval is not kept.
  const keptIds = (stage: Stage) => {
    const keys = idKeys(stage)
    const now = latest.get(stageKey(stage))
    const here = now ? stageIds(now) : []
    return stageIds(stage).filter((id, place) => here.includes(id) || !sent.has(keys[place] ?? ''))
  }
  const rewritten = rewrittenOf(items, stored)
  const storedByKey = new Map(stored.map((stage) => [stageKey(stage), stage]))

  const written: Stage[] = []
  const relabelled: Stage[] = []
  const counts = { inserted: 0, updated: 0, unchanged: 0, duplicates: incoming.length - latest.size }
  for (const [key, item] of latest) {
    const before = storedByKey.get(key)
    const stage = stageWithIds(item, withIds(before ? keptIds(before) : [], stageIds(item)))
    if (before && sameDetails(before, stage)) {
      counts.unchanged += 1
      if (!sameIds(stageIds(before), stageIds(stage))) relabelled.push(stage)
    } else {
      written.push(stage)
      counts[before || rewritten.has(key) ? 'updated' : 'inserted'] += 1
    }
  }
  const gone = new Set([...overlapping(stored, [...rewritten.values()]), ...noMoreIn(items, stored, whole)])
  const removed: Stage[] = []
  for (const stage of stored) {
    if (latest.has(stageKey(stage))) continue
    const [ids, kept] = [stageIds(stage), keptIds(stage)]
    if (gone.has(stage) || (ids.length > 0 && kept.length === 0)) removed.push(stage)
    else if (kept.length < ids.length) relabelled.push(stageWithIds(stage, kept))
  }
  return { written, removed, relabelled, ...counts }
}

/**
 * The stored stages that may be removed: those of sessions that arrived whole before and now, and items that are a session
 * without stages once its stages arrive. Received ones among them stay.
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
 * For each platform's session that an upload changes or contains whole, by key: whether the upload contained it whole, and
 * everything that is stored of it from now on.
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

/** The items, except those of a platform's session whose id a later one repeats. */
function withoutRepeatedIds(items: readonly Stage[]): Stage[] {
  const last = new Map(items.flatMap((item) => idKeys(item).map((key) => [key, item])))
  return items.filter((item) => idKeys(item).every((key) => last.get(key) === item))
}

/** The items, by key, whose id had another interval or stage before. */
function rewrittenOf(items: readonly Stage[], stored: readonly Stage[]): Map<string, Stage> {
  const storedById = new Map(stored.flatMap((stage) => idKeys(stage).map((key) => [key, stageKey(stage)])))
  return new Map(
    items.flatMap((item) => {
      const [before] = idKeys(item).map((key) => storedById.get(key))
      return before === undefined || before === stageKey(item) ? [] : [[stageKey(item), item]]
    }),
  )
}

const sameDetails = (one: Stage, other: Stage) => one.zoneMin === other.zoneMin && one.score === other.score

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

/** Whether the platform defines the session of a stage. */
export const isGiven = ({ session }: Stage): boolean => session !== ''
