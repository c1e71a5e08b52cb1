import type { Transaction } from '../../db/database.ts'
import { errors } from '../../errors.ts'

const HOUR_S = 3_600

// The runs that somebody has asked for have the request's id. The next is possible once the oldest that counts, of as
// many as there may be, is an hour old; the newest is the one that is refused. A purge of the data forgets the runs, and
// with them the count: whoever may delete everything may ask again for it.
const COUNT_SQL = `
  select count(*) as syncs,
         ceil(date_part('epoch', (array_agg(started_at order by started_at desc))[$2 + 1] - now()))::int4 + ${HOUR_S} as seconds_left
  from sync_run
  where user_id = $1 and trace_id is not null and started_at > now() - make_interval(secs => ${HOUR_S})`

/** One request at a time counts the syncs of a user. Before any other lock of the transaction (store/lock.ts). */
export async function lockSyncs(tx: Transaction, userId: string): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('syncs of ' || $1, 0))`, [userId])
}

/** A run that somebody has just started. */
interface Asked {
  readonly userId: string
  readonly runKey: string
  readonly requestId: string
}

/** Notes who asked for a run, and refuses it when it is one too many in an hour. @throws AppError throttled */
export async function countTurn(tx: Transaction, { userId, runKey, requestId }: Asked, perHour: number): Promise<void> {
  await tx.query('update sync_run set trace_id = $3 where user_id = $1 and run_key = $2', [userId, runKey, requestId])
  const { syncs, seconds_left } = await tx.one<{ syncs: number; seconds_left: number | null }>(COUNT_SQL, [
    userId,
    perHour,
  ])
  if (syncs > perHour) throw errors.throttled(Math.max(1, seconds_left ?? HOUR_S))
}
