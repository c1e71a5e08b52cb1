import { numberIn, textAt, valueAt } from '../answers.ts'
import type { Answer, BudgetReading, Call, Provider } from '../provider.ts'
import { brings } from './brings.ts'
import { map } from './mapping.ts'
import { objects, streams, workouts } from './streams.ts'

export { notices } from './notices.ts'

/** WHOOP's API v2. */
export const cloud: Provider = {
  id: 'whoop',
  api: {
    url: 'https://api.prod.whoop.com/developer',
    budgets: [
      { per: 'application', seconds: 60, limit: 100, aligned: false },
      { per: 'application', seconds: 86_400, limit: 10_000, aligned: false },
    ],
    readBudget,
  },
  oauth: () => ({
    authorizeUrl: 'https://api.prod.whoop.com/oauth/oauth2/auth',
    tokenUrl: 'https://api.prod.whoop.com/oauth/oauth2/token',
    client: 'body',
    pkce: false,
    // `offline`: without it there is no refresh token.
    scopes: [
      'offline',
      'read:profile',
      'read:body_measurement',
      'read:cycles',
      'read:recovery',
      'read:sleep',
      'read:workout',
    ],
    separator: ' ',
    limitErrors: ['request_forbidden'],
    // The profile names the account.
    needs: [
      { anyOf: ['offline'], words: 'access while you are away (offline)' },
      { anyOf: ['read:profile'], words: 'your profile' },
      {
        anyOf: ['read:workout', 'read:sleep', 'read:recovery', 'read:cycles'],
        words: 'at least one of workouts, sleep, recovery and cycles',
      },
    ],
    // How long an idle refresh token lives is not documented: weekly.
    // A used or revoked token is `invalid_request` as often as `invalid_grant`; a wrong client is `invalid_client`.
    refresh: { rotates: true, idleDays: 7, form: { scope: 'offline' }, deadErrors: ['invalid_request'] },
    identify,
    // 401: already revoked.
    leave: (_account, call) => call({ path: '/v2/user/access', method: 'DELETE' }),
  }),
  map,
  brings,
  streams,
  objects,
  workouts,
}

async function identify(_tokens: unknown, call: Call) {
  const answer = await call({ path: '/v2/user/profile/basic' })
  const id = valueAt(answer.json, 'user_id')
  if (!Number.isSafeInteger(id) && typeof id !== 'string') {
    throw new Error(`WHOOP did not name the account (status ${answer.status})`)
  }
  return { id: String(id), username: textAt(answer.json, 'email') ?? null, zone: null }
}

/**
 * `X-RateLimit-Limit: 100, 100;window=60, 10000;window=86400` with what remains, and for how many seconds, of the window
 * whose limit comes first.
 */
function readBudget({ headers }: Answer): BudgetReading[] {
  const [first, ...windows] = (headers['x-ratelimit-limit'] ?? '').split(',')
  return windows.flatMap((text) => {
    const [, limit, seconds] = /^\s*(\d{1,9})\s*;\s*window=(\d{1,9})\s*$/.exec(text) ?? []
    if (limit === undefined || seconds === undefined) return []
    const reading = { per: 'application' as const, seconds: Number(seconds), limit: Number(limit) }
    if (limit !== first?.trim()) return [reading]
    const remaining = numberIn(headers, 'x-ratelimit-remaining')
    const resetSeconds = numberIn(headers, 'x-ratelimit-reset')
    return [
      {
        ...reading,
        ...(remaining !== undefined && { remaining }),
        ...(resetSeconds !== undefined && { resetSeconds }),
      },
    ]
  })
}
