import type { AnnouncedRows, ChangedSamples } from '../batch/changes.ts'
import { type Batch, countSamples, type SampleColumns } from '../batch/columns.ts'
import { localDays } from '../batch/day-counts.ts'
import type { Scope } from '../catalogue/scopes.ts'
import { storedSeries } from '../catalogue/series.ts'
import { type Database, type Transaction, violatedConstraint } from '../db/database.ts'
import type { Threads } from '../threads.ts'
import { recordBatch } from '../webhooks/batch-events.ts'
import { type EventSettings, wantedEvents } from '../webhooks/record.ts'
import { rejectArchived, withoutArchived } from './archived.ts'
import { connectionOf, type NamedConnection, sinceAccount, withoutConnection } from './connection.ts'
import { removeCorrected } from './corrected.ts'
import { changedCurrents } from './currents.ts'
import { applyDeletions, type Deleted } from './deletions.ts'
import type { EventCounts, EventTarget } from './event-items.ts'
import { writeEvents } from './events.ts'
import { withoutHidden } from './hidden.ts'
import { ingestLockKey, lockUser } from './lock.ts'
import { removeMovedTotals } from './origins/moved-totals.ts'
import { type SeriesCounts, writeSamples } from './samples.ts'
import { resolveSources } from './sources.ts'
import { removeUnlisted } from './spans.ts'
import { rejectFurtherSources } from './too-many-sources.ts'
import { noteZones, withZones, zonesFor } from './zones.ts'

/** What writing an upload did; `ignored` and `duplicates` include what only the database knows. */
export interface Outcome {
  /** Skipped: the batch holds something, but nothing of a kind that is stored. */
  status: 'success' | 'partial' | 'skipped' | 'failed'
  inserted: number
  updated: number
  unchanged: number
  duplicates: number
  ignored: number
  deleted: number
  /** Whether anything that a reader can see has changed. */
  changed: boolean
  series: SeriesCounts[]
  events: EventCounts[]
  /** The batch without samples that could not be stored, and with an account of them. */
  batch: Batch
}

// Changed nights are scored soon (contract 14.2), but not with each of the uploads that extend them. The key is the
// user's, since imports that share a key would wait for each other.
// One that is not due soon is left alone: it runs after this transaction, and to add it again takes longer than to look.
const SCORE_SOON_SQL = `
  select graphile_worker.add_job(
    'score_sleep',
    payload => json_build_object('user_id', $1::text),
    job_key => 'score_sleep:' || $1,
    job_key_mode => 'preserve_run_at',
    run_at => now() + interval '20 seconds'
  )
  where not exists (
    select from graphile_worker.jobs j
    where j.key = 'score_sleep:' || $1 and j.locked_at is null and j.attempts = 0 and j.run_at > now() + interval '10 seconds'
  )`

/** Whose batch is written, and how. */
export interface BatchTarget {
  userId: string
  provider: string
  scope: Scope
  /** When it arrived; null when its body was imported before. */
  receivedAt: string | null
  settings: EventSettings
  threads: Threads
  /** The connection through which a provider's data came; absent for what a phone uploads, which opens one. */
  connection?: NamedConnection
}

/** How long a batch waits for others, such as the compression of a chunk; the caller tries again later. */
const LOCK_TIMEOUT_MS = 20_000

// What it writes may get lost with the server's memory, together with everything that followed: then the upload is queued as
// before, with its stored body, and is imported again. Whatever is committed later and waits for the disk waits for this too.
const TRY_LOCK_SQL = `
  select pg_try_advisory_xact_lock(${ingestLockKey('$1')}) as free,
         set_config('lock_timeout', '${LOCK_TIMEOUT_MS}', true),
         set_config('synchronous_commit', 'off', true)`

/** Ends a transaction that must leave nothing behind. */
class RolledBack extends Error {}

/**
 * Writes a batch and its account in one transaction, whatever its origin: an upload, a pull, a notice or a file.
 * `finish` records the account; if it returns false, the batch is no longer wanted and nothing is written. Returns
 * `busy`, without waiting, when another batch of the user is being written or the user is being deleted, and `gone`
 * when the batch is no longer wanted or its user does not exist.
 */
