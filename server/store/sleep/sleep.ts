import { randomUUID } from 'node:crypto'
import type { SleepStage } from '../../batch/columns.ts'
import type { Transaction } from '../../db/database.ts'
import type { EventCounts, EventTarget, Rebuilt, RemovedItems } from '../event-items.ts'
import { boundsOf, derivedChanges } from '../event-items.ts'
import { type Session, type Stage, sessionKey, sessionsOf, stagesOfSession } from './sessions.ts'
import {
  changedStages,
  compareStages,
  isGiven,
  readAround,
  readChains,
  readStagesById,
  type StageChanges,
  type Surroundings,
  stageIds,
  stageKey,
  stageWithIds,
  touchedChains,
  writeStages,
} from './stages.ts'
import { deleteSessions, idsFor, readSessions, saveNaps, saveScores, saveSessions } from './stored-sessions.ts'
import { firstEndingAfter, type Range, union } from './totals.ts'

/**
 * Stores the stages of an upload and rebuilds the sessions they touch (sdk-types 7), in a fixed number of statements.
 * Stages that are already stored change and write nothing; with `again` their sessions are rebuilt nevertheless.
 */
export async function writeSleep(
  tx: Transaction,
  target: EventTarget,
  stages: readonly SleepStage[],
  again: boolean,
): Promise<EventCounts | undefined> {
  if (stages.length === 0) return undefined
  const incoming = stages.map(({ source, ...stage }) => ({ ...stage, sourceId: target.sourceIds[source] as number }))
  const around = await readAround(tx, target, incoming)
  const { inserted, updated, unchanged, duplicates, ...changes } = compareStages(incoming, around.stored)
  const rebuilt = await change(tx, target, { ...changes, others: again ? incoming : [] }, around)
  return { type: 'sleep', inserted, updated, unchanged, duplicates, ...boundsOf(changes.written), ...rebuilt }
}

/**
 * Removes what the platform deleted: stages by their session's or parent's id, and by their own, unless another id has
 * them. Sessions are rebuilt from what is left.
 */
export async function deleteSleep(
  tx: Transaction,
  target: EventTarget,
  externalIds: readonly string[],
): Promise<RemovedItems> {
  const named = externalIds.length > 0 ? await readStagesById(tx, target, externalIds) : []
  if (named.length === 0) return { found: [], told: [] }
  const asked = new Set(externalIds)
  const left = named.map((stage) => {
    const ids = asked.has(stage.session) ? [] : stageIds(stage).filter((id) => !asked.has(id))
    return stageWithIds(stage, ids)
  })
  const changes = {
    written: [],
    removed: named.filter((_, place) => left[place]?.externalId === null),
    relabelled: left.filter(({ externalId }) => externalId !== null),
  }
  const { told } = await change(tx, target, changes, await readAround(tx, target, changes.removed))
  const known = new Set(named.flatMap((stage) => [...stageIds(stage), stage.session]))
  return { found: [...asked].filter((id) => known.has(id)), told }
}

/**
 * Removes a stored session with its stages, so no later upload builds it again without them; others around it are
 * rebuilt from what is left. Returns the ids of the sessions that developers get events about.
 */
export async function deleteSession(
  tx: Transaction,
  target: EventTarget,
  session: Pick<Session, 'sourceId' | 'session' | 'startMs' | 'endMs'> & { id: string },
): Promise<string[]> {
  const span: Stage = { ...session, stage: 'sleeping', zoneMin: null, externalId: null, score: null }
  const around = await readChains(tx, target, [span], await readAround(tx, target, [span]))
  const removed = stagesOfSession(session, around.stored)
  const { told } = await change(tx, target, { written: [], removed }, around)
  await deleteSessions(tx, [session.id])
  return told
}

/** Stores the changes of the stages and rebuilds their sessions, and those of `others` of the stored ones. */
async function change(
  tx: Transaction,
  target: EventTarget,
  changes: StageChanges & { others?: readonly Stage[] },
  around: Surroundings,
): Promise<Rebuilt> {
  const { others = [] } = changes
  const touched = [...changes.written, ...changes.removed, ...others]
  if (touched.length === 0) {
    await writeStages(tx, changes)
    return { derived: [], told: [] }
  }
  const { stored } = await readChains(tx, target, touched, around)
  await writeStages(tx, changes)
  return rebuildSessions(tx, target, { before: stored, after: changedStages(stored, changes), touched })
}

/**
 * Makes the stored sessions those of the stages `after`. `before` and `after` hold the chains and given sessions of
 * `touched` completely. Returns the sessions that are different now, and the ids of those whose events have changed.
 */
async function rebuildSessions(
  tx: Transaction,
  target: EventTarget,
  { before, after, touched }: Record<'before' | 'after' | 'touched', readonly Stage[]>,
): Promise<Rebuilt> {
  // Chains of before and after together, so that a session that is now divided is rebuilt as a whole.
  const chains = touchedChains([...before, ...after], touched)
  const inChains = new Set(chains.flatMap(({ stages }) => stages.map(stageKey)))
  const given = new Set(touched.filter(isGiven).map(sessionKey))
  const isTouched = (stage: Stage) => (isGiven(stage) ? given.has(sessionKey(stage)) : inChains.has(stageKey(stage)))
  const sessions = sessionsOf(after.filter(isTouched))

  const ofGiven = [...before, ...after].filter((stage) => isGiven(stage) && isTouched(stage))
  const ranges = [...chains, ...ofGiven].map(({ startMs, endMs }): Range => [startMs, endMs])
  const stored = await readSessions(tx, target, ranges)
  const chainRanges = union(chains.map(({ startMs, endMs }): Range => [startMs, endMs]))
  const inChain = (ms: number) =>
    (chainRanges[firstEndingAfter(chainRanges, ms)]?.[0] ?? Number.POSITIVE_INFINITY) <= ms
  const [old, others] = divide(stored, (one) =>
    one.session === '' ? inChain(one.startMs) : given.has(sessionKey(one)),
  )
  const ids = idsFor(sessions, old)
  const rebuilt = sessions.map((session) => ({ ...session, id: ids.get(session) ?? randomUUID() }))
  const kept = new Set(ids.values())
  const gone = old.filter(({ id }) => !kept.has(id))
  await deleteSessions(
    tx,
    gone.map(({ id }) => id),
  )
  const told = new Set([
    ...(await saveSessions(tx, target, rebuilt)),
    ...(await saveNaps(tx, [...rebuilt, ...others], [...rebuilt, ...old])),
  ])
  const written = new Set([...told, ...(await saveScores(tx, target, rebuilt))])
  return {
    derived: derivedChanges(stored, [...gone, ...[...rebuilt, ...others].filter(({ id }) => written.has(id))]),
    told: [...told],
  }
}

/** The items for which `test` holds, and the others. */
function divide<Item>(items: readonly Item[], test: (item: Item) => boolean): [Item[], Item[]] {
  return [items.filter(test), items.filter((item) => !test(item))]
}
