import { randomBytes } from 'node:crypto'
import { Type } from 'typebox'
import { eventNames } from '../../catalogue/events.ts'
import { route } from '../../http/route.ts'
import { Enum } from '../../http/schema.ts'
import { exampleData } from '../../webhooks/examples.ts'
import { messageId } from '../../webhooks/message-id.ts'
import { EndpointPath, enabledEndpoint, endpointErrors, notifyDelivery, requireWebhooks } from './endpoint.ts'

/** Sends an example to one endpoint, whatever its filters, under a new id (contract 10). */
export const sendTest = route(
  {
    method: 'POST',
    path: '/api/v1/webhooks/endpoints/{endpoint_id}/test',
    operationId: 'testEndpoint',
    summary: 'Send an example event to an endpoint',
    description: 'It is delivered and retried like any other event; its attempts show the result.',
    tag: 'Webhooks',
    guard: 'developer',
    params: EndpointPath,
    body: Type.Object({ event_type: Enum(eventNames, { title: 'EventName', default: 'workout.created' }) }),
    bodyOptional: true,
    bodyExample: { event_type: 'sleep.created' },
    response: Type.Object({ message: Type.String(), message_id: Type.String() }),
    example: { message: 'Test event sent successfully.', message_id: 'msg_2f1c9a60b7d84e53a1f0c6e2d9b83475' },
    errors: { ...endpointErrors, 400: 'The endpoint is disabled' },
  },
  async ({ params, body }, { config, db }) => {
    requireWebhooks(config)
    const endpoint = await enabledEndpoint(db, params.endpoint_id)
    const key = `test.${params.endpoint_id}.${body.event_type}.${randomBytes(8).toString('hex')}`
    // Neither pending nor in the feed: no other endpoint gets it.
    const { uid } = await db.one<{ uid: string }>(
      `with test as (
         insert into event (type, key, data, pending, scope) values ($2, $3, $4, false, 'live') returning id, uid
       ),
       queued as (
         insert into delivery (event_id, endpoint_id) select id, $1 from test
       )
       select uid from test`,
      [endpoint, body.event_type, key, Buffer.from(exampleData(body.event_type))],
    )
    await notifyDelivery(db)
    return { message: 'Test event sent successfully.', message_id: messageId(uid) }
  },
)
