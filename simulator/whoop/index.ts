import { json } from '../http.ts'
import type { Budget, Provider } from '../provider.ts'
import { notices } from './notices.ts'
import { oauth } from './oauth.ts'
import { accountOf, cycleId, sleepId, workoutId } from './records.ts'
import { answer, familyOf } from './routes.ts'

/** WHOOP, API v2. */
export const whoop: Provider = {
  name: 'whoop',
  title: 'WHOOP',
  oauth,
  apiPath: '/developer',
  limits: [
    { per: 'application', seconds: 60, requests: 100 },
    { per: 'application', seconds: 86_400, requests: 10_000 },
  ],
  settings: {
    ...{ access_seconds: 3600, code_seconds: 600, grace_seconds: 0, missing_scope_status: 401 },
    ...{ retry_percent: 100, subscription_days: 0 },
    ...{ redirect_uris: null, member_limit: null, page_size: 10, limits: null },
    // Notices that are sent again keep their time, and so their signature.
    own: { retries_keep_time: false },
  },
  family: familyOf,
  answer,
  budgetHeaders,
  tooMany: () => json(429, { message: 'Too many requests' }),
  unauthorized: () => json(401, { message: 'Authorization was not valid' }),
  records: ['records'],
  notices,
  accountOf: (person) => String(accountOf(person)),
  ids: (person) => ({
    sleep: (view) => (view.deleted ? null : sleepId(person, view)),
    rest: () => null,
    workout: (view) => (view.deleted ? null : workoutId(person, view)),
    cycle: (cycle) => String(cycleId(person, cycle.day)),
  }),
}

/** Lists all windows; what remains, and when it resets, is that of the window with the fewest requests left. */
function budgetHeaders(budgets: readonly Budget[]): Record<string, string> {
  const nearest = budgets.reduce((best, one) => (one.left < best.left ? one : best))
  const windows = budgets.map(({ limit }) => `${limit.requests};window=${limit.seconds}`)
  return {
    'x-ratelimit-limit': [nearest.limit.requests, ...windows].join(', '),
    'x-ratelimit-remaining': String(nearest.left),
    'x-ratelimit-reset': String(nearest.waitSeconds || nearest.resetSeconds),
  }
}
