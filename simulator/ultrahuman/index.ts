import { json } from '../http.ts'
import type { Provider } from '../provider.ts'
import { dateOf } from '../zones.ts'
import { accountOf, oauth } from './oauth.ts'
import { answer, familyOf, fault } from './routes.ts'

/** Ultrahuman, Partner API. */
export const ultrahuman: Provider = {
  name: 'ultrahuman',
  title: 'Ultrahuman',
  oauth,
  apiPath: '/api/partners/v1',
  // Ours: none are published.
  limits: [
    { per: 'token', seconds: 1, requests: 5 },
    { per: 'application', seconds: 1, requests: 20 },
  ],
  settings: {
    ...{ access_seconds: 86_400, code_seconds: 600, grace_seconds: 0, missing_scope_status: 403 },
    ...{ retry_percent: 100, subscription_days: 0 },
    ...{ redirect_uris: null, member_limit: null, page_size: 1, limits: null },
    // The older shape of answers; applications whose data access was not enabled.
    own: { old_envelope: false, no_access: false },
  },
  family: familyOf,
  answer,
  tooMany: ({ waitSeconds }) => json(429, { error: 'Too many requests' }, { 'retry-after': String(waitSeconds) }),
  unauthorized: () => fault(401, 'invalid_token'),
  missingScope: () => ({ status: 403 }),
  records: ['metric_data', 'values'],
  options: () => ({ ULTRAHUMAN_REQUESTS_PER_SECOND: '1000', ULTRAHUMAN_ACCOUNT_REQUESTS_PER_SECOND: '1000' }),
  accountOf,
  ids: () => ({
    // Nights have no id but their date.
    sleep: ({ sleep, deleted }) => (deleted || sleep.nap ? null : dateOf(sleep.day)),
    ...{ rest: () => null, cycle: () => null, workout: () => null },
  }),
}
