import { setTimeout as delay } from 'node:timers/promises'
import type { Transaction } from '../db/database.ts'
import { type AppError, errors } from '../errors.ts'
import type { OAuthClient } from '../provider-client/clients.ts'
import { NoAnswer } from '../provider-client/http.ts'
import type { OAuth, Tokens } from '../providers/provider.ts'
import { CannotOpen } from '../vault.ts'
import { endGrant } from './disconnect.ts'
import { openToken, type StoredTokens } from './grants.ts'
import { askedOf, type OAuthParts } from './parts.ts'
import { isOver, type Pause, pauseUnreadable } from './pauses.ts'
import { onRefusal, onTrouble } from './refresh-outcomes.ts'
import { saveRefreshed } from './refreshed.ts'
import { requestTokens, type TokenAnswer } from './token-request.ts'

// Access tokens of grants, refreshed by one caller at a time over all processes: most providers replace the refresh
// token, and the second of two that use the same one loses the grant. Whoever refreshes holds the row for 45 s without a
// transaction; whether its pair of tokens is stored is decided by the version that it read alone, since a process that
// was overtaken while it slept may have the only pair that works.

/** An access token, and the version of the grant that it is of. */
export interface AccessToken {
  readonly token: string
  readonly version: number
}

/** Access tokens of the grants of this process. */
export interface AccessTokens {
  /** A token that is valid for five minutes, or for as long as it can be had. @throws AppError */
  access(grantId: string): Promise<AccessToken>
  /** A newer token than that version: the provider refused it, or it ends soon. @throws AppError */
  renew(grantId: string, version: number): Promise<AccessToken>
  /** Resolves when no refresh is under way and what they brought is stored. */
  idle(): Promise<void>
  /** Begins no further refresh, since the process ends: a token that works is used to its end. Then as `idle`. */
  stop(): Promise<void>
  /** Whether it was stopped. */
  stopping(): boolean
}

/** How long before its end a token is replaced, and until when it is used meanwhile. */
const FRESH_SECONDS = 300
const USABLE_SECONDS = 30
/** Longer than a token request, so that a holder who still lives is hardly ever overtaken. */
const HOLD_SECONDS = 45
/** How long a caller waits for somebody else's refresh, and how often it looks. */
const WAIT_MS = 35_000
/** When it is tried again after this process has stopped. */
const STOPPED_MS = 1_000
const LOOK_MS: readonly number[] = [20, 40, 80, 100]

/** A grant as refreshing sees it. */
interface GrantRow extends StoredTokens, Pause {
  provider: string
  issuer: string | null
  state: 'live' | 'ended'
  /** How long the access token is valid; null: not known. */
  left_seconds: number | null
  /** Whether somebody holds it; somebody did, and never reported. */
  held: boolean
  lost: boolean
  /** Epoch milliseconds; not refreshed before then. */
  due_ms: number | null
  refresh_doubt: number
  refusals: number
}

const GRANT_SQL = `
  select id, provider, issuer, state, key_id, access, refresh, version, refresh_doubt, refusals,
         pause_error, pause_settings,
         date_part('epoch', access_until - now()) as left_seconds,
         coalesce(refresh_held_until > now(), false) as held,
         coalesce(refresh_held_until <= now(), false) as lost,
         case when refresh_due_at > now() then date_part('epoch', refresh_due_at) * 1000 end as due_ms
  from provider_grant
  where id = $1
  for update`

/** What a look at a grant leads to: a token, a refresh by this caller, or another look. */
type Look = { token: AccessToken } | { failure: AppError } | { refresh: Held } | 'wait'

/** A grant that this caller refreshes. */
export interface Held {
  readonly grant: GrantRow
  readonly refreshToken: string
}

/** Opens access to the tokens of grants. */
export function openAccessTokens(parts: OAuthParts): AccessTokens {
  // Callers of a grant in this process share one look.
  const running = new Map<string, Promise<AccessToken>>()
  const unsaved = new Set<Promise<unknown>>()
  let stopped = false
  const shared = (key: string, work: () => Promise<AccessToken>): Promise<AccessToken> => {
    const known = running.get(key)
    if (known) return known
    const started = work().finally(() => running.delete(key))
    running.set(key, started)
    return started
  }
  const keep = (work: Promise<unknown>) => {
    const settled = work.catch(() => {}).finally(() => unsaved.delete(settled))
    unsaved.add(settled)
  }
  const wish = (refused: number | null): Wish => ({ refused, stopping: () => stopped, keep })
  const idle = async () => {
    while (running.size + unsaved.size > 0) await Promise.allSettled([...running.values(), ...unsaved])
  }
  return {
    access: (grantId) => shared(grantId, () => obtain(parts, grantId, wish(null))),
    renew: (grantId, version) => shared(`${grantId} ${version}`, () => obtain(parts, grantId, wish(version))),
    idle,
    stop() {
      stopped = true
      return idle()
    },
    stopping: () => stopped,
  }
}

