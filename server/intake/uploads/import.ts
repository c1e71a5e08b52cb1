import type { DayCounts } from '../../batch/columns.ts'
import { type Database, databaseUnavailable, type Transaction } from '../../db/database.ts'
import type { Logger } from '../../log.ts'
import type { Metrics } from '../../metrics.ts'
import { type Outcome, writeBatch } from '../../store/commit.ts'
import type { EventCounts } from '../../store/event-items.ts'
import { ingestLockKey } from '../../store/lock.ts'
import type { SeriesCounts } from '../../store/samples.ts'
import { isoInstant } from '../../time.ts'
import type { EventSettings } from '../../webhooks/record.ts'
import type { Threads } from '../threads.ts'
import type { Handover } from './handover.ts'
import { readStored, type StoredUpload } from './stored.ts'

/** Uploads one job imports before it lets other users' jobs have a turn. */
const UPLOADS_PER_JOB = 25

/** Times an upload may fail on its own before it is set aside as failed; its body stays stored. */
const MAX_ATTEMPTS = 5

/** What becomes of samples, as the metrics count it. */
const OUTCOMES = ['inserted', 'updated', 'unchanged', 'rejected'] as const

/** Time an import waits for others, such as the compression of a chunk, before it is tried again later. */
const LOCK_TIMEOUT_MS = 20_000

interface QueuedUpload extends StoredUpload {
  run_key: string
  /** Whether its body was imported before. */
  again: boolean
}

export interface Importer {
  /**
   * Imports the queued uploads of a user in order of arrival. False when none is left, `more` when another job should
   * go on, `busy` when another job is at it.
   */
  importUploads(userId: string): Promise<false | 'more' | 'busy'>
}

/** Builds the importer; each upload is one transaction under the user's ingest lock. */
export function createImporter(
  db: Database,
  threads: Threads,
  handover: Handover,
  settings: EventSettings,
  metrics: Metrics,
  log: Logger,
): Importer {
  /** Users this process imports for now; true: it was asked for more meanwhile. */
  const importing = new Map<string, boolean>()

  async function importNext(userId: string): Promise<'imported' | 'none' | 'busy'> {
    const started = performance.now()
    let current: QueuedUpload | undefined
    let free = true
    let counts: Record<(typeof OUTCOMES)[number], number> | undefined
    try {
      await db.transaction(async (tx) => {
        // Serialises everything that writes this user's samples, deletion included. Another worker that imports for
        // this user is not waited for: one user must not hold all workers.
        free = (await tx.one<{ free: boolean }>(TRY_LOCK_SQL, [userId])).free
        current = free ? await oldestQueued(tx, userId) : undefined
        if (!current) return
        const handedOver = handover.get(userId, current.sha256)
        const parsed = handedOver ?? (await readStored(tx, threads, userId, current))
        const receivedAt = current.again ? null : current.received_at
        const target = { userId, provider: current.provider, receivedAt, settings, threads }
        const outcome = await writeBatch(tx, target, parsed)
        await recordOutcome(tx, userId, current, outcome)
        counts = { ...outcome, rejected: outcome.batch.rejected }
      })
      // Only what is committed counts.
      for (const outcome of OUTCOMES) metrics.samples.labels(outcome).inc(counts?.[outcome] ?? 0)
    } catch (error) {
      const setAside = current && !isTransient(error) && (await recordFailure(db, userId, current, error, log))
      if (!setAside) throw error
    }
    if (!free) return 'busy'
    if (!current) return 'none'
    metrics.importSeconds.observe((performance.now() - started) / 1000)
    return 'imported'
  }

  async function importAll(userId: string): Promise<false | 'more' | 'busy'> {
    for (let count = 0; count < UPLOADS_PER_JOB; count += 1) {
      importing.set(userId, false)
      const outcome = await importNext(userId)
      if (outcome === 'busy') return 'busy'
      if (outcome === 'none' && !importing.get(userId)) return false
    }
    return 'more'
  }

  return {
    async importUploads(userId) {
      // An upload that came while its user's job runs has a job of its own: the running one takes the upload over at
      // once, and the other job stays behind it, since the queue does not try a job again that has a successor.
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

async function oldestQueued(tx: Transaction, userId: string): Promise<QueuedUpload | undefined> {
  const [upload] = await tx.query<QueuedUpload>(
    `select id, provider, run_key, sha256, received_at, replay_of is not null as again
     from upload
     where user_id = $1 and status = 'queued'
     order by seq
     limit 1`,
    [userId],
  )
  return upload
}

/** Writes what became of an upload to its row, its run and the progress events, in the transaction of the data. */
async function recordOutcome(tx: Transaction, userId: string, upload: QueuedUpload, outcome: Outcome): Promise<void> {
  const { batch } = outcome
  await tx.query('select finish_upload($1, $2, $3, $4)', [
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
      saved: Object.fromEntries(
        outcome.events.map(({ type, inserted, updated, unchanged }) => [type, { inserted, updated, unchanged }]),
      ),
      rejections: batch.rejections,
      days: batch.days,
      ...ends(batch.days),
      rejected_days: Object.keys(batch.rejectedDays).length > 0 ? batch.rejectedDays : null,
      unstored: batch.unstored,
      changed: outcome.changed,
    }),
    JSON.stringify([...outcome.series.map(seriesRow), ...outcome.events.map(eventRow)]),
  ])
}

/** The first and the last day an upload holds anything of; null when it holds nothing. */
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

const TRY_LOCK_SQL = `
  select pg_try_advisory_xact_lock(${ingestLockKey('$1')}) as free,
         set_config('lock_timeout', '${LOCK_TIMEOUT_MS}', true)`

/** Whether the upload is not the reason. A statement that takes too long counts as the upload's own fault. */
const isTransient = (error: unknown) => databaseUnavailable(error) || (error as { code?: string }).code === 'overloaded'

/** Counts a failure of an upload; true when it was the last one allowed and the upload was set aside. */
async function recordFailure(
  db: Database,
  userId: string,
  upload: QueuedUpload,
  error: unknown,
  log: Logger,
): Promise<boolean> {
  log.error({ err: error, uploadId: upload.id }, 'an upload could not be imported')
  return db.transaction(async (tx) => {
    const [row] = await tx.query<{ attempts: number }>(
      `update upload set attempts = attempts + 1 where id = $1 and status = 'queued' returning attempts`,
      [upload.id],
    )
    if (!row || row.attempts < MAX_ATTEMPTS) return false
    const detail = 'The upload could not be imported; its body is kept and can be imported again.'
    const result = JSON.stringify({ status: 'failed', error: detail })
    await tx.query('select finish_upload($1, $2, $3, $4)', [upload.id, userId, result, '[]'])
    return true
  })
}
