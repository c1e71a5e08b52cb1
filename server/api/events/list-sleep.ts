import { Type } from 'typebox'
import { SLEEP_COLUMNS, type SleepRow, SleepStageInterval, SleepStages, sleepItem } from '../../events/sleep.ts'
import { route } from '../../http/route.ts'
import { CursorPage, Enum, Instant, List, Nullable, SourceMetadata, UserPath, Uuid } from '../../http/schema.ts'
import { listEvents, listParameters } from './page.ts'
import { sleepFilters, sleepParams, whereSleep } from './sleep-filters.ts'

/** A sleep session of lists, and alone. */
export const SleepSession = Type.Object(
  {
    id: Uuid(),
    start_time: Instant(),
    end_time: Instant(),
    zone_offset: Nullable(Type.String()),
    source: SourceMetadata,
    duration_seconds: Type.Integer({ description: 'From start to end' }),
    sleep_duration_seconds: Nullable(Type.Integer()),
    time_in_bed_seconds: Nullable(Type.Integer({ description: 'From start to end if the source does not report it' })),
    efficiency_percent: Nullable(Type.Number()),
    stages: Nullable(SleepStages),
    sleep_stage_intervals: Nullable(Type.Array(SleepStageInterval)),
    is_nap: Type.Boolean(),
  },
  { title: 'SleepSession' },
)

/** A `SleepSession` for the API description. */
export const sleepExample = {
  id: 'b2c3f1a4-58c6-4d0e-8c1a-70d9f2b6e415',
  start_time: '2026-02-23T22:10:00Z',
  end_time: '2026-02-24T06:05:00Z',
  zone_offset: '+01:00',
  source: {
    provider: 'oura',
    source: 'oura_api',
    device: 'Oura Ring Gen3',
    device_type: 'ring',
    device_name: 'Oura Ring Gen3',
  },
  duration_seconds: 28_500,
  sleep_duration_seconds: 25_200,
  time_in_bed_seconds: 28_500,
  efficiency_percent: 88.4,
  stages: { awake_minutes: 55, light_minutes: 240, deep_minutes: 80, rem_minutes: 100 },
  sleep_stage_intervals: [
    { stage: 'in_bed', start_time: '2026-02-23T22:10:00Z', end_time: '2026-02-23T22:20:00Z' },
    { stage: 'light', start_time: '2026-02-23T22:20:00Z', end_time: '2026-02-23T23:05:00Z' },
  ],
  is_nap: false,
}

const example = {
  data: [sleepExample],
  pagination: { next_cursor: null, previous_cursor: null, has_more: false, total_count: 1 },
  metadata: { resolution: null, sample_count: 1, start_time: '2026-02-23T00:00:00Z', end_time: '2026-02-24T00:00:00Z' },
}

const listing = {
  name: 'sleep',
  table: 'sleep',
  columns: `${SLEEP_COLUMNS}, case when $10 then jsonb_array_length(e.stages) end as parts`,
}

const STAGES_SQL = 'select id, stages from sleep where id = any ($1)'

/** Sleep sessions of a user, including naps, the latest first (contract 5.4). */
export const listSleep = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/events/sleep',
    operationId: 'listSleep',
    summary: 'Sleep sessions of a user',
    description: "Those that start within the range, the latest first. The ETag changes when the user's data does.",
    tag: 'Events',
    guard: 'key',
    csv: { name: 'sleep', list: 'data' },
    shareOf: ({ filter_by_priority }) => (filter_by_priority ? 'report' : 'read'),
    fromReplicas: true,
    params: UserPath,
    query: Type.Object({
      ...listParameters,
      ...sleepFilters,
      include: Type.Optional(List(Enum(['stages']), { description: 'Parts that are null otherwise' })),
    }),
    revalidated: true,
    response: CursorPage(SleepSession),
    example,
    errors: { 400: 'Bad date or cursor' },
  },
  async (input, deps) => {
    const withStages = input.query.include?.includes('stages') === true
    const params = [...sleepParams(input.query), withStages]
    return listEvents<SleepRow>(
      { ...listing, where: whereSleep(9, input.query), params },
      input,
      deps,
      async (rows, sourceOf) => {
        const ids = withStages ? rows.map(({ id }) => id) : []
        const found = ids.length > 0 ? await deps.db.rows<[string, SleepRow['stages']]>(STAGES_SQL, [ids]) : []
        const stages = new Map(found)
        return rows.map((row) => sleepItem({ ...row, stages: stages.get(row.id) ?? null }, sourceOf(row)))
      },
    )
  },
)
