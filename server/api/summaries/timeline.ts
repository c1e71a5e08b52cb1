import { Type } from 'typebox'
import { Reply, route } from '../../http/route.ts'
import { DateInput, Enum, Provider, UserPath } from '../../http/schema.ts'
import { type Stored, userView } from '../timeseries/user-view.ts'
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

const DAYS_SQL = 'select c.place, c.pairs from daily_counts($1, $2, to_timestamp($3), to_timestamp($4)) c'

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
    const rows = await db.rows<[place: number, pairs: Buffer]>(DAYS_SQL, [
      counted.map(({ source }) => source.id),
      counted.map(({ seriesId }) => seriesId),
      start,
      end,
    ])
    const keys = new Map<string, Map<number, number>>()
    for (const [place, pairs] of rows) {
      const { source, series } = counted[place - 1] as Stored
      // A series and its daily totals are one type.
      const key = query.group_by === 'provider' ? source.provider : series.type
      const buckets = keys.get(key) ?? new Map<number, number>()
      keys.set(key, buckets)
      for (let at = 0; at < pairs.length; at += 8) {
        const day = pairs.readInt32BE(at)
        // A week starts on its Monday, as ISO has it; day 0 was a Thursday.
        const bucket = query.bucket === 'week' ? day - ((day + 3) % 7) : day
        buckets.set(bucket, (buckets.get(bucket) ?? 0) + pairs.readInt32BE(at + 4))
      }
    }
    const series = [...keys]
      .map(([key, buckets]) => ({ key, ...told(buckets) }))
      .sort((a, b) => b.total - a.total || (a.key < b.key ? -1 : 1))
      .map(({ key, pairs }) => `{"key":"${key}","metric":"data_points","buckets":[${pairs}]}`)
    const text = `{"bucket":"${query.bucket}","group_by":"${query.group_by}","series":[${series.join(',')}]}`
    return new Reply(200, 'application/json', text)
  },
)

/** What the buckets of a key, by day since 1970-01-01, add up to, and their pairs in order of time, as JSON. */
function told(buckets: Map<number, number>): { total: number; pairs: string } {
  let total = 0
  let pairs = ''
  for (const day of [...buckets.keys()].sort((a, b) => a - b)) {
    const n = buckets.get(day) as number
    total += n
    pairs += `,["${dateText(day)}",${n}]`
  }
  return { total, pairs: pairs.slice(1) }
}

/** Kept, since a date takes longer to write than all else of its bucket; there are as many as days since 1990. */
const dateTexts = new Map<number, string>()

function dateText(day: number): string {
  let text = dateTexts.get(day)
  if (text === undefined) {
    text = new Date(day * 86_400_000).toISOString().slice(0, 10)
    dateTexts.set(day, text)
  }
  return text
}
