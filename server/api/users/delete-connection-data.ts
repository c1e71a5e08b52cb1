import { route } from '../../http/route.ts'
import { allowMinutes } from '../../limits.ts'
import { lockUser } from '../../store/lock.ts'
import { deleteProviderData } from '../../store/provider-data.ts'
import { ConnectionPath, revokeConnection } from './delete-connection.ts'

/** Disconnects a provider and removes everything that came from it (contract 3.9). */
export const deleteConnectionData = route(
  {
    method: 'DELETE',
    path: '/api/v1/users/{user_id}/connections/{provider}/data',
    operationId: 'deleteConnectionData',
    summary: 'Disconnect a provider and delete all its data',
    description:
      'Samples, events, devices, stored uploads, the history of their imports, and their waiting webhook deliveries. Also forgets what was deleted before, which can then be imported again.',
    tag: 'Users',
    guard: 'key',
    share: 'long',
    params: ConnectionPath,
    status: 204,
    errors: { 404: 'Unknown user, or never connected' },
  },
  async ({ params }, { db, config }) => {
    await db.transaction(async (tx) => {
      // Years of samples, and waiting for an import, take longer than a read may.
      await allowMinutes(tx)
      // An import holds this lock: this waits for it, and the next one finds no upload.
      await lockUser(tx, params.user_id)
      const provider = await revokeConnection(tx, config, params, { tellProvider: true })
      // A later upload is new, and opens the connection again.
      await deleteProviderData(tx, params.user_id, provider)
    })
  },
)
