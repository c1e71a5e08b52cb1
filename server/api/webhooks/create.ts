import { Type } from 'typebox'
import { addEntry } from '../../db/bounded.ts'
import { route } from '../../http/route.ts'
import { newSecret, sealSecret } from '../../webhooks/secrets.ts'
import {
  ENDPOINT_COLUMNS,
  Endpoint,
  endpointErrors,
  endpointExample,
  endpointFields,
  newEndpointId,
  notStored,
  requireUrl,
  requireWebhooks,
  storedFilter,
} from './endpoint.ts'

const ENDPOINTS = { name: 'endpoints', countSql: 'select count(*) as count from endpoint where uid is not null' }

/** Creates an endpoint with a new signing secret (contract 10). */
export const createEndpoint = route(
  {
    method: 'POST',
    path: '/api/v1/webhooks/endpoints',
    operationId: 'createEndpoint',
    summary: 'Create an endpoint',
    description:
      'It gets the events that happen from now on. Without `filter_types`, or with none, it gets all kinds; without ' +
      '`filter_scope`, live and historical ones. An event without a scope passes both.',
    tag: 'Webhooks',
    guard: 'developer',
    body: Type.Object({
      url: endpointFields.url,
      description: Type.Optional(endpointFields.description),
      filter_types: Type.Optional(endpointFields.filter_types),
      filter_scope: Type.Optional(endpointFields.filter_scope),
      user_id: Type.Optional(endpointFields.user_id),
    }),
    bodyExample: {
      url: endpointExample.url,
      description: endpointExample.description,
      filter_types: endpointExample.filter_types,
    },
    status: 201,
    response: Endpoint,
    example: endpointExample,
    errors: { ...endpointErrors, 404: 'Unknown user', 409: 'There are 1000 already' },
  },
  async ({ body }, { config, db, oauth: { vault } }) => {
    requireWebhooks(config)
    requireUrl(body.url, config)
    const uid = newEndpointId()
    const { keyId, sealed } = sealSecret(vault, uid, newSecret())
    try {
      return await addEntry(db, ENDPOINTS, (tx) =>
        tx.one(
          `insert into endpoint (uid, url, description, filter_types, user_id, secret, key_id, filter_scope)
           values ($1, $2, $3, $4, $5, $6, $7, $8)
           returning ${ENDPOINT_COLUMNS}`,
          [
            ...[uid, body.url, body.description ?? null, storedFilter(body.filter_types), body.user_id ?? null],
            ...[sealed, keyId, body.filter_scope ?? null],
          ],
        ),
      )
    } catch (error) {
      throw notStored(error, body.user_id)
    }
  },
)
