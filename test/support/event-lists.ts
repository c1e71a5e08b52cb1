// Workouts as phones send them, and requests for events.
import type { TestAnswer, TestRequest } from './app.ts'
import { type Api, body, iso, type SdkRecord, WATCH } from './sdk.ts'

/** An item of `data.workouts` that starts at an instant (epoch ms); `fields` replace or add. */
export const workout = (type: string, startMs: number, minutes: number, fields: SdkRecord = {}): SdkRecord => ({
  id: null,
  type,
  startDate: iso(startMs),
  endDate: iso(startMs + minutes * 60_000),
  zoneOffset: null,
  source: WATCH,
  values: null,
  ...fields,
})

/** A statistic of a workout. */
export const statistic = (type: string, value: number, unit: string) => ({ type, value, unit })

/** An upload's body around workouts and records. */
export const workoutBody = (workouts: unknown[], records: unknown[] = [], envelope: SdkRecord = {}): SdkRecord =>
  body([], { data: { records, sleep: [], workouts }, ...envelope })

/** The lists of events below a user's `events/`. */
export type EventList = 'workouts' | 'sleep' | 'menstrual-cycles' | 'meals'

type Parameters = Record<string, string | number | boolean | undefined>

const ALWAYS = { start_date: '1990-01-01', end_date: '2030-01-01' }

/** Requests events; all of history unless the query says otherwise. */
export function getEvents(
  api: Api,
  userId: string,
  path: string,
  query: Parameters = {},
  options: TestRequest = {},
): Promise<TestAnswer> {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries({ ...ALWAYS, ...query }))
    if (value !== undefined) given.append(name, String(value))
  return api.request('GET', `/api/v1/users/${userId}/events/${path}?${given}`, options)
}

/** The items of a list, which must fit on one page. */
// biome-ignore lint/suspicious/noExplicitAny: items of every shape
export async function allEvents(api: Api, userId: string, list: EventList, query: Parameters = {}): Promise<any[]> {
  const { status, body } = await getEvents(api, userId, list, { limit: 1000, ...query })
  if (status !== 200 || body.pagination.has_more) throw new Error(`${status} ${JSON.stringify(body).slice(0, 300)}`)
  return body.data
}
