import { listAt, numberIn, textAt } from '../answers.ts'
import { basicCredentials } from '../basic-credentials.ts'
import type { Account, Answer, BudgetReading, Call, OAuth, Provider, Tokens } from '../provider.ts'
import { brings } from './brings.ts'
import { map } from './mapping.ts'
import { zoneIn } from './profile.ts'
import { streams, workouts } from './streams.ts'

const HOUR_S = 3_600

const oauth: OAuth = {
  authorizeUrl: 'https://www.fitbit.com/oauth2/authorize',
  tokenUrl: 'https://api.fitbit.com/oauth2/token',
  client: 'basic',
  pkce: true,
  scopes: [
    'activity',
    'heartrate',
    'sleep',
    'profile',
    'weight',
    'oxygen_saturation',
    'respiratory_rate',
    'temperature',
    'cardio_fitness',
  ],
  separator: ' ',
  needs: [
    {
      anyOf: ['activity', 'heartrate', 'sleep', 'weight'],
      words: 'at least one of activity, heart rate, sleep and weight',
    },
  ],
  // The sign-in ended together with the API.
  refresh: { rotates: true, deadErrors: ['gone'] },
  errorIn: (refusal) => textAt(listAt(refusal, 'errors')[0], 'errorType') ?? null,
  identify,
  leave,
}

/** Fitbit's Web API, which ended on 2 November 2026. */
export const cloud: Provider = {
  id: 'fitbit',
  successor: 'google_health',
  api: {
    url: 'https://api.fitbit.com',
    // Windows begin with the hour.
    budgets: [{ per: 'account', seconds: HOUR_S, limit: 150, aligned: true }],
    readBudget,
    judge: ({ status }) => (status === 410 ? 'retired' : undefined),
  },
  oauth: () => oauth,
  map,
  brings,
  streams,
  workouts,
}

/** The tokens name the account; the profile says in which zone its times are. */
async function identify({ answer, scope }: Tokens, call: Call) {
  const id = textAt(answer, 'user_id') ?? ''
  if (!/^[A-Za-z0-9-]{1,60}$/.test(id)) throw new Error('Fitbit did not name the account')
  const hasProfile = scope === null || scope.split(' ').includes('profile')
  return { id, username: null, zone: hasProfile ? zoneIn((await call({ path: '/1/user/-/profile.json' })).json) : null }
}

/** Either token ends the grant. */
function leave(_account: Account, call: Call): Promise<Answer> {
  const headers = { authorization: basicCredentials(call.settings) }
  const path = new URL('revoke', call.tokenUrl).href
  return call({ path, method: 'POST', headers, form: {}, token: { in: 'form', name: 'token' } })
}

/** What is left until about the top of the hour. */
function readBudget({ headers }: Answer): BudgetReading[] {
  const [limit, remaining, seconds] = ['limit', 'remaining', 'reset'].map((name) =>
    numberIn(headers, `fitbit-rate-limit-${name}`),
  )
  if (limit === undefined || limit === 0) return []
  return [
    {
      ...{ per: 'account', seconds: HOUR_S, limit },
      ...(remaining !== undefined && { remaining: Math.min(remaining, limit) }),
      // Its figures are approximate.
      ...(seconds !== undefined && seconds <= HOUR_S && { resetSeconds: seconds + 5 }),
    },
  ]
}
