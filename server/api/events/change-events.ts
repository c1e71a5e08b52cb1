import type { AnnouncedRows } from '../../batch/changes.ts'
import type { Config } from '../../config.ts'
import type { Database, Transaction } from '../../db/database.ts'
import { allowMinutes } from '../../limits.ts'
import { lockUser } from '../../store/lock.ts'
import { recordRows } from '../../webhooks/session-events.ts'
import { requireUser } from '../users/exists.ts'

/**
 * Applies `change` to a user's events in a transaction, under the lock that an import holds, and increments the user's
 * revision. Developers get events about the rows it returns.
 * @throws AppError not_found for an unknown user
 */
export function changeEvents(
  { db, config }: { db: Database; config: Config },
  userId: string,
  change: (tx: Transaction) => Promise<AnnouncedRows | undefined>,
): Promise<void> {
  return db.transaction(async (tx) => {
    // Waiting for an import takes longer than a read may.
    await allowMinutes(tx)
    await lockUser(tx, userId)
    await requireUser(tx, userId)
    const announced = await change(tx)
    if (announced) await recordRows(tx, config, userId, announced)
    await tx.query('update app_user set revision = revision + 1 where id = $1', [userId])
  })
}
