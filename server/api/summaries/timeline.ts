import { Type } from 'typebox'
import type { Database } from '../../db/database.ts'
import { Reply } from '../../http/reply.ts'
import { route } from '../../http/route.ts'
import { DateInput, Enum, Provider, UserPath } from '../../http/schema.ts'
import { type Stored, userView } from '../../sources/user-view.ts'
import { DAY_MS } from '../../time.ts'
import { requireUser } from '../users/exists.ts'
import { optionalWindow } from './window.ts'

const Timeline = Type.Object(
  {
    bucket: Enum(['day', 'week']),
    group_by: Enum(['provider', 'series_type', 'workout_type']),
    series: Type.Array(
      Type.Object({
        key: Type.String({ description: 'Provider, series type or workout type' }),
        metric: Enum(['data_points', 'workouts']),
        buckets: Type.Array(Type.Array(Type.Union([Type.String(), Type.Integer()]), { minItems: 2, maxItems: 2 }), {
          description: 'Pairs of the first day of a bucket and the number of samples, or workouts, in it',
        }),
      }),
    ),
  },
  { title: 'DataTimeline' },
)

const DAYS_SQL = 'select c.place, c.pairs from daily_counts($1, $2, to_timestamp($3), to_timestamp($4)) c'

const WORKOUTS_SQL = `
  select w.type, floor(date_part('epoch', w.start_at) / 86400)::int4 as day, count(*)::int4
  from workout w
  join data_source d on d.id = w.source_id
  where w.user_id = $1 and w.start_at >= to_timestamp($2) and w.start_at < to_timestamp($3)
    and ($4::text is null or d.provider = $4)
  group by 1, 2`

/** Number of samples, or of workouts, per day or week, archived samples included (contract 4.6, 12.7). */
export const getTimeline = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/summaries/data/timeline',
    operationId: 'getDataTimeline',
    summary: 'How much data a user has, over time',
    description:
      'Samples by UTC day or ISO week, archived ones included; with group_by=workout_type, workouts by their start. Empty buckets are left out.',
    tag: 'Summaries',
    guard: 'key',
    share: 'report',
    fromReplicas: true,
    params: UserPath,
    query: Type.Object({
      start_date: Type.Optional(DateInput('First instant; a date is its midnight UTC. The whole history by default.')),
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
    const keys: Keys = new Map()
    const count = (key: string, day: number, n: number) => {
      // A week starts on its Monday, as in ISO 8601; day 0 was a Thursday.
      add(keys, key, query.bucket === 'week' ? day - ((day + 3) % 7) : day, n)
    }
    if (query.group_by === 'workout_type') {
      await requireUser(db, params.user_id)
      const values = [params.user_id, start, end, query.provider ?? null]
      for (const [type, day, n] of await db.rows<[string, number, number]>(WORKOUTS_SQL, values)) count(type, day, n)
    } else {
      const { stored } = await userView(db, params.user_id)
      const counted = stored.filter(({ source }) => query.provider === undefined || source.provider === query.provider)
      // A series and its daily totals are one type.
      const keyOf = ({ source, series }: Stored) => (query.group_by === 'provider' ? source.provider : series.type)
      for (const [place, pairs] of await daysOf(db, counted, start, end)) {
        const key = keyOf(counted[place - 1] as Stored)
        for (let at = 0; at < pairs.length; at += 8) count(key, pairs.readInt32BE(at), pairs.readInt32BE(at + 4))
      }
    }
    const metric = query.group_by === 'workout_type' ? 'workouts' : 'data_points'
    const series = [...keys]
      .map(([key, buckets]) => ({ key, ...totalAndPairs(buckets) }))
      .sort((a, b) => b.total - a.total || (a.key < b.key ? -1 : 1))
      .map(({ key, pairs }) => `{"key":"${key}","metric":"${metric}","buckets":[${pairs}]}`)
    const text = `{"bucket":"${query.bucket}","group_by":"${query.group_by}","series":[${series.join(',')}]}`
    return new Reply(200, 'application/json', text)
  },
)

/** Counts by key and bucket, a day since 1970-01-01. */
type Keys = Map<string, Map<number, number>>

function add(keys: Keys, key: string, bucket: number, n: number): void {
  const buckets = keys.get(key) ?? new Map<number, number>()
  keys.set(key, buckets)
  buckets.set(bucket, (buckets.get(bucket) ?? 0) + n)
}

/** Per series its place in the list and pairs of day and count, four bytes each. */
function daysOf(db: Database, series: readonly Stored[], start: number, end: number) {
  return db.rows<[place: number, pairs: Buffer]>(DAYS_SQL, [
    series.map(({ source }) => source.id),
    series.map(({ seriesId }) => seriesId),
    start,
    end,
  ])
}

/** The total of a key's buckets, by day since 1970-01-01, and their pairs in order of time, as JSON. */
function totalAndPairs(buckets: Map<number, number>): { total: number; pairs: string } {
  let total = 0
  let pairs = ''
  for (const day of [...buckets.keys()].sort((a, b) => a - b)) {
    const n = buckets.get(day) as number
    total += n
    pairs += `,["${dateText(day)}",${n}]`
  }
  return { total, pairs: pairs.slice(1) }
}

/** Cached, since writing a date takes longer than the rest of its bucket; there are as many as days since 1970. */
const dateTexts = new Map<number, string>()

function dateText(day: number): string {
  let text = dateTexts.get(day)
  if (text === undefined) {
    text = new Date(day * DAY_MS).toISOString().slice(0, 10)
    dateTexts.set(day, text)
  }
  return text
}
