import type { Queryable } from '../../db/database.ts'
import type { OAuthClient } from '../../provider-client/clients.ts'
import type { Budget, BudgetReading } from '../../providers/provider.ts'

/** Why a provider is asked: somebody waits, a pull is due, or history is fetched. */
export type Lane = 'asked' | 'live' | 'history'

/** The share of a budget that each may use, so that some is always left for people who wait. */
const SHARES: Record<Lane, number> = { asked: 0.97, live: 0.8, history: 0.6 }

/** The budget is used up until then, epoch milliseconds. */
export class BudgetClosed extends Error {
  readonly untilMs: number

  constructor(untilMs: number) {
    super('the budget of requests is used up')
    this.name = 'BudgetClosed'
    this.untilMs = untilMs
  }
}

/** Whose budget a request is taken from. */
export interface Payer {
  readonly client: OAuthClient
  readonly grantId: string
  readonly lane: Lane
}

/** Budgets as the routines of sql/routines/pulls/take_budget.sql read them. */
const asRow = ({ per, seconds, limit, perAccount, aligned }: Budget) => ({
  ...{ account: per === 'account', seconds, limit, per_account: perAccount, aligned },
})

function budgetsOf({ client }: Payer, readings: readonly BudgetReading[]): string {
  const budgets = client.provider.api.budgets.map((budget) => {
    const { per, seconds, limit } = budget
    const heard = readings.find((reading) => reading.per === per && reading.seconds === seconds)
    const left = heard?.remaining
    const used = left === undefined ? undefined : (heard?.limit ?? limit) - left
    return { ...asRow(budget), ...(heard && { heard: { limit: heard.limit, used } }) }
  })
  return JSON.stringify(budgets)
}

/**
 * Takes a permit for one request; `readings`: what the provider itself has just said of its budgets.
 * @throws BudgetClosed
 */
export async function takePermit(db: Queryable, payer: Payer, readings: readonly BudgetReading[]): Promise<void> {
  const { client, grantId, lane } = payer
  const { opens_ms: opensMs } = await db.one<{ opens_ms: number | null }>(
    `select date_part('epoch', take_budget($1, $2, $3, $4, $5)) * 1000 as opens_ms`,
    [client.id, grantId, lane, SHARES[lane], budgetsOf(payer, readings)],
  )
  if (opensMs !== null) throw new BudgetClosed(opensMs)
}

/**
 * Records that the provider refused a request because of its limits. Closes the budget that the answer names, else the
 * fullest one, for `afterSeconds`; null: the provider did not say how long.
 */
export async function closeBudget(
  db: Queryable,
  payer: Payer,
  { afterSeconds, readings }: { afterSeconds: number | null; readings: readonly BudgetReading[] },
): Promise<void> {
  const usedUp = readings.find(({ remaining }) => remaining === 0)
  const { budgets } = payer.client.provider.api
  const named = budgets.filter(({ per, seconds }) => per === usedUp?.per && seconds === usedUp.seconds)
  await db.query('select close_budget($1, $2, $3, $4)', [
    payer.client.id,
    payer.grantId,
    JSON.stringify((named.length > 0 ? named : budgets).map(asRow)),
    afterSeconds ?? usedUp?.resetSeconds ?? null,
  ])
}
