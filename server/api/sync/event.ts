import { Type } from 'typebox'
import { Instant, Nullable, Uuid } from '../../http/schema.ts'
import { progressExample, runProgress } from './run.ts'

/** SyncStatusEvent of contract 7.5. */
export const SyncEvent = Type.Object(
  {
    event_id: Uuid(),
    ...runProgress,
    scope: Type.String(),
    metadata: Type.Record(Type.String(), Type.Unknown()),
    window_start: Nullable(Instant()),
    window_end: Nullable(Instant()),
    timestamp: Instant(),
  },
  { title: 'SyncEvent' },
)

/** Columns of `sync_event e` and its run `r` as a SyncStatusEvent. */
export const EVENT_COLUMNS = `
  e.event_id, e.run_key as run_id, e.user_id, r.provider, r.source, r.scope, e.stage, e.status, e.message,
  case when e.items_total > 0 and (e.status <> 'in_progress' or coalesce(e.items_processed, 0) < e.items_total)
       then coalesce(e.items_processed, 0)::float8 / e.items_total end as progress,
  e.items_processed, e.items_total, e.error, r.primary_user_id, e.metadata,
  r.window_start, r.window_end, r.started_at,
  case when e.status <> 'in_progress' then e.created_at end as ended_at, e.created_at as timestamp`

/** Example of the description. */
export const eventExample = {
  event_id: '5a0e4c1b-3c58-4c5e-8f3c-0d9f0f6f2c77',
  ...progressExample,
  scope: 'live',
  metadata: { records_inserted: 22, dropped_count: 0 },
  window_start: null,
  window_end: null,
  timestamp: '2026-02-24T10:00:13Z',
}
