import type { Provider } from '../provider.ts'
import { workoutId } from './activity.ts'
import { refusal, statuses } from './envelope.ts'
import { noticesOf, variables } from './notices.ts'
import { accountOf, type Memory, oauthOf } from './oauth.ts'
import { answer, familyOf, nameOf } from './routes.ts'
import { sleepId } from './sleep.ts'

/** Withings, public API: calls by `action`, answers of status 200. */
export function withings(): Provider {
  const memory: Memory = { calls: new Map(), nonces: new Map(), ending: false }
  return {
    name: 'withings',
    title: 'Withings',
    oauth: oauthOf(memory),
    apiPath: '',
    limits: [{ per: 'application', seconds: 60, requests: 120 }],
    countsAll: true,
    settings: {
      ...{ access_seconds: 10_800, code_seconds: 30, grace_seconds: 28_800, missing_scope_status: 403 },
      ...{ retry_percent: 100, subscription_days: 0 },
      ...{ redirect_uris: null, member_limit: null, page_size: 200, limits: null },
      // How long the same call for a token is refused; a plan without advanced metrics; watch and mat in each night.
      own: { repeat_seconds: 10, free_plan: false, two_devices: false },
    },
    family: familyOf,
    nameOf,
    answer,
    tooMany: () => refusal(statuses.tooMany, 'Too Many Requests'),
    unauthorized: () => refusal(statuses.token, 'XRequestID: Not provided invalid_token: The access token is invalid'),
    missingScope: () => refusal(statuses.scope, 'Unauthorized: insufficient scope'),
    records: ['measuregrps', 'activities', 'series', 'profiles', 'devices'],
    notices: noticesOf(memory),
    variables,
    options: () => ({ WITHINGS_REQUESTS_PER_MINUTE: '60000' }),
    accountOf,
    ids: (person) => ({
      sleep: (view) => (view.deleted ? null : String(sleepId(person, view))),
      ...{ rest: () => null, cycle: () => null },
      workout: (view) => (view.deleted ? null : String(workoutId(person, view))),
    }),
  }
}