/** What a caller asks for. */
interface Wish {
  /** The version whose token is not good enough; null: any that is fresh is. */
  readonly refused: number | null
  /** Whether no refresh may begin any more. */
  stopping(): boolean
  /** Notes what is not stored yet. */
  keep(work: Promise<unknown>): void
}

async function obtain(parts: OAuthParts, grantId: string, wish: Wish): Promise<AccessToken> {
  const deadline = Date.now() + WAIT_MS
  for (let looks = 0; ; looks += 1) {
    const look = await parts.db.transaction((tx) => lookAt(tx, parts, grantId, wish))
    if (look === 'wait') {
      if (wish.stopping()) throw stoppedError()
      if (Date.now() > deadline) throw errors.refreshFailed('it takes too long', Date.now() + WAIT_MS)
      await delay(LOOK_MS[Math.min(looks, LOOK_MS.length - 1)])
    } else if ('token' in look) return look.token
    else if ('failure' in look) throw look.failure
    else {
      const token = await refresh(parts, look.refresh, wish.keep)
      if (token) return token
    }
  }
}

async function lookAt(tx: Transaction, parts: OAuthParts, grantId: string, { refused, stopping }: Wish): Promise<Look> {
  const [grant] = await tx.query<GrantRow>(GRANT_SQL, [grantId])
  if (!grant) return { failure: errors.missing('The connection has ended') }
  const { provider, version } = grant
  if (grant.state === 'ended') return { failure: errors.authorizationExpired(provider) }
  const access = opened(parts, grant, 'access')
  const refreshToken = opened(parts, grant, 'refresh')
  // It may be anything: connections are not ended for that.
  if (access === UNREADABLE || refreshToken === UNREADABLE) return { failure: await pauseUnreadable(tx, parts, grant) }
  const left = grant.left_seconds ?? Number.POSITIVE_INFINITY
  const good = access !== null && version !== refused
  const tokenIf = (condition: boolean) => (good && condition ? { token: { token: access, version } } : undefined)
  const fresh = tokenIf(left > FRESH_SECONDS)
  if (fresh) return fresh
  const client = parts.clients.get(provider)
  if (!client) return tokenIf(left > 0) ?? { failure: errors.notConfigured(provider) }
  const isRenewed = client.oauth(grant.issuer).refresh !== null
  if (!isRenewed || refreshToken === null) {
    const usable = tokenIf(left > 0)
    if (usable) return usable
    if (!isRenewed && left > 0) return { failure: await onLastWord(tx, parts, grant) }
    return { failure: await cannotRefresh(tx, parts, grant, left > 0) }
  }
  if (grant.held) return tokenIf(left > USABLE_SECONDS) ?? 'wait'
  if (grant.due_ms !== null && !isOver(parts, provider, grant)) {
    return tokenIf(left > 0) ?? { failure: notDue(grant, grant.due_ms) }
  }
  if (stopping()) return tokenIf(left > 0) ?? { failure: stoppedError() }
  return { refresh: await hold(tx, grant, refreshToken) }
}

/** The next process, or another one, refreshes it. */
const stoppedError = () => errors.refreshFailed('this process is stopping', Date.now() + STOPPED_MS)

const LATER = 'the last attempt failed; it will be tried again'

function notDue({ provider, pause_error: paused, refusals }: GrantRow, dueMs: number): AppError {
  if (paused !== null) return errors.refreshRefused(provider, paused, dueMs)
  return refusals > 0 ? errors.accessDoubted(provider, dueMs) : errors.refreshFailed(LATER, dueMs)
}

/** A token that was refused before its end is the provider's last word; one that is over ends the connections. */
async function cannotRefresh(
  tx: Transaction,
  { settings, metrics, log }: OAuthParts,
  { id, provider }: GrantRow,
  wasRefused: boolean,
): Promise<AppError> {
  if (wasRefused) return errors.tokenRefused(provider)
  await endGrant(tx, settings, id, { status: 'expired', reason: 'refresh_failed' })
  metrics.tokenRefreshes.labels(provider, 'expired').inc()
  log.warn({ provider, grant: id }, 'a grant has expired, and cannot be refreshed')
  return errors.noRefreshToken(provider)
}

