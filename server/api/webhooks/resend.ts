import { Type } from 'typebox'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { messageUid } from '../../webhooks/message-id.ts'
import { EndpointPath, enabledEndpoint, endpointErrors, notifyDelivery, requireWebhooks } from './endpoint.ts'

/** A delivery added to the queue of an endpoint. */
export const Queued = Type.Object({ queued: Type.Integer() }, { title: 'Queued' })

/**
 * Delivers a message to an endpoint again, or for the first time when it was recorded before the endpoint's filters let
 * it through (contract 10).
 */
export const resendMessage = route(
  {
    method: 'POST',
    path: '/api/v1/webhooks/endpoints/{endpoint_id}/messages/{msg_id}/resend',
    operationId: 'resendMessage',
    summary: 'Deliver a message to an endpoint again',
    description:
      'At once, whether it was delivered, failed or waits, and with all attempts of the schedule. The message must ' +
      'match the filters of the endpoint, or be a test of it.',
    tag: 'Webhooks',
    guard: 'developer',
    params: Type.Object({ ...EndpointPath.properties, msg_id: Type.String() }),
    status: 202,
    response: Queued,
    example: { queued: 1 },
    errors: { ...endpointErrors, 400: 'The endpoint is disabled', 404: 'Unknown endpoint or message' },
  },
  async ({ params }, { config, db }) => {
    requireWebhooks(config)
    const endpoint = await enabledEndpoint(db, params.endpoint_id)
    const uid = messageUid(params.msg_id)
    // Tests, which have no place in the feed, belong to one endpoint.
    const rows = await db.query(
      `insert into delivery (event_id, endpoint_id, manual)
       select e.id, p.id, true
       from event e
       join endpoint p on p.id = $1
       where e.uid = $2
         and (
           (e.pending or e.position is not null) and matches(p, e)
           or exists (
             select from delivery d
             where d.event_id = e.id and d.endpoint_id = p.id and e.position is null and not e.pending
           )
         )
       on conflict on constraint delivery_pkey do update
       set state = 'waiting', attempts = 0, due_at = now(), manual = true
       returning event_id`,
      [endpoint, uid ?? null],
    )
    if (rows.length === 0) throw errors.missing('Message not found')
    await notifyDelivery(db)
    return { queued: rows.length }
  },
)
