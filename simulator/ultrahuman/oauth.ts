import { json, type Reply } from '../http.ts'
import type { Given, OAuthRequest, OAuthRules } from '../oauth/rules.ts'
import { numberOf } from '../random.ts'
import type { Person } from '../truth/person.ts'

const BASE = '/api/partners/oauth'

export function accountOf(person: Person): string {
  return String(5_000_000 + (numberOf(`ultrahuman/account/${person.seed}`) % 900_000))
}

export const oauth: OAuthRules = {
  authorizePath: '/authorise',
  tokenPath: `${BASE}/token`,
  separator: ' ',
  scopes: { ring_data: 'What the ring measures', cgm_data: 'Glucose', profile: 'Profile and time zone' },
  scopePrefix: '',
  refusesUnknownScopes: true,
  blankMeansAll: false,
  minStateLength: 0,
  client: 'form',
  repeatsRedirect: true,
  refresh: true,
  refreshSeconds: 7 * 86_400,
  accessEndsOnRefresh: false,
  callbackScope: false,
  memberLimitError: 'access_denied',
  reusedRefreshError: 'invalid_grant',
  shape,
  other: (path, request) => (path === `${BASE}/revoke` ? revoke(request) : undefined),
}

/** Says nothing of whose they are. */
function shape({ access, refresh, expiresInSeconds, scope, nowMs }: Given): Record<string, unknown> {
  return {
    ...{ access_token: access, token_type: 'Bearer', expires_in: expiresInSeconds - 1, refresh_token: refresh, scope },
    created_at: Math.floor(nowMs / 1000),
  }
}

function revoke({ method, form, client, end }: OAuthRequest): Reply {
  if (method !== 'POST') return json(405, { error: 'method_not_allowed' }, { allow: 'POST' })
  if (client !== 'form') return json(403, { error: 'unauthorized_client' })
  end(form.get('token') ?? '')
  return json(200, {})
}
