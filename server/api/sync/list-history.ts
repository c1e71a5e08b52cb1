import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { Instant, Limit, Provider, SyncScope, UserPath } from '../../http/schema.ts'
import { requireUser } from '../users/exists.ts'
import { RECORD_COLUMNS, RunRecord, recordExample } from './run.ts'

/** Stored runs of a user, newest first (contract 7.5). A covered filter asks for overlap and leaves out runs without a span. */
export const listHistory = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/sync/history',
    operationId: 'listSyncHistory',
    summary: 'History of runs of a user',
    tag: 'Sync',
    guard: 'key',
    params: UserPath,
    query: Type.Object({
      limit: Limit(200, 20),
      scope: Type.Optional(SyncScope()),
      since: Type.Optional(Instant()),
      provider: Type.Optional(Provider()),
      covered_from: Type.Optional(Instant()),
      covered_to: Type.Optional(Instant()),
    }),
    response: Type.Array(RunRecord),
    example: [recordExample],
  },
  async ({ params, query }, { db }) => {
    await requireUser(db, params.user_id)
    return db.query(
      `select ${RECORD_COLUMNS}
       from sync_run r
       where user_id = $1
         and ($3::text is null or scope = $3)
         and ($4::timestamptz is null or started_at >= $4)
         and ($5::text is null or provider = $5)
         and (
           ($6::timestamptz is null and $7::timestamptz is null)
           or (window_start < coalesce($7, 'infinity') and window_end >= coalesce($6, '-infinity'))
           or exists (
             select 1 from sync_run_type t
             where t.user_id = r.user_id and t.run_key = r.run_key
               and t.covered_start < coalesce($7, 'infinity') and t.covered_end >= coalesce($6, '-infinity')
           )
         )
       order by started_at desc, run_key
       limit $2`,
      [
        params.user_id,
        query.limit,
        query.scope ?? null,
        query.since ?? null,
        query.provider ?? null,
        query.covered_from ?? null,
        query.covered_to ?? null,
      ],
    )
  },
)
