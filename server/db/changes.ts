import { errors } from '../errors.ts'
import type { Client, Gate } from '../gate.ts'
import type { Gates, Limits } from '../limits.ts'
import { type Database, lockTimedOut, type Queryable, type Transaction } from './database.ts'

/** Why a change, or what waits for it, is refused. */
export const HELD =
  'The same data is being changed, for example by the import of an upload. Nothing was changed; please retry.'

interface Changing {
  /** The kind of change. */
  share: 'write' | 'long' | 'login' | 'upload'
  /** Who shares fairly with others. */
  key: string
  /** Whose data it is about, if its path says so. */
  user: string | undefined
  /** Who waits for the answer. */
  client?: Client
}

/** The database for changes: see `changing`. */
export interface Changes extends Database {
  /**
   * Like `transaction`, with a single statement as the first attempt, which itself fails when it waits for a lock for
   * `lockMs`: so a change that waits for nobody takes one round trip.
   */
  atOnce<T>(first: (on: Queryable, lockMs: number) => Promise<T>, work: (tx: Transaction) => Promise<T>): Promise<T>
}

/**
 * The database for changes. Each statement is a transaction and takes a connection of its gate; one that finds a lock
 * taken is rolled back after a moment and tries again in the gate `locked`, where all of these take turns. So locks that
 * somebody holds for long, such as those of the import of a large upload, keep nobody waiting but those who need them,
 * and they use few connections. `work` may run several times.
 */
export function changing(
  db: Database,
  { gates, limits }: { gates: Gates; limits: Limits },
  { share, key, user, client }: Changing,
): Changes {
  const gate: Gate = gates[share]
  const lockKey = `${share} ${user ?? key}`
  const entering = client ? { client } : {}

  async function atOnce<T>(first: () => Promise<T>, again: () => Promise<T>): Promise<T> {
    const inTurn = async (place: Gate, placeKey: string, attempt: () => Promise<T>) => {
      const leave = await place.enter(placeKey, entering)
      try {
        return { done: await attempt() }
      } catch (error) {
        if (lockTimedOut(error)) return undefined
        throw error
      } finally {
        leave()
      }
    }
    const ends = performance.now() + limits.lockMs
    // Whoever asks for what another one of this user waits for, waits behind that one.
    let outcome = user !== undefined && gates.locked.knows(lockKey) ? undefined : await inTurn(gate, key, first)
    while (!outcome) {
      if (performance.now() >= ends) throw errors.overloaded(HELD, 5)
      outcome = await inTurn(gates.locked, lockKey, again)
    }
    return outcome.done
  }

  const inTransaction =
    <T>(work: (tx: Transaction) => Promise<T>) =>
    () =>
      db.transaction(work, limits.lockTurnMs)
  const transaction = <T>(work: (tx: Transaction) => Promise<T>) => atOnce(inTransaction(work), inTransaction(work))

  return {
    query: (text, params) => transaction((tx) => tx.query(text, params)),
    rows: (text, params) => transaction((tx) => tx.rows(text, params)),
    columns: (text, params) => transaction((tx) => tx.columns(text, params)),
    one: (text, params) => transaction((tx) => tx.one(text, params)),
    transaction,
    atOnce: (first, work) => atOnce(() => first(db, limits.lockTurnMs), inTransaction(work)),
    pool: db.pool,
    end: () => db.end(),
  }
}
