import { type Static, Type } from 'typebox'
import { providerNames } from '../../catalogue/providers.ts'
import type { Transaction } from '../../db/database.ts'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { Enum, Uuid } from '../../http/schema.ts'
import { endConnection } from '../../oauth/disconnect.ts'
import { sdkProviderAliases } from '../../providers/index.ts'
import type { EventSettings } from '../../webhooks/record.ts'
import { requireUser } from './exists.ts'

/** Path of one connection; released SDKs name their provider by its alias (sdk-payload 2.5). */
export const ConnectionPath = Type.Object({
  user_id: Uuid(),
  provider: Enum(providerNames, { title: 'ProviderName', 'x-aliases': [...sdkProviderAliases.keys()] }),
})

/**
 * Ends the connection of a user to a provider and returns the provider's own name. A phone that signs its user out does
 * not end the grant at the provider (contract 3.8).
 * @throws AppError not_found when there never was one
 */
export async function revokeConnection(
  tx: Transaction,
  settings: EventSettings,
  path: Static<typeof ConnectionPath>,
  { tellProvider }: { tellProvider: boolean },
): Promise<string> {
  const provider = sdkProviderAliases.get(path.provider) ?? path.provider
  if (await endConnection(tx, settings, { userId: path.user_id, provider, tellProvider })) return provider
  await requireUser(tx, path.user_id)
  throw errors.neverConnected(path.user_id, provider)
}

/** Disconnects a provider; its data stays. A phone does so when its user signs out (contract 3.8). */
export const deleteConnection = route(
  {
    method: 'DELETE',
    path: '/api/v1/users/{user_id}/connections/{provider}',
    operationId: 'deleteConnection',
    summary: 'Disconnect a provider; its data stays',
    tag: 'Users',
    guard: 'sdk or key',
    params: ConnectionPath,
    status: 204,
    errors: { 403: 'The token belongs to another user', 404: 'Unknown user, or never connected' },
  },
  async ({ auth, params }, { db, config }) => {
    await db.transaction((tx) => revokeConnection(tx, config, params, { tellProvider: auth.kind !== 'sdk' }))
  },
)
