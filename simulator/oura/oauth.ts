import { json, type Reply, redirect } from '../http.ts'
import type { OAuthRequest, OAuthRules } from '../oauth/rules.ts'

const EXT = '/oauth/v2/ext'
const PREFIX = 'extapi:'
/** Scopes that the old sign-in page turns into new ones; it loses the two others without an error. */
const OLD_SCOPES = 'email personal daily heartrate workout tag session spo2 ring_configuration'.split(' ')

export const oauth: OAuthRules = {
  authorizePath: `${EXT}/oauth-authorize`,
  tokenPath: `${EXT}/oauth-token`,
  alsoToken: (path, { own }) => own.old_application === true && path === '/oauth/token',
  separator: ' ',
  scopes: {
    email: 'Email address',
    personal: 'Age, sex, height and weight',
    daily: 'Sleep, activity, readiness and stress of each day',
    heartrate: 'Heart rate',
    workout: 'Workouts',
    tag: 'Tags',
    session: 'Sessions',
    spo2: 'Blood oxygen',
    ring_configuration: 'Ring',
    stress: 'Resilience',
    heart_health: 'Cardiovascular age and VO2 max',
  },
  scopePrefix: PREFIX,
  refusesUnknownScopes: false,
  blankMeansAll: true,
  minStateLength: 0,
  client: 'both',
  repeatsRedirect: true,
  refresh: true,
  accessEndsOnRefresh: false,
  callbackScope: true,
  memberLimitError: 'access_denied',
  reusedRefreshError: 'invalid_grant',
  other(path, request) {
    if (path === '/oauth/authorize') return oldAuthorize(request)
    if (path === '/oauth/token') return oldToken(request)
    if (path === `${EXT}/oauth-revoke`) return revoke(request)
    if (path === '/oauth/revoke') return oldRevoke(request)
    return path === `${EXT}/oauth-anonymous/.well-known/openid-configuration` ? discovery(request) : undefined
  },
}

/** The old page sends people on to the new one, whose callback then also has `iss`. */
function oldAuthorize({ method, query, address }: OAuthRequest): Reply {
  if (method !== 'GET') return notAllowed('GET')
  const asked = new URLSearchParams(query)
  const scopes = (query.get('scope') ?? '').split(' ').filter((scope) => scope !== '')
  const known = scopes.filter((scope) => scope.startsWith(PREFIX) || OLD_SCOPES.includes(scope))
  if (query.has('scope'))
    asked.set('scope', known.map((scope) => (scope.startsWith(PREFIX) ? scope : PREFIX + scope)).join(' '))
  asked.set('iss', `${address}${EXT}/oauth-anonymous`)
  return redirect(`${address}${EXT}/oauth-authorize?${asked}`)
}

/** What the old host answers to applications of the new portal. A refused exchange spends the code. */
function oldToken({ method, form, spend }: OAuthRequest): Reply {
  if (method !== 'POST') return notAllowed('POST')
  spend(form.get('code') ?? '')
  return form.get('grant_type') === 'refresh_token'
    ? json(400, { error: 'invalid_request' })
    : json(401, { error: 'invalid_client' })
}

/** As RFC 7009 requires, an unknown token is answered 200, too. */
function revoke({ method, form, client, end }: OAuthRequest): Reply {
  if (method !== 'POST') return notAllowed('POST')
  if (client === null) return json(401, { error: 'invalid_client' })
  if (!form.get('token')) return json(400, { error: 'invalid_request' })
  end(form.get('token') ?? '')
  return { status: 200 }
}

function oldRevoke({ method, query, end }: OAuthRequest): Reply {
  if (method !== 'POST') return notAllowed('POST')
  end(query.get('access_token') ?? '')
  return { status: 200 }
}

function discovery({ address }: OAuthRequest): Reply {
  return json(200, {
    issuer: `${address}${EXT}/oauth-anonymous`,
    authorization_endpoint: `${address}${EXT}/oauth-authorize`,
    token_endpoint: `${address}${EXT}/oauth-token`,
    revocation_endpoint: `${address}${EXT}/oauth-revoke`,
    code_challenge_methods_supported: ['S256'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    response_types_supported: ['code'],
  })
}

function notAllowed(allow: string): Reply {
  return json(405, { error: 'method_not_allowed' }, { allow })
}
