import type { Context } from 'koa'
import { changing, HELD } from '../../db/changes.ts'
import { type Transaction, violatedConstraint } from '../../db/database.ts'
import type { Dependencies } from '../../dependencies.ts'
import { errors } from '../../errors.ts'
import { retryGrant, type Started } from '../../intake/pulls/tasks.ts'
import { type Connected, requireConnected } from './connected.ts'
import { countTurn, lockSyncs } from './throttle.ts'

/** What the routes that start a run may answer besides. */
export const startErrors = {
  400: 'The provider is not configured or disabled, cannot be asked, or a range that cannot be read',
  401: 'Not connected, or access has ended: the person connects again',
  403: 'The person has not granted access to this data',
  429: 'Too many syncs of the user in an hour',
  501: 'The provider has no such data',
}

interface Starting {
  readonly params: { provider: string; user_id: string }
  readonly ctx: Context
  /** Throws when the provider can never be asked for this. */
  requireAble(): void
}

/**
 * Starts a run for the connection of a user, unless one too many was started in the last hour.
 * @throws AppError those of `requireConnected`; throttled
 */
export async function startRun<Run extends Started>(
  deps: Dependencies,
  { params, ctx, requireAble }: Starting,
  start: (tx: Transaction, connected: Connected) => Promise<Run | undefined>,
): Promise<Run> {
  const { user_id: userId } = params
  const { syncTriggersPerHour: perHour } = deps.config
  const db = changing(deps.db, deps, { share: 'write', key: userId, user: userId, client: ctx.res })
  const connected = await requireConnected({ db, oauth: deps.oauth }, params, requireAble)
  const starting = db.transaction(async (tx) => {
    await lockSyncs(tx, userId)
    const run = await start(tx, connected)
    // The connection has ended at this moment.
    if (!run) throw errors.notConnected(params.provider)
    await retryGrant(tx, connected.grantId)
    if (!run.running) {
      await countTurn(tx, { userId, runKey: run.runKey, requestId: ctx.response.get('X-Request-Id') }, perHour)
    }
    return run
  })
  return starting.catch((error: unknown) => {
    // This user, or another one of the account, is being deleted at this moment.
    if (DELETED.has(violatedConstraint(error) ?? '')) throw errors.overloaded(HELD, 5)
    throw error
  })
}

const DELETED = new Set(['sync_run_user_id_fkey', 'sync_task_connection_id_fkey'])
