import { json } from '../http.ts'
import type { Provider } from '../provider.ts'
import { answer, familyOf } from './collections.ts'
import { accountOf, idOf } from './documents.ts'
import { notices } from './notices.ts'
import { oauth } from './oauth.ts'

/** Oura, API v2, with the sign-in of `moi` and what is left of the old one. */
export const oura: Provider = {
  name: 'oura',
  title: 'Oura',
  oauth,
  apiPath: '',
  limits: [
    { per: 'token', seconds: 300, requests: 5000 },
    { per: 'application', seconds: 300, requests: 5000 },
  ],
  settings: {
    ...{ access_seconds: 86_400, code_seconds: 600, grace_seconds: 0, missing_scope_status: 403 },
    ...{ retry_percent: 100, subscription_days: 90 },
    ...{ redirect_uris: null, member_limit: null, page_size: 50, limits: null },
    // An application made before 2025, which the old hosts still serve; documents with `meta`, as newer pages have them;
    // notices whose time is in seconds, and that keep it when they are sent again.
    own: { old_application: false, document_meta: false, timestamp_in_seconds: false, retries_keep_time: false },
  },
  family: familyOf,
  isOpen: (path) => path.startsWith('/v2/sandbox/'),
  answer,
  tooMany: ({ limit, waitSeconds }, nowMs) =>
    json(
      429,
      { detail: 'Request rate limit exceeded.' },
      {
        'retry-after': String(waitSeconds),
        'x-ratelimit-limit': String(limit.requests),
        'x-ratelimit-window': String(limit.seconds),
        'x-ratelimit-reset': String(Math.floor(nowMs / 1000) + waitSeconds),
        'x-ratelimit-tier': limit.per,
      },
    ),
  unauthorized: () => json(401, { detail: 'The access token is missing, invalid or expired.' }),
  records: ['data'],
  notices,
  accountOf,
  ids: (person) => ({
    sleep: ({ sleep }) => idOf(person, sleep.key),
    rest: ({ key }) => idOf(person, key),
    workout: ({ workout, deleted }) => (deleted ? null : idOf(person, workout.key)),
    cycle: () => null,
  }),
}
