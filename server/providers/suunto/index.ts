import { textAt, valueAt } from '../answers.ts'
import type { Answer, OAuth, Provider, Tokens, Verdict } from '../provider.ts'
import { brings } from './brings.ts'
import { map } from './mapping.ts'
import { objects, streams, workouts } from './streams.ts'

export { notices } from './notices.ts'

const oauth: OAuth = {
  authorizeUrl: 'https://cloudapi-oauth.suunto.com/oauth/authorize',
  tokenUrl: 'https://cloudapi-oauth.suunto.com/oauth/token',
  client: 'basic',
  pkce: false,
  scopes: [],
  separator: ' ',
  // How long a refresh token lives is not said; others count on 180 days.
  refresh: { rotates: false, idleDays: 60 },
  identify,
  leave: (_account, call) =>
    call({ path: new URL('deauthorize', call.tokenUrl).href, query: { client_id: call.settings.clientId } }),
}

const WEEK_S = 604_800
const UNSET = { per: 'application', limit: Number.POSITIVE_INFINITY, aligned: false } as const

/** Suunto's Cloud API. */
export const cloud: Provider = {
  id: 'suunto',
  settings: ['SUBSCRIPTION_KEY'],
  api: {
    url: 'https://cloudapi.suunto.com',
    // The first is of our own: Suunto publishes none. Keys of developers are said to have 10 in a minute, 200 in a week.
    budgets: [
      { per: 'application', seconds: 1, limit: 1, aligned: false, setting: 'REQUESTS_PER_SECOND' },
      { ...UNSET, seconds: 60, setting: 'REQUESTS_PER_MINUTE' },
      { ...UNSET, seconds: WEEK_S, setting: 'REQUESTS_PER_WEEK' },
    ],
    headers: ({ more }) =>
      more.SUBSCRIPTION_KEY === undefined ? {} : { 'ocp-apim-subscription-key': more.SUBSCRIPTION_KEY },
    judge,
  },
  oauth: () => oauth,
  map,
  brings,
  streams,
  objects,
  workouts,
}

/** Notices name people by their user name, which so is the id of the account. */
async function identify({ access, answer }: Tokens) {
  const username = textAt(answer, 'user') ?? textAt(claimsOf(access), 'user')
  if (username === undefined) throw new Error('Suunto did not name the account')
  return { id: username, username, zone: null }
}

/** What a token says, which its issuer has just given us. */
function claimsOf(token: string): unknown {
  try {
    return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'))
  } catch {
    return undefined
  }
}

/** A quota that is used up is refused as if it were forbidden; when there will be more stands in the text. */
function judge({ status, headers, json }: Answer): Verdict | undefined {
  const said = textAt(json, 'message') ?? ''
  if (status === 403 && /quota/i.test(said)) return { later: true, afterSeconds: durationIn(said) }
  if (status === 429 && !headers['retry-after']) return { later: true, afterSeconds: secondsIn(said) }
  const error = status === 200 ? valueAt(json, 'error') : undefined
  if (error === undefined || error === null) return undefined
  return textAt(error, 'code') === 'NOT_FOUND' ? 'missing' : 'wrong'
}

/** `01:02:03`, perhaps with days before it. */
function durationIn(text: string): number | null {
  const [, days = '0', hours, minutes, seconds] = /(?:(\d{1,3})\.)?(\d{1,3}):(\d{2}):(\d{2})/.exec(text) ?? []
  if (hours === undefined) return null
  return ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds)
}

function secondsIn(text: string): number | null {
  const [, seconds] = /(\d{1,6}) seconds?/.exec(text) ?? []
  return seconds === undefined ? null : Number(seconds)
}
