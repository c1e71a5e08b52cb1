import type { Transaction } from '../db/database.ts'
import { countSamples } from './archived.ts'
import type { Batch } from './columns.ts'
import { applyDeletions } from './deletions.ts'
import { type EventCounts, writeEvents } from './events.ts'
import { resolveSources, type SeriesCounts, writeSamples } from './write.ts'

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
}

// An upload connects its user with the provider, unless it came before the phone signed out; one that is imported again
// says nothing new about that.
const CONNECTION_SQL = `
  insert into connection as c (user_id, provider, last_synced_at)
  values ($1, $2, now())
  on conflict (user_id, provider) do update
  set last_synced_at = case when $3::timestamptz is null then c.last_synced_at else now() end,
      updated_at = case when $3 is null then c.updated_at else now() end,
      status = case when $3 is null or c.revoked_at > $3 then c.status else 'active' end
  returning id`

/**
 * Writes everything an upload holds, inside the caller's transaction, which holds the user's ingest lock and, shared,
 * that of the archive. `receivedAt`: when it came; null when its body was imported before.
 */
export async function writeBatch(
  tx: Transaction,
  userId: string,
  provider: string,
  batch: Batch,
  receivedAt: string | null,
): Promise<Outcome> {
  const connection = await tx.one<{ id: string }>(CONNECTION_SQL, [userId, provider, receivedAt])
  const sources = await resolveSources(tx, userId, provider, connection.id, batch.sources)
  const target = { userId, provider, sourceIds: sources.ids }
  const series = await writeSamples(tx, batch.samples, sources.ids)
  // Samples have their instants to themselves, so which nutrients are samples is known after them.
  const { counts: events, loose } = await writeEvents(tx, target, batch.events, receivedAt === null)
  const besides = [
    ...(await writeSamples(tx, loose.samples, loose.sourceIds)),
    ...(await writeSamples(tx, batch.derived, sources.ids)),
  ]
  const { deleted, unknown, duplicates } = await applyDeletions(tx, target, batch.events.deletions)
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
  return { status, ...outcome, changed, series: [...series, ...besides], events }
}

function total<Key extends string>(counts: readonly Record<Key, number>[], key: Key): number {
  return counts.reduce((sum, one) => sum + one[key], 0)
}
