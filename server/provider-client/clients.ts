import { type ProviderName, providerByName } from '../catalogue/providers.ts'
import type { Config } from '../config.ts'
import { errors } from '../errors.ts'
import { cloudProviders } from '../providers/index.ts'
import { withOwnLimits } from '../providers/limits.ts'
import type { OAuth, Provider, ProviderSettings } from '../providers/provider.ts'

/** What an operator registered at one provider: its connector, with the settings and addresses in use. */
export interface OAuthClient {
  readonly id: ProviderName
  /** Display name. */
  readonly name: string
  readonly provider: Provider
  readonly settings: ProviderSettings
  readonly apiUrl: string
  /** Where the provider sends the browser back to: has to be registered there, exactly so (contract 6.7). */
  readonly redirectUri: string
  /** Where it notifies, unless somebody chose another address. */
  readonly noticesUri: string
  /** How access is granted, with the operator's addresses; `issuer` is that of a grant that exists, else null. */
  oauth(issuer: string | null): OAuth
  /** The scope that is asked for, as the provider writes it. */
  readonly scope: string
}

/** Clients by slug. */
export type OAuthClients = ReadonlyMap<string, OAuthClient>

/** What people are to connect in place of a provider that has ended; undefined: it has not. */
export function insteadOf(provider: string): string | undefined {
  const successor = cloudProviders.get(provider)?.successor
  if (successor === undefined) return undefined
  const [name, other] = [provider, successor].map((slug) => providerByName.get(slug)?.name ?? slug)
  return `${name} has ended its API. Connect ${other} (${successor}) instead.`
}

/** The client for a provider. @throws AppError not_configured, which may say what to connect instead */
export function requireClient(clients: OAuthClients, provider: string): OAuthClient {
  const client = clients.get(provider)
  if (!client) throw errors.notConfigured(provider, insteadOf(provider))
  return client
}

/** The callback of a provider below this service (contract 6.7). */
export const callbackUri = (apiBaseUrl: string, provider: string): string =>
  `${apiBaseUrl}/api/v1/oauth/${provider}/callback`

/** Where a provider sends its notices (contract 8.1). */
export const noticesUri = (apiBaseUrl: string, provider: string): string =>
  `${apiBaseUrl}/api/v1/providers/${provider}/webhooks`

/** Those of these connectors that are configured, by slug. */
export function oauthClients(
  providers: ReadonlyMap<string, Provider>,
  { providers: configs, apiBaseUrl }: Pick<Config, 'providers' | 'apiBaseUrl'>,
): OAuthClients {
  const clients = new Map<string, OAuthClient>()
  for (const [id, provider] of providers) {
    const { clientId, clientSecret, previousClientSecret, more = {}, ...addresses } = configs[id] ?? {}
    const { authorizeUrl, tokenUrl, apiUrl, defaultScope } = addresses
    if (!clientId || !clientSecret) continue
    const settings = { clientId, clientSecret, more, ...(previousClientSecret && { previousClientSecret }) }
    const oauth = (issuer: string | null): OAuth => {
      const own = provider.oauth(settings, issuer)
      return { ...own, ...(authorizeUrl && { authorizeUrl }), ...(tokenUrl && { tokenUrl }) }
    }
    const { scopes, separator } = oauth(null)
    clients.set(id, {
      ...{ id: provider.id, provider: withOwnLimits(provider, settings), settings, oauth },
      name: providerByName.get(id)?.name ?? id,
      apiUrl: apiUrl ?? provider.api.url,
      redirectUri: callbackUri(apiBaseUrl, id),
      noticesUri: noticesUri(apiBaseUrl, id),
      scope: defaultScope ?? scopes.join(separator),
    })
  }
  return clients
}
