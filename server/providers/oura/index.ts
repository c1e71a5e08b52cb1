import { numberIn, textAt } from '../answers.ts'
import type { Account, Answer, Call, OAuth, Provider } from '../provider.ts'
import { brings } from './brings.ts'
import { map } from './mapping.ts'
import { objects, streams, workouts } from './streams.ts'

export { notices } from './notices.ts'

const DAY_S = 86_400

/**
 * The two sign-in services (docs/providers.md). `moi` serves nearly all applications; one that was made before it may
 * need the old one: OURA_AUTH_HOST=legacy. A refused exchange spends the code, so never both with one code.
 */
const issuers = {
  moi: {
    authorizeUrl: 'https://moi.ouraring.com/oauth/v2/ext/oauth-authorize',
    tokenUrl: 'https://moi.ouraring.com/oauth/v2/ext/oauth-token',
    scopePrefix: 'extapi:',
  },
  legacy: {
    authorizeUrl: 'https://cloud.ouraring.com/oauth/authorize',
    tokenUrl: 'https://api.ouraring.com/oauth/token',
    scopePrefix: '',
  },
} as const

/** One of these is required, since `personal` alone has only weight and height. */
const data = ['daily', 'heartrate', 'workout', 'spo2', 'stress', 'heart_health']

const dataWords = 'at least one of daily summaries, heart rate, workouts, blood oxygen, stress and heart health'

/** The legacy service does not know the newer names. */
const newer = new Set(['stress', 'heart_health'])

/** Oura's API v2. */
export const cloud: Provider = {
  id: 'oura',
  settings: ['AUTH_HOST'],
  settingProblem: (_, value) => (Object.hasOwn(issuers, value) ? undefined : 'must be one of moi, legacy'),
  api: {
    url: 'https://api.ouraring.com',
    budgets: [
      { per: 'application', seconds: 300, limit: 5_000, aligned: false },
      { per: 'account', seconds: 300, limit: 5_000, aligned: false },
    ],
    readBudget,
    // 426: the person's app is too old for this data; other data still comes.
    judge: ({ status }) => (status === 426 ? 'denied' : undefined),
  },
  oauth(settings, issuer): OAuth {
    const name = (issuer ?? settings.more.AUTH_HOST) === 'legacy' ? 'legacy' : 'moi'
    const { scopePrefix, ...urls } = issuers[name]
    const names = ['personal', ...data].filter((scope) => name === 'moi' || !newer.has(scope))
    return {
      ...urls,
      issuer: name,
      client: 'body',
      pkce: false,
      scopes: names.map((scope) => scopePrefix + scope),
      separator: ' ',
      // Grants of the legacy service came back with the prefix as well.
      scopePrefix: issuers.moi.scopePrefix,
      needs: [{ anyOf: data, words: dataWords }],
      // Its legacy host also answers `invalid_request` to every token of a client that it does not know.
      refresh: { rotates: true },
      identify,
      leave: (account, call) => leave(account, call, name),
    }
  },
  map,
  brings,
  streams,
  objects,
  workouts,
}

/** Every token can read the id, which notifications have, too. */
async function identify(_tokens: unknown, call: Call) {
  const answer = await call({ path: '/v2/usercollection/personal_info' })
  const id = textAt(answer.json, 'id')
  if (!id) throw new Error(`Oura did not name the account (status ${answer.status})`)
  return { id, username: null, zone: null }
}

/** Ends the grant: RFC 7009 beside the token URL; the legacy service has a parameter, and once only knew GET. */
async function leave(_account: Account, call: Call, issuer: keyof typeof issuers): Promise<Answer> {
  if (issuer === 'moi') {
    const { clientId, clientSecret } = call.settings
    return call({
      path: new URL('oauth-revoke', call.tokenUrl).href,
      method: 'POST',
      token: { in: 'form', name: 'token' },
      form: { token_type_hint: 'access_token', client_id: clientId, client_secret: clientSecret },
    })
  }
  const request = {
    path: new URL('revoke', call.tokenUrl).href,
    token: { in: 'query', name: 'access_token' },
  } as const
  const answer = await call({ ...request, method: 'POST' })
  return answer.status === 405 ? call(request) : answer
}

/** The headers of a 429 name the limit that refused it; other answers have no such headers. */
function readBudget({ headers }: Answer) {
  const tier = headers['x-ratelimit-tier']
  if (!tier) return []
  const limit = numberIn(headers, 'x-ratelimit-limit')
  const resetSeconds = numberIn(headers, 'retry-after')
  return [
    {
      per: /app|client/i.test(tier) ? ('application' as const) : ('account' as const),
      seconds: 300,
      remaining: 0,
      ...(limit !== undefined && { limit }),
      ...(resetSeconds !== undefined && resetSeconds <= DAY_S && { resetSeconds }),
    },
  ]
}