export async function commitBatch(
  db: Database,
  to: BatchTarget,
  batch: Batch,
  finish: (tx: Transaction, outcome: Outcome) => Promise<boolean>,
): Promise<Outcome | 'busy' | 'gone'> {
  try {
    return await db.transaction(async (tx) => {
      const { free } = await tx.one<{ free: boolean }>(TRY_LOCK_SQL, [to.userId])
      if (!free) return 'busy'
      const outcome = await writeBatch(tx, to, batch)
      if (!(await finish(tx, outcome))) throw new RolledBack()
      return outcome
    })
  } catch (error) {
    if (error instanceof RolledBack || violatedConstraint(error) === 'connection_user_id_fkey') return 'gone'
    throw error
  }
}

/**
 * Writes batches of one user, one after the other, in a transaction that is rolled back, and returns what each would
 * have done. Waits for all other writers of the user's data.
 */
export async function rehearseBatches(
  db: Database,
  userId: string,
  batches: AsyncIterable<readonly [BatchTarget, Batch]>,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  const rehearsal = db.transaction(async (tx) => {
    await lockUser(tx, userId)
    for await (const [to, batch] of batches) outcomes.push(await writeBatch(tx, to, batch))
    throw new RolledBack()
  })
  await rehearsal.catch((error: unknown) => {
    if (!(error instanceof RolledBack)) throw error
  })
  return outcomes
}

/**
 * Writes everything a batch holds and its events, inside the caller's transaction, which holds the user's
 * ingest lock.
 */
async function writeBatch(tx: Transaction, to: BatchTarget, received: Batch): Promise<Outcome> {
  const { userId, provider, scope, receivedAt } = to
  const wanted = await wantedEvents(tx, to.settings, userId)
  const connection = await connectionOf(tx, to)
  if (!connection) return outcomeOf(withoutConnection(received), NOTHING, false)
  const sources = await resolveSources(tx, { userId, provider, connectionId: connection.id }, received.sources)
  const zoneAt = await zonesFor(tx, userId, received)
  const known = rejectFurtherSources({ ...received, local: localDays(received, zoneAt) }, sources.ids)
  // Nothing that is left is of a source without a key.
  const sourceIds = sources.ids as number[]
  const sifted = await withoutHidden(tx, to, known)
  const zoned = withZones(sifted, zoneAt)
  await noteZones(tx, to, received.zones)
  const batch = rejectArchived(
    zoned,
    await withoutArchived(tx, zoned.samples, sourceIds),
    await withoutArchived(tx, zoned.derived, sourceIds),
  )
  const changes: ChangedSamples[] | undefined = wanted && []
  const target = { userId, provider, scope, sourceIds, changes }
  const spans = sinceAccount(known.events.spans, connection)
  const listed = { ...zoned, events: { ...known.events, spans } }
  const written = await writeRows(tx, target, batch, { sent: sifted.samples, listed, again: receivedAt === null })
  if (wanted && changes) {
    const connected = connection.opened ? connection : null
    const rows = [...written.events, ...written.deletions.announced].filter(isAnnounced)
    await recordBatch(tx, to.threads, wanted, { userId, provider, scope, rows, samples: changes, connected })
  }
  if (written.events.some(({ type, derived = [] }) => type === 'sleep' && derived.length > 0))
    await tx.query(SCORE_SOON_SQL, [userId])
  return outcomeOf(batch, written, sources.changed)
}

const isAnnounced = (rows: EventCounts | AnnouncedRows): rows is AnnouncedRows => rows.type !== 'health_score'

/** What was written of a batch. */
interface Written {
  /** Of its samples, and of samples made of its events. */
  series: SeriesCounts[]
  besides: SeriesCounts[]
  events: EventCounts[]
  deletions: Deleted
}

const NOTHING: Written = {
  ...{ series: [], besides: [], events: [] },
  deletions: { deleted: 0, unknown: 0, duplicates: 0, announced: [] },
}

/** A batch before it is written. */
interface Sent {
  /** Its samples without the zones that were taken from others. */
  sent: readonly SampleColumns[]
  /** Everything in it, stored or not. */
  listed: Batch
  /** Whether it was imported before. */
  again: boolean
}

