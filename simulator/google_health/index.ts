import type { Provider } from '../provider.ts'
import { secretOf } from '../random.ts'
import { noticesOf } from './notices.ts'
import { accountOf, oauthOf } from './oauth.ts'
import { answer, denied, familyOf, fault } from './routes.ts'
import { options, type ServiceTokens } from './service-account.ts'
import { exerciseId, sleepId } from './sessions.ts'
import { Signer } from './signature.ts'

const KEYSET = '/webhooks/webhooks_public_keyset.json'

/** Google Health, API v4. */
export function googleHealth(): Provider {
  const tokens: ServiceTokens = new Map()
  const signer = new Signer()
  const oauth = oauthOf(tokens)
  return {
    name: 'google_health',
    title: 'Google Health',
    // The public keys of its notices need no token.
    oauth: {
      ...oauth,
      other: (path, request) => (path === KEYSET ? { status: 200, json: signer.keyset() } : oauth.other(path, request)),
    },
    apiPath: '',
    limits: [
      { per: 'token', seconds: 60, requests: 300 },
      { per: 'application', seconds: 60, requests: 120_000 },
    ],
    settings: {
      ...{ access_seconds: 3599, code_seconds: 600, grace_seconds: 0, missing_scope_status: 403 },
      ...{ retry_percent: 100, subscription_days: 0 },
      ...{ redirect_uris: null, member_limit: null, page_size: 10_000, limits: null },
      // Notices with a signature besides the secret; accounts without a profile of health; watches that sync late.
      own: { signature: true, not_linked: false, late_watch: false },
    },
    family: familyOf,
    answer,
    tooMany: () => fault(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded'),
    unauthorized: () => fault(401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.'),
    missingScope: denied,
    records: ['dataPoints', 'rollupDataPoints', 'subscribers'],
    notices: noticesOf(tokens, signer),
    variables: { GOOGLE_HEALTH_WEBHOOK_SECRET: secretOf('google_health notices') },
    options,
    accountOf,
    ids: (person) => ({
      // Below the address of the person's points.
      sleep: (view) => (view.deleted ? null : nameOf(accountOf(person), 'sleep', sleepId(person, view))),
      ...{ rest: () => null, cycle: () => null },
      workout: (view) => (view.deleted ? null : nameOf(accountOf(person), 'exercise', exerciseId(person, view))),
    }),
  }
}

function nameOf(account: string, type: string, id: string): string {
  return `users/${account}/dataTypes/${type}/dataPoints/${id}`
}
