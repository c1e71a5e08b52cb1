import type { Limit } from '../budgets.ts'
import type { Budget, Provider } from '../provider.ts'
import { accountOf, activityId } from './activities.ts'
import { notices, variables } from './notices.ts'
import { fault, oauth } from './oauth.ts'
import { answer, familyOf, missingScope } from './routes.ts'

/** Spans begin at quarter hours and at midnight UTC; what is refused counts toward the day. */
function window(kind: string, seconds: number, requests: number): Limit {
  return { per: 'application', kind, seconds, requests, aligned: true, countsRefused: seconds === 86_400 }
}

/** Strava, API v3: workouts and nothing else. */
export const strava: Provider = {
  name: 'strava',
  title: 'Strava',
  oauth,
  apiPath: '/api/v3',
  limits: [
    ...[window('all', 900, 200), window('all', 86_400, 2000)],
    ...[window('read', 900, 100), window('read', 86_400, 1000)],
  ],
  settings: {
    ...{ access_seconds: 21_600, code_seconds: 600, grace_seconds: 0, missing_scope_status: 401 },
    ...{ retry_percent: 100, subscription_days: 0 },
    ...{ redirect_uris: null, member_limit: null, page_size: 30, limits: null },
    // Whether notices are signed; not all are.
    own: { signature: true },
  },
  family: familyOf,
  missingScope,
  answer,
  budgetHeaders,
  tooMany: () => fault(429, 'Rate Limit Exceeded', ['Application', 'rate limit', 'exceeded']),
  unauthorized: () => fault(401, 'Authorization Error', ['Athlete', 'access_token', 'invalid']),
  records: [],
  notices,
  variables,
  accountOf: (person) => String(accountOf(person)),
  ids: (person) => ({
    ...{ sleep: () => null, rest: () => null, cycle: () => null },
    workout: ({ workout, deleted }) => (deleted ? null : String(activityId(person, workout))),
  }),
}

/** Pairs of quarter hour and day. */
function budgetHeaders(budgets: readonly Budget[]): Record<string, string> {
  const pair = (kind: string, value: (budget: Budget) => number) =>
    budgets
      .filter(({ limit }) => limit.kind === kind)
      .map(value)
      .join(',')
  return {
    'x-ratelimit-limit': pair('all', ({ limit }) => limit.requests),
    'x-ratelimit-usage': pair('all', ({ used }) => used),
    'x-readratelimit-limit': pair('read', ({ limit }) => limit.requests),
    'x-readratelimit-usage': pair('read', ({ used }) => used),
  }
}
