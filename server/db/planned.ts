import type { Queryable, Transaction } from './database.ts'

type Param = NonNullable<Parameters<Queryable['query']>[1]>[number]

/** Lists of so many items and documents of so many characters are short. */
const FEW_ITEMS = 64
const SHORT_TEXT = 32 * 1024

/**
 * Runs a statement with a plan made for these parameters if they are long. A plan kept from a time with few items takes
 * minutes for many: 25,000 meals took 20 s instead of one; the same goes for sleep and workouts. For few items the kept one
 * will do: to make it takes 0.3 to 1.5 ms, longer than to run it.
 */
export async function planned<Row>(tx: Transaction, text: string, params: readonly Param[]): Promise<Row[]> {
  if (params.every(isShort)) return tx.query<Row>(text, params)
  const { rows } = await tx.client.query(text, [...params])
  return rows as Row[]
}

function isShort(param: Param): boolean {
  if (Array.isArray(param)) return param.length <= FEW_ITEMS
  return typeof param !== 'string' || param.length <= SHORT_TEXT
}
