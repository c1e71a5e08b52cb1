import { createHash } from 'node:crypto'
import { json, type Reply } from '../http.ts'
import type { Given, OAuthRequest, OAuthRules } from '../oauth/rules.ts'
import type { Person } from '../truth/person.ts'

/** Six characters; the API that followed names them, too. */
export function legacyIdOf(person: Person): string {
  const bytes = createHash('sha256').update(`fitbit/account/${person.seed}`).digest()
  return Array.from(bytes.subarray(0, 6), (byte) => 'BCDFGHJKLMNPQRSTVWXYZ23456789'[byte % 29]).join('')
}

/** An error of sign-in and API. */
export function fault(status: number, errorType: string, message: string): Reply {
  return json(status, { errors: [{ errorType, message }], success: false })
}

export const gone = (): Reply => fault(410, 'gone', 'The Fitbit Web API has been retired')

export const oauth: OAuthRules = {
  authorizePath: '/oauth2/authorize',
  tokenPath: '/oauth2/token',
  instead: (_, { settings }) => (settings.own.retired ? gone() : undefined),
  separator: ' ',
  scopes: {
    activity: 'Workouts and activity',
    heartrate: 'Heart rate',
    sleep: 'Sleep',
    profile: 'Profile',
    weight: 'Weight and body fat',
    oxygen_saturation: 'Blood oxygen',
    respiratory_rate: 'Breathing rate',
    temperature: 'Temperature',
    cardio_fitness: 'Cardio fitness',
    settings: 'Devices',
    nutrition: 'Food',
    location: 'Routes',
    social: 'Friends',
  },
  scopePrefix: '',
  refusesUnknownScopes: true,
  blankMeansAll: false,
  wantsChallenge: true,
  minStateLength: 0,
  client: 'basic',
  repeatsRedirect: true,
  refresh: true,
  accessEndsOnRefresh: false,
  callbackScope: false,
  memberLimitError: 'access_denied',
  reusedRefreshError: 'invalid_grant',
  shape,
  refused: ({ error, description, status }) => fault(status ?? 400, error, description),
  other: (path, request) => (path === '/oauth2/revoke' ? revoke(request) : undefined),
}

function shape({ access, refresh, expiresInSeconds, scope, person }: Given): Record<string, unknown> {
  return {
    ...{ access_token: access, expires_in: expiresInSeconds, refresh_token: refresh, scope, token_type: 'Bearer' },
    user_id: legacyIdOf(person),
  }
}

function revoke({ method, form, client, end }: OAuthRequest): Reply {
  if (method !== 'POST') return json(405, { error: 'method_not_allowed' }, { allow: 'POST' })
  if (client !== 'basic') return fault(401, 'invalid_client', 'Invalid authorization header')
  return end(form.get('token') ?? '') ? { status: 200 } : fault(400, 'invalid_token', 'Invalid token')
}
