import { textAt } from '../answers.ts'
import type { Answer, Call, OAuth, Provider, Request, Tokens } from '../provider.ts'
import { backfill, REFUSED_SECONDS } from './backfill.ts'
import { brings } from './brings.ts'
import { map } from './mapping.ts'
import { scopeOf } from './notices.ts'
import { objects, streams } from './streams.ts'

export { notices } from './notices.ts'

const oauth: OAuth = {
  authorizeUrl: 'https://connect.garmin.com/oauth2Confirm',
  tokenUrl: 'https://diauth.garmin.com/di-oauth2-service/oauth/token',
  client: 'body',
  pkce: true,
  // What an application may have is set at Garmin, and chosen by people on the page of the consent.
  scopes: [],
  separator: ' ',
  // It ends after 90 days; notices alone never use it.
  refresh: { rotates: true, idleDays: 30 },
  identify,
  leave: (_account, call) => ofUser(call, 'registration', { method: 'DELETE' }),
}

/** Garmin's Health, Activity and Women's Health APIs. */
export const cloud: Provider = {
  id: 'garmin',
  api: {
    url: 'https://apis.garmin.com',
    // Of our own: Garmin publishes none, and clients of others are refused at 100 a minute.
    budgets: [{ per: 'application', seconds: 60, limit: 60, aligned: false }],
    judge: ({ status, headers }) =>
      status === 429 && !headers['retry-after'] ? { later: true, afterSeconds: REFUSED_SECONDS } : undefined,
  },
  oauth: () => oauth,
  map,
  brings,
  streams,
  objects,
  backfill,
}

/** What concerns the account; some applications have it at another place. */
async function ofUser(call: Call, what: string, more: Partial<Request> = {}): Promise<Answer> {
  const answer = await call({ ...more, path: `/wellness-api/rest/user/${what}` })
  return answer.status === 404 ? call({ ...more, path: `/partner-gateway/rest/user/${what}` }) : answer
}

/** The account, and what its person permits: the scope of the tokens says nothing of that. */
async function identify(_tokens: Tokens, call: Call) {
  const { status, json } = await ofUser(call, 'id')
  const id = textAt(json, 'userId') ?? ''
  if (!/^[\w-]{1,100}$/.test(id)) throw new Error(`Garmin did not name the account (status ${status})`)
  return { id, username: null, zone: null, scope: await permissionsOf(call) }
}

/** Null: not known, which costs nothing but a refusal of what is not permitted. */
async function permissionsOf(call: Call): Promise<string | null> {
  const answer = await ofUser(call, 'permissions').catch(() => undefined)
  const json = answer?.json as { permissions?: unknown } | unknown[] | null | undefined
  const listed = Array.isArray(json) ? json : json?.permissions
  return Array.isArray(listed) ? scopeOf(listed) : null
}
