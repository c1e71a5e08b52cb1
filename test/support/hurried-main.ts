// server/main.ts for a test in which time goes TIMES_FASTER at the providers: their limits are of so much less time.
import { cloudProviders } from '../../server/providers/index.ts'

const faster = Number(process.env.TIMES_FASTER)
for (const { api } of cloudProviders.values()) {
  const budgets = api.budgets.map((budget) => ({
    ...budget,
    seconds: Math.max(1, Math.round(budget.seconds / faster)),
  }))
  Object.assign(api, { budgets })
}
await import('../../server/main.ts')
