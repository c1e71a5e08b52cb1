import type { Task } from 'graphile-worker'
import { callOf } from '../provider-client/call.ts'
import type { OAuthClient } from '../provider-client/clients.ts'
import { NoAnswer } from '../provider-client/http.ts'
import type { Identity, OAuth, Tokens } from '../providers/provider.ts'
import { CannotOpen } from '../vault.ts'
import { openToken } from './grants.ts'
import { askedOf, type OAuthParts } from './parts.ts'

/** What the job knows of a grant that was removed (disconnect.ts). */
interface Leaving {
  provider: string
  account_id: string | null
  username: string | null
  zone: string | null
  issuer: string | null
  grant_id: string
  version: number
  key_id: number
  /** Base64. */
  access: string
  until: string
  attempt: number
  /** Whether the provider was asked when the job was created. */
  asked?: true
}

/** How long a request to end a grant is remembered: longer than a consent takes from its code to its connection. */
const REMEMBERED_MS = 120_000

/** Seconds until a second and a third attempt; all are within the hour that the job lives. */
const AGAIN_SECONDS: readonly number[] = [300, 1800]

/**
 * The job that asks a provider to end a grant that nobody uses any more: best effort, three attempts within an hour. It
 * does not ask while the account has a new consent, which the request could end. A consent that is not stored yet notices
 * the request by the job that stays under its key for a while: the next attempt, or `left`, which does nothing (connect.ts).
 */
export const leaveTask =
  (parts: OAuthParts): Task =>
  async (payload, { job, addJob }) => {
    const leaving = payload as Leaving
    if (Date.parse(leaving.until) < Date.now() || (await hasLiveGrant(parts, leaving))) return
    const failure = await leave(parts, leaving)
    if (job.key === null) return
    const { provider, grant_id: grant, attempt } = leaving
    const seconds = failure === undefined ? undefined : AGAIN_SECONDS[attempt - 1]
    if (failure !== undefined) parts.log.warn({ provider, grant, attempt, failure }, 'a provider did not end a grant')
    const next = { ...leaving, asked: true, attempt: attempt + 1 } satisfies Leaving
    const runAt = new Date(Date.now() + (seconds === undefined ? REMEMBERED_MS : seconds * 1000))
    const options = { jobKey: job.key, queueName: `leave:${provider}`, maxAttempts: job.max_attempts, runAt }
    await (seconds === undefined ? addJob('left', { asked: true }, options) : addJob('leave', next, options))
  }

async function hasLiveGrant(
  { db }: OAuthParts,
  { provider, account_id }: Pick<Leaving, 'provider' | 'account_id'>,
): Promise<boolean> {
  const [live] = await db.query(
    `select from provider_grant where provider = $1 and account_id = $2 and state = 'live'`,
    [provider, account_id],
  )
  return live !== undefined
}

/** Returns why the provider must be asked again; undefined: the grant has ended, or we cannot end it. */
async function leave(parts: OAuthParts, leaving: Leaving): Promise<string | undefined> {
  const { vault, http, clients, log } = parts
  const { provider, grant_id: id, version, key_id, username, zone, issuer } = leaving
  const client = clients.get(provider)
  const oauth = client?.oauth(issuer)
  if (!client || !oauth?.leave) return undefined
  try {
    const stored = { id, version, key_id, access: Buffer.from(leaving.access, 'base64'), refresh: null }
    const token = openToken(vault, stored, 'access')
    const call = callOf({ http, client, oauth, token, asked: askedOf(parts) })
    const { status } = await oauth.leave({ id: leaving.account_id, username, zone, ref: id }, call)
    // 401, 404 and 410: the grant has already ended.
    return (status >= 200 && status < 300) || [401, 404, 410].includes(status) ? undefined : `status ${status}`
  } catch (error) {
    if (error instanceof NoAnswer) return error.message
    log.warn({ err: error, provider, grant: id }, 'a grant cannot be ended at its provider')
    // No key opens the token, and waiting will not help.
    return error instanceof CannotOpen ? undefined : 'failed'
  }
}

/** A consent that is not stored. */
interface Unwanted {
  client: OAuthClient
  oauth: OAuth
  tokens: Tokens
  account: Identity
}

/**
 * Asks a provider once to end a consent that is not stored, unless the account has a live grant: that could end, too.
 * Best effort: what the provider answers changes nothing.
 */
export async function leaveAtOnce(parts: OAuthParts, { client, oauth, tokens, account }: Unwanted): Promise<void> {
  if (!oauth.leave || account.id === null) return
  const live = hasLiveGrant(parts, { provider: client.id, account_id: account.id })
  // Without an answer from the database, leave it alone.
  if (await live.catch(() => true)) return
  const call = callOf({ http: parts.http, client, oauth, token: tokens.access, asked: askedOf(parts) })
  await oauth.leave({ ...account, ref: '' }, call).catch((error: unknown) => {
    parts.log.warn({ err: error, provider: client.id }, 'a consent that was not stored cannot be ended')
  })
}
