import { Type } from 'typebox'
import type { Database } from '../../db/database.ts'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { Instant } from '../../http/schema.ts'
import { allowMinutes } from '../../limits.ts'
import { DAY_MS } from '../../time.ts'
import {
  EndpointPath,
  enabledEndpoint,
  endpointErrors,
  notifyDelivery,
  requireWebhooks,
  valueError,
} from './endpoint.ts'
import { Queued } from './resend.ts'

/** How far back deliveries are repeated (contract 10). */
const RECOVER_DAYS = 14

/** Events that are queued in one transaction. */
const AT_ONCE = 2_000

/** Delivers again all that an endpoint missed since a time (contract 10). */
export const recoverEndpoint = route(
  {
    method: 'POST',
    path: '/api/v1/webhooks/endpoints/{endpoint_id}/recover',
    operationId: 'recoverEndpoint',
    summary: 'Deliver again what failed',
    description:
      'All events since then whose delivery failed, finally or so far, and matching ones that were ' +
      'recorded while the endpoint was disabled for failing.',
    tag: 'Webhooks',
    guard: 'developer',
    share: 'long',
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
    if (Date.parse(body.since) < Date.now() - RECOVER_DAYS * DAY_MS)
      throw errors.invalid([valueError('since', `since must be at most ${RECOVER_DAYS} days ago`, body.since)])
    const endpoint = await enabledEndpoint(db, params.endpoint_id)
    let queued = 0
    for (const { events } of await eventsToRecover(db, endpoint, body.since))
      queued += await queueAgain(db, endpoint, events)
    await notifyDelivery(db)
    return { queued }
  },
)

/** The ids of all events to repeat, in order and in batches; as text, since there may be millions. */
const eventsToRecover = (db: Database, endpoint: number, since: string) =>
  db.transaction(async (tx) => {
    // Two weeks of events take longer than a read may.
    await allowMinutes(tx)
    return tx.query<{ events: string }>(TO_RECOVER, [endpoint, since, AT_ONCE])
  })

/**
 * Queues a batch of events; returns how many. Locks the endpoint, like the recording of attempts, so that neither waits
 * for the other's deliveries. Queues none when the endpoint was disabled or deleted meanwhile.
 */
const queueAgain = (db: Database, endpoint: number, events: string) =>
  db.transaction(async (tx) => {
    const held = await tx.query('select 1 from endpoint where id = $1 and disabled_at is null for no key update', [
      endpoint,
    ])
    if (held.length === 0) return 0
    return (await tx.one<{ queued: number }>(QUEUE_AGAIN, [endpoint, events])).queued
  })

const FAILED = `(d.state = 'failed' or d.state = 'waiting' and d.attempts > 0)`

// An event that is neither pending nor in the feed is a test.
const TO_RECOVER = `
  select array_agg(id order by id)::text as events
  from (
    select id, (row_number() over (order by id) - 1) / $3::int4 as batch
    from (
      select e.id
      from delivery d
      join event e on e.id = d.event_id
      join endpoint p on p.id = d.endpoint_id
      where d.endpoint_id = $1 and ${FAILED} and e.created_at >= $2 and (e.position is null or matches(p, e))
      union all
      select e.id
      from event e
      join endpoint p on p.id = $1 and e.id <@ p.missed
      where e.created_at >= $2 and (e.pending or e.position is not null) and matches(p, e)
        and not exists (select from delivery d where d.event_id = e.id and d.endpoint_id = $1)
    ) missing
  ) numbered
  group by batch
  order by batch`

// Deliveries locked by others are being deleted, or already sent again.
const QUEUE_AGAIN = `
  with failed as (
    update delivery d
    set state = 'waiting', attempts = 0, due_at = now(), manual = true
    where d.ctid = any (array(
      select d.ctid
      from unnest($2::text::int8[]) batch (id)
      join event e on e.id = batch.id
      join delivery d on d.event_id = e.id and d.endpoint_id = $1
      join endpoint p on p.id = d.endpoint_id
      where ${FAILED} and (e.position is null or matches(p, e))
      for update of d skip locked
    ))
    returning 1
  ),
  missed as (
    insert into delivery (event_id, endpoint_id, manual)
    select e.id, p.id, true
    from unnest($2::text::int8[]) batch (id)
    join event e on e.id = batch.id
    join endpoint p on p.id = $1
    where e.id <@ p.missed and (e.pending or e.position is not null) and matches(p, e)
      and not exists (select from delivery d where d.event_id = e.id and d.endpoint_id = p.id)
    order by e.id
    for key share of e skip locked
    on conflict do nothing
    returning 1
  )
  select (select count(*) from failed) + (select count(*) from missed) as queued`
