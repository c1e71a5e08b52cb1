import type { Provider, ProviderSettings } from './provider.ts'

/** The most requests that a variable of `Budget.setting` may allow. */
const MOST = 99_999

/** The variables that replace limits of a provider's budgets, without its prefix. */
export const limitSettings = ({ api }: Provider): readonly string[] =>
  api.budgets.flatMap(({ setting }) => setting ?? [])

/** What the value of such a variable must be instead; undefined: it can be right. */
export function limitProblem(value: string): string | undefined {
  const isRight = /^[1-9]\d*$/.test(value) && Number(value) <= MOST
  return isRight ? undefined : `must be a whole number from 1 to ${MOST}`
}

/** A connector with the limits that an operator has set, and without those that are none as long as nobody sets them. */
export function withOwnLimits(provider: Provider, { more }: Pick<ProviderSettings, 'more'>): Provider {
  const own = provider.api.budgets.map((budget) => {
    const said = budget.setting === undefined ? undefined : more[budget.setting]
    return said === undefined ? budget : { ...budget, limit: Number(said) }
  })
  return { ...provider, api: { ...provider.api, budgets: own.filter(({ limit }) => Number.isFinite(limit)) } }
}
