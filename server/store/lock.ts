import type { Queryable, Transaction } from '../db/database.ts'

// Everything that writes a user's data holds this user's ingest lock until its transaction ends, so the batches of a
// user run one after the other. Every transaction takes its locks in the order of these columns, which rules out
// deadlocks. `w`: waits for the lock; `t`: tries, and leaves the user to the next run; `s`: skips locked rows. Every
// insert that refers to a user takes a key share of it as well (`k`); it only keeps the user from being deleted.
//
//   who                                        ingest  connection  user   source  series  upload, run   endpoint, event
//   commitBatch (uploads, pulls, notices …)    t       w           k, w   w       w       w             w
//   recordFailure of an upload                                     k                      w
//   accept_upload, replay_upload                                   k                      w
//   logEvents of a phone                                           k                      w
//   closeSilentRuns                                                k s                    w
//   forget_bodies                                                  k s                    s
//   deleteUser                                 w       g, w        w      w       w       w             w
//   deleteConnectionData                       w       g, w        w      w       w       w             w
//   delete_withdrawn                           w       g, w        w      w       w       w             w
//   deleteConnection, a phone's sign-out               g, w        k                      w             w
//   connect (a consent), endGrant                      g, w        k                      w             w
//   tokens of a grant (refresh, reseal)                g
//   planPulls, start_sync                              g s         k                      w
//   claim_grants                                       g s
//   release_grant, endPauses                           g
//   subscribeAccounts (new accounts)                   g
//   note_waits                                         g                                         w
//   store_parcel, store_notices                        g, w        k                      w
//   close_upload, join_upload                                      k                      w
//   changeEvents (deletes a workout, a night)  w                   w      w                             w
//   computeDue (scores)                        t                   w
//   raiseFloors, lowerRollupFloor (archive)                        w, all
//   archive_user                               t                   , w    s       w
//   remove_archived                                                       s       s
//   closeSleep                                                     k s    s                             w
//   refresh_due_series, refresh_local_days                                s
//   thin_series, keep_quarters                                            s
//   sessions of phones                                             k
//   updateEndpoint with a user                                     k                                    w
//   record_attempts, fan_out                                                                            w
//
// `, w`: the revision of the user moves in the end. Whoever moves it then holds the ingest lock, as does everybody who
// locks the user first and its sources or series afterwards. A series is a row of source_series. Its rows are changed
// in any order, so nobody but the holder of the ingest lock waits for one while holding another: never change those of
// several users in one statement. `g`: the grants of a cloud provider come before the connections that use them, since
// the end of the last one removes the grant; whoever changes the tasks of a grant, or its ranges of a backfill, holds it,
// but for attempt_part, which locks a range alone. Two further advisory locks come before everything else of their
// transactions, and only these take them: `consent of` a user and provider (connect), and `syncs of` a user (start-sync and
// start-historical, which count them in an hour, and then start_sync).
// Another, `receive notices` or `receive large notices`, is the only thing that receive_notices waits for. Opening notices
// of a provider tries `notices:` and its name, with ` large` for large ones and ` first` for those of people who had nothing waiting, and leaves them
// to the process that has it.
// Runs of several users, and their events, are written in the order of the users. Several rows of any other column are
// locked in the order of their ids. Whoever holds an endpoint may take its deliveries in any order. Budgets of
// providers are taken in a transaction of their own. The advisory lock `refresh all rollups` is held alone by whoever
// refreshes or converts all of them, or compresses a chunk, and takes it first. Refreshes of a series and the archive try
// to share it; only deletions wait for that.
// Whoever outdates rollups holds a lock of its own (hold_until_written) for which refreshes wait once it has committed.

/** The key of a user's ingest lock; `user` is an SQL expression of its id as text. */
export const ingestLockKey = (user: string): string => `hashtextextended('ingest:' || ${user}, 0)`

/** Takes a user's ingest lock until the end of the transaction, waiting for its holder. */
export async function lockUser(tx: Queryable, userId: string): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock(${ingestLockKey('$1')})`, [userId])
}

/**
 * Locks a user, its connections before and its sources after it, for a caller that deletes the user's data; `provider`
 * null = of all providers. Returns the keys of the sources, undefined when there is no such user. Waits for a running
 * import, which holds the ingest lock, for uploads being accepted, and for a refresh of rollups; later ones find
 * nothing.
 */
export async function lockForDeletion(
  tx: Transaction,
  userId: string,
  provider: string | null,
): Promise<number[] | undefined> {
  await tx.query(
    'select from connection where user_id = $1 and provider = coalesce($2, provider) order by id for update',
    [userId, provider],
  )
  const users = await tx.query('select 1 from app_user where id = $1 for update', [userId])
  if (users.length === 0) return undefined
  const sources = await tx.query<{ id: number }>(
    'select id from data_source where user_id = $1 and provider = coalesce($2, provider) order by id for update',
    [userId, provider],
  )
  return sources.map(({ id }) => id)
}

/**
 * Deletes the events recorded for a user, with their deliveries. With a `provider`, only the copies of its data: the
 * end of a connection is not one. With provider null, also deletes the endpoints of this user alone, and deletes them
 * first. Call it last: attempts to deliver to any endpoint that may get them wait to be recorded meanwhile.
 */
export async function deleteEvents(tx: Transaction, userId: string, provider: string | null): Promise<void> {
  const whose = `e.user_id = $1 and ($2::text is null or e.provider = $2 and e.type not like 'connection.%')`
  await tx.query(
    `select from endpoint n
     where n.user_id is null or n.user_id = $1
        or n.id in (select d.endpoint_id from event e join delivery d on d.event_id = e.id where ${whose})
     order by n.id
     for no key update`,
    [userId, provider],
  )
  if (provider === null) await tx.query('delete from endpoint where user_id = $1', [userId])
  await tx.query(`delete from event e where ${whose}`, [userId, provider])
}
