import { Type } from 'typebox'
import { DAILY_TOTAL_OFFSET, seriesById } from '../../catalogue/series.ts'
import { route } from '../../http/route.ts'
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

// `series_id % 10000` takes a series and its daily totals as one type.
const TIMELINE_SQL = `
  select
    case when $5 = 'provider' then d.provider else (c.series_id % ${DAILY_TOTAL_OFFSET})::text end as key,
    to_char(date_trunc($6, c.day), 'YYYY-MM-DD') as bucket,
    sum(c.n)::int8 as n
  from daily_counts($1, $2, to_timestamp($3), to_timestamp($4)) c
  join data_source d on d.id = c.source_id
  group by 1, 2
  order by 2`

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
    const rows = await db.rows<[key: string, bucket: string, n: number]>(TIMELINE_SQL, [
      counted.map(({ source }) => source.id),
      counted.map(({ seriesId }) => seriesId),
      start,
      end,
      query.group_by,
      query.bucket,
    ])
    return { bucket: query.bucket, group_by: query.group_by, series: seriesOf(rows, query.group_by) }
  },
)

/** One series per key, the largest first. */
function seriesOf(rows: readonly [key: string, bucket: string, n: number][], groupBy: string) {
  const series = new Map<string, { key: string; total: number; buckets: [string, number][] }>()
  for (const [id, bucket, n] of rows) {
    const key = groupBy === 'series_type' ? (seriesById.get(Number(id))?.type ?? id) : id
    const one = series.get(key) ?? { key, total: 0, buckets: [] }
    one.total += n
    one.buckets.push([bucket, n])
    series.set(key, one)
  }
  return [...series.values()]
    .sort((a, b) => b.total - a.total || (a.key < b.key ? -1 : 1))
    .map(({ key, buckets }) => ({ key, metric: 'data_points', buckets }))
}
