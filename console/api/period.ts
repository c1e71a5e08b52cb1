import { dailyMeans, pointsOf } from '../charts/samples.ts'
import { type Night, nightOf } from '../charts/sleep.ts'
import { DAY_MS, dateOf, daysLater, localMs, midnight, rangeOfDay } from '../charts/time.ts'
import { answered, api, type Schemas } from './client.ts'
import { readSamples, readSleepDays } from './reads.ts'

const MOST = 1000
const BODY = ['weight', 'blood_pressure_systolic', 'blood_pressure_diastolic', 'body_temperature'] as const

/** What is known of days: values by their name and local date, nights, and cycles. */
export interface Days {
  values: Map<string, Map<string, number>>
  nights: Night[]
  cycles: Schemas['MenstrualCycle'][]
}

interface Asked {
  /** The first date that is read, for what is compared with. */
  since: string
  first: string
  last: string
}

/** Reads everything of some days, in one request for each kind, of many nights in several. */
export async function readPeriod(
  user: Schemas['UserDetail'],
  { since, first, last }: Asked,
  signal: AbortSignal,
): Promise<Days> {
  const { id } = user
  const path = { user_id: id }
  const days = { params: { path, query: { start_date: since, end_date: last, limit: MOST } }, signal }
  const range = { start_date: rangeOfDay(first).start, end_date: rangeOfDay(last).end }
  const ofScores = { ...days.params.query, category: 'sleep' as const, provider: 'internal' as const }
  const [activity, sleep, recovery, scores, body, nights, cycles] = await Promise.all([
    answered(api.GET('/api/v1/users/{user_id}/summaries/activity', days)),
    readSleepDays(id, [since, last], signal),
    answered(api.GET('/api/v1/users/{user_id}/summaries/recovery', days)),
    answered(api.GET('/api/v1/users/{user_id}/health-scores', { params: { path, query: ofScores }, signal })),
    readSamples(
      id,
      { start: rangeOfDay(since).start, end: rangeOfDay(last).end, types: [...BODY], resolution: '1hour' },
      signal,
    ),
    readNights(id, range, signal),
    user.has_womens_health_data ? readCycles(id, [daysLater(first, -60), last], signal) : [],
  ])
  const values: Days['values'] = new Map()
  const put = (name: string, date: string, value: number | null) => {
    if (value === null) return
    const known = values.get(name) ?? new Map<string, number>()
    values.set(name, known.set(date, value))
  }
  for (const { date, steps, active_minutes } of activity.data) {
    put('steps', date, steps)
    put('active', date, active_minutes)
  }
  for (const { date, duration_minutes } of sleep) put('asleep', date, duration_minutes)
  for (const { date, resting_heart_rate_bpm, avg_hrv_sdnn_ms, avg_hrv_rmssd_ms } of recovery.data) {
    put('resting', date, resting_heart_rate_bpm)
    put('sdnn', date, avg_hrv_sdnn_ms)
    put('rmssd', date, avg_hrv_rmssd_ms)
  }
  for (const score of scores.data) put('score', dateOf(localMs(score.recorded_at, score.zone_offset)), score.value)
  for (const type of BODY) {
    const points = pointsOf(body, type, [midnight(since), midnight(last) + DAY_MS])
    for (const [date, mean] of dailyMeans(points)) put(type, date, mean)
  }
  return { values, nights: nights.map((session) => nightOf(session)), cycles }
}

/** Cycles that begin within some dates: that of a day began before it. */
async function readCycles(id: string, [first, last]: readonly [string, string], signal: AbortSignal) {
  const query = { start_date: rangeOfDay(first).start, end_date: rangeOfDay(last).end, limit: MOST }
  const params = { path: { user_id: id }, query }
  return (await answered(api.GET('/api/v1/users/{user_id}/events/menstrual-cycles', { params, signal }))).data
}

/** Pages of nights that are read at most: one ends early where its nights have many stages. */
const MOST_PAGES = 10

/** All nights of a range, the latest first, with their stages. */
async function readNights(
  id: string,
  range: { start_date: string; end_date: string },
  signal: AbortSignal,
): Promise<Schemas['SleepSession'][]> {
  const nights: Schemas['SleepSession'][] = []
  let cursor: string | null = null
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const query = {
      ...{ ...range, limit: MOST, include: ['stages' as const], filter_by_priority: true },
      ...(cursor !== null && { cursor }),
    }
    const found: Schemas['SleepSessionPage'] = await answered(
      api.GET('/api/v1/users/{user_id}/events/sleep', { params: { path: { user_id: id }, query }, signal }),
    )
    nights.push(...found.data)
    cursor = found.pagination.next_cursor
    if (cursor === null) break
  }
  return nights
}
