import type { Provider } from '../provider.ts'
import { accountOf, oauth } from './oauth.ts'
import { sleepId, workoutId } from './records.ts'
import { answer, familyOf, fault } from './routes.ts'

/** Sensor Bio, as far as its API is known. HTTP/1.1, since HTTP/2 is negotiated by TLS only. */
export const sensorbio: Provider = {
  name: 'sensorbio',
  title: 'Sensor Bio',
  oauth,
  apiPath: '',
  // Ours: none are published.
  limits: [{ per: 'application', seconds: 10, requests: 50 }],
  settings: {
    ...{ access_seconds: 3600, code_seconds: 600, grace_seconds: 0, missing_scope_status: 403 },
    ...{ retry_percent: 100, subscription_days: 0 },
    ...{ redirect_uris: null, member_limit: null, page_size: 50, limits: null },
    // No refresh tokens; times of sleep in milliseconds, as its documentation has it; minutes between biometrics.
    own: { no_refresh: false, times_in_ms: false, biometric_minutes: 10 },
  },
  family: familyOf,
  answer,
  tooMany: ({ waitSeconds }) => ({
    ...fault(429, 'Too Many Requests', 'Slow down'),
    headers: { 'retry-after': String(waitSeconds) },
  }),
  unauthorized: () => fault(401, 'Unauthorized', 'The access token is invalid or expired'),
  missingScope: () => fault(403, 'Forbidden', 'Not allowed'),
  records: ['data'],
  options: () => ({ SENSORBIO_REQUESTS_PER_SECOND: '1000' }),
  accountOf,
  ids: (person) => ({
    sleep: (view) => (view.deleted ? null : sleepId(person, view)),
    ...{ rest: () => null, cycle: () => null },
    workout: (view) => (view.deleted ? null : workoutId(person, view)),
  }),
}
