import type { Given, OAuthRules } from '../oauth/rules.ts'
import { accountOf } from './exercises.ts'

export const oauth: OAuthRules = {
  authorizePath: '/oauth2/authorization',
  tokenPath: '/v2/oauth2/token',
  separator: ' ',
  scopes: { 'accesslink.read_all': 'Training, activity, sleep and what is measured besides' },
  scopePrefix: '',
  refusesUnknownScopes: true,
  blankMeansAll: true,
  minStateLength: 0,
  client: 'basic',
  repeatsRedirect: true,
  refresh: false,
  onePair: true,
  accessEndsOnRefresh: false,
  callbackScope: false,
  memberLimitError: 'access_denied',
  reusedRefreshError: 'invalid_grant',
  shape: ({ access, expiresInSeconds, person }: Given) => ({
    ...{ access_token: access, token_type: 'bearer', expires_in: expiresInSeconds },
    x_user_id: accountOf(person),
  }),
  other: () => undefined,
}
