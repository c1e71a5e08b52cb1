import { DAY_MS, parseInstant } from '../../time.ts'
import { listAt, textAt, valueAt } from '../answers.ts'
import { listingWithin } from '../listed.ts'
import { localDate } from '../local-time.ts'
import type { Json } from '../part.ts'
import type { Answer, Provider, Request, Stream, StreamState, Window } from '../provider.ts'
import { zoneIn } from './profile.ts'

const HOUR_MS = 3_600_000

/** The longest page. */
const PAGE = 100

/** Dates of the person's clock, both included; without a zone those of UTC. */
function datesOf({ fromMs, untilMs }: Window, zone: string | null): readonly [first: string, last: string] {
  return [localDate(fromMs, zone), localDate(untilMs - 1, zone)]
}

/** What is asked for by dates, of which a range has so many. */
function dated(name: string, scope: string, of: { path: string; days: number }): Stream {
  return {
    ...{ name, family: '247', scope, windowDays: of.days, historyDays: null, overlapHours: 48, emptyOn404: true },
    first(window, { zone }) {
      const [first, last] = datesOf(window, zone)
      return { path: `${of.path}/date/${first}/${last}.json` }
    },
  }
}

/** The same of lists with times of their own: whatever else is stored of these days was deleted, or had another zone. */
function listedByDate(name: string, scope: string, of: { path: string; days: number; isNight?: true }): Stream {
  const stream = dated(name, scope, of)
  return {
    ...stream,
    first(window, state) {
      const [first, last] = datesOf(window, state.zone).map((date) => Date.parse(date)) as [number, number]
      // In every zone; a night is listed on the day on which it ends.
      const [fromMs, untilMs] = [first + 12 * HOUR_MS, (of.isNight ? last : last + DAY_MS) - 14 * HOUR_MS]
      const request = stream.first(window, state) as Request
      return fromMs < untilMs ? { ...request, args: listingWithin(fromMs, untilMs) } : request
    },
  }
}

/** Series of days, which are asked for one after the other; together they say what a day was. */
export const resources = [
  'steps',
  'distance',
  'floors',
  'calories',
  'caloriesBMR',
  'minutesLightlyActive',
  'minutesFairlyActive',
  'minutesVeryActive',
] as const

export type Resource = (typeof resources)[number]

/** `args` of the requests for days: which series, and what those before it said. */
export interface DayArgs {
  readonly of: Resource
  /** In the order of `resources`, by date; null: nothing. */
  readonly known: Readonly<Record<string, readonly (number | null)[]>>
}

/** The number that a series has, as text. */
export function numberOf(value: unknown): number | null {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : null
}

/** What a series says, by date. */
export function valuesOf(json: unknown, resource: Resource): ReadonlyMap<string, number | null> {
  return new Map(
    listAt(json, `activities-${resource}`).flatMap((row) => {
      const date = textAt(row, 'dateTime')
      return date !== undefined && /^\d{4}-\d\d-\d\d$/.test(date)
        ? [[date, numberOf(valueAt(row, 'value'))] as const]
        : []
    }),
  )
}

const seriesPath = (resource: Resource, dates: string) => `/1/user/-/activities/${resource}/date/${dates}.json`

function firstDays(window: Window, { zone }: Pick<StreamState, 'zone'>): Request {
  const dates = datesOf(window, zone).join('/')
  return {
    path: seriesPath(resources[0], dates),
    args: { of: resources[0], known: {} } satisfies DayArgs,
    memo: { dates },
  }
}

function nextDays({ json }: Answer, asked: Request): Request | null {
  const { of, known } = asked.args as unknown as DayArgs
  const place = resources.indexOf(of)
  const following = resources[place + 1]
  if (following === undefined) return null
  const told = valuesOf(json, of)
  const dates = [...new Set([...Object.keys(known), ...told.keys()])].sort()
  const row = (date: string) => [...(known[date] ?? Array(place).fill(null)), told.get(date) ?? null]
  return {
    ...asked,
    path: seriesPath(following, textAt(asked.memo, 'dates') ?? ''),
    args: { of: following, known: Object.fromEntries(dates.map((date) => [date, row(date)])) } as unknown as Json,
  }
}

/** Workouts, the oldest first; the day before, since the page leaves that one out. */
function list({ fromMs, untilMs }: Window, { zone }: Pick<StreamState, 'zone'>): Request {
  const afterDate = localDate(fromMs - DAY_MS, zone)
  const query = { afterDate, sort: 'asc', limit: String(PAGE), offset: '0' }
  return { path: '/1/user/-/activities/list.json', query, memo: { untilMs } }
}

/** Pages go on at the address that Fitbit names, until the window ends. */
function nextList({ json }: Answer, { query: _, ...asked }: Request): Request | null {
  const path = textAt(json, 'pagination', 'next')
  const lastMs = parseInstant(textAt(listAt(json, 'activities').at(-1), 'startTime') ?? '')
  const untilMs = valueAt(asked.memo, 'untilMs') as number
  return path === undefined || lastMs === undefined || lastMs >= untilMs ? null : { ...asked, path }
}

/** Everything that is asked of Fitbit. */
export const streams: readonly Stream[] = [
  {
    ...{ name: 'activities', family: 'workouts', scope: 'activity', windowDays: 365, historyDays: null },
    ...{ overlapHours: 48, first: list, next: nextList },
  },
  {
    ...{ name: 'days', family: '247', scope: 'activity', windowDays: 90, historyDays: null, overlapHours: 48 },
    ...{ first: firstDays, next: nextDays },
  },
  dated('heart', 'heartrate', { path: '/1/user/-/activities/heart', days: 360 }),
  listedByDate('sleep', 'sleep', { path: '/1.2/user/-/sleep', days: 90, isNight: true }),
  dated('hrv', 'heartrate', { path: '/1/user/-/hrv', days: 28 }),
  dated('spo2', 'oxygen_saturation', { path: '/1/user/-/spo2', days: 28 }),
  dated('br', 'respiratory_rate', { path: '/1/user/-/br', days: 28 }),
  dated('temp_skin', 'temperature', { path: '/1/user/-/temp/skin', days: 28 }),
  listedByDate('temp_core', 'temperature', { path: '/1/user/-/temp/core', days: 28 }),
  dated('cardio_score', 'cardio_fitness', { path: '/1/user/-/cardioscore', days: 28 }),
  listedByDate('weight', 'weight', { path: '/1/user/-/body/log/weight', days: 28 }),
  listedByDate('fat', 'weight', { path: '/1/user/-/body/log/fat', days: 28 }),
  {
    ...{ name: 'profile', family: '247', scope: 'profile', windowDays: 28, historyDays: 0, overlapHours: 0 },
    pollSeconds: 86_400,
    first: () => ({ path: '/1/user/-/profile.json' }),
    zone: ({ json }) => zoneIn(json),
  },
]

/** Workouts as Fitbit lists them; there is no request for one of them. */
export const workouts: NonNullable<Provider['workouts']> = {
  list({ window, limit }) {
    const { path, query } = list(window, { zone: null })
    return { path, query: { ...query, limit: String(Math.min(limit, PAGE)) } }
  },
}
