import { randomUUID } from 'node:crypto'
import type { SleepStage } from '../../batch/columns.ts'
import type { Transaction } from '../../db/database.ts'
import { planned } from '../../db/planned.ts'
import type { EventCounts, EventTarget, Rebuilt, RemovedItems } from '../event-items.ts'
import { boundsOf } from '../event-items.ts'
import {
  changedStages,
  compareStages,
  isGiven,
  type StageChanges,
  stageIds,
  stageKey,
  stageWithIds,
  wholeAfter,
} from './compare.ts'
import type { Judged } from './day.ts'
import { type Session, type Stage, sessionKey, sessionsOf, stagesOfSession } from './sessions.ts'
import {
  readAround,
  readChains,
  readStagesById,
  readWhole,
  type Surroundings,
  touchedChains,
  writeStages,
} from './stages.ts'
import { deleteSessions, idsFor, judgeSessions, readSessions, replaceSessions } from './stored-sessions.ts'
import { firstEndingAfter, type Range, union } from './totals.ts'

/**
 * Stores the stages of an upload and rebuilds the sessions they touch (sdk-types 7), in a fixed number of statements.
 * Stages that are already stored change and write nothing; with `again`, their sessions are rebuilt anyway.
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
  const stored = { stages: around.stored, whole: await readWhole(tx, incoming) }
  const { inserted, updated, unchanged, duplicates, ...changes } = compareStages(incoming, stored)
  // A session that came whole is marked so, even if nothing else of it is new.
  const others = again ? incoming : incoming.filter((one) => one.whole && !stored.whole.has(sessionKey(one)))
  const whole = wholeAfter(incoming, around.stored, changes)
  const rebuilt = await change(tx, target, { ...changes, others, whole }, around)
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
  if (named.length === 0) return { found: [], announced: [] }
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
  const { announced } = await change(tx, target, changes, await readAround(tx, target, changes.removed))
  const known = new Set(named.flatMap((stage) => [...stageIds(stage), stage.session]))
  return { found: [...asked].filter((id) => known.has(id)), announced }
}

/**
 * Removes a stored session with its stages, so no later upload builds it again without them; others around it are
 * rebuilt from what is left. Returns the platform's ids, of its session or of its stages, and the ids of the sessions that
 * developers get events about.
 */
export async function deleteSession(
  tx: Transaction,
  target: EventTarget,
  session: Pick<Session, 'sourceId' | 'session' | 'startMs' | 'endMs'> & { id: string },
): Promise<{ externalIds: string[]; announced: string[] }> {
  const span: Stage = { ...session, stage: 'sleeping', zoneMin: null, externalId: null, score: null }
  const around = await readChains(tx, target, [span], await readAround(tx, target, [span]))
  const removed = stagesOfSession(session, around.stored)
  const { announced } = await change(tx, target, { written: [], removed }, around)
  await deleteSessions(tx, [session.id])
  return { externalIds: session.session === '' ? removed.flatMap(stageIds) : [session.session], announced }
}

/**
 * Removes sources, by calling `remove`, and judges the rest of the person's sleep around theirs again: a nap beside the
 * night of a ring may be all the sleep of its day without the ring.
 */
export async function withoutSleepOf(
  tx: Transaction,
  userId: string,
  sourceIds: readonly number[],
  remove: () => Promise<void>,
): Promise<void> {
  const ends = await planned<Judged>(tx, SESSIONS_OF_SOURCES_SQL, [sourceIds])
  await remove()
  if (ends.length === 0) return
  const ranges = ends.map(({ endMs }): Range => [endMs, endMs])
  const left = await readSessions(tx, { userId, provider: '' }, ranges)
  await judgeSessions(tx, { sessions: left, changed: ends, before: left }, null)
}

const SESSIONS_OF_SOURCES_SQL = `
  select source_id as "sourceId", session, round(date_part('epoch', start_at) * 1000) as "startMs",
         round(date_part('epoch', end_at) * 1000) as "endMs", zone_offset_min as "zoneMin", 0 as "asleepS",
         awake_s as "awakeS", light_s as "lightS", said_nap as "saidNap"
  from sleep
  where source_id = any ($1)`

/** Further facts of an upload besides its stages. */
interface Said {
  /** Stored stages whose sessions are rebuilt even if nothing of them changes. */
  others?: readonly Stage[]
  /** For given sessions, by key: whether everything stored of them came in this upload. Absent: as before. */
  whole?: ReadonlyMap<string, boolean>
}

/** Stores the changes of the stages and rebuilds their sessions, and those of `others` of the stored ones. */
async function change(
  tx: Transaction,
  target: EventTarget,
  changes: StageChanges & Said,
  around: Surroundings,
): Promise<Rebuilt> {
  const { others = [], whole = new Map() } = changes
  const touched = [...changes.written, ...changes.removed, ...others]
  if (touched.length === 0) {
    await writeStages(tx, changes)
    return { derived: [], announced: [] }
  }
  const { stored } = await readChains(tx, target, touched, around)
  await writeStages(tx, changes)
  return rebuildSessions(tx, target, { before: stored, after: changedStages(stored, changes), touched, whole })
}

type Rebuilding = Record<'before' | 'after' | 'touched', readonly Stage[]> & Required<Pick<Said, 'whole'>>

/**
 * Stores the sessions of the stages `after`. `before` and `after` hold the chains and platform's sessions of `touched`
 * completely. Returns the sessions that have changed, and the ids of those whose events have changed.
 */
async function rebuildSessions(
  tx: Transaction,
  target: EventTarget,
  { before, after, touched, whole }: Rebuilding,
): Promise<Rebuilt> {
  // Chains of before and after together, so a session that is now divided is rebuilt as a whole.
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
  const old = stored.filter((one) =>
    one.session === '' ? one.own && inChain(one.startMs) : given.has(sessionKey(one)),
  )
  const ids = idsFor(sessions, old)
  const cameWhole = new Map([...old.map((one) => [sessionKey(one), one.whole] as const), ...whole])
  const rebuilt = sessions.map((session) => ({
    ...session,
    id: ids.get(session) ?? randomUUID(),
    whole: session.session !== '' && cameWhole.get(sessionKey(session)) === true,
  }))
  return replaceSessions(tx, target, { rebuilt, old, stored })
}
