import { type Static, Type } from 'typebox'
import { providerNames } from '../../catalogue/providers.ts'
import { type Transaction, violatedConstraint } from '../../db/database.ts'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { Enum, Uuid } from '../../http/schema.ts'
import { sdkProviderAliases } from '../../providers/index.ts'
import { type EventSettings, recordEvents, wantedEvents } from '../../webhooks/record.ts'
import { requireUser } from './exists.ts'

/** Path of one connection; released SDKs name their provider by its alias (sdk-payload 2.5). */
export const ConnectionPath = Type.Object({
  user_id: Uuid(),
  provider: Enum(providerNames, { title: 'ProviderName', 'x-aliases': [...sdkProviderAliases.keys()] }),
})

// Locks nothing but the connection; its event refers to the user, in the order of locks (lock.ts).
const REVOKE_SQL = `
  update connection c
  set status = 'revoked', revoked_at = clock_timestamp(), updated_at = clock_timestamp()
  from (select id, status from connection where user_id = $1 and provider = $2 for update) before
  where c.id = before.id
  returning c.id, c.revoked_at, before.status = 'active' as ended`

// An upload that waits for its import stands for a connection that is about to be created: it is then created revoked.
// The user is not locked first: deleting a user locks its connections first.
const CREATE_REVOKED_SQL = `
  insert into connection as c (user_id, provider, status, revoked_at)
  select $1, $2, 'revoked', clock_timestamp()
  where exists (select from upload where user_id = $1 and provider = $2 and status = 'queued')
  on conflict (user_id, provider) do nothing
  returning c.id`

/**
 * Ends the connection of a user to a provider, again if it has ended before, and returns the provider's own name. The
 * next upload opens it again. Developers get their event in the same transaction.
 * @throws AppError not_found when there never was one
 */
export async function revokeConnection(
  tx: Transaction,
  settings: EventSettings,
  path: Static<typeof ConnectionPath>,
): Promise<string> {
  const provider = sdkProviderAliases.get(path.provider) ?? path.provider
  const revoke = () => tx.query<Revoked>(REVOKE_SQL, [path.user_id, provider])
  let [row] = await revoke()
  if (!row) {
    // Not created if the import has done so meanwhile.
    const created = await tx.query(CREATE_REVOKED_SQL, [path.user_id, provider]).catch((error) => {
      // Deleted at this moment.
      if (violatedConstraint(error) === 'connection_user_id_fkey') throw errors.notFound('User', path.user_id)
      throw error
    })
    if (created.length > 0) return provider
    ;[row] = await revoke()
  }
  if (row?.ended) await recordRevoked(tx, settings, { ...path, provider }, row)
  if (row) return provider
  await requireUser(tx, path.user_id)
  // The text names the user (contract 3.8).
  throw errors.notFound('Connection', path.user_id)
}

interface Revoked {
  id: string
  revoked_at: string
  /** Whether it was active. */
  ended: boolean
}

async function recordRevoked(
  tx: Transaction,
  settings: EventSettings,
  { user_id, provider }: { user_id: string; provider: string },
  { id, revoked_at }: Revoked,
): Promise<void> {
  const wanted = await wantedEvents(tx, settings, user_id)
  if (!wanted?.('connection.revoked')) return
  const data = { user_id, provider, connection_id: id, reason: 'user_disconnected', revoked_at }
  await recordEvents(tx, [
    {
      userId: user_id,
      provider,
      name: 'connection.revoked',
      key: `connection.revoked.${user_id}.${provider}.${revoked_at}`,
      data: Buffer.from(JSON.stringify(data)),
      packed: false,
    },
  ])
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
  async ({ params }, { db, config }) => {
    await db.transaction((tx) => revokeConnection(tx, config, params))
  },
)
