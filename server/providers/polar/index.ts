import { valueAt } from '../answers.ts'
import type { Account, Answer, BudgetReading, Call, OAuth, Provider, Tokens } from '../provider.ts'
import { brings } from './brings.ts'
import { map } from './mapping.ts'
import { objects, streams, workouts } from './streams.ts'

export { notices } from './notices.ts'

const QUARTER_S = 900
const DAY_S = 86_400

const oauth: OAuth = {
  authorizeUrl: 'https://flow.polar.com/oauth2/authorization',
  tokenUrl: 'https://polarremote.com/v2/oauth2/token',
  client: 'basic',
  pkce: false,
  scopes: ['accesslink.read_all'],
  separator: ' ',
  // An access token lasts ten years.
  refresh: null,
  identify,
  enrol,
  // It also ends the token.
  leave: ({ id }, call) => call({ path: `/v3/users/${encodeURIComponent(id ?? '')}`, method: 'DELETE' }),
}

/** Polar AccessLink v3. */
export const cloud: Provider = {
  id: 'polar',
  api: {
    url: 'https://www.polaraccesslink.com',
    budgets: [
      { per: 'application', seconds: QUARTER_S, limit: 500, perAccount: 20, aligned: false },
      { per: 'application', seconds: DAY_S, limit: 5_000, perAccount: 100, aligned: false },
    ],
    readBudget,
  },
  oauth: () => oauth,
  map,
  brings,
  streams,
  objects,
  workouts,
}

/** The tokens name the account. */
async function identify({ answer }: Tokens) {
  const id = valueAt(answer, 'x_user_id')
  const text = Number.isSafeInteger(id) || typeof id === 'string' ? String(id) : ''
  if (!/^\d{1,20}$/.test(text)) throw new Error('Polar did not name the account')
  return { id: text, username: null, zone: null }
}

/**
 * There is no data before an account is registered, under a name of ours, by which nobody else can be registered: 409
 * means that this account was.
 */
async function enrol({ ref }: Account, call: Call): Promise<string | undefined> {
  const { status } = await call({ path: '/v3/users', method: 'POST', json: { 'member-id': ref } })
  if (status === 200 || status === 201 || status === 409) return undefined
  if (status === 403) {
    return 'Polar wants you to accept its mandatory consents first, at https://account.polar.com. Then connect again.'
  }
  throw new Error(`Polar did not register the account (status ${status})`)
}

/** Pairs of numbers, for a quarter of an hour and for a day. */
function readBudget({ headers }: Answer): BudgetReading[] {
  const [limits, used, resets] = ['limit', 'usage', 'reset'].map((name) =>
    Array.from((headers[`ratelimit-${name}`] ?? '').matchAll(/\d{1,12}/g), ([digits]) => Number(digits)),
  ) as [number[], number[], number[]]
  return [QUARTER_S, DAY_S].flatMap((seconds, place): BudgetReading[] => {
    const [limit, usage, resetSeconds] = [limits[place], used[place], resets[place]]
    if (limit === undefined || limit === 0) return []
    return [
      {
        ...{ per: 'application', seconds, limit },
        ...(usage !== undefined && { remaining: Math.max(0, limit - usage) }),
        ...(resetSeconds !== undefined && resetSeconds <= seconds && { resetSeconds }),
      },
    ]
  })
}
