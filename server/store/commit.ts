import { type Batch, countSamples } from '../batch/columns.ts'
import type { Transaction } from '../db/database.ts'
import type { Threads } from '../intake/threads.ts'
import { recordBatch } from '../webhooks/batch-events.ts'
import { type EventSettings, wantedEvents } from '../webhooks/record.ts'
import { rejectArchived, withoutArchived } from './archived.ts'
import type { ChangedSamples } from './changes.ts'
import { applyDeletions } from './deletions.ts'
import type { EventCounts } from './event-items.ts'
import { writeEvents } from './events.ts'
import { type SeriesCounts, writeSamples } from './samples.ts'
import { resolveSources } from './sources.ts'

/** What writing an upload did; `ignored` and `duplicates` include what only the database could tell. */
export interface Outcome {
  status: 'success' | 'partial' | 'failed'
  inserted: number
  updated: number
  unchanged: number
  duplicates: number
  ignored: number
  deleted: number
  /** Whether anything a reader can see is different. */
  changed: boolean
  series: SeriesCounts[]
  events: EventCounts[]
  /** The batch without samples that could not be taken, and with an account of them. */
  batch: Batch
}

// An upload connects its user with the provider, unless it came before the phone signed out; one that is imported again
// says nothing new about that.
const CONNECTION_SQL = `
  with before as (select status from connection where user_id = $1 and provider = $2)
  insert into connection as c (user_id, provider, last_synced_at)
  values ($1, $2, now())
  on conflict (user_id, provider) do update
  set last_synced_at = case when $3::timestamptz is null then c.last_synced_at else now() end,
      updated_at = case when $3 is null then c.updated_at else now() end,
      status = case when $3 is null or c.revoked_at > $3 then c.status else 'active' end
  returning id, status = 'active' and (select status from before) is distinct from 'active' as opened, updated_at as at`

// Nights that changed are scored soon (contract 14.2), not with each of the uploads that extend them. The key is the
// user's, since imports that share one would wait for each other.
const SCORE_SOON_SQL = `
  select graphile_worker.add_job(
    'score_sleep',
    payload => json_build_object('user_id', $1::text),
    job_key => 'score_sleep:' || $1,
    job_key_mode => 'preserve_run_at',
    run_at => now() + interval '20 seconds'
  )`

/** Whose batch is written, and how. */
export interface BatchTarget {
  userId: string
  provider: string
  /** When it came; null when its body was imported before. */
  receivedAt: string | null
  settings: EventSettings
  threads: Threads
}

/**
 * Writes everything an upload holds and the events that tell of it, inside the caller's transaction, which holds the
 * user's ingest lock.
 */
export async function writeBatch(tx: Transaction, to: BatchTarget, received: Batch): Promise<Outcome> {
  const { userId, provider, receivedAt } = to
  const wanted = await wantedEvents(tx, to.settings, userId)
  const connection = await tx.one<{ id: string; opened: boolean; at: string }>(CONNECTION_SQL, [
    userId,
    provider,
    receivedAt,
  ])
  const sources = await resolveSources(tx, userId, provider, connection.id, received.sources)
  const batch = rejectArchived(
    received,
    await withoutArchived(tx, received.samples, sources.ids),
    await withoutArchived(tx, received.derived, sources.ids),
  )
  const changes: ChangedSamples[] | undefined = wanted && []
  const target = { userId, provider, sourceIds: sources.ids, changes }
  const series = await writeSamples(tx, batch.samples, sources.ids, changes)
  // Samples have their instants to themselves, so which nutrients are samples is known after them.
  const { counts: events, loose } = await writeEvents(tx, target, batch.events, receivedAt === null)
  const { kept: looseKept } = await withoutArchived(tx, loose.samples, loose.sourceIds)
  const besides = [
    ...(await writeSamples(tx, looseKept, loose.sourceIds, changes)),
    ...(await writeSamples(tx, batch.derived, sources.ids, changes)),
  ]
  const { deleted, unknown, duplicates, told } = await applyDeletions(tx, target, batch.events.deletions)
  if (wanted && changes) {
    const connected = connection.opened ? connection : null
    const rows = [...events, ...told]
    await recordBatch(tx, to.threads, wanted, { userId, provider, rows, samples: changes, connected })
  }
  if (events.some(({ type, derived = [] }) => type === 'sleep' && derived.length > 0))
    await tx.query(SCORE_SOON_SQL, [userId])
  const samples = countSamples(batch.samples)
  const inserted = total(series, 'inserted')
  const updated = total(series, 'updated')
  const outcome = {
    inserted: inserted + total(events, 'inserted'),
    updated: updated + total(events, 'updated'),
    unchanged: samples - inserted - updated + total(events, 'unchanged'),
    duplicates: batch.duplicates + total(events, 'duplicates') + duplicates,
    ignored: batch.ignored + unknown,
    deleted,
  }
  const kept = outcome.inserted + outcome.updated + outcome.unchanged + outcome.deleted
  const changed =
    sources.changed ||
    deleted > 0 ||
    [...series, ...besides, ...events].some((one) => one.inserted + one.updated > 0) ||
    events.some(({ derived = [] }) => derived.length > 0)
  const status = batch.rejected === 0 ? 'success' : kept > 0 ? 'partial' : 'failed'
  return { status, ...outcome, changed, series: [...series, ...besides], events, batch }
}

function total<Key extends string>(counts: readonly Record<Key, number>[], key: Key): number {
  return counts.reduce((sum, one) => sum + one[key], 0)
}
