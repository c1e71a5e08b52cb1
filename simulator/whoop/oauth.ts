import type { OAuthRules } from '../oauth/rules.ts'

export const oauth: OAuthRules = {
  authorizePath: '/oauth/oauth2/auth',
  tokenPath: '/oauth/oauth2/token',
  separator: ' ',
  scopes: {
    offline: 'Stay connected',
    'read:profile': 'Name and email address',
    'read:workout': 'Workouts',
    'read:sleep': 'Sleep',
    'read:recovery': 'Recovery',
    'read:cycles': 'Strain of each day',
    'read:body_measurement': 'Height, weight and highest heart rate',
  },
  scopePrefix: '',
  refusesUnknownScopes: true,
  blankMeansAll: false,
  minStateLength: 8,
  client: 'form',
  repeatsRedirect: true,
  refresh: { scope: 'offline' },
  accessEndsOnRefresh: true,
  callbackScope: false,
  memberLimitError: 'request_forbidden',
  reusedRefreshError: 'invalid_request',
  other: () => undefined,
}
