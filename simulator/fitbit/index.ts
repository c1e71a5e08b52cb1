import type { Budget, Provider } from '../provider.ts'
import { sleepId, workoutId } from './logs.ts'
import { fault, legacyIdOf, oauth } from './oauth.ts'
import { answer, familyOf, insufficient } from './routes.ts'

/** Fitbit, Web API as it was; with `retired` as it is since November 2026. */
export const fitbit: Provider = {
  name: 'fitbit',
  title: 'Fitbit',
  oauth,
  apiPath: '',
  limits: [{ per: 'token', seconds: 3600, requests: 150, aligned: true }],
  settings: {
    ...{ access_seconds: 28_800, code_seconds: 600, grace_seconds: 0, missing_scope_status: 403 },
    ...{ retry_percent: 100, subscription_days: 0 },
    ...{ redirect_uris: null, member_limit: null, page_size: 100, limits: null },
    // Everything answers 410; the application has the permission for values within a day.
    own: { retired: false, intraday: false },
  },
  family: familyOf,
  answer,
  budgetHeaders,
  tooMany: ({ waitSeconds }) => ({
    ...fault(429, 'system', 'Too Many Requests'),
    headers: { 'retry-after': String(waitSeconds) },
  }),
  unauthorized: () => fault(401, 'expired_token', 'Access token expired'),
  missingScope: insufficient,
  records: ['activities', 'sleep', 'hrv', 'br', 'tempSkin', 'tempCore', 'cardioScore', 'weight', 'fat'],
  accountOf: legacyIdOf,
  ids: (person) => ({
    sleep: (view) => (view.deleted ? null : String(sleepId(person, view))),
    ...{ rest: () => null, cycle: () => null },
    workout: (view) => (view.deleted ? null : String(workoutId(person, view))),
  }),
}

/** Seconds until the limit begins anew. */
function budgetHeaders([budget]: readonly Budget[]): Record<string, string> {
  if (!budget) return {}
  return {
    'fitbit-rate-limit-limit': String(budget.limit.requests),
    'fitbit-rate-limit-remaining': String(budget.left),
    'fitbit-rate-limit-reset': String(budget.resetSeconds),
  }
}
