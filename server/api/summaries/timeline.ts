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
// 1970-01-05 was a Monday.
const TIMELINE_SQL = `
  select b.key, string_agg('["' || b.bucket || '",' || b.n || ']', ',' order by b.bucket)
  from (
    select ($5::text[])[c.place] as key,
           case $6::text when 'week' then c.day - (c.day - date '1970-01-05') % 7 else c.day end as bucket,
           sum(c.n) as n
    from daily_counts($1, $2, to_timestamp($3), to_timestamp($4)) c
    group by 1, 2
  ) b
  group by 1
  order by sum(b.n) desc, 1`

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
    const rows = await db.rows<[key: string, buckets: string]>(TIMELINE_SQL, [
      counted.map(({ source }) => source.id),
      counted.map(({ seriesId }) => seriesId),
      start,
      end,
      // A series and its daily totals are one type.
      counted.map(({ source, series }) => (query.group_by === 'provider' ? source.provider : series.type)),
      query.bucket,
    ])
    const series = rows.map(([key, buckets]) => `{"key":"${key}","metric":"data_points","buckets":[${buckets}]}`)
    const text = `{"bucket":"${query.bucket}","group_by":"${query.group_by}","series":[${series.join(',')}]}`
    return new Reply(200, 'application/json', text)
  },
)
