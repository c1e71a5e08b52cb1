import type { Transaction } from '../db/database.ts'
import { allowWaiting } from '../limits.ts'
import { deleteEvents, lockForDeletion } from './lock.ts'
import { withoutSleepOf } from './sleep/sleep.ts'

/**
 * Deletes everything of a user that came from a provider: samples, events, devices, stored uploads, the history of their
 * imports, waiting deliveries, and what was deleted before. The caller holds the ingest lock of the user and the grants of
 * its connections, and has called `allowMinutes`.
 */
export async function deleteProviderData(tx: Transaction, userId: string, provider: string): Promise<void> {
  const sources = (await lockForDeletion(tx, userId, provider)) ?? []
  await allowWaiting(tx)
  await withoutSleepOf(tx, userId, sources, () => deleteSources(tx, sources))
  await deleteUploads(tx, userId, provider)
  for (const table of ['zone_run', 'hidden_item'])
    await tx.query(`delete from ${table} where user_id = $1 and provider = $2`, [userId, provider])
  await tx.query('update app_user set revision = revision + 1 where id = $1', [userId])
  await deleteEvents(tx, userId, provider)
}

/** Rows that refer to a source (events, dirty ranges) are deleted with it; samples and rollups have no foreign key. */
async function deleteSources(tx: Transaction, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  await tx.query('select forget_resilience($1)', [ids])
  await tx.query('select delete_sources($1)', [ids])
  await tx.query('delete from data_source where id = any ($1)', [ids])
}

/** A stored body could be imported again, and the history of imports shows what was measured when. */
async function deleteUploads(tx: Transaction, userId: string, provider: string): Promise<void> {
  await tx.query('delete from upload where user_id = $1 and provider = $2', [userId, provider])
  await tx.query(
    `delete from upload_body b
     where b.user_id = $1
       and not exists (select from upload u where u.user_id = b.user_id and u.sha256 = b.sha256)`,
    [userId],
  )
  await tx.query(
    `with gone as (
       delete from sync_run r
       where r.user_id = $1 and r.provider = $2
         and not exists (select from upload u where u.user_id = r.user_id and u.run_key = r.run_key)
       returning r.run_key
     )
     delete from sync_event e
     using gone g
     where e.user_id = $1 and e.run_key = g.run_key`,
    [userId, provider],
  )
}
