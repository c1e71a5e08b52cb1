import { createHash } from 'node:crypto'
import { legacyIdOf } from '../fitbit/oauth.ts'
import { json, type Reply } from '../http.ts'
import type { Given, OAuthRequest, OAuthRules } from '../oauth/rules.ts'
import type { Person } from '../truth/person.ts'
import { exchange, type ServiceTokens } from './service-account.ts'

const READ = 'https://www.googleapis.com/auth/googlehealth.'

/** Names of scopes without what all of them begin and end with. */
export type Scope = 'activity_and_fitness' | 'health_metrics_and_measurements' | 'nutrition' | 'sleep'

/** The whole name of a scope. */
export function scopeOf(name: string): string {
  return `${READ}${name}.readonly`
}

const READS: Readonly<Record<string, string>> = {
  activity_and_fitness: 'Activity and exercises',
  health_metrics_and_measurements: 'Heart rate, weight and what is measured besides',
  nutrition: 'Meals and drinks',
  sleep: 'Sleep',
  settings: 'Time zone and devices',
  location: 'Routes of exercises',
  profile: 'Profile',
}

export function accountOf(person: Person): string {
  return createHash('sha256')
    .update(`google/account/${person.seed}`)
    .digest('base64url')
    .replaceAll(/[-_]/g, 'x')
    .slice(0, 21)
}

export { legacyIdOf }

/** Sign-in with a Google account, and tokens of a service account. */
export function oauthOf(tokens: ServiceTokens): OAuthRules {
  return {
    authorizePath: '/o/oauth2/v2/auth',
    tokenPath: '/token',
    instead: (path, request) => (path === '/token' ? exchange(request, tokens) : undefined),
    separator: ' ',
    scopes: {
      ...{ openid: 'Who you are', email: 'Email address' },
      ...Object.fromEntries(Object.entries(READS).map(([name, reads]) => [scopeOf(name), reads])),
    },
    scopePrefix: '',
    refusesUnknownScopes: true,
    blankMeansAll: false,
    minStateLength: 0,
    client: 'both',
    repeatsRedirect: true,
    refresh: true,
    refreshWantsOffline: true,
    keepsRefresh: true,
    accessEndsOnRefresh: false,
    callbackScope: true,
    memberLimitError: 'access_denied',
    reusedRefreshError: 'invalid_grant',
    shape,
    other: (path, request) => (path === '/revoke' ? revoke(request) : undefined),
  }
}

/** With an id token where `openid` was granted, and a refresh token for the first code only. */
function shape({ access, refresh, expiresInSeconds, scope, person, nowMs }: Given): Record<string, unknown> {
  const issued = Math.floor(nowMs / 1000)
  const claims = { iss: 'https://accounts.google.com', sub: subOf(person), email: person.email, iat: issued }
  const parts = [{ alg: 'RS256', typ: 'JWT' }, claims, { simulated: true }]
  const token = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return {
    ...{ access_token: access, expires_in: expiresInSeconds, scope, token_type: 'Bearer' },
    ...(refresh !== undefined && { refresh_token: refresh }),
    ...(scope.split(' ').includes('openid') && { id_token: token }),
  }
}

/** Number of a Google account. */
export function subOf(person: Person): string {
  const digits = createHash('sha256').update(`google/sub/${person.seed}`).digest('hex').replaceAll(/[a-f]/g, '')
  return `1${digits.slice(0, 20)}`
}

function revoke({ method, form, query, end }: OAuthRequest): Reply {
  if (method !== 'POST') return json(405, { error: 'method_not_allowed' }, { allow: 'POST' })
  if (end(form.get('token') ?? query.get('token') ?? '')) return json(200, {})
  return json(400, { error: 'invalid_token', error_description: 'Token expired or revoked' })
}
