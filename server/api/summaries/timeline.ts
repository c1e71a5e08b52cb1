import { Type } from 'typebox'
import { Reply, route } from '../../http/route.ts'
import { DateInput, Enum, Provider, UserPath } from '../../http/schema.ts'
import { userView } from '../timeseries/user-view.ts'
import { optionalWindow } from './window.ts'

const Timeline = Type.Object({
  bucket: Enum(['day', 'week']),
  group_by: Enum(['provider', 'series_type', 'workout_type']),
  series: Type.Array(
    Type.Object({
      key: Type.String({ description: 'Provider, series type or workout type' }),
      metric: Enum(['data_points', 'workouts']),
      buckets: Type.Array(Type.Array(Type.Union([Type.String(), Type.Integer()]), { minItems: 2, maxItems: 2 }), {
        description: 'Pairs of the first day of a bucket and the number of samples in it',
      }),
    }),
  ),
})

// The buckets of a series come as one text that is pasted into the answer: three years of days are ten thousand pairs.
// Buckets of seven days start on Mondays, as ISO weeks do.
const TIMELINE_SQL = `
  select b.key, string_agg('["' || (b.bucket at time zone 'UTC')::date || '",' || b.n || ']', ',' order by b.bucket), sum(b.n)::int8
  from (
    select ($5::int4[])[c.place] as key, time_bucket($6::interval, c.day) as bucket, sum(c.n::int4) as n
    from daily_counts($1, $2, to_timestamp($3), to_timestamp($4)) c
    group by 1, 2
  ) b
  group by 1`

/** Number of samples per day or week, archived ones included (contract 4.6, 12.7). */
export const getTimeline = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/summaries/data/timeline',
    operationId: 'getDataTimeline',
    summary: 'How much data a user has, over time',
    description:
      'Samples by UTC day or ISO week; empty buckets are left out. Archived samples count. Workouts are not stored yet, so that group_by=workout_type has no series.',
    tag: 'Summaries',
    guard: 'key',
    params: UserPath,
    query: Type.Object({
      start_date: Type.Optional(DateInput('First instant; a date is its midnight UTC. None = all of history.')),
      end_date: Type.Optional(DateInput('End, exclusive; a date is its midnight UTC, so that day is not included.')),
      bucket: Enum(['day', 'week'], { default: 'day' }),
      group_by: Enum(['provider', 'series_type', 'workout_type'], { default: 'provider' }),
      provider: Type.Optional(Provider()),
    }),
    response: Timeline,
    example: {
      bucket: 'day',
      group_by: 'series_type',
      series: [
        {
          key: 'heart_rate',
          metric: 'data_points',
          buckets: [
            ['2026-02-23', 812],
            ['2026-02-24', 790],
          ],
        },
      ],
    },
    errors: { 400: 'Bad date' },
  },
  async ({ params, query }, { db }) => {
    const { start, end } = optionalWindow(query, 'start of day')
    const { stored } = await userView(db, params.user_id)
    const counted =
      query.group_by === 'workout_type'
        ? []
        : stored.filter(({ source }) => query.provider === undefined || source.provider === query.provider)
    // A series and its daily totals are one type.
    const names = counted.map(({ source, series }) => (query.group_by === 'provider' ? source.provider : series.type))
    const keys = [...new Set(names)].sort()
    const rows = await db.rows<[key: number, buckets: string, total: number]>(TIMELINE_SQL, [
      counted.map(({ source }) => source.id),
      counted.map(({ seriesId }) => seriesId),
      start,
      end,
      names.map((name) => keys.indexOf(name)),
      query.bucket === 'week' ? '7 days' : '1 day',
    ])
    const series = rows
      .sort(([a, , most], [b, , more]) => more - most || a - b)
      .map(([key, buckets]) => `{"key":"${keys[key]}","metric":"data_points","buckets":[${buckets}]}`)
    const text = `{"bucket":"${query.bucket}","group_by":"${query.group_by}","series":[${series.join(',')}]}`
    return new Reply(200, 'application/json', text)
  },
)
