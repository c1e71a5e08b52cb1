import { textAt } from '../answers.ts'
import { zoneName } from '../local-time.ts'
import type { Account, Answer, Call, OAuth, Provider, Tokens, Verdict } from '../provider.ts'
import { brings } from './brings.ts'
import { map } from './mapping.ts'
import { applicationRequest, isServiceAccount } from './service-account.ts'
import { objects, streams, workouts } from './streams.ts'
import { ACTIVITY, HEALTH, NUTRITION, SETTINGS, SLEEP } from './types.ts'

export { notices } from './notices.ts'

const PREFIX = 'https://www.googleapis.com/auth/googlehealth.'

const oauth: OAuth = {
  authorizeUrl: 'https://accounts.google.com/o/oauth2/v2/auth',
  tokenUrl: 'https://oauth2.googleapis.com/token',
  client: 'body',
  pkce: true,
  scopes: ['openid', 'email', ...[ACTIVITY, HEALTH, NUTRITION, SLEEP, SETTINGS].map((name) => `${PREFIX}${name}`)],
  separator: ' ',
  scopePrefix: PREFIX,
  // There is a refresh token with these alone, and each time.
  params: { access_type: 'offline', prompt: 'consent', include_granted_scopes: 'true' },
  needs: [
    {
      anyOf: [ACTIVITY, HEALTH, SLEEP, NUTRITION],
      words: 'at least one of activity, health measurements, sleep and nutrition',
    },
  ],
  // It ends after half a year without use.
  refresh: { rotates: false, idleDays: 60 },
  identify,
  leave,
}

/** Google Health API v4. */
export const cloud: Provider = {
  id: 'google_health',
  formerPrefix: 'GOOGLE',
  settings: ['PROJECT_ID', 'SERVICE_ACCOUNT_FILE', 'SUBSCRIBER_ID', 'USE_RECONCILE', 'WEBHOOK_SECRET_PREVIOUS'],
  settingProblem,
  api: {
    url: 'https://health.googleapis.com',
    budgets: [
      { per: 'account', seconds: 60, limit: 300, aligned: false },
      { per: 'application', seconds: 60, limit: 120_000, aligned: false },
      { per: 'application', seconds: 86_400, limit: 86_400_000, aligned: false },
    ],
    application: applicationRequest,
    judge,
  },
  oauth: () => oauth,
  map,
  brings,
  streams,
  objects,
  workouts,
}

function settingProblem(name: string, value: string): string | undefined {
  switch (name) {
    case 'PROJECT_ID':
      return /^\d{1,20}$/.test(value) ? undefined : 'must be the number of your project, which its page at Google shows'
    case 'SERVICE_ACCOUNT_FILE':
      return isServiceAccount(value) ? undefined : 'must be the path of a JSON key of a service account (RSA)'
    case 'SUBSCRIBER_ID':
      return /^[a-z][a-z0-9-]{3,35}$/.test(value) ? undefined : 'must be 4 to 36 lower-case letters, digits and hyphens'
    case 'USE_RECONCILE':
      return value === 'true' || value === 'false' ? undefined : 'must be true or false'
    default:
      return undefined
  }
}

/** Notices name the account by the id that only Google knows; the settings say where the person lives. */
async function identify({ answer, scope }: Tokens, call: Call) {
  const { status, json } = await call({ path: '/v4/users/me/identity' })
  const id = textAt(json, 'healthUserId') ?? ''
  if (!/^[\w-]{1,63}$/.test(id)) throw new Error(`Google did not name the account (status ${status})`)
  const username = textAt(claimsOf(textAt(answer, 'id_token') ?? ''), 'email') ?? null
  return { id, username, zone: scope === null || scope.includes(SETTINGS) ? await zoneOf(call) : null }
}

async function zoneOf(call: Call): Promise<string | null> {
  const { json } = await call({ path: '/v4/users/me/settings' })
  return zoneName(textAt(json, 'timeZone'))
}

/** What an identity token says, which Google has just given us. */
function claimsOf(token: string): unknown {
  try {
    return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'))
  } catch {
    return undefined
  }
}

/** The access token ends with the refresh token that it is of. */
async function leave(_account: Account, call: Call): Promise<Answer> {
  const path = new URL('revoke', call.tokenUrl).href
  const answer = await call({ path, method: 'POST', form: {}, token: { in: 'form', name: 'token' } })
  // It has ended before.
  return answer.status === 400 && textAt(answer.json, 'error') === 'invalid_token' ? { ...answer, status: 404 } : answer
}

/** An account without a profile of Google Health has nothing to give, today. */
function judge({ status, json }: Answer): Verdict | undefined {
  return status === 400 && JSON.stringify(json ?? '').includes('ACCOUNT_NOT_LINKED') ? 'denied' : undefined
}
