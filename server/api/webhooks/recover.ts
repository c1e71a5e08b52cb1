import { Type } from 'typebox'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { Instant } from '../../http/schema.ts'
import {
  EndpointPath,
  enabledEndpoint,
  endpointErrors,
  MATCHES,
  notifyDelivery,
  requireWebhooks,
  valueError,
} from './endpoint.ts'
import { Queued } from './resend.ts'

/** How far back deliveries are repeated (house decision). */
const RECOVER_DAYS = 14

/** Delivers again all that an endpoint missed since a time (house decision). */
export const recoverEndpoint = route(
  {
    method: 'POST',
    path: '/api/v1/webhooks/endpoints/{endpoint_id}/recover',
    operationId: 'recoverEndpoint',
    summary: 'Deliver again what failed',
    description:
      'All events since then whose delivery failed, for good or so far, and those that match the filters and were never ' +
      'queued because the endpoint was disabled for failing.',
    tag: 'Webhooks',
    guard: 'developer',
    params: EndpointPath,
    body: Type.Object({ since: Instant({ description: `At most ${RECOVER_DAYS} days ago` }) }),
    bodyExample: { since: '2026-02-20T00:00:00Z' },
    status: 202,
    response: Queued,
    example: { queued: 12 },
    errors: { ...endpointErrors, 400: 'The endpoint is disabled' },
  },
  async ({ params, body }, { config, db }) => {
    requireWebhooks(config)
    if (Date.parse(body.since) < Date.now() - RECOVER_DAYS * 86_400_000)
      throw errors.invalid([valueError('since', `since must be at most ${RECOVER_DAYS} days ago`, body.since)])
    const endpoint = await enabledEndpoint(db, params.endpoint_id)
    const { queued } = await db.transaction(async (tx) => {
      // Two weeks of events take longer than a read may.
      await tx.query(`select set_config('statement_timeout', '600s', true)`)
      return tx.one<{ queued: number }>(RECOVER, [endpoint, body.since])
    })
    await notifyDelivery(db)
    return { queued }
  },
)

// An event that is pending is about to be queued anyway; one without a place in the feed is a test.
const RECOVER = `
  with failed as (
    update delivery d
    set state = 'waiting', attempts = 0, due_at = now(), manual = true
    from event e, endpoint p
    where d.endpoint_id = $1 and p.id = $1 and (d.state = 'failed' or d.state = 'waiting' and d.attempts > 0)
      and e.id = d.event_id and e.created_at >= $2
      and (e.position is null or ${MATCHES})
    returning 1
  ),
  missed as (
    insert into delivery (event_id, endpoint_id, manual)
    select e.id, p.id, true
    from event e
    join endpoint p on p.id = $1 and e.created_at <@ p.missed
    where e.created_at >= $2 and e.position is not null and ${MATCHES}
    order by e.id
    on conflict do nothing
    returning 1
  )
  select (select count(*) from failed) + (select count(*) from missed) as queued`
