import { route } from '../../http/route.ts'
import {
  ENDPOINT_COLUMNS,
  Endpoint,
  EndpointPath,
  endpointErrors,
  endpointExample,
  requireWebhooks,
  unknownEndpoint,
} from './endpoint.ts'

/** One endpoint (contract 10). */
export const getEndpoint = route(
  {
    method: 'GET',
    path: '/api/v1/webhooks/endpoints/{endpoint_id}',
    operationId: 'getEndpoint',
    summary: 'Get an endpoint',
    tag: 'Webhooks',
    guard: 'developer',
    params: EndpointPath,
    response: Endpoint,
    example: endpointExample,
    errors: endpointErrors,
  },
  async ({ params }, { config, db }) => {
    requireWebhooks(config)
    const [row] = await db.query(`select ${ENDPOINT_COLUMNS} from endpoint where uid = $1`, [params.endpoint_id])
    if (!row) throw unknownEndpoint()
    return row
  },
)
