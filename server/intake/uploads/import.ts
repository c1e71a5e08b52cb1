import { isDeepStrictEqual } from 'node:util'
import type { Batch } from '../../batch/columns.ts'
import type { DayCounts } from '../../batch/counted-days.ts'
import { implausibleOf } from '../../batch/implausible.ts'
import { type Database, databaseUnavailable, type Transaction } from '../../db/database.ts'
import type { Logger } from '../../log.ts'
import type { Metrics } from '../../metrics.ts'
import { commitBatch, type Outcome } from '../../store/commit.ts'
import type { EventCounts } from '../../store/event-items.ts'
import { ingestLockKey } from '../../store/lock.ts'
import type { SeriesCounts } from '../../store/samples.ts'
import type { Threads } from '../../threads.ts'
import { isoInstant } from '../../time.ts'
import type { EventSettings } from '../../webhooks/record.ts'
import type { Handover } from './handover.ts'
import { noteMissed } from './missed.ts'
import { cameBy, readJoined, readStored, type StoredUpload } from './stored.ts'
import { closeUpload } from './waiting.ts'

/** Uploads that one job imports before other users' jobs get a turn. */
const UPLOADS_PER_JOB = 25

/** Own failures of an upload before it is set aside as failed; its body stays stored. */
const MAX_ATTEMPTS = 5

/** Outcomes of samples for the metrics. */
const OUTCOMES = ['inserted', 'updated', 'unchanged', 'rejected'] as const

interface QueuedUpload extends StoredUpload {
  run_key: string
  /** Whether its body was imported before. */
  again: boolean
  /** Whether no other process is writing for the user. */
  free: boolean
}

/** Everything that imports need. */
export interface ImportMeans {
  db: Database
  threads: Threads
  handover: Handover
  settings: EventSettings
  metrics: Metrics
  log: Logger
}

export interface Importer {
  /**
   * Imports the queued uploads of a user in order of arrival. False when none is left, `more` when another job should
   * continue, `busy` while another job is importing.
   */
  importUploads(userId: string): Promise<false | 'more' | 'busy'>
}

/** Builds the importer; each upload is one transaction under the user's ingest lock. */
export function createImporter(means: ImportMeans): Importer {
  /** Users this process is importing for; true: more was requested meanwhile. */
  const importing = new Map<string, boolean>()

  async function importAll(userId: string): Promise<false | 'more' | 'busy'> {
    for (let count = 0; count < UPLOADS_PER_JOB; count += 1) {
      importing.set(userId, false)
      const outcome = await importNext(means, userId)
      if (outcome === 'busy') return 'busy'
      if (outcome === 'none' && !importing.get(userId)) return false
    }
    return 'more'
  }

  return {
    async importUploads(userId) {
      // An upload that arrives while its user's job runs has a separate job: the running one takes the upload over at
      // once, and the other job stays behind it, since the queue does not retry a job that has a successor.
      if (importing.has(userId)) {
        importing.set(userId, true)
        return 'busy'
      }
      try {
        return await importAll(userId)
      } finally {
        importing.delete(userId)
      }
    },
  }
}

/**
 * Imports the oldest queued upload of a user. Does not wait for another worker that imports for this user: one user
 * must not occupy all workers.
 */
async function importNext(means: ImportMeans, userId: string): Promise<'imported' | 'none' | 'busy'> {
  const { db, threads, handover, metrics } = means
  const started = performance.now()
  const upload = await oldestQueued(db, userId)
  if (!upload) return 'none'
  if (!upload.free) return 'busy'
  try {
    const joined = upload.channel === 'webhook' ? await closeUpload(db, upload) : undefined
    const batch =
      handover.get(userId, upload.sha256) ??
      (joined ? await readJoined(threads, upload, joined) : await readStored(db, threads, userId, upload))
    const outcome = batch ? await commitUpload(means, userId, upload, batch) : 'gone'
    if (outcome === 'busy') return 'busy'
    // Taken or deleted by another process meanwhile: there may be another upload.
    if (outcome === 'gone') return 'imported'
    if (upload.channel === 'pull') await noteMissed(means, upload, outcome).catch(() => {})
    // Only committed uploads count.
    const counts = { ...outcome, rejected: outcome.batch.rejected }
    for (const kind of OUTCOMES) metrics.samples.labels(kind).inc(counts[kind])
  } catch (error) {
    if (isTransient(error) || !(await recordFailure(means, userId, upload, error))) throw error
  }
  metrics.importSeconds.observe((performance.now() - started) / 1000)
  return 'imported'
}

function commitUpload({ db, threads, settings }: ImportMeans, userId: string, upload: QueuedUpload, batch: Batch) {
  const receivedAt = upload.again ? null : upload.received_at
  const target = { userId, provider: upload.provider, receivedAt, settings, threads, ...cameBy(upload) }
  return commitBatch(db, target, batch, (tx, outcome) => recordOutcome(tx, userId, upload, outcome))
}

