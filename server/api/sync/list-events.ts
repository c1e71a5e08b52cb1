import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { Limit, UserPath } from '../../http/schema.ts'
import { requireUser } from '../users/exists.ts'
import { EVENT_COLUMNS, eventExample, SyncEvent } from './event.ts'

/** Progress events of a user's runs, newest first (contract 7.5). */
export const listEvents = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/sync/recent',
    operationId: 'listRecentSyncEvents',
    summary: 'Recent progress of a user',
    tag: 'Sync',
    guard: 'key',
    params: UserPath,
    query: Type.Object({ limit: Limit(200, 50) }),
    response: Type.Array(SyncEvent),
    example: [eventExample],
  },
  async ({ params, query }, { db }) => {
    await requireUser(db, params.user_id)
    return db.query(
      `select ${EVENT_COLUMNS}
       from (select * from sync_event where user_id = $1 order by id desc limit $2) e
       join sync_run r on r.user_id = e.user_id and r.run_key = e.run_key
       order by e.id desc`,
      [params.user_id, query.limit],
    )
  },
)
