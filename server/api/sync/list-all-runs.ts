import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { Limit, Provider, Uuid } from '../../http/schema.ts'
import { RunSummary, SUMMARY_COLUMNS, SyncSource, SyncStatus, summaryExample } from './run.ts'

/** Runs over all users, newest first (contract 7.5). */
export const listAllRuns = route(
  {
    method: 'GET',
    path: '/api/v1/sync/runs',
    operationId: 'listSyncRuns',
    summary: 'Runs of all users',
    tag: 'Sync',
    guard: 'key',
    query: Type.Object({
      limit: Limit(10_000, 50),
      user_id: Type.Optional(Uuid()),
      provider: Type.Optional(Provider()),
      status: Type.Optional(SyncStatus()),
      source: Type.Optional(SyncSource()),
    }),
    response: Type.Array(RunSummary),
    example: [summaryExample],
  },
  async ({ query }, { db }) =>
    db.query(
      `select ${SUMMARY_COLUMNS}
       from sync_run
       where ($2::uuid is null or user_id = $2)
         and ($3::text is null or provider = $3)
         and ($4::text is null or status = $4)
         and ($5::text is null or source = $5)
       order by started_at desc, run_key
       limit $1`,
      [query.limit, query.user_id ?? null, query.provider ?? null, query.status ?? null, query.source ?? null],
    ),
)
