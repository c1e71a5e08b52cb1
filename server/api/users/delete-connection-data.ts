import type { Transaction } from '../../db/database.ts'
import { route } from '../../http/route.ts'
import { allowMinutes, allowWaiting } from '../../limits.ts'
import { deleteEvents, lockForDeletion, lockUser } from '../../store/lock.ts'
import { withoutSleepOf } from '../../store/sleep/sleep.ts'
import { ConnectionPath, revokeConnection } from './delete-connection.ts'

/** Disconnects a provider and removes everything that came from it (contract 3.9). */
export const deleteConnectionData = route(
  {
    method: 'DELETE',
    path: '/api/v1/users/{user_id}/connections/{provider}/data',
    operationId: 'deleteConnectionData',
    summary: 'Disconnect a provider and delete all its data',
    description:
      'Samples, events, devices, stored uploads, the history of their imports, and their waiting webhook deliveries. Also forgets what was deleted before, which can then be imported again.',
    tag: 'Users',
    guard: 'key',
    share: 'long',
    params: ConnectionPath,
    status: 204,
    errors: { 404: 'Unknown user, or never connected' },
  },
  async ({ params }, { db, config }) => {
    await db.transaction(async (tx) => {
      // Years of samples, and waiting for an import, take longer than a read may.
      await allowMinutes(tx)
      // An import holds this lock: this waits for it, and the next one finds no upload.
      await lockUser(tx, params.user_id)
      const provider = await revokeConnection(tx, config, params, { tellProvider: true })
      // A later upload is new, and opens the connection again.
      const sources = (await lockForDeletion(tx, params.user_id, provider)) ?? []
      await allowWaiting(tx)
      await withoutSleepOf(tx, params.user_id, sources, () => deleteSources(tx, sources))
      await deleteUploads(tx, params.user_id, provider)
      for (const table of ['zone_run', 'hidden_item'])
        await tx.query(`delete from ${table} where user_id = $1 and provider = $2`, [params.user_id, provider])
      await tx.query('update app_user set revision = revision + 1 where id = $1', [params.user_id])
      await deleteEvents(tx, params.user_id, provider)
    })
  },
)

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
