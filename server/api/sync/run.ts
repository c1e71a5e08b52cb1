import { Type } from 'typebox'
import { Enum, Instant, Nullable, Uuid } from '../../http/schema.ts'

/** SyncStatus of contract 2.2. */
export const SyncStatus = () =>
  Enum(['in_progress', 'success', 'partial', 'failed', 'cancelled', 'skipped', 'unfinished', 'stale'], {
    title: 'SyncStatus',
  })

/** SyncSource of contract 2.2. */
export const SyncSource = () =>
  Enum(['pull', 'webhook', 'sdk', 'backfill', 'xml_import', 'linked_account'], { title: 'SyncSource' })

/** The fields that a run and its events share (contract 7.5). */
export const runProgress = {
  run_id: Type.String(),
  user_id: Uuid(),
  provider: Type.String(),
  source: Type.String(),
  stage: Type.String(),
  status: Type.String(),
  message: Nullable(Type.String()),
  progress: Nullable(Type.Number()),
  items_processed: Nullable(Type.Integer()),
  items_total: Nullable(Type.Integer()),
  error: Nullable(Type.String()),
  primary_user_id: Nullable(Uuid()),
  started_at: Nullable(Instant()),
  ended_at: Nullable(Instant()),
}

/** SyncRunSummary of contract 7.5. */
export const RunSummary = Type.Object({ ...runProgress, last_update: Instant() }, { title: 'SyncRunSummary' })

/** Every item of a run has one of these fates, so they add up to what was received. */
const PROCESSED = `(items_inserted + items_updated + items_unchanged + items_ignored + items_rejected + items_deleted)`

/** Columns of `sync_run` as a RunSummary. */
export const SUMMARY_COLUMNS = `
  run_key as run_id, user_id, provider, source, stage, status, message,
  case when pending = 0 and status <> 'in_progress' then 1.0
       -- All that has come is processed, and more is to come: nobody knows how much.
       when pending > 0 and ${PROCESSED} < items_received then ${PROCESSED}::float8 / items_received end as progress,
  ${PROCESSED} as items_processed, items_received as items_total, error, primary_user_id,
  started_at, ended_at, updated_at as last_update`

/** Example of `runProgress`. */
export const progressExample = {
  run_id: 'sdk_5B0E1D7C-2F42-4E0B-8C8B-9A6C1B7D3E21_0b0c9d4e-6d3b-4f0e-9a55-2f4f3f1f6c11',
  user_id: '0b0c9d4e-6d3b-4f0e-9a55-2f4f3f1f6c11',
  provider: 'apple',
  source: 'sdk',
  stage: 'completed',
  status: 'success',
  message: 'Apple batch saved: 22 new, 0 updated',
  progress: 1,
  items_processed: 23,
  items_total: 23,
  error: null,
  primary_user_id: null,
  started_at: '2026-02-24T10:00:00Z',
  ended_at: '2026-02-24T10:00:13Z',
}

/** Example of the description. */
export const summaryExample = { ...progressExample, last_update: '2026-02-24T10:00:13Z' }

/** SyncRunRecord of contract 7.5. */
export const RunRecord = Type.Object(
  {
    run_key: Type.String(),
    user_id: Uuid(),
    provider: Type.String(),
    source: Type.String(),
    scope: Type.String(),
    status: Type.String(),
    trace_id: Nullable(Type.String()),
    window_start: Nullable(Instant()),
    window_end: Nullable(Instant()),
    started_at: Instant(),
    ended_at: Nullable(Instant()),
    items_received: Type.Integer(),
    items_inserted: Type.Integer(),
    items_updated: Type.Integer(),
    items_unchanged: Type.Integer(),
    items_rejected: Type.Integer(),
    items_ignored: Type.Integer(),
    items_deleted: Type.Integer(),
    error: Nullable(Type.String()),
  },
  { title: 'SyncRun' },
)

/** Columns of `sync_run` as a RunRecord. */
export const RECORD_COLUMNS = `
  run_key, user_id, provider, source, scope, status, trace_id, window_start, window_end, started_at, ended_at,
  items_received, items_inserted, items_updated, items_unchanged, items_rejected, items_ignored, items_deleted, error`

/** Example of the description. */
export const recordExample = {
  run_key: 'sdk_5B0E1D7C-2F42-4E0B-8C8B-9A6C1B7D3E21_0b0c9d4e-6d3b-4f0e-9a55-2f4f3f1f6c11',
  user_id: '0b0c9d4e-6d3b-4f0e-9a55-2f4f3f1f6c11',
  provider: 'apple',
  source: 'sdk',
  scope: 'live',
  status: 'success',
  trace_id: null,
  window_start: null,
  window_end: null,
  started_at: '2026-02-24T10:00:00Z',
  ended_at: '2026-02-24T10:00:13Z',
  items_received: 23,
  items_inserted: 22,
  items_updated: 0,
  items_unchanged: 0,
  items_rejected: 0,
  items_ignored: 1,
  items_deleted: 0,
  error: null,
}
