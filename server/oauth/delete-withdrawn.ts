import type { Task } from 'graphile-worker'
import { allowMinutes } from '../limits.ts'
import { lockUser } from '../store/lock.ts'
import { deleteProviderData } from '../store/provider-data.ts'
import { lockGrants, removeUnused } from './disconnect.ts'
import type { OAuthParts } from './parts.ts'

// Only if access is still withdrawn: a new consent since then brings its data back. Of a grant that is not locked, another
// withdrawal is due.
const WITHDRAWN_SQL = `
  update connection set grant_id = null, updated_at = now()
  where user_id = $1 and provider = $2 and status = 'revoked' and status_reason = 'deregistration'
    and (grant_id is null or grant_id = any ($3))
  returning id`

/**
 * The job that deletes all data of a provider once the person has withdrawn access there, if the operator wants that
 * (`DELETE_DATA_ON_DEAUTHORISATION`; strava.md 6). It deletes the grant, too, so that a new consent brings everything again.
 */
export const deleteWithdrawnTask =
  ({ db, log }: Pick<OAuthParts, 'db' | 'log'>): Task =>
  async (payload) => {
    const { user_id: userId, provider } = payload as { user_id: string; provider: string }
    const deleted = await db.transaction(async (tx) => {
      await allowMinutes(tx)
      await lockUser(tx, userId)
      const grants = await lockGrants(tx, userId, provider)
      const withdrawn = await tx.query(WITHDRAWN_SQL, [userId, provider, grants])
      if (withdrawn.length === 0) return false
      await tx.query('select cancel_sync($1, $2)', [userId, provider])
      await removeUnused(tx, grants, false)
      await deleteProviderData(tx, userId, provider)
      return true
    })
    if (deleted)
      log.info({ user: userId, provider }, 'data was deleted, since the person withdrew access at the provider')
  }