// A refusal counts for a quarter of an hour, since answers in between that are none are not noted.
const LAST_WORD_SQL = `
  update provider_grant g
  set refused_at = case when b.refused_at > now() - interval '15 minutes' then b.refused_at else now() end
  from (select id, refused_at from provider_grant where id = $1) b
  where g.id = b.id
  returning coalesce(b.refused_at between now() - interval '15 minutes' and now() - interval '50 seconds', false) as confirmed`

const LAST_WORD_MS = 60_000

/**
 * The token of a provider that renews none was refused before its end: the person has left there. Ends the connections
 * once another refusal, a minute later, confirms it.
 */
async function onLastWord(
  tx: Transaction,
  { settings, metrics, log }: OAuthParts,
  { id, provider }: GrantRow,
): Promise<AppError> {
  const { confirmed } = await tx.one<{ confirmed: boolean }>(LAST_WORD_SQL, [id])
  metrics.tokenRefreshes.labels(provider, confirmed ? 'revoked' : 'refused').inc()
  log.warn({ provider, grant: id, revoked: confirmed }, 'a token that cannot be renewed was refused')
  if (!confirmed) return errors.accessDoubted(provider, Date.now() + LAST_WORD_MS)
  await endGrant(tx, settings, id, { status: 'revoked', reason: 'deregistration' })
  return errors.authorizationExpired(provider)
}

const UNREADABLE = Symbol('no key opens it')

/** A token that no key opens stays as it is: it works again once the right key is back. */
function opened(
  { vault, log, metrics }: OAuthParts,
  grant: GrantRow,
  column: 'access' | 'refresh',
): string | null | typeof UNREADABLE {
  try {
    return openToken(vault, grant, column)
  } catch (error) {
    if (!(error instanceof CannotOpen)) throw error
    metrics.tokenRefreshes.labels(grant.provider, 'unreadable').inc()
    log.error({ err: error, provider: grant.provider, grant: grant.id }, 'a token cannot be read')
    return UNREADABLE
  }
}

/** A former holder that never reported may have used the refresh token up. */
async function hold(tx: Transaction, grant: GrantRow, refreshToken: string): Promise<Held> {
  const doubt = grant.refresh_doubt + (grant.lost ? 1 : 0)
  await tx.query(
    `update provider_grant
     set refresh_held_until = now() + make_interval(secs => ${HOLD_SECONDS}), refresh_doubt = $2
     where id = $1`,
    [grant.id, doubt],
  )
  return { grant: { ...grant, refresh_doubt: doubt }, refreshToken }
}

/** Refreshes a held grant. Returns the new token; undefined: look again. @throws AppError */
async function refresh(
  parts: OAuthParts,
  held: Held,
  keep: (work: Promise<unknown>) => void,
): Promise<AccessToken | undefined> {
  const { grant, refreshToken } = held
  const client = parts.clients.get(grant.provider)
  if (!client) throw new Error(`${grant.provider} is not configured`)
  const oauth = client.oauth(grant.issuer)
  const answer = await ask(parts, client, oauth, refreshToken)
  if (answer instanceof NoAnswer) return onTrouble(parts, grant, { text: answer.message, lost: answer.sent })
  if (answer.kind === 'later') return onTrouble(parts, grant, { ...answer, lost: false })
  if (answer.kind === 'refusal') return onRefusal(parts, grant, answer, oauth.refresh?.deadErrors ?? [])
  // Providers that keep the refresh token do not repeat it.
  const tokens: Tokens = { ...answer.tokens, refresh: answer.tokens.refresh ?? refreshToken }
  const saving = saveRefreshed(parts, grant, tokens)
  keep(saving.stored)
  if (!(await saving.soon)) return undefined
  parts.metrics.tokenRefreshes.labels(grant.provider, 'refreshed').inc()
  return { token: tokens.access, version: grant.version + 1 }
}

async function ask(
  parts: OAuthParts,
  client: OAuthClient,
  oauth: OAuth,
  refreshToken: string,
): Promise<TokenAnswer | NoAnswer> {
  const form = { grant_type: 'refresh_token', refresh_token: refreshToken, ...oauth.refresh?.form }
  try {
    return await requestTokens({ http: parts.http, client, oauth, form, asked: askedOf(parts) })
  } catch (error) {
    if (error instanceof NoAnswer) return error
    throw error
  }
}
