import type { Queryable } from '../db/database.ts'

// Everything that writes what a user has holds this lock until its transaction ends, so that the batches of a user come
// one after the other. Locks are taken in this order, whoever takes them: this one, connection, user, sources, run.

/** The key of a user's ingest lock; `user` is an SQL expression of its id as text. */
export const ingestLockKey = (user: string): string => `hashtextextended('ingest:' || ${user}, 0)`

/** Takes a user's ingest lock until the end of the transaction, waiting for whoever holds it. */
export async function lockUser(tx: Queryable, userId: string): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock(${ingestLockKey('$1')})`, [userId])
}
