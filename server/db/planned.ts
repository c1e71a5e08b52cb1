import type { Transaction } from './database.ts'

/**
 * Runs a statement with a plan made for these parameters. A plan kept from a time with few items takes minutes for
 * many: 25,000 meals took 20 s instead of one; the same goes for sleep and workouts.
 */
export async function planned<Row>(tx: Transaction, text: string, params: readonly unknown[]): Promise<Row[]> {
  const { rows } = await tx.client.query(text, [...params])
  return rows as Row[]
}
