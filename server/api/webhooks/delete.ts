import { route } from '../../http/route.ts'
import { removeEndpoint } from '../../webhooks/prune.ts'
import { EndpointPath, endpointErrors, requireWebhooks, unknownEndpoint } from './endpoint.ts'

/** Deletes an endpoint with its deliveries and attempts (contract 10). */
export const deleteEndpoint = route(
  {
    method: 'DELETE',
    path: '/api/v1/webhooks/endpoints/{endpoint_id}',
    operationId: 'deleteEndpoint',
    summary: 'Delete an endpoint, its waiting deliveries and their history',
    tag: 'Webhooks',
    guard: 'developer',
    share: 'long',
    params: EndpointPath,
    status: 204,
    errors: endpointErrors,
  },
  async ({ params }, { config, db }) => {
    requireWebhooks(config)
    const [deleted] = await db.query<{ id: number }>(DELETED, [params.endpoint_id])
    if (!deleted) throw unknownEndpoint()
    await removeEndpoint(db, deleted.id)
  },
)

// Committed by itself: from now on nobody finds it, creates deliveries for it or leases it, however long deleting its
// rows takes.
const DELETED = `
  update endpoint
  set uid = null, disabled_at = now(), disabled_reason = 'by_hand', process_id = null, leased_until = null
  where uid = $1
  returning id`
