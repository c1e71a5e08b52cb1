import { Type } from 'typebox'
import { eventNames } from '../../catalogue/events.ts'
import { readCursor, writeCursor } from '../../http/cursors.ts'
import { Reply } from '../../http/reply.ts'
import { route } from '../../http/route.ts'
import { Enum, Instant, List, Nullable } from '../../http/schema.ts'
import { messageId } from '../../webhooks/message-id.ts'
import { EndpointPath, endpointErrors, findEndpoint, requireWebhooks } from './endpoint.ts'
import { MESSAGE_COLUMNS, Message, type MessageRow, messageExample, messageJson } from './message.ts'
import { BODY_BYTES, boundsOf, jsonArray, PAGE_BYTES, pageParameters, turnsOf } from './page.ts'

const Attempt = Type.Object(
  {
    id: Type.String(),
    endpointId: Type.String(),
    msgId: Type.String(),
    url: Type.String(),
    response: Type.String({ description: 'The beginning of the answer, or why there was none' }),
    responseStatusCode: Type.Integer({ description: '0 when there was no answer' }),
    responseDurationMs: Type.Integer(),
    status: Type.Integer({ description: '0: delivered, 2: failed' }),
    statusText: Nullable(Enum(['success', 'fail'])),
    triggerType: Type.Integer({ description: '0: by the schedule, 1: requested by a developer' }),
    timestamp: Instant(),
    msg: Nullable(Message),
  },
  { title: 'DeliveryAttempt' },
)

const example = {
  id: 'atmpt_1',
  endpointId: 'ep_4hJ7kQ2mZx9RtB1vNc6WsY0e',
  msgId: messageExample.id,
  url: 'https://example.org/hooks/pulsebase',
  response: 'ok',
  responseStatusCode: 200,
  responseDurationMs: 85,
  status: 0,
  statusText: 'success',
  triggerType: 0,
  timestamp: '2026-02-24T10:00:14Z',
  msg: messageExample,
}

/** `data` is null if the event no longer exists. */
interface AttemptRow extends Omit<MessageRow, 'data'> {
  id: number
  event_uid: string
  url: string
  succeeded: boolean
  response_status: number
  response: string
  duration_ms: number
  manual: boolean
  attempted_at: string
  fits: boolean
  data: Buffer | null
}

/** Attempts to deliver to an endpoint, newest first (contract 10). */
export const listAttempts = route(
  {
    method: 'GET',
    path: '/api/v1/webhooks/endpoints/{endpoint_id}/attempts',
    operationId: 'listAttempts',
    summary: 'Delivery attempts of an endpoint, newest first',
    description:
      'Recorded once they are over, so none has the status 1 (pending) or 3 (sending). `msg` is null when the ' +
      'event is no longer stored. A page of large events is shorter than `limit`; `done` says whether it is the last.',
    tag: 'Webhooks',
    guard: 'developer',
    params: EndpointPath,
    query: Type.Object({
      ...pageParameters,
      status: Type.Optional(Type.Integer({ minimum: 0, maximum: 3, description: '0: delivered, 2: failed' })),
      event_types: Type.Optional(List(Enum(eventNames, { title: 'EventName' }))),
    }),
    response: Type.Object(
      {
        data: Type.Array(Attempt),
        done: Type.Boolean(),
        iterator: Nullable(Type.String()),
        prevIterator: Nullable(Type.String()),
      },
      { title: 'DeliveryAttemptPage' },
    ),
    example: { data: [example], done: true, iterator: null, prevIterator: null },
    errors: { ...endpointErrors, 400: 'Bad cursor' },
  },
  async ({ params, query }, { config, db, keys }) => {
    requireWebhooks(config)
    const endpoint = await findEndpoint(db, params.endpoint_id)
    const { iterator, limit, before, after, status, event_types: types = null } = query
    const scope = `attempts ${JSON.stringify([endpoint.id, before, after, status, types])}`
    const mark = iterator === undefined ? undefined : readCursor(keys.cursor, scope, iterator)
    const read = await db.query<AttemptRow>(attemptsSql(status, mark?.backward === true), [
      limit + 1,
      ...boundsOf(mark, before, after),
      PAGE_BYTES,
      endpoint.id,
      types,
    ])
    const { rows, ...turns } = turnsOf(read, limit, mark, ({ attempted_at, id }, backward) =>
      writeCursor(keys.cursor, scope, { at: attempted_at, id: String(id), backward, total: 0 }),
    )
    const data = await jsonArray(rows, (row) => attemptJson(params.endpoint_id, row))
    return new Reply(200, 'application/json', `{"data":${data},${JSON.stringify(turns).slice(1)}`)
  },
)

function attemptJson(endpointId: string, { data, ...row }: AttemptRow): string {
  const attempt = {
    id: `atmpt_${row.id}`,
    endpointId,
    msgId: messageId(row.event_uid),
    url: row.url,
    response: row.response,
    responseStatusCode: row.response_status,
    responseDurationMs: row.duration_ms,
    status: row.succeeded ? 0 : 2,
    statusText: row.succeeded ? 'success' : 'fail',
    triggerType: row.manual ? 1 : 0,
    timestamp: row.attempted_at,
  }
  return `${JSON.stringify(attempt).slice(0, -1)},"msg":${data ? messageJson({ ...row, data }) : null}}`
}

/** One condition for each status, so that failed attempts are found by their index. */
const OF_STATUS = ['and a.succeeded', 'and false', 'and not a.succeeded', 'and false']

/** Attempts between two rows, from the newer one or the older one on; only bodies that fit on the page are read. */
export function attemptsSql(status: number | undefined, backward: boolean): string {
  const order = backward ? 'asc' : 'desc'
  const ordered = `order by a.attempted_at ${order}, a.id ${order}`
  const bytes = `coalesce(${BODY_BYTES}, 0) + octet_length(a.response)`
  return `
    select e.*, case when e.fits then e.body end as data
    from (
      select a.*, ${MESSAGE_COLUMNS}, e.data as body,
             sum(${bytes}) over (${ordered} rows unbounded preceding) - ${bytes} < $6 as fits
      from (
        select id, event_uid, url, succeeded, response_status, response, duration_ms, manual, attempted_at
        from attempt a
        where a.endpoint_id = $7
          and (a.attempted_at, a.id) < ($2::timestamptz, $3::int8)
          and (a.attempted_at, a.id) > ($4::timestamptz, $5::int8)
          ${status === undefined ? '' : OF_STATUS[status]}
          and ($8::text[] is null or a.event_type = any ($8))
        ${ordered}
        limit $1
      ) a
      left join event e on e.uid = a.event_uid
    ) e
    order by e.attempted_at ${order}, e.id ${order}`
}
