import { valueAt } from '../answers.ts'
import type { OAuth, Provider, Tokens } from '../provider.ts'
import { brings } from './brings.ts'
import { judge, openTokens, problem } from './envelope.ts'
import { leave } from './leave.ts'
import { map } from './mapping.ts'
import { INTRADAY, objects, streams, workouts } from './streams.ts'

export { notices } from './notices.ts'

const oauth: OAuth = {
  authorizeUrl: 'https://account.withings.com/oauth2_user/authorize2',
  tokenUrl: 'https://wbsapi.withings.net/v2/oauth2',
  client: 'body',
  pkce: false,
  scopes: ['user.info', 'user.metrics', 'user.activity'],
  separator: ',',
  needs: [
    {
      anyOf: ['user.metrics', 'user.activity'],
      words: 'at least one of measurements (user.metrics) and activity (user.activity)',
    },
  ],
  envelope: { form: { action: 'requesttoken' }, open: openTokens },
  // The former one works for 8 hours more, or until the new access token is used.
  refresh: { rotates: true },
  identify,
  leave,
}

/** Withings' public API. */
export const cloud: Provider = {
  id: 'withings',
  settings: [INTRADAY],
  settingProblem: (_name, value) => (/^(true|false)$/.test(value) ? undefined : 'must be true or false'),
  api: {
    url: 'https://wbsapi.withings.net',
    // 120 are accepted, and requests for tokens count, too; paid plans accept more.
    budgets: [{ per: 'application', seconds: 60, limit: 100, aligned: false, setting: 'REQUESTS_PER_MINUTE' }],
    judge,
    problem,
  },
  oauth: () => oauth,
  map,
  brings,
  streams,
  objects,
  workouts,
}

/** The tokens name the account, by a number or by its text. */
async function identify({ answer }: Tokens) {
  const id = valueAt(answer, 'userid')
  const text = Number.isSafeInteger(id) || typeof id === 'string' ? String(id) : ''
  if (!/^\d{1,20}$/.test(text)) throw new Error('Withings did not name the account')
  return { id: text, username: null, zone: null }
}
