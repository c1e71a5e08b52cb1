import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { ENDPOINT_COLUMNS, Endpoint, endpointErrors, endpointExample, requireWebhooks } from './endpoint.ts'

/** Every endpoint of the instance, newest first (contract 10, decision D-23). */
export const listEndpoints = route(
  {
    method: 'GET',
    path: '/api/v1/webhooks/endpoints',
    operationId: 'listEndpoints',
    summary: 'List the endpoints',
    tag: 'Webhooks',
    guard: 'developer',
    response: Type.Array(Endpoint),
    example: [endpointExample],
    errors: { 503: endpointErrors[503] },
  },
  async (_, { config, db }) => {
    requireWebhooks(config)
    return db.query(`select ${ENDPOINT_COLUMNS} from endpoint where uid is not null order by endpoint.id desc`)
  },
)
