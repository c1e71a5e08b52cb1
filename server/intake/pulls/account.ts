import { errors } from '../../errors.ts'
import { askedOf, type OAuthParts } from '../../oauth/parts.ts'
import type { AccessToken, AccessTokens } from '../../oauth/refresh.ts'
import { callOf, excerpt } from '../../provider-client/call.ts'
import type { OAuthClient } from '../../provider-client/clients.ts'
import type { Received } from '../../provider-client/http.ts'
import type { BudgetReading, Request } from '../../providers/provider.ts'
import { closeBudget, type Lane, type Payer, takePermit } from './budget.ts'
import { verdictOf } from './verdicts.ts'

/** What asking an account at a provider works with. */
export interface AccountMeans {
  readonly parts: OAuthParts
  readonly tokens: AccessTokens
}

/** A grant, as far as asking goes. */
export interface GrantRef {
  readonly id: string
  readonly provider: string
  readonly issuer: string | null
}

/** An account at a provider that can be asked. */
export interface Account {
  readonly client: OAuthClient
  /**
   * Makes a request with a permit and the account's token; one that is refused is replaced, at most once an hour.
   * `lane`: for whom; by default for somebody who waits.
   * @throws BudgetClosed, NoAnswer, ForbiddenAddress, and AppError when there is no token
   */
  ask(request: Request, lane?: Lane): Promise<Received>
  /** The beginning of a text, at most 2,000 characters, without the secrets that were sent. */
  excerpt(text: string): string
}

/** What a provider said of its budgets counts for so long: its window may end. */
const HEARD_MS = 2_000

/** A token lives for five minutes at least when it is looked up. */
const TOKEN_MS = 60_000

const RENEW_SQL = `
  update provider_grant set renewed_at = now()
  where id = $1 and coalesce(renewed_at, '-infinity') < now() - interval '1 hour'
  returning id`

/** Opens an account for asking. @throws AppError not_configured */
export function openAccount({ parts, tokens }: AccountMeans, grant: GrantRef): Account {
  const configured = parts.clients.get(grant.provider)
  if (!configured) throw errors.notConfigured(grant.provider)
  const client: OAuthClient = configured
  const oauth = client.oauth(grant.issuer)
  const { api } = client.provider
  const readingsOf = (answer: Received) => api.readBudget?.(answer) ?? []
  let known: { access: AccessToken; atMs: number } | undefined
  let sent: string | null = null
  let heard: { readings: readonly BudgetReading[]; atMs: number } = { readings: [], atMs: 0 }

  /** Looked up once for the requests of a turn, since each look locks the grant. */
  async function tokenFor(): Promise<AccessToken> {
    if (!known || Date.now() - known.atMs > TOKEN_MS)
      known = { access: await tokens.access(grant.id), atMs: Date.now() }
    return known.access
  }

  async function askWith(token: string, request: Request, payer: Payer): Promise<Received> {
    sent = token
    const permit = () => takePermit(parts.db, payer, Date.now() - heard.atMs < HEARD_MS ? heard.readings : [])
    const call = callOf({ http: parts.http, client, oauth, token, permit, asked: askedOf(parts) })
    const answer = await call(request)
    // One that refuses says when to come back, not what is used.
    heard = { readings: answer.status === 429 ? [] : readingsOf(answer), atMs: Date.now() }
    return answer
  }

  return {
    client,
    excerpt: (text) => excerpt(text, [sent, client.settings.clientSecret]),
    async ask(request, lane = 'asked') {
      const payer: Payer = { client, grantId: grant.id, lane }
      let access = await tokenFor()
      let answer = await askWith(access.token, request, payer)
      // At most one that was replaced meanwhile, and one that is renewed.
      for (let tries = 0; tries < 2 && verdictOf(api, answer) === 'auth'; tries += 1) {
        const other = await insteadOf({ parts, tokens }, grant.id, access)
        if (!other) break
        known = { access: other, atMs: Date.now() }
        access = other
        answer = await askWith(access.token, request, payer)
      }
      const verdict = verdictOf(api, answer)
      if (typeof verdict === 'object' && answer.status === 429)
        await closeBudget(parts.db, payer, { afterSeconds: verdict.afterSeconds, readings: readingsOf(answer) })
      return answer
    },
  }
}

/** A token to use in place of one that was refused; undefined: that one is the last, and was renewed within the hour. */
async function insteadOf(
  { parts, tokens }: AccountMeans,
  grantId: string,
  refused: AccessToken,
): Promise<AccessToken | undefined> {
  // Another process may have refreshed it, which ends the one that is known here.
  const last = await tokens.access(grantId)
  if (last.version !== refused.version) return last
  const mayRenew = (await parts.db.query(RENEW_SQL, [grantId])).length > 0
  return mayRenew ? tokens.renew(grantId, refused.version) : undefined
}
