import type { Budget, Provider } from '../provider.ts'
import { dateOf } from '../zones.ts'
import { fault } from './errors.ts'
import { accountOf, exerciseId } from './exercises.ts'
import { noticesOf } from './notices.ts'
import { oauth } from './oauth.ts'
import { Registrations } from './registrations.ts'
import { answer, familyOf } from './routes.ts'

/** Polar, AccessLink v3. */
export function polar(): Provider {
  const registrations = new Registrations()
  return {
    name: 'polar',
    title: 'Polar',
    oauth,
    apiPath: '',
    limits: [
      { per: 'application', seconds: 900, requests: 500, perMember: 20 },
      { per: 'application', seconds: 86_400, requests: 5000, perMember: 100, countsRefused: true },
    ],
    settings: {
      ...{ access_seconds: 315_359_999, code_seconds: 600, grace_seconds: 0, missing_scope_status: 403 },
      ...{ retry_percent: 100, subscription_days: 0 },
      ...{ redirect_uris: null, member_limit: null, page_size: 1, limits: null },
      // Days as the specification has them, not as devices write them; everybody has withdrawn the mandatory consents;
      // exercises from before the registration are shown, too.
      own: { as_specified: false, consents_missing: false, old_exercises: false },
    },
    family: familyOf,
    answer: (call) => answer(call, registrations),
    budgetHeaders,
    tooMany: () => fault(429, 'TooManyRequestsException', 'Too many requests'),
    unauthorized: () => fault(401, 'UnauthorizedException', 'The access token is not valid'),
    records: ['nights', 'recharges', 'heart_rates', 'available', 'data'],
    notices: noticesOf(registrations),
    accountOf: (person) => String(accountOf(person)),
    ids: (person) => ({
      // Nights have no id but their date.
      sleep: ({ sleep, deleted }) => (deleted || sleep.nap ? null : dateOf(sleep.day)),
      ...{ rest: () => null, cycle: () => null },
      workout: ({ workout, deleted }) => (deleted ? null : exerciseId(person, workout)),
    }),
  }
}

/** Pairs of the short and the long limit. */
function budgetHeaders(budgets: readonly Budget[]): Record<string, string> {
  const pair = (value: (budget: Budget) => number) => budgets.map(value).join(', ')
  return {
    'ratelimit-usage': pair(({ used }) => used),
    'ratelimit-limit': pair(({ limit }) => limit.requests),
    'ratelimit-reset': pair(({ resetSeconds }) => resetSeconds),
  }
}
