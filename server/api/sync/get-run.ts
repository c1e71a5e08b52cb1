import { Type } from 'typebox'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { Instant, Nullable } from '../../http/schema.ts'
import { Batch, batchExample, LISTED_BATCH_COLUMNS } from '../sdk/batch.ts'
import { MAX_TYPES } from '../sdk/logged-event.ts'
import { RECORD_COLUMNS, RunRecord, recordExample } from './run.ts'

const RunType = Type.Object(
  {
    data_type: Type.String(),
    kind: Type.String(),
    status: Type.String(),
    native_type: Nullable(Type.String()),
    reported_records: Nullable(Type.Integer()),
    items_inserted: Type.Integer(),
    items_updated: Type.Integer(),
    covered_start: Nullable(Instant()),
    covered_end: Nullable(Instant()),
    error_code: Nullable(Type.String()),
    error: Nullable(Type.String()),
    attempt: Type.Integer(),
  },
  { title: 'SyncRunType' },
)

// Several platform types may become one series, which gets the worst of their states.
const REPORTS_SQL = `
  select data_type, min(kind) as kind, string_agg(native_type, ', ' order by native_type) as native_type,
         sum(reported_records)::int8 as reported_records,
         (array_agg(status order by array_position('{in_progress,failed,unfinished}', status)))[1] as status,
         min(error_code) as error_code, min(error) as error, max(attempt) as attempt
  from sync_run_report
  where user_id = $1 and run_key = $2 and kind <> 'task'
  group by data_type`

// What was stored and what a phone reports, by type; then the streams that a provider was asked for.
const TYPES_SQL = `
  select data_type, coalesce(t.kind, r.kind) as kind, coalesce(r.status, 'success') as status,
         r.native_type, r.reported_records,
         coalesce(t.items_inserted, 0) as items_inserted, coalesce(t.items_updated, 0) as items_updated,
         t.covered_start, t.covered_end, r.error_code, r.error, coalesce(r.attempt, 1) as attempt
  from (select * from sync_run_type where user_id = $1 and run_key = $2) t
  full join (${REPORTS_SQL}) r using (data_type)
  union all
  select data_type, kind, status, native_type, reported_records, 0, 0, null, null, error_code, error, attempt
  from sync_run_report
  where user_id = $1 and run_key = $2 and kind = 'task'
  order by data_type, kind`

/** One run with its counts per series type and its latest uploads (contract 7.5). */
export const getRun = route(
  {
    method: 'GET',
    path: '/api/v1/sync/history/{run_key}',
    operationId: 'getSyncRun',
    summary: 'One run in detail',
    tag: 'Sync',
    guard: 'key',
    params: Type.Object({ run_key: Type.String({ maxLength: 200 }) }),
    response: Type.Object(
      {
        ...RunRecord.properties,
        data_types: Type.Array(RunType),
        data_types_left_out: Type.Integer({
          description: `Reports about further types: a run lists at most ${MAX_TYPES} that its phone names`,
        }),
        batches: Type.Array(Batch, { description: 'The newest 50 uploads of the run' }),
      },
      { title: 'SyncRunDetail' },
    ),
    example: {
      ...recordExample,
      data_types: [
        {
          data_type: 'heart_rate',
          kind: 'series',
          status: 'success',
          native_type: null,
          reported_records: null,
          items_inserted: 10,
          items_updated: 0,
          covered_start: '2026-02-24T06:10:04Z',
          covered_end: '2026-02-24T06:40:05Z',
          error_code: null,
          error: null,
          attempt: 1,
        },
      ],
      data_types_left_out: 0,
      batches: [batchExample],
    },
    errors: { 404: 'Unknown run' },
  },
  async ({ params }, { db }) => {
    const [run] = await db.query<{ user_id: string; run_key: string }>(
      `select ${RECORD_COLUMNS}, types_left_out as data_types_left_out from sync_run where run_key = $1 order by started_at desc limit 1`,
      [params.run_key],
    )
    if (!run) throw errors.missing('Sync run not found')
    const types = await db.query(TYPES_SQL, [run.user_id, run.run_key])
    const batches = await db.query(
      `select ${LISTED_BATCH_COLUMNS} from upload where user_id = $1 and run_key = $2 order by seq desc limit 50`,
      [run.user_id, run.run_key],
    )
    return { ...run, data_types: types, batches }
  },
)
