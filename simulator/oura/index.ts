import { json } from '../http.ts'
import type { Provider } from '../provider.ts'
import { answer, familyOf } from './collections.ts'
import { accountOf, idOf } from './documents.ts'
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
    ...{ redirect_uris: null, member_limit: null, page_size: 50, limits: null },
    // An application made before 2025, which the old hosts still serve; documents with `meta`, as newer pages have them.
    own: { old_application: false, document_meta: false },
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
  envelope: { records: 'data', next: 'next_token' },
  accountOf,
  ids: (person) => ({
    sleep: ({ sleep }) => idOf(person, sleep.key),
    rest: ({ key }) => idOf(person, key),
    workout: ({ workout, deleted }) => (deleted ? null : idOf(person, workout.key)),
    cycle: () => null,
  }),
}
