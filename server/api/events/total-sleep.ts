import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { Nullable, UserPath } from '../../http/schema.ts'
import { selectEvents, selected, selectedParams } from './selection.ts'
import { sleepFilters, sleepParams, whereSleep } from './sleep-filters.ts'

const TOTALS = `
  select count(*) as count, count(*) filter (where e.is_nap) as naps, sum(e.asleep_s) as sleep_duration_seconds,
         coalesce(sum(coalesce(e.in_bed_s, floor(date_part('epoch', e.end_at - e.start_at))::int4)), 0) as time_in_bed_seconds,
         round(avg(e.efficiency_percent)::numeric, 2)::float8 as avg_efficiency_percent
  ${selected('sleep')}`

/**
 * Sums over sleep sessions, and the mean of their efficiencies; values that none of them reports are null (contract
 * 5.3).
 */
export const totalSleep = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/events/sleep/totals',
    operationId: 'totalSleep',
    summary: 'Sums over sleep sessions of a user',
    tag: 'Events',
    guard: 'key',
    share: 'report',
    fromReplicas: true,
    params: UserPath,
    query: Type.Object(sleepFilters),
    response: Type.Object(
      {
        count: Type.Integer(),
        naps: Type.Integer(),
        sleep_duration_seconds: Nullable(Type.Integer()),
        time_in_bed_seconds: Type.Integer(),
        avg_efficiency_percent: Nullable(Type.Number()),
      },
      { title: 'SleepTotals' },
    ),
    example: {
      count: 2,
      naps: 1,
      sleep_duration_seconds: 26_700,
      time_in_bed_seconds: 30_000,
      avg_efficiency_percent: 85,
    },
    errors: { 400: 'Bad date' },
  },
  async ({ params, query }, { db }) => {
    const selection = await selectEvents(db, params.user_id, query)
    return db.one(TOTALS + whereSleep(5, query), [...selectedParams(selection), ...sleepParams(query)])
  },
)