// Tries the lock before reading a body for nothing, and frees it at once.
async function oldestQueued(db: Database, userId: string): Promise<QueuedUpload | undefined> {
  const [upload] = await db.query<QueuedUpload>(
    `select u.*, pg_try_advisory_xact_lock(${ingestLockKey('$1')}) as free
     from (
       select id, provider, run_key, sha256, received_at, channel, connection_id, sync_type, replay_of is not null as again
       from upload
       where user_id = $1 and status = 'queued'
       order by seq
       limit 1
     ) u`,
    [userId],
  )
  return upload
}

/**
 * Writes the result of an upload to its row, its run and the progress events, in the transaction of the data. False
 * when it is no longer queued.
 */
async function recordOutcome(
  tx: Transaction,
  userId: string,
  upload: QueuedUpload,
  outcome: Outcome,
): Promise<boolean> {
  const { batch } = outcome
  const finished = await tx.query(FINISH_SQL, [
    upload.id,
    userId,
    JSON.stringify({
      status: outcome.status,
      inserted: outcome.inserted,
      updated: outcome.updated,
      unchanged: outcome.unchanged,
      duplicates: outcome.duplicates,
      deleted: outcome.deleted,
      ignored: outcome.ignored,
      rejected: batch.rejected,
      // What a phone sent was counted as it came.
      ...(upload.channel !== 'sdk' && { received: batch.received }),
      saved: Object.fromEntries(
        outcome.events.map(({ type, inserted, updated, unchanged }) => [type, { inserted, updated, unchanged }]),
      ),
      rejections: batch.rejections,
      days: batch.days,
      ...ends(batch.days),
      rejected_days: Object.keys(batch.rejectedDays).length > 0 ? batch.rejectedDays : null,
      ...localOf(batch),
      unstored: batch.unstored,
      implausible: implausibleOf(batch),
      unknown_fields: batch.unknownFields,
      changed: outcome.changed,
    }),
    JSON.stringify([...outcome.series.map(seriesRow), ...outcome.events.map(eventRow)]),
  ])
  return finished.length > 0
}

const FINISH_SQL = `
  select finish_upload(id, user_id, $3, $4)
  from upload
  where id = $1 and user_id = $2 and status = 'queued'`

/** The counts by the person's own days, where they differ from those by days of UTC. */
function localOf({ days, rejectedDays, local }: Batch) {
  if (!local || isDeepStrictEqual([local.days, local.rejected], [days, rejectedDays])) return {}
  return { local_days: local.days, local_rejected_days: local.rejected }
}

/** The first and the last day with anything in the upload; null when it is empty. */
function ends(days: DayCounts): { first_day: string | null; last_day: string | null } {
  let first: string | null = null
  let last: string | null = null
  for (const day of Object.values(days).flatMap(Object.keys)) {
    if (first === null || day < first) first = day
    if (last === null || day > last) last = day
  }
  return { first_day: first, last_day: last }
}

const seriesRow = ({ type, inserted, updated, firstTs, lastTs }: SeriesCounts) => ({
  type,
  kind: 'series',
  inserted,
  updated,
  first_ts: firstTs,
  last_ts: lastTs,
})

const eventRow = ({ type, inserted, updated, firstMs, lastMs }: EventCounts) => ({
  type,
  kind: 'event',
  inserted,
  updated,
  first_ts: firstMs === null ? null : isoInstant(firstMs),
  last_ts: lastMs === null ? null : isoInstant(lastMs),
})

/**
 * Whether something other than the upload is the cause. A statement that takes too long counts as the upload's own
 * failure.
 */
const isTransient = (error: unknown) => databaseUnavailable(error) || (error as { code?: string }).code === 'overloaded'

/** Counts a failure of an upload; true when it was the last one allowed and the upload was set aside. */
async function recordFailure(
  { db, log }: ImportMeans,
  userId: string,
  upload: QueuedUpload,
  error: unknown,
): Promise<boolean> {
  log.error({ err: error, uploadId: upload.id }, 'an upload could not be imported')
  return db.transaction(async (tx) => {
    // Before the upload and its run, in the order in which a deletion of the user locks them.
    await tx.query('select 1 from app_user where id = $1 for key share', [userId])
    const [row] = await tx.query<{ attempts: number }>(
      `update upload set attempts = attempts + 1 where id = $1 and status = 'queued' returning attempts`,
      [upload.id],
    )
    if (!row || row.attempts < MAX_ATTEMPTS) return false
    const detail = 'The upload could not be imported; its body is kept and can be imported again.'
    await tx.query(FINISH_SQL, [upload.id, userId, JSON.stringify({ status: 'failed', error: detail }), '[]'])
    return true
  })
}
