import { Type } from 'typebox'
import { MOST_ENTRIES } from '../../db/bounded.ts'
import { readCursor, writeCursor } from '../../http/cursors.ts'
import { route } from '../../http/route.ts'
import { Cursor, Limit } from '../../http/schema.ts'
import { ENDPOINT_COLUMNS, Endpoint, endpointErrors, endpointExample, requireWebhooks } from './endpoint.ts'

const SCOPE = 'endpoints'

const LIST_SQL = `
  select ${ENDPOINT_COLUMNS}, p.id as row, p.created_at as at
  from endpoint p
  where p.uid is not null and ($1::int4 is null or p.id < $1)
  order by p.id desc
  limit $2`

/** The endpoints of the instance, newest first (contract 10, decision D-23): all of them, unless a smaller page is asked for. */
export const listEndpoints = route(
  {
    method: 'GET',
    path: '/api/v1/webhooks/endpoints',
    operationId: 'listEndpoints',
    summary: 'List the endpoints',
    description:
      'All of them, newest first; with `limit`, one page, whose header `X-Next-Cursor` holds the cursor of the next.',
    tag: 'Webhooks',
    guard: 'developer',
    query: Type.Object({
      limit: Limit(MOST_ENTRIES, MOST_ENTRIES),
      cursor: Cursor('`X-Next-Cursor` of the previous page'),
    }),
    response: Type.Array(Endpoint),
    example: [endpointExample],
    errors: { 400: 'Bad cursor', 503: endpointErrors[503] },
  },
  async ({ query: { limit, cursor }, ctx }, { config, db, keys }) => {
    requireWebhooks(config)
    const below = cursor === undefined ? null : readCursor(keys.cursor, SCOPE, cursor).id
    const rows = await db.query<{ row: number; at: string }>(LIST_SQL, [below, limit + 1])
    const last = rows[limit - 1]
    if (last && rows.length > limit) {
      const mark = { at: last.at, id: String(last.row), backward: false, total: 0 }
      ctx.set('X-Next-Cursor', writeCursor(keys.cursor, SCOPE, mark))
    }
    return rows.slice(0, limit).map(({ row: _, at: __, ...endpoint }) => endpoint)
  },
)
