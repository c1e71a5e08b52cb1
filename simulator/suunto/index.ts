import { json } from '../http.ts'
import type { Provider } from '../provider.ts'
import { notices, variables as signing } from './notices.ts'
import { oauth, usernameOf } from './oauth.ts'
import { answer, familyOf, variables as keys, refusal, tooMany } from './routes.ts'
import { sleepId } from './samples.ts'
import { workoutKey } from './workouts.ts'

/** Suunto, Cloud API. */
export const suunto: Provider = {
  name: 'suunto',
  title: 'Suunto',
  oauth,
  apiPath: '',
  // What production subscriptions have is not published; those of developers have 10 and 200.
  limits: [
    { per: 'application', seconds: 60, requests: 120 },
    { per: 'application', seconds: 604_800, requests: 200_000 },
  ],
  settings: {
    ...{ access_seconds: 86_399, code_seconds: 600, grace_seconds: 0, missing_scope_status: 403 },
    ...{ retry_percent: 100, subscription_days: 0 },
    ...{ redirect_uris: null, member_limit: null, page_size: 50, limits: null },
    // 24/7 data below the old address; lists of workouts that fail with status 200; notices of workouts as forms.
    own: { old_product: false, errors_as_success: false, legacy_notices: false },
  },
  family: familyOf,
  answer,
  tooMany,
  unauthorized: () => json(401, { error: { code: 'UNAUTHORIZED', description: 'Token is not valid' }, payload: null }),
  missingScope: () => refusal(403, 'Access denied: the subscription has no such product.'),
  records: ['payload'],
  notices,
  variables: { ...keys, ...signing },
  options: () => ({ SUUNTO_REQUESTS_PER_SECOND: '1000' }),
  accountOf: usernameOf,
  ids: (person) => ({
    sleep: ({ sleep, deleted }) => (deleted ? null : String(sleepId(sleep))),
    ...{ rest: () => null, cycle: () => null },
    workout: ({ workout, deleted }) => (deleted ? null : workoutKey(person, workout)),
  }),
}
