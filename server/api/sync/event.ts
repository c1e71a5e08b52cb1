import { Type } from 'typebox'
import { Instant, Nullable, Uuid } from '../../http/schema.ts'

/** SyncStatusEvent of contract 7.5. */
export const SyncEvent = Type.Object({
  event_id: Uuid(),
  run_id: Type.String(),
  user_id: Uuid(),
  provider: Type.String(),
  source: Type.String(),
  scope: Type.String(),
  stage: Type.String(),
  status: Type.String(),
  message: Nullable(Type.String()),
  progress: Nullable(Type.Number()),
  items_processed: Nullable(Type.Integer()),
  items_total: Nullable(Type.Integer()),
  error: Nullable(Type.String()),
  primary_user_id: Nullable(Uuid()),
  metadata: Type.Record(Type.String(), Type.Unknown()),
  window_start: Nullable(Instant()),
  window_end: Nullable(Instant()),
  started_at: Nullable(Instant()),
  ended_at: Nullable(Instant()),
  timestamp: Instant(),
})

/** Columns of `sync_event e` and its run `r` as a SyncStatusEvent. */
export const EVENT_COLUMNS = `
  e.event_id, e.run_key as run_id, e.user_id, r.provider, r.source, r.scope, e.stage, e.status, e.message,
  case when e.items_total > 0 then coalesce(e.items_processed, 0)::float8 / e.items_total end as progress,
  e.items_processed, e.items_total, e.error, null::uuid as primary_user_id, e.metadata,
  r.window_start, r.window_end, r.started_at,
  case when e.status <> 'in_progress' then e.created_at end as ended_at, e.created_at as timestamp`

/** Example of the description. */
export const eventExample = {
  event_id: '5a0e4c1b-3c58-4c5e-8f3c-0d9f0f6f2c77',
  run_id: 'sdk_5B0E1D7C-2F42-4E0B-8C8B-9A6C1B7D3E21',
  user_id: '0b0c9d4e-6d3b-4f0e-9a55-2f4f3f1f6c11',
  provider: 'apple',
  source: 'sdk',
  scope: 'live',
  stage: 'completed',
  status: 'success',
  message: 'Apple batch saved: 22 new, 0 updated',
  progress: 1,
  items_processed: 23,
  items_total: 23,
  error: null,
  primary_user_id: null,
  metadata: { records_inserted: 22, dropped_count: 0 },
  window_start: null,
  window_end: null,
  started_at: '2026-02-24T10:00:00Z',
  ended_at: '2026-02-24T10:00:13Z',
  timestamp: '2026-02-24T10:00:13Z',
}
