import { json, type Reply } from '../http.ts'
import type { Given, OAuthRequest, OAuthRules, Refusal } from '../oauth/rules.ts'
import { summaryAthlete } from './activities.ts'

export const oauth: OAuthRules = {
  authorizePath: '/oauth/authorize',
  mobilePath: '/oauth/mobile/authorize',
  tokenPath: '/oauth/token',
  alsoToken: (path) => path === '/api/v3/oauth/token',
  separator: ',',
  scopes: {
    read: 'Public profile',
    read_all: 'Private routes and events',
    'profile:read_all': 'All of the profile',
    'activity:read': 'Activities, but those that only you may see',
    'activity:read_all': 'All activities',
  },
  scopePrefix: '',
  refusesUnknownScopes: true,
  blankMeansAll: false,
  minStateLength: 0,
  client: 'form',
  repeatsRedirect: false,
  refresh: true,
  keepsAccessSeconds: 3600,
  onePair: true,
  accessEndsOnRefresh: false,
  callbackScope: true,
  memberLimitError: null,
  reusedRefreshError: 'invalid_grant',
  shape,
  refused,
  other(path, request) {
    if (path === '/oauth/revoke') return revoke(request)
    return path === '/oauth/deauthorize' ? deauthorize(request) : undefined
  },
}

/** Without a scope; with the athlete where a code was exchanged. */
function shape({ access, refresh, expiresInSeconds, nowMs, person, first }: Given): Record<string, unknown> {
  return {
    token_type: 'Bearer',
    expires_at: Math.floor(nowMs / 1000) + expiresInSeconds,
    expires_in: expiresInSeconds,
    refresh_token: refresh,
    access_token: access,
    ...(first && { athlete: summaryAthlete(person) }),
  }
}

/** Errors look like those of the API. */
function refused({ error, status = 400 }: Refusal): Reply {
  if (status === 403) return fault(403, 'Forbidden', ['Application', 'Limit of connected athletes', 'exceeded'])
  if (error === 'invalid_client') return fault(401, 'Authorization Error', ['Application', '', 'invalid'])
  const [resource, field] = error === 'invalid_grant' ? ['AuthorizationCode', 'code'] : ['Application', 'grant_type']
  return fault(status, 'Bad Request', [resource, field, 'invalid'])
}

/** An error of Strava: a message, and what is wrong with which field of what. */
export function fault(status: number, message: string, [resource, field, code]: readonly string[]): Reply {
  return json(status, { message, errors: [{ resource, field, code }] })
}

/** All tokens of the athlete end; what means nothing is answered 200, too. */
function revoke({ method, form, client, end }: OAuthRequest): Reply {
  if (method !== 'POST') return json(405, { message: 'Method Not Allowed' }, { allow: 'POST' })
  if (client !== 'basic') return fault(401, 'Authorization Error', ['Application', 'client_id', 'invalid'])
  if (!form.get('token')) return fault(400, 'Bad Request', ['Application', 'token', 'missing'])
  end(form.get('token') ?? '')
  return { status: 200 }
}

function deauthorize({ method, form, bearer, end }: OAuthRequest): Reply {
  if (method !== 'POST') return json(405, { message: 'Method Not Allowed' }, { allow: 'POST' })
  const token = form.get('access_token') ?? bearer
  if (!end(token)) return fault(401, 'Authorization Error', ['Athlete', 'access_token', 'invalid'])
  return json(200, { access_token: token })
}
