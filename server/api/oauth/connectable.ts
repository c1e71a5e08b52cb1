import { providerByName } from '../../catalogue/providers.ts'
import type { Queryable } from '../../db/database.ts'
import type { Dependencies } from '../../dependencies.ts'
import { errors } from '../../errors.ts'
import { insteadOf, type OAuthClient, requireClient } from '../../provider-client/clients.ts'

/**
 * The client for a provider that people can connect now.
 * @throws AppError no_oauth, not_configured, provider_disabled, in this order
 */
export async function connectable(deps: Pick<Dependencies, 'db' | 'oauth'>, provider: string): Promise<OAuthClient> {
  requireOAuth(provider)
  const client = requireClient(deps.oauth.clients, provider)
  if (!(await isEnabled(deps.db, provider))) throw errors.providerDisabled(provider, insteadOf(provider))
  return client
}

/** Accepts only providers with a sign-in of their own. @throws AppError no_oauth */
export function requireOAuth(provider: string): void {
  if (!providerByName.get(provider)?.hasCloudApi) throw errors.noOAuth(provider)
}

/** Whether an operator left a provider enabled. */
export async function isEnabled(db: Queryable, provider: string): Promise<boolean> {
  const [setting] = await db.query<{ is_enabled: boolean | null }>(
    'select is_enabled from provider_setting where provider = $1',
    [provider],
  )
  return setting?.is_enabled ?? providerByName.get(provider)?.enabledByDefault ?? false
}
