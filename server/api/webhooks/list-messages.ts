import { Type } from 'typebox'
import { readCursor, writeCursor } from '../../http/cursors.ts'
import { Reply } from '../../http/reply.ts'
import { route } from '../../http/route.ts'
import { Nullable } from '../../http/schema.ts'
import { endpointErrors, requireWebhooks } from './endpoint.ts'
import { MESSAGE_COLUMNS, Message, type MessageRow, messageExample, messageJson } from './message.ts'
import { BODY_BYTES, boundsOf, jsonArray, PAGE_BYTES, pageParameters, turnsOf } from './page.ts'

/** Every recorded event, newest first, including tests (contract 10). */
export const listMessages = route(
  {
    method: 'GET',
    path: '/api/v1/webhooks/messages',
    operationId: 'listMessages',
    summary: 'Recorded events, newest first',
    description: 'A page of large events is shorter than `limit`; `done` says whether it is the last one.',
    tag: 'Webhooks',
    guard: 'developer',
    query: Type.Object(pageParameters),
    response: Type.Object(
      {
        data: Type.Array(Message),
        done: Type.Boolean(),
        iterator: Nullable(Type.String()),
        prevIterator: Nullable(Type.String()),
      },
      { title: 'WebhookMessagePage' },
    ),
    example: { data: [messageExample], done: true, iterator: null, prevIterator: null },
    errors: { 400: 'Bad cursor', 503: endpointErrors[503] },
  },
  async ({ query }, { config, db, keys }) => {
    requireWebhooks(config)
    const { iterator, limit, before, after } = query
    const scope = `messages ${JSON.stringify([before, after])}`
    const mark = iterator === undefined ? undefined : readCursor(keys.cursor, scope, iterator)
    const read = await db.query<MessageRow & { id: number; fits: boolean }>(messagesSql(mark?.backward === true), [
      limit + 1,
      ...boundsOf(mark, before, after),
      PAGE_BYTES,
    ])
    const { rows, ...turns } = turnsOf(read, limit, mark, ({ created_at, id }, backward) =>
      writeCursor(keys.cursor, scope, { at: created_at, id: String(id), backward, total: 0 }),
    )
    const data = await jsonArray(rows, messageJson)
    return new Reply(200, 'application/json', `{"data":${data},${JSON.stringify(turns).slice(1)}`)
  },
)

/** Events between two rows, from the newer one or the older one on; only bodies that fit on the page are read. */
export function messagesSql(backward: boolean): string {
  const order = backward ? 'asc' : 'desc'
  const ordered = `order by e.created_at ${order}, e.id ${order}`
  return `
    select ${MESSAGE_COLUMNS}, e.id, e.fits, case when e.fits then e.data end as data
    from (
      select ${MESSAGE_COLUMNS}, e.id, e.data,
             sum(${BODY_BYTES}) over (${ordered} rows unbounded preceding) - ${BODY_BYTES} < $6 as fits
      from (
        select ${MESSAGE_COLUMNS}, e.id, e.data
        from event e
        where (e.created_at, e.id) < ($2::timestamptz, $3::int8)
          and (e.created_at, e.id) > ($4::timestamptz, $5::int8)
        ${ordered}
        limit $1
      ) e
    ) e
    ${ordered}`
}
