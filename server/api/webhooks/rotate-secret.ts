import { route } from '../../http/route.ts'
import { newSecret, sealSecret } from '../../webhooks/secrets.ts'
import { EndpointPath, endpointErrors, requireWebhooks, unknownEndpoint } from './endpoint.ts'
import { Secret, secretExample } from './get-secret.ts'

/** Gives an endpoint a new secret; for a day the former one signs as well, so that receivers can change theirs. */
export const rotateSecret = route(
  {
    method: 'POST',
    path: '/api/v1/webhooks/endpoints/{endpoint_id}/secret/rotate',
    operationId: 'rotateEndpointSecret',
    summary: 'Replace the signing secret of an endpoint',
    description: 'For 24 hours deliveries carry two signatures, of the new and of the previous secret.',
    tag: 'Webhooks',
    guard: 'developer',
    params: EndpointPath,
    response: Secret,
    example: secretExample,
    errors: endpointErrors,
  },
  async ({ params }, { config, db, oauth: { vault } }) => {
    requireWebhooks(config)
    const key = newSecret()
    const { keyId, sealed } = sealSecret(vault, params.endpoint_id, key)
    const [row] = await db.query(
      `update endpoint
       set former_secret = secret, former_key_id = key_id, former_until = now() + interval '24 hours',
           secret = $2, key_id = $3, updated_at = now()
       where uid = $1
       returning id`,
      [params.endpoint_id, sealed, keyId],
    )
    if (!row) throw unknownEndpoint()
    return { key }
  },
)
