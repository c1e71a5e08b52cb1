import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { CursorPage, Nullable, SourceMetadata, UserPath } from '../../http/schema.ts'
import { userView } from '../../sources/user-view.ts'
import { dayPage, dayQuery } from './day-page.ts'
import { type RecoveryRow, readRecovery } from './recovery-days.ts'

const RecoverySummary = Type.Object(
  {
    date: Type.String({ format: 'date' }),
    source: SourceMetadata,
    sleep_duration_seconds: Nullable(Type.Integer()),
    sleep_efficiency_percent: Nullable(Type.Number()),
    resting_heart_rate_bpm: Nullable(Type.Integer()),
    avg_hrv_sdnn_ms: Nullable(Type.Number()),
    avg_hrv_rmssd_ms: Nullable(Type.Number()),
    avg_spo2_percent: Nullable(Type.Number()),
    recovery_score: Nullable(Type.Integer({ description: '0 to 100' })),
  },
  { title: 'RecoverySummary' },
)

const example: RecoveryRow = {
  date: '2026-02-24',
  source: {
    provider: 'whoop',
    source: 'whoop_api',
    device: 'WHOOP 4.0',
    device_type: 'band',
    device_name: 'WHOOP 4.0',
  },
  sleep_duration_seconds: 25_200,
  sleep_efficiency_percent: 91,
  resting_heart_rate_bpm: 52,
  avg_hrv_sdnn_ms: null,
  avg_hrv_rmssd_ms: 61.4,
  avg_spo2_percent: 96.5,
  recovery_score: 74,
}

/** Recovery of each local day, each metric from its best source (contract 4.3, 12.6). */
export const getRecoverySummary = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/summaries/recovery',
    operationId: 'getRecoverySummary',
    summary: 'Recovery by local day',
    description:
      'A row per local day with a recovery score, a resting heart rate, heart rate variability or oxygen saturation. Each metric comes from the best source that has it; `source` is the best of these. Variability and saturation are means of the night if it has any, else of the day.',
    tag: 'Summaries',
    guard: 'key',
    csv: { name: 'recovery', list: 'data' },
    share: 'report',
    fromReplicas: true,
    params: UserPath,
    query: Type.Object(dayQuery),
    revalidated: true,
    response: CursorPage(RecoverySummary),
    example: {
      data: [example],
      pagination: { next_cursor: null, previous_cursor: null, has_more: false, total_count: null },
      metadata: {
        resolution: null,
        sample_count: 1,
        start_time: '2026-02-24T00:00:00Z',
        end_time: '2026-02-25T00:00:00Z',
      },
    },
    errors: { 400: 'Bad date or cursor' },
  },
  async ({ params, query, ctx }, deps) => {
    const view = await userView(deps.db, params.user_id)
    return dayPage({ view, ctx, name: 'recovery', query }, deps, (asked) => readRecovery(deps.db, view, asked))
  },
)
