import { errors } from '../errors.ts'
import type { Database, Transaction } from './database.ts'

/** Maximum length of a list that developers fill: all entries fit into one answer. */
export const MOST_ENTRIES = 1000

/** Such a list. */
interface List {
  /** The name of its entries in the error. */
  name: string
  /** Selects the number of its entries, as `count`; `$1` is `owner`. */
  countSql: string
  /** Id of the owner, if each owner has a list. */
  owner?: string
}

/**
 * Adds an entry to a list in one transaction, unless it is full; additions to one list wait for each other.
 * @throws AppError conflict when it is full
 */
export function addEntry<Row>(
  db: Database,
  { name, countSql, owner }: List,
  insert: (tx: Transaction) => Promise<Row>,
): Promise<Row> {
  return db.transaction(async (tx) => {
    await tx.query(`select pg_advisory_xact_lock(hashtextextended('list of ' || $1, 0))`, [`${name} ${owner ?? ''}`])
    const { count } = await tx.one<{ count: number }>(countSql, owner === undefined ? [] : [owner])
    if (count >= MOST_ENTRIES) {
      throw errors.conflict(`There are ${count} ${name}; the limit is ${MOST_ENTRIES}. Delete one first.`)
    }
    return insert(tx)
  })
}
