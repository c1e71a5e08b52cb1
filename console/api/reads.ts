import { daysLater, newestFull, rangeOfDay, today } from '../charts/time.ts'
import { answered, api, type Schemas } from './client.ts'

const COLUMNS = 'application/vnd.pulsebase.columns+json'
const MOST_POINTS = 200_000

type Range = { start: string; end: string }
type Types = NonNullable<Schemas['SeriesType']>[]
type Resolution = Schemas['Resolution']

/** A person, with the connections. */
export function readPerson(id: string, signal: AbortSignal) {
  const params = { path: { user_id: id }, query: { include: ['connections' as const] } }
  return answered(api.GET('/api/v1/users/{user_id}', { params, signal }))
}

/** Samples as columns, each day and type from its best source unless all are asked for. */
export async function readSamples(
  id: string,
  {
    start,
    end,
    isBare,
    ...asked
  }: Range & {
    types: Types
    resolution: Resolution
    limit?: number
    filter_by_priority?: boolean
    /** Of buckets, values alone, without their extremes. */
    isBare?: boolean
  },
  signal: AbortSignal,
): Promise<Schemas['ColumnarSamplePage']> {
  const extremes = isBare || asked.resolution === 'raw' ? {} : { include: ['extremes' as const] }
  const query = {
    start_time: start,
    end_time: end,
    limit: MOST_POINTS,
    filter_by_priority: true,
    ...asked,
    ...extremes,
  }
  const headers = { Accept: COLUMNS }
  const page = await answered(
    api.GET('/api/v1/users/{user_id}/timeseries', { params: { path: { user_id: id }, query }, headers, signal }),
  )
  // The client takes the first of the types that the description names.
  return page as unknown as Schemas['ColumnarSamplePage']
}

/** Sessions of sleep around a local day, those that count, with their stages; the earliest first. */
export async function readSleep(id: string, date: string, signal: AbortSignal) {
  const { start, end } = rangeOfDay(date)
  // A long night began earlier than the day's range.
  const begin = new Date(Date.parse(start) - 12 * 3_600_000).toISOString()
  const query = { start_date: begin, end_date: end, limit: 100, include: ['stages' as const], filter_by_priority: true }
  const page = await answered(
    api.GET('/api/v1/users/{user_id}/events/sleep', { params: { path: { user_id: id }, query }, signal }),
  )
  return page.data.toReversed()
}

/** Workouts around a local day, the earliest first. */
export async function readWorkouts(id: string, date: string, signal: AbortSignal) {
  const { start, end } = rangeOfDay(date)
  const query = { start_date: start, end_date: end, limit: 100 }
  const page = await answered(
    api.GET('/api/v1/users/{user_id}/events/workouts', { params: { path: { user_id: id }, query }, signal }),
  )
  return page.data.toReversed()
}

/** The row of a local day in the summary of activity. */
export async function readActivity(id: string, date: string, signal: AbortSignal) {
  const query = { start_date: date, end_date: date, explain: true }
  const page = await answered(
    api.GET('/api/v1/users/{user_id}/summaries/activity', { params: { path: { user_id: id }, query }, signal }),
  )
  return page.data[0]
}

/** The rows of local days in the summary of sleep. */
export async function readSleepDays(id: string, [first, last]: readonly [string, string], signal: AbortSignal) {
  const query = { start_date: first, end_date: last, limit: 1000 }
  const page = await answered(
    api.GET('/api/v1/users/{user_id}/summaries/sleep', { params: { path: { user_id: id }, query }, signal }),
  )
  return page.data
}

/** How far back a newest night is looked for where there is no activity. */
const NIGHTS_BACK = 400

/**
 * The newest local day with activity or sleep, in the morning the one before it where there is one; undefined if there is
 * none.
 */
export async function lastDay(id: string, signal: AbortSignal) {
  const query = { start_date: '1990-01-01', end_date: '2100-01-01', limit: 2, sort_order: 'desc' }
  const page = await answered(
    api.GET('/api/v1/users/{user_id}/summaries/activity', { params: { path: { user_id: id }, query }, signal }),
  )
  const active = page.data[0]?.date
  const nights = await readSleepDays(id, [active ?? daysLater(today(), -NIGHTS_BACK), daysLater(today(), 1)], signal)
  return newestFull(
    [...page.data, ...nights].map(({ date }) => date),
    new Date(),
  )
}

/** Scores of sleep recorded around a local day. */
export async function readSleepScores(id: string, date: string, signal: AbortSignal) {
  const { start, end } = rangeOfDay(date)
  const query = { start_date: start, end_date: end, category: 'sleep' as const, limit: 50 }
  const page = await answered(
    api.GET('/api/v1/users/{user_id}/health-scores', { params: { path: { user_id: id }, query }, signal }),
  )
  return page.data
}