/** Writes samples, then events, then what is made of events, and deletes what the batch says is deleted. */
async function writeRows(
  tx: Transaction,
  target: EventTarget,
  batch: Batch,
  { sent, listed, again }: Sent,
): Promise<Written> {
  const { sourceIds, changes } = target
  const current = await changedCurrents(tx, batch.events.currents, sourceIds)
  const series = await writeMeasured(tx, batch.samples, sourceIds, changes)
  moveCounts(series, await removeMovedTotals(tx, { sent, stamped: batch.samples }, sourceIds, changes))
  // Samples have their instants to themselves, so which nutrients are samples is known after them.
  const { counts: events, loose } = await writeEvents(tx, target, batch.events, again)
  const { kept: currentKept } = await withoutArchived(tx, current, sourceIds)
  series.push(...(await writeMeasured(tx, currentKept, sourceIds, changes)))
  const { kept: looseKept } = await withoutArchived(tx, loose.samples, loose.sourceIds)
  const besides = [
    ...(await writeSamples(tx, looseKept, loose.sourceIds, changes)),
    ...(await writeMeasured(tx, batch.derived, sourceIds, changes)),
  ]
  const deletions = await applyDeletions(tx, target, batch.events.deletions)
  const unlisted = await removeUnlisted(tx, target, listed)
  return {
    ...{ series, besides, events },
    deletions: {
      ...deletions,
      deleted: deletions.deleted + unlisted.deleted,
      announced: [...deletions.announced, ...unlisted.announced],
    },
  }
}

function outcomeOf(batch: Batch, { series, besides, events, deletions }: Written, newSources: boolean): Outcome {
  const samples = countSamples(batch.samples) + batch.events.currents.length
  const inserted = total(series, 'inserted')
  const updated = total(series, 'updated')
  const counts = {
    inserted: inserted + total(events, 'inserted'),
    updated: updated + total(events, 'updated'),
    unchanged: samples - inserted - updated + total(events, 'unchanged'),
    duplicates: batch.duplicates + total(events, 'duplicates') + deletions.duplicates,
    ignored: batch.ignored + deletions.unknown,
    deleted: deletions.deleted,
  }
  const kept = counts.inserted + counts.updated + counts.unchanged + counts.deleted
  const changed =
    newSources ||
    counts.deleted > 0 ||
    [...series, ...besides, ...events].some((one) => one.inserted + one.updated > 0) ||
    events.some(({ derived = [] }) => derived.length > 0)
  return { status: statusOf(batch, kept), ...counts, changed, series: [...series, ...besides], events, batch }
}

function statusOf(batch: Batch, kept: number): Outcome['status'] {
  if (batch.rejected > 0) return kept > 0 ? 'partial' : 'failed'
  const unread = batch.ignored > 0 || batch.unknownFields.some(({ items }) => items !== null && items > 0)
  return kept === 0 && unread ? 'skipped' : 'success'
}

/** Writes samples; one whose value was corrected to an implausible one, or to a plausible one, counts as updated. */
async function writeMeasured(
  tx: Transaction,
  samples: readonly SampleColumns[],
  sourceIds: readonly number[],
  changes: ChangedSamples[] | undefined,
): Promise<SeriesCounts[]> {
  const counts = await writeSamples(tx, samples, sourceIds, changes)
  moveCounts(counts, await removeCorrected(tx, samples, sourceIds, changes))
  return counts
}

/** What took the place of samples that were removed, by stored series id, was updated and not inserted. */
function moveCounts(counts: SeriesCounts[], removed: ReadonlyMap<number, number>): void {
  for (const [seriesId, gone] of removed) {
    const count = counts.find(({ type }) => type === storedSeries(seriesId)?.series.type)
    if (!count) continue
    const moved = Math.min(gone, count.inserted)
    count.inserted -= moved
    count.updated += moved
  }
}

function total<Key extends string>(counts: readonly Record<Key, number>[], key: Key): number {
  return counts.reduce((sum, one) => sum + one[key], 0)
}
