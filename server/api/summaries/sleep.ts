import { Type } from 'typebox'
import { SleepStages } from '../../events/sleep.ts'
import { route } from '../../http/route.ts'
import { CursorPage, Instant, Nullable, SourceMetadata, UserPath } from '../../http/schema.ts'
import { userView } from '../../sources/user-view.ts'
import { dayPage, dayQuery } from './day-page.ts'
import { readNights } from './nights.ts'
import { SESSIONS_LISTED, type SleepRow, sleepRow } from './sleep-days.ts'

const Minutes = () => Nullable(Type.Integer())

const SleepSummary = Type.Object(
  {
    date: Type.String({ format: 'date' }),
    source: SourceMetadata,
    start_time: Nullable(Instant()),
    end_time: Nullable(Instant()),
    zone_offset: Nullable(Type.String()),
    duration_minutes: Minutes(),
    total_duration_minutes: Minutes(),
    time_in_bed_minutes: Minutes(),
    efficiency_percent: Nullable(Type.Number()),
    stages: Nullable(SleepStages),
    interruptions_count: Nullable(Type.Integer()),
    nap_count: Nullable(Type.Integer()),
    nap_duration_minutes: Minutes(),
    sessions: Nullable(
      Type.Array(
        Type.Object({
          start_time: Instant(),
          end_time: Instant(),
          zone_offset: Nullable(Type.String()),
          duration_minutes: Type.Integer(),
          is_nap: Type.Boolean(),
        }),
        { description: `The first ${SESSIONS_LISTED} of the day; all of them count` },
      ),
    ),
    avg_heart_rate_bpm: Nullable(Type.Integer()),
    avg_hrv_sdnn_ms: Nullable(Type.Number()),
    avg_hrv_rmssd_ms: Nullable(Type.Number()),
    avg_respiratory_rate: Nullable(Type.Number()),
    avg_spo2_percent: Nullable(Type.Number()),
  },
  { title: 'SleepSummary' },
)

const example: SleepRow = {
  date: '2026-02-24',
  source: {
    provider: 'oura',
    source: 'oura_api',
    device: 'Oura Ring Gen3',
    device_type: 'ring',
    device_name: 'Oura Ring Gen3',
  },
  start_time: '2026-02-23T22:10:00Z',
  end_time: '2026-02-24T06:05:00Z',
  zone_offset: '+01:00',
  duration_minutes: 420,
  total_duration_minutes: 445,
  time_in_bed_minutes: 475,
  efficiency_percent: 88.4,
  stages: { awake_minutes: 55, light_minutes: 240, deep_minutes: 80, rem_minutes: 100 },
  interruptions_count: 2,
  nap_count: 1,
  nap_duration_minutes: 25,
  sessions: [
    {
      start_time: '2026-02-23T22:10:00Z',
      end_time: '2026-02-24T06:05:00Z',
      zone_offset: '+01:00',
      duration_minutes: 420,
      is_nap: false,
    },
    {
      start_time: '2026-02-24T13:00:00Z',
      end_time: '2026-02-24T13:25:00Z',
      zone_offset: '+01:00',
      duration_minutes: 25,
      is_nap: true,
    },
  ],
  avg_heart_rate_bpm: 54,
  avg_hrv_sdnn_ms: null,
  avg_hrv_rmssd_ms: 46.2,
  avg_respiratory_rate: 14.1,
  avg_spo2_percent: 96.8,
}

/** Sleep of each local day, from the source whose night counts (contract 4.2, 12.4). */
export const getSleepSummary = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/summaries/sleep',
    operationId: 'getSleepSummary',
    summary: 'Sleep by local day',
    description:
      'A row per local day on which sleep ended, from one source: the best of those that recorded at least half of the night. Durations leave naps out: without other sleep they are null.',
    tag: 'Summaries',
    guard: 'key',
    csv: { name: 'sleep_days', list: 'data' },
    share: 'report',
    fromReplicas: true,
    params: UserPath,
    query: Type.Object(dayQuery),
    revalidated: true,
    response: CursorPage(SleepSummary),
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
    return dayPage({ view, ctx, name: 'sleep', query }, deps, async (asked) =>
      (await readNights(deps.db, view, asked)).map(sleepRow),
    )
  },
)
