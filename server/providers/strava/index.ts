import { listAt, textAt, valueAt } from '../answers.ts'
import { basicCredentials } from '../basic-credentials.ts'
import type { Answer, BudgetReading, Call, OAuth, Provider, Tokens, Verdict } from '../provider.ts'
import { brings } from './brings.ts'
import { map } from './mapping.ts'
import { idOf, objects, streams, workouts } from './streams.ts'

export { notices } from './notices.ts'

const QUARTER_S = 900
const DAY_S = 86_400

const oauth: OAuth = {
  authorizeUrl: 'https://www.strava.com/oauth/authorize',
  tokenUrl: 'https://www.strava.com/oauth/token',
  client: 'body',
  pkce: false,
  scopes: ['activity:read_all', 'profile:read_all'],
  separator: ',',
  // With the first alone, what only the person may see stays unseen.
  needs: [{ anyOf: ['activity:read', 'activity:read_all'], words: 'it to show your activities' }],
  refresh: { rotates: true },
  errorIn,
  identify,
  // 401: it has ended already. It ends every token of the application for the athlete.
  leave: (_account, call) =>
    call({
      path: new URL('revoke', call.tokenUrl).href,
      method: 'POST',
      headers: { authorization: basicCredentials(call.settings) },
      token: { in: 'form', name: 'token' },
      form: { token_type_hint: 'access_token' },
    }),
}

/** Strava's API v3. */
export const cloud: Provider = {
  id: 'strava',
  settings: ['WEBHOOK_SIGNING_SECRET', 'WEBHOOK_SIGNATURE_TOLERANCE_SECONDS'],
  settingProblem: (name, value) =>
    name === 'WEBHOOK_SIGNING_SECRET' || /^[1-9]\d{0,5}$/.test(value)
      ? undefined
      : 'must be a whole number from 1 to 999999',
  api: {
    url: 'https://www.strava.com/api/v3',
    // Of reading, which is all that is asked; what Strava allows an application stands in its answers.
    budgets: [
      { per: 'application', seconds: QUARTER_S, limit: 100, aligned: true },
      { per: 'application', seconds: DAY_S, limit: 1_000, aligned: true },
    ],
    readBudget,
    judge,
  },
  oauth: () => oauth,
  map,
  brings,
  streams,
  objects,
  workouts,
}

/** The athlete comes with the tokens of a code. */
async function identify(tokens: Tokens, call: Call) {
  const told = valueAt(tokens.answer, 'athlete')
  const answer = idOf(valueAt(told, 'id')) === undefined ? await call({ path: '/athlete' }) : undefined
  const athlete = answer ? answer.json : told
  const id = idOf(valueAt(athlete, 'id'))
  if (id === undefined) throw new Error(`Strava did not name the account (status ${answer?.status ?? 200})`)
  return { id, username: textAt(athlete, 'username') ?? null, zone: null }
}

/** Which field of the request was wrong: of the tokens, the grant is over; of the application, our settings are. */
function errorIn(refusal: unknown): string | null {
  const names = listAt(refusal, 'errors').map((one) =>
    `${textAt(one, 'resource')} ${textAt(one, 'field')}`.toLowerCase(),
  )
  if (names.some((name) => /application|client/.test(name))) return 'invalid_client'
  return names.some((name) => /refresh_?token|authorization_?code|\bcode\b/.test(name)) ? 'invalid_grant' : null
}

/** A scope that was not granted is refused as if the token were not valid. */
function judge({ status, json }: Answer): Verdict | undefined {
  if (status !== 401) return undefined
  const isMissing = (one: unknown) => textAt(one, 'code') === 'missing' || /permission/.test(textAt(one, 'field') ?? '')
  return listAt(json, 'errors').some(isMissing) ? 'denied' : undefined
}

/**
 * Pairs `100,1000` for a quarter of an hour and a day: what may be read and what was, and the same of all requests, of
 * which there are more; the fewest are left. Windows end with the quarter of the hour, and at midnight UTC.
 */
function readBudget({ headers }: Answer): BudgetReading[] {
  const [reads, read] = [pair(headers['x-readratelimit-limit']), pair(headers['x-readratelimit-usage'])]
  const [all, used] = [pair(headers['x-ratelimit-limit']), pair(headers['x-ratelimit-usage'])]
  const nowSeconds = Math.floor(Date.parse(headers.date ?? '') / 1000)
  return [QUARTER_S, DAY_S].flatMap((seconds, place): BudgetReading[] => {
    const limit = reads?.[place] ?? all?.[place]
    const left = [leftOf(reads, read, place), leftOf(all, used, place)].filter((one) => one !== undefined)
    if (limit === undefined || limit === 0) return []
    return [
      {
        ...{ per: 'application', seconds, limit },
        ...(left.length > 0 && { remaining: Math.max(0, Math.min(...left)) }),
        ...(Number.isFinite(nowSeconds) && { resetSeconds: seconds - (nowSeconds % seconds) }),
      },
    ]
  })
}

type Pair = readonly [quarter: number, day: number]

function pair(header: string | undefined): Pair | undefined {
  const [, quarter, day] = /^\s*(\d{1,9})\s*,\s*(\d{1,9})\s*$/.exec(header ?? '') ?? []
  return quarter === undefined ? undefined : [Number(quarter), Number(day)]
}

const leftOf = (limits: Pair | undefined, used: Pair | undefined, place: number) =>
  limits && used ? (limits[place] as number) - (used[place] as number) : undefined
