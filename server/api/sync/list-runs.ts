import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { Limit, UserPath } from '../../http/schema.ts'
import { requireUser } from '../users/exists.ts'
import { RunSummary, SUMMARY_COLUMNS, summaryExample } from './run.ts'

/** The runs of a user, newest first (contract 7.5). */
export const listRuns = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/sync/runs',
    operationId: 'listUserSyncRuns',
    summary: 'Runs of a user',
    tag: 'Sync',
    guard: 'key',
    params: UserPath,
    query: Type.Object({ limit: Limit(200, 20) }),
    response: Type.Array(RunSummary),
    example: [summaryExample],
  },
  async ({ params, query }, { db }) => {
    await requireUser(db, params.user_id)
    return db.query(
      `select ${SUMMARY_COLUMNS} from sync_run where user_id = $1 order by started_at desc, run_key limit $2`,
      [params.user_id, query.limit],
    )
  },
)
