import type { Given, OAuthRules } from '../oauth/rules.ts'
import { numberOf } from '../random.ts'
import type { Settings } from '../settings.ts'
import type { Person } from '../truth/person.ts'

export function accountOf(person: Person): string {
  return `sb-${numberOf(`sensorbio/account/${person.seed}`)}`
}

export const oauth: OAuthRules = {
  authorizePath: '/authorize',
  tokenPath: '/token',
  separator: ' ',
  scopes: { data: 'What the band measures' },
  scopePrefix: '',
  refusesUnknownScopes: true,
  blankMeansAll: true,
  minStateLength: 0,
  client: 'both',
  repeatsRedirect: true,
  refresh: true,
  accessEndsOnRefresh: false,
  callbackScope: false,
  memberLimitError: 'access_denied',
  reusedRefreshError: 'invalid_grant',
  shape,
  other: () => undefined,
}

/** With a refresh token, as far as anybody knows. */
function shape({ access, refresh, expiresInSeconds }: Given, { own }: Settings): Record<string, unknown> {
  return {
    ...{ access_token: access, token_type: 'Bearer', expires_in: expiresInSeconds, scope: '' },
    ...(refresh !== undefined && !own.no_refresh && { refresh_token: refresh }),
  }
}
