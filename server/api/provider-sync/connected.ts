import { Type } from 'typebox'
import type { Dependencies } from '../../dependencies.ts'
import { errors } from '../../errors.ts'
import { Provider, Uuid } from '../../http/schema.ts'
import { type OAuthClient, requireClient } from '../../provider-client/clients.ts'
import { isEnabled } from '../oauth/connectable.ts'
import { requireUser } from '../users/exists.ts'

/** Path of what a provider knows of a user. */
export const ProviderUserPath = Type.Object({ provider: Provider(), user_id: Uuid() })

/** The active connection of a user to a provider that can be asked. */
export interface Connected {
  readonly id: string
  readonly grantId: string
  /** What was granted, as the provider wrote it; null: it did not say. */
  readonly scope: string | null
  /** Of the sign-in service that granted it. */
  readonly issuer: string | null
  readonly client: OAuthClient
}

interface Row {
  id: string
  status: 'active' | 'revoked' | 'expired'
  status_reason: string | null
  grant_id: string | null
  scope: string | null
  issuer: string | null
}

const CONNECTION_SQL = `
  select c.id, c.status, c.status_reason, g.id as grant_id, g.scope, g.issuer
  from connection c
  left join provider_grant g on g.id = c.grant_id
  where c.user_id = $1 and c.provider = $2`

/** What of the dependencies that takes. */
type Needed = Pick<Dependencies, 'db' | 'oauth'>

/**
 * The connection through which a provider can be asked for a user's data; `requireAble` throws when it never can.
 * @throws AppError not_found, not_configured, provider_disabled; not_connected, no_refresh_token, authorization_expired
 */
export async function requireConnected(
  { db, oauth }: Needed,
  { provider, user_id: userId }: { provider: string; user_id: string },
  requireAble: () => void,
): Promise<Connected> {
  await requireUser(db, userId)
  requireAble()
  const client = requireClient(oauth.clients, provider)
  if (!(await isEnabled(db, provider))) throw errors.providerDisabled(provider)
  const [row] = await db.query<Row>(CONNECTION_SQL, [userId, provider])
  if (row?.status === 'expired') throw errors.noRefreshToken(provider)
  if (row?.status === 'revoked' && row.status_reason === 'refresh_failed') throw errors.authorizationExpired(provider)
  if (row?.status !== 'active' || row.grant_id === null) throw errors.notConnected(provider)
  return { id: row.id, grantId: row.grant_id, scope: row.scope, issuer: row.issuer, client }
}
