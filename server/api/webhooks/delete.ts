import { route } from '../../http/route.ts'
import { EndpointPath, endpointErrors, requireWebhooks, unknownEndpoint } from './endpoint.ts'

/** Deletes an endpoint with its deliveries and attempts (contract 10). */
export const deleteEndpoint = route(
  {
    method: 'DELETE',
    path: '/api/v1/webhooks/endpoints/{endpoint_id}',
    operationId: 'deleteEndpoint',
    summary: 'Delete an endpoint, what waits for it and the record of its deliveries',
    tag: 'Webhooks',
    guard: 'developer',
    params: EndpointPath,
    status: 204,
    errors: endpointErrors,
  },
  async ({ params }, { config, db }) => {
    requireWebhooks(config)
    const deleted = await db.transaction(async (tx) => {
      // A month of deliveries takes longer than a read may.
      await tx.query(`select set_config('statement_timeout', '600s', true)`)
      return tx.query('delete from endpoint where uid = $1 returning id', [params.endpoint_id])
    })
    if (deleted.length === 0) throw unknownEndpoint()
  },
)
