import { askedOf, type OAuthParts } from '../../oauth/parts.ts'
import { refusedClient } from '../../oauth/pauses.ts'
import type { AccessToken, AccessTokens } from '../../oauth/refresh.ts'
import { callOf, excerpt } from '../../provider-client/call.ts'
import { type OAuthClient, requireClient } from '../../provider-client/clients.ts'
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
  /**
   * Renews access, once, which shows that the person has not withdrawn it.
   * @throws AppError when there is no newer token: a confirmed refusal has ended the grant
   */
  prove(): Promise<void>
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

/** The tokens of an account, for requests of which some are made at the same time. */
class AccountTokens {
  readonly #means: AccountMeans
  readonly #grantId: string
  /** Whether tokens of this provider are refreshed. */
  readonly #renewable: boolean
  #known: { access: AccessToken; atMs: number } | undefined
  #looking: Promise<AccessToken> | undefined
  #renewing: Promise<AccessToken | undefined> | undefined

  constructor(means: AccountMeans, grantId: string, renewable: boolean) {
    this.#means = means
    this.#grantId = grantId
    this.#renewable = renewable
  }

  /** Looked up once for the requests of a turn, since each look locks the grant. */
  async last(): Promise<AccessToken> {
    if (this.#known && Date.now() - this.#known.atMs <= TOKEN_MS) return this.#known.access
    this.#looking ??= this.#means.tokens.access(this.#grantId).finally(() => {
      this.#looking = undefined
    })
    return this.#keep(await this.#looking)
  }

  /**
   * The token to use in place of one that was refused: requests made at the same time are refused together. Undefined: it is
   * the last one, and was renewed within the hour.
   */
  async insteadOf(refused: AccessToken): Promise<AccessToken | undefined> {
    if (this.#known && this.#known.access.version !== refused.version) return this.#known.access
    this.#renewing ??= this.#renewed(refused).finally(() => {
      this.#renewing = undefined
    })
    return this.#renewing
  }

  /** A newer token than the last one. */
  async prove(): Promise<void> {
    const { tokens } = this.#means
    const last = await tokens.access(this.#grantId)
    this.#keep(await tokens.renew(this.#grantId, last.version))
  }

  async #renewed(refused: AccessToken): Promise<AccessToken | undefined> {
    const { parts, tokens } = this.#means
    // Another process may have refreshed it, which ends the one that is known here.
    const last = await tokens.access(this.#grantId)
    if (last.version !== refused.version) return this.#keep(last)
    // Where there is no request for it, there is nothing to spare.
    const mayRenew = !this.#renewable || (await parts.db.query(RENEW_SQL, [this.#grantId])).length > 0
    if (mayRenew) return this.#keep(await tokens.renew(this.#grantId, refused.version))
    const refusal = await refusedClient(parts, this.#grantId)
    if (refusal) throw refusal
    return undefined
  }

  /** A look that took longer does not bring an older one back. */
  #keep(access: AccessToken): AccessToken {
    const newest = this.#known && this.#known.access.version > access.version ? this.#known.access : access
    this.#known = { access: newest, atMs: Date.now() }
    return newest
  }
}

/** Opens an account for asking. @throws AppError not_configured */
export function openAccount({ parts, tokens }: AccountMeans, grant: GrantRef): Account {
  const client = requireClient(parts.clients, grant.provider)
  const [oauth, { api }] = [client.oauth(grant.issuer), client.provider]
  const readingsOf = (answer: Received) => api.readBudget?.(answer) ?? []
  const own = new AccountTokens({ parts, tokens }, grant.id, oauth.refresh !== null)
  const sent = new Set<string>()
  let heard: { readings: readonly BudgetReading[]; atMs: number } = { readings: [], atMs: 0 }

  async function askWith(token: string, request: Request, payer: Payer): Promise<Received> {
    sent.add(token)
    const permit = () => takePermit(parts.db, payer, Date.now() - heard.atMs < HEARD_MS ? heard.readings : [])
    const call = callOf({ http: parts.http, client, oauth, token, permit, asked: askedOf(parts) })
    const answer = await call(request)
    // One that refuses says when to come back, not what is used.
    heard = { readings: answer.status === 429 ? [] : readingsOf(answer), atMs: Date.now() }
    return answer
  }

  let proof: Promise<void> | undefined
  return {
    client,
    prove() {
      proof ??= own.prove()
      return proof
    },
    excerpt: (text) => excerpt(text, [...sent, client.settings.clientSecret]),
    async ask(request, lane = 'asked') {
      const payer: Payer = { client, grantId: grant.id, lane }
      let access = await own.last()
      let answer = await askWith(access.token, request, payer)
      // At most one that was replaced meanwhile, and one that is renewed.
      for (let tries = 0; tries < 2 && verdictOf(api, answer) === 'auth'; tries += 1) {
        const next = await own.insteadOf(access)
        if (!next) break
        access = next
        answer = await askWith(access.token, request, payer)
      }
      const verdict = verdictOf(api, answer)
      // A quota that is used up may be refused as if it were forbidden.
      if (typeof verdict === 'object' && (verdict.limited || answer.status === 429 || answer.status === 403)) {
        await closeBudget(parts.db, payer, { afterSeconds: verdict.afterSeconds, readings: readingsOf(answer) })
      }
      return answer
    },
  }
}
