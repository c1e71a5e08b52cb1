import { createHash } from 'node:crypto'
import type { Given, OAuthRules } from '../oauth/rules.ts'

/** What people may tick; an application cannot ask for less or more. */
export const PERMISSIONS = {
  ACTIVITY_EXPORT: 'Activities',
  HEALTH_EXPORT: 'Daily health',
  MCT_EXPORT: "Women's health",
  HISTORICAL_DATA_EXPORT: 'Data from before today',
  WORKOUT_IMPORT: 'Send workouts to your device',
  COURSE_IMPORT: 'Send courses to your device',
} as const
export type Permission = keyof typeof PERMISSIONS

const REFRESH_SECONDS = 7_775_998

export const oauth: OAuthRules = {
  authorizePath: '/oauth2Confirm',
  tokenPath: '/di-oauth2-service/oauth/token',
  separator: ' ',
  scopes: PERMISSIONS,
  scopePrefix: '',
  refusesUnknownScopes: false,
  blankMeansAll: true,
  offersAll: true,
  unticked: ['HISTORICAL_DATA_EXPORT'],
  wantsChallenge: true,
  minStateLength: 0,
  client: 'form',
  repeatsRedirect: true,
  refresh: true,
  refreshSeconds: REFRESH_SECONDS,
  accessEndsOnRefresh: false,
  callbackScope: false,
  memberLimitError: 'access_denied',
  reusedRefreshError: 'invalid_grant',
  shape,
  other: () => undefined,
}

/** The scope says nothing about permissions. */
function shape({ access, refresh, expiresInSeconds }: Given): Record<string, unknown> {
  const hash = createHash('sha256').update(access).digest('hex')
  return {
    ...{ access_token: access, token_type: 'bearer', refresh_token: refresh, expires_in: expiresInSeconds },
    ...{ scope: 'PARTNER_READ CONNECT_READ', jti: hash.slice(0, 32), refresh_token_expires_in: REFRESH_SECONDS },
  }
}
