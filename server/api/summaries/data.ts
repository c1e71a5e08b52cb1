import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { DateInput, UserPath } from '../../http/schema.ts'
import { type Stored, userView } from '../../sources/user-view.ts'
import { optionalWindow } from './window.ts'

const Counts = Type.Record(Type.String(), Type.Integer())

const DataSummary = Type.Object(
  {
    user_id: Type.String(),
    total_data_points: Type.Integer(),
    total_workouts: Type.Integer(),
    total_sleep_events: Type.Integer(),
    series_type_counts: Counts,
    workout_type_counts: Counts,
    by_provider: Type.Array(
      Type.Object({
        provider: Type.String(),
        data_points: Type.Integer(),
        series_counts: Counts,
        workout_count: Type.Integer(),
        sleep_count: Type.Integer(),
      }),
    ),
    has_womens_health_data: Type.Boolean(),
  },
  { title: 'DataSummary' },
)

const COUNTS_SQL = `
  select c.place, sum(c.total)::int8
  from daily_counts($1, $2, to_timestamp($3), to_timestamp($4)) c
  group by 1
  order by 2 desc, 1`

// One row per provider and type of workout, and per provider for sleep (type null), and whether there is any cycle.
const EVENTS_SQL = `
  select d.provider, e.kind, e.type, count(*)::int8 as n
  from (
    select w.source_id, 'workout' as kind, w.type
    from workout w
    where w.user_id = $1 and w.start_at >= to_timestamp($2) and w.start_at < to_timestamp($3)
    union all
    select s.source_id, 'sleep', null
    from sleep s
    where s.user_id = $1 and s.start_at >= to_timestamp($2) and s.start_at < to_timestamp($3)
    union all
    select c.source_id, 'cycle', null
    from (select source_id from menstrual_cycle where user_id = $1 limit 1) c
  ) e
  join data_source d on d.id = e.source_id
  group by 1, 2, 3
  order by n desc, e.type`

interface EventCount {
  provider: string
  kind: 'workout' | 'sleep' | 'cycle'
  type: string | null
  n: number
}

/** What data a user has, by type and provider: samples, archived ones included, workouts and sleep (contract 4.5). */
export const getDataSummary = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/summaries/data',
    operationId: 'getDataSummary',
    summary: 'How much data a user has',
    tag: 'Summaries',
    guard: 'key',
    share: 'report',
    fromReplicas: true,
    params: UserPath,
    query: Type.Object({
      start_date: Type.Optional(DateInput('First instant; a date is its midnight UTC. The whole history by default.')),
      end_date: Type.Optional(DateInput('End, exclusive; a date alone includes that day.')),
    }),
    response: DataSummary,
    example: {
      user_id: '0b0c9d4e-6d3b-4f0e-9a55-2f4f3f1f6c11',
      total_data_points: 98_330,
      total_workouts: 58,
      total_sleep_events: 91,
      series_type_counts: { heart_rate: 90_210, steps: 8120 },
      workout_type_counts: { running: 30, cycling: 28 },
      by_provider: [
        {
          provider: 'garmin',
          data_points: 98_330,
          series_counts: { heart_rate: 90_210, steps: 8120 },
          workout_count: 58,
          sleep_count: 91,
        },
      ],
      has_womens_health_data: false,
    },
    errors: { 400: 'Bad date' },
  },
  async ({ params, query }, { db }) => {
    const { start, end } = optionalWindow(query, 'whole day')
    const { stored } = await userView(db, params.user_id)
    const rows = await db.rows<[place: number, n: number]>(COUNTS_SQL, [
      stored.map(({ source }) => source.id),
      stored.map(({ seriesId }) => seriesId),
      start,
      end,
    ])
    const events = await db.query<EventCount>(EVENTS_SQL, [params.user_id, start, end])
    const { all, providers } = summed(rows, stored)
    const count = (kind: EventCount['kind'], provider?: string) =>
      events
        .filter((one) => one.kind === kind && (provider === undefined || one.provider === provider))
        .reduce((sum, { n }) => sum + n, 0)
    const named = new Set([...providers.keys(), ...events.map(({ provider }) => provider)])
    const byProvider = [...named].map((provider) => {
      const counts = providers.get(provider) ?? {}
      return {
        provider,
        data_points: total(counts),
        series_counts: counts,
        workout_count: count('workout', provider),
        sleep_count: count('sleep', provider),
      }
    })
    const records = (one: (typeof byProvider)[number]) => one.data_points + one.workout_count + one.sleep_count
    const workoutTypes: Counted = {}
    for (const { kind, type, n } of events)
      if (kind === 'workout' && type) workoutTypes[type] = (workoutTypes[type] ?? 0) + n
    return {
      user_id: params.user_id,
      total_data_points: total(all),
      total_workouts: count('workout'),
      total_sleep_events: count('sleep'),
      series_type_counts: all,
      workout_type_counts: workoutTypes,
      by_provider: byProvider
        .filter((one) => records(one) > 0)
        .sort((a, b) => records(b) - records(a) || (a.provider < b.provider ? -1 : 1)),
      has_womens_health_data: count('cycle') > 0,
    }
  },
)

type Counted = Record<string, number>

const total = (counts: Counted) => Object.values(counts).reduce((sum, n) => sum + n, 0)

/** Counts by type, for all and for each provider; a series and its daily totals are one type. */
function summed(rows: readonly [place: number, n: number][], stored: readonly Stored[]) {
  const all: Counted = {}
  const providers = new Map<string, Counted>()
  for (const [place, n] of rows) {
    const one = stored[place - 1] as Stored
    const { provider } = one.source
    const own = providers.get(provider) ?? {}
    providers.set(provider, own)
    all[one.series.type] = (all[one.series.type] ?? 0) + n
    own[one.series.type] = (own[one.series.type] ?? 0) + n
  }
  return { all, providers }
}
