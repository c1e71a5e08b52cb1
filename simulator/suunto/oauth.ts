import { json, type Reply } from '../http.ts'
import type { Given, OAuthRequest, OAuthRules } from '../oauth/rules.ts'
import { numberOf } from '../random.ts'
import type { Person } from '../truth/person.ts'

/** Name of an account, by which notices say whose they are. */
export function usernameOf(person: Person): string {
  return `${person.key}${numberOf(`suunto/${person.seed}`) % 10_000}`
}

export const oauth: OAuthRules = {
  authorizePath: '/oauth/authorize',
  tokenPath: '/oauth/token',
  separator: ' ',
  scopes: { workout: 'Workouts, sleep, recovery and activity' },
  scopePrefix: '',
  refusesUnknownScopes: false,
  blankMeansAll: true,
  minStateLength: 0,
  client: 'basic',
  repeatsRedirect: true,
  refresh: true,
  refreshSeconds: 180 * 86_400,
  keepsRefresh: true,
  accessEndsOnRefresh: false,
  callbackScope: false,
  memberLimitError: 'access_denied',
  reusedRefreshError: 'invalid_grant',
  claims: (person) => ({ user: usernameOf(person), sub: String(numberOf(`suunto/account/${person.seed}`)) }),
  shape,
  other: (path, request) => (path === '/oauth/deauthorize' ? deauthorize(request) : undefined),
}

/** A refresh brings no other refresh token. */
function shape({ access, refresh, expiresInSeconds, scope, person }: Given): Record<string, unknown> {
  return {
    ...{ access_token: access, token_type: 'bearer', ...(refresh !== undefined && { refresh_token: refresh }) },
    ...{ expires_in: expiresInSeconds, scope, user: usernameOf(person), jti: access.slice(-12) },
  }
}

function deauthorize({ method, query, bearer, end }: OAuthRequest): Reply {
  if (method !== 'GET') return json(405, { error: 'method_not_allowed' }, { allow: 'GET' })
  if (!query.has('client_id')) return json(400, { error: 'invalid_request' })
  return end(bearer) ? { status: 200 } : json(401, { error: 'invalid_token' })
}
