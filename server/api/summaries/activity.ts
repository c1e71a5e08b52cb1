import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { CursorPage, Enum, Nullable, SourceMetadata, UserPath, Uuid } from '../../http/schema.ts'
import { userView } from '../../sources/user-view.ts'
import { type ActivityRow, readActivity, SOURCES_EXPLAINED } from './activity-days.ts'
import { dayPage, dayQuery } from './day-page.ts'

const Amounts = Type.Object(
  {
    steps: Nullable(Type.Number()),
    distance_meters: Nullable(Type.Number()),
    floors_climbed: Nullable(Type.Number()),
    active_calories_kcal: Nullable(Type.Number()),
    basal_calories_kcal: Nullable(Type.Number()),
    active_minutes: Nullable(Type.Number()),
    heart_rate_samples: Type.Integer(),
  },
  { title: 'ActivityAmounts' },
)

const ActivitySummary = Type.Object(
  {
    date: Type.String({ format: 'date' }),
    source: SourceMetadata,
    steps: Nullable(Type.Integer()),
    distance_meters: Nullable(Type.Number()),
    floors_climbed: Nullable(Type.Integer()),
    elevation_meters: Nullable(Type.Number()),
    active_calories_kcal: Nullable(Type.Number()),
    total_calories_kcal: Nullable(Type.Number()),
    active_minutes: Nullable(Type.Integer()),
    sedentary_minutes: Nullable(Type.Integer()),
    intensity_minutes: Nullable(
      Type.Object({ light: Type.Integer(), moderate: Type.Integer(), vigorous: Type.Integer() }),
    ),
    heart_rate: Nullable(Type.Object({ avg_bpm: Type.Integer(), max_bpm: Type.Integer(), min_bpm: Type.Integer() })),
    sources: Type.Optional(
      Type.Array(
        Type.Object({
          data_source_id: Uuid(),
          source: SourceMetadata,
          used: Type.Boolean(),
          counted: Amounts,
          dropped: Amounts,
          manual: Type.Optional(
            Type.Object(
              { counted: Amounts, dropped: Amounts },
              {
                description: 'What of that was entered by hand; only where something was, and only with merge=segments',
              },
            ),
          ),
        }),
        {
          description: `With explain=true: the sources of the day, at most ${SOURCES_EXPLAINED}, best first, with what of them the row counts and drops`,
        },
      ),
    ),
  },
  { title: 'ActivitySummary' },
)

const example: ActivityRow = {
  date: '2026-02-24',
  source: {
    provider: 'garmin',
    source: 'garmin_connect_api',
    device: 'Forerunner 255',
    device_type: 'watch',
    device_name: 'Forerunner 255',
  },
  steps: 8432,
  distance_meters: 6240.5,
  floors_climbed: 12,
  elevation_meters: 36,
  active_calories_kcal: 342.5,
  total_calories_kcal: 2150,
  active_minutes: 60,
  sedentary_minutes: 480,
  intensity_minutes: { light: 40, moderate: 15, vigorous: 5 },
  heart_rate: { avg_bpm: 68, max_bpm: 142, min_bpm: 48 },
}

/** Activity of each local day, merged from all sources or from the best one (contract 4.1, 12.1, 12.3). */
export const getActivitySummary = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/summaries/activity',
    operationId: 'getActivitySummary',
    summary: 'Activity by local day',
    description:
      'A row per local day. Of each series and quarter hour the best source that measured it counts; `source` is the best one of which anything counts. A value is null when nobody measured it. A daily total of a platform replaces the samples of its source. Entries made by hand count only where nothing was measured.',
    tag: 'Summaries',
    guard: 'key',
    csv: { name: 'activity', list: 'data' },
    share: 'report',
    fromReplicas: true,
    params: UserPath,
    query: Type.Object({
      ...dayQuery,
      sort_order: Type.String({ pattern: '^(asc|desc)$', default: 'asc', description: 'asc or desc, by date' }),
      merge: Enum(['none', 'segments'], {
        default: 'segments',
        description:
          'segments: what the best source did not measure comes from the next best, per series and quarter hour. none: everything from the best source of the day',
      }),
      explain: Type.Boolean({ default: false, description: 'Adds the sources of each day' }),
    }),
    revalidated: true,
    response: CursorPage(ActivitySummary),
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
    const { merge, explain } = query
    return dayPage({ view, ctx, name: 'activity', query }, deps, (asked, startDay) =>
      readActivity(deps.db, view, { ...asked, startDay, merged: merge === 'segments', explain }),
    )
  },
)
