import { Type } from 'typebox'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { readSecret } from '../../webhooks/secrets.ts'
import { EndpointPath, endpointErrors, requireWebhooks, unknownEndpoint } from './endpoint.ts'

/** `{"key": "whsec_…"}` (contract 10). */
export const Secret = Type.Object({ key: Type.String() }, { title: 'WebhookSecret' })

/** A `Secret` for the API description; contract 10.6's test vector. */
export const secretExample = { key: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }

/** The secret that signs what an endpoint gets (contract 10). */
export const getSecret = route(
  {
    method: 'GET',
    path: '/api/v1/webhooks/endpoints/{endpoint_id}/secret',
    operationId: 'getEndpointSecret',
    summary: 'Get the signing secret of an endpoint',
    tag: 'Webhooks',
    guard: 'developer',
    params: EndpointPath,
    response: Secret,
    example: secretExample,
    errors: { ...endpointErrors, 400: 'Stored with another SECRET_KEY' },
  },
  async ({ params }, { config, db, oauth: { vault } }) => {
    requireWebhooks(config)
    const [row] = await db.query<{ secret: Buffer; key_id: number | null }>(
      'select secret, key_id from endpoint where uid = $1',
      [params.endpoint_id],
    )
    if (!row) throw unknownEndpoint()
    const key = readSecret(vault, params.endpoint_id, { keyId: row.key_id, sealed: row.secret })
    if (key === undefined)
      throw errors.badRequest('The secret was stored with another SECRET_KEY and cannot be read. Rotate it.')
    return { key }
  },
)
