import { randomUUID } from 'node:crypto'
import type { Night } from '../../batch/columns.ts'
import type { Transaction } from '../../db/database.ts'
import { boundsOf, type EventCounts, type EventTarget, type Rebuilt, type RemovedItems } from '../event-items.ts'
import { isOlder, latestOfEach } from '../versions.ts'
import { type NightPart, nightSessions } from './night-rules.ts'
import {
  isIn,
  linkParts,
  readChains,
  readPartsById,
  readPartsOfSession,
  removeParts,
  type StoredPart,
  writeParts,
} from './parts.ts'
import { idsFor, readSessions, replaceSessions, type SavedSession, type StoredSession } from './stored-sessions.ts'

// Nights and naps that a provider gives as a whole: stored as they came, sessions follow from them (contract 12.8).

/**
 * Stores the nights of a batch and rebuilds the sessions they touch. The provider's id identifies a night; an older version
 * never overwrites. Nights that are already stored change and write nothing; with `again` their sessions are rebuilt
 * nevertheless.
 */
export async function writeNights(
  tx: Transaction,
  target: EventTarget,
  nights: readonly Night[],
  again: boolean,
): Promise<EventCounts | undefined> {
  if (nights.length === 0) return undefined
  const { kept, duplicates } = latestOfEach(nights, ({ externalId }) => externalId)
  const stored = new Map((await readPartsById(tx, target, [...kept.keys()])).map((part) => [part.externalId, part]))
  const written: NightPart[] = []
  const before: StoredPart[] = []
  const removed: StoredPart[] = []
  const relabelled: NightPart[] = []
  for (const night of kept.values()) {
    const same = stored.get(night.externalId)
    const part = partOf(night, target, same)
    if (same && isOlder(night, same)) continue
    if (same && contentOf(same) === contentOf(part)) {
      if (same.version !== part.version) relabelled.push(part)
      continue
    }
    written.push(part)
    if (same) before.push(same)
    if (same && same.sourceId !== part.sourceId) removed.push(same)
  }
  const others = again ? [...stored.values()] : []
  const rebuilt = await change(tx, target, {
    written,
    removed,
    relabelled,
    touched: [...written, ...before, ...others],
  })
  const inserted = written.length - before.length
  return {
    type: 'sleep',
    ...{ inserted, updated: before.length, unchanged: kept.size - written.length, duplicates },
    ...boundsOf(written),
    ...rebuilt,
  }
}

/** Removes nights by the provider's ids; sessions are rebuilt from what is left. */
export async function deleteNights(
  tx: Transaction,
  target: EventTarget,
  externalIds: readonly string[],
): Promise<RemovedItems> {
  const removed = await readPartsById(tx, target, externalIds)
  const { announced } = await change(tx, target, { removed, touched: removed })
  return { found: removed.map(({ externalId }) => externalId), announced }
}

/**
 * Removes the nights that a stored session is made of, with those it replaced. Returns their ids, and the sessions that
 * developers get events about; undefined when it is not made of nights.
 */
export async function deleteNightSession(
  tx: Transaction,
  target: EventTarget,
  id: string,
): Promise<{ externalIds: string[]; announced: string[] } | undefined> {
  const removed = await readPartsOfSession(tx, id)
  if (removed.length === 0) return undefined
  const { announced } = await change(tx, target, { removed, touched: removed })
  return { externalIds: removed.map(({ externalId }) => externalId), announced }
}

function partOf(night: Night, { sourceIds }: EventTarget, stored: NightPart | undefined): NightPart {
  const { source, zoneTaken, ...given } = night
  const zoneMin = zoneTaken && stored ? stored.zoneMin : night.zoneMin
  return { ...given, sourceId: sourceIds[source] as number, zoneMin }
}

/** What a reader can see of a part, and its rank. */
function contentOf(part: NightPart): string {
  const { sourceId, rank, startMs, endMs, zoneMin, isNap, stages } = part
  const { asleepS, inBedS, awakeS, lightS, deepS, remS, efficiencyPercent } = part
  return JSON.stringify([
    ...[sourceId, rank, startMs, endMs, zoneMin, isNap, stages],
    ...[asleepS, inBedS, awakeS, lightS, deepS, remS, efficiencyPercent],
  ])
}

interface PartChanges {
  written?: readonly NightPart[]
  removed: readonly StoredPart[]
  /** Only their version is another. */
  relabelled?: readonly NightPart[]
  /** Parts, as they were and as they are, whose sessions are rebuilt. */
  touched: readonly NightPart[]
}

const keyOf = ({ sourceId, externalId }: NightPart) => `${sourceId} ${externalId}`

/** Stores the changes of the parts and rebuilds their sessions. */
async function change(
  tx: Transaction,
  target: EventTarget,
  { written = [], removed, relabelled = [], touched }: PartChanges,
): Promise<Rebuilt> {
  await writeParts(tx, relabelled)
  if (touched.length === 0) return { derived: [], announced: [] }
  const { parts: before, chains } = await readChains(tx, touched)
  await removeParts(tx, removed)
  await writeParts(tx, written)
  const changed = new Set([...removed, ...written].map(keyOf))
  const after = [...before.filter((part) => !changed.has(keyOf(part))), ...written]
  const around = after.filter((part) => isIn(chains, part))
  const stored = await readSessions(tx, target, [...chains.values()].flat())
  const ids = new Set(before.filter((part) => isIn(chains, part)).map(({ sleepId }) => sleepId))
  const old = stored.filter(({ id }) => ids.has(id))
  const { rebuilt, sleepIds } = rebuiltOf(around, old)
  const changes = await replaceSessions(tx, target, { rebuilt, old, stored })
  await linkParts(
    tx,
    around.map((part) => ({ ...part, sleepId: sleepIds.get(keyOf(part)) ?? null })),
  )
  return changes
}

/** The sessions of parts, with the keys of rows that they continue, and these keys by part. */
function rebuiltOf(parts: readonly NightPart[], old: readonly StoredSession[]) {
  const made = nightSessions(parts).map(({ parts, ...session }) => ({ parts, session: { ...session, session: '' } }))
  const kept = idsFor(
    made.map(({ session }) => session),
    old.map((row) => ({ ...row, session: '' })),
  )
  const sleepIds = new Map<string, string>()
  const rebuilt = made.map(({ parts, session }): SavedSession => {
    const id = kept.get(session) ?? randomUUID()
    for (const part of parts) sleepIds.set(keyOf(part), id)
    // As a session that a platform gave: nothing more is expected of it.
    return { ...session, id, session: id, score: null, whole: false }
  })
  return { rebuilt, sleepIds }
}
