import { isoInstant } from '../../time.ts'
import { listAt, textAt, valueAt } from '../answers.ts'
import { furtherPage, listing, listingWithin } from '../listed.ts'
import type { Json } from '../part.ts'
import type { Answer, Form, ObjectKind, Provider, Request, Stream, Window, Wish } from '../provider.ts'

const HOUR_MS = 3_600_000
const DAY_S = 86_400

const COLLECTIONS = '/v2/usercollection/'

// Fact page, section 2: a page has `data` and `next_token`, which is sent back with the same parameters until it is null,
// even if `data` is empty.
function next(answer: Answer, asked: Request): Request | null {
  const token = textAt(answer.json, 'next_token')
  if (!token) return null
  return { ...furtherPage(asked), query: { ...asked.query, next_token: token } }
}

/**
 * Days are those of the person's local time, so a further day is requested at each end. Both ends are included; with a
 * bare date as the end, today was missing.
 */
function days({ fromMs, untilMs }: Window): Form {
  return { start_date: dateAt(fromMs - 12 * HOUR_MS), end_date: `${dateAt(untilMs + 14 * HOUR_MS)}T23:59:59` }
}

/**
 * The span that such a request lists completely in every zone. A document belongs to the day on which it begins, to the
 * day before (until 04:00), or to the day after (a night). Of nights and workouts of a traveller an earlier one may belong
 * to a later day, so between two of them one may be missing.
 */
function listed({ start_date = '', end_date = '' }: Form, isOfDays: boolean): Json {
  const [firstMs, lastMs] = [start_date, end_date].map((date) => Date.parse(date.slice(0, 10))) as [number, number]
  return (isOfDays ? listing : listingWithin)(firstMs + 36 * HOUR_MS, lastMs - 14 * HOUR_MS)
}

const dateAt = (ms: number) => new Date(ms).toISOString().slice(0, 10)

/** What notices are about: the collections that are subscribed to. */
export const noticed = [
  'workout',
  'sleep',
  'daily_sleep',
  'daily_readiness',
  'daily_activity',
  'daily_spo2',
  'daily_cardiovascular_age',
  'vo2_max',
] as const

/** Documents, one for each day, night or workout. Any range can be requested; 30 days are a page or two. */
function collection(
  name: string,
  scope: string,
  { path = name, family = '247' as const, ...more }: Differences = {},
): Stream {
  return {
    name,
    family,
    scope,
    windowDays: 30,
    historyDays: null,
    overlapHours: 48,
    first(window) {
      const query = days(window)
      return { path: COLLECTIONS + path, query, args: listed(query, name !== 'workout' && name !== 'sleep') }
    },
    next,
    ...more,
  }
}

interface Differences extends Partial<Pick<Stream, 'zone'>> {
  path?: string
  family?: Stream['family']
}

/** The offset that the last document of a page was written in. */
const zone =
  (field: string) =>
  (answer: Answer): string | null =>
    /(?:Z|[+-]\d\d:\d\d)$/.exec(textAt(listAt(answer.json, 'data').at(-1), field) ?? '')?.[0] ?? null

/** Everything that Pulsebase requests from Oura. */
export const streams: readonly Stream[] = [
  collection('workout', 'workout', { family: 'workouts' }),
  collection('sleep', 'daily', { zone: zone('bedtime_end') }),
  collection('daily_sleep', 'daily'),
  collection('daily_readiness', 'daily'),
  collection('daily_activity', 'daily', { zone: zone('timestamp') }),
  collection('daily_stress', 'daily'),
  collection('daily_resilience', 'stress'),
  collection('daily_spo2', 'spo2'),
  collection('daily_cardiovascular_age', 'heart_health'),
  collection('vo2_max', 'heart_health', { path: 'vO2_max' }),
  {
    name: 'heartrate',
    family: '247',
    scope: 'heartrate',
    // More is refused.
    windowDays: 30,
    historyDays: null,
    overlapHours: 24,
    first: ({ fromMs, untilMs }) => ({
      path: `${COLLECTIONS}heartrate`,
      query: { start_datetime: isoInstant(fromMs), end_datetime: isoInstant(untilMs) },
    }),
    next,
  },
  {
    name: 'personal_info',
    family: '247',
    scope: 'personal',
    windowDays: 30,
    // Weight and height as they are now.
    historyDays: 0,
    overlapHours: 0,
    pollSeconds: DAY_S,
    first: () => ({ path: `${COLLECTIONS}personal_info` }),
  },
]

/** Workouts as Oura lists them; it takes no number of them. */
export const workouts: NonNullable<Provider['workouts']> = {
  list: ({ window }) => ({ path: `${COLLECTIONS}workout`, query: days(window) }),
  one: (id) => ({ path: `${COLLECTIONS}workout/${encodeURIComponent(id)}` }),
}

/** The last two days of a collection, which say what is there where a document cannot be found. */
export const lastDays = (stream: string, atMs: number): Wish => ({
  ...{ kind: 'span', stream },
  window: { fromMs: atMs - 2 * DAY_S * 1000, untilMs: atMs },
})

/** Whether it can be a part of a path: ids of Oura are UUIDs and the like. */
export const isId = (id: string): boolean => /^[\w-]{1,100}$/.test(id)

const document = (stream: string): ObjectKind => ({
  stream,
  request(args) {
    const id = textAt(args, 'id') ?? ''
    const path = stream === 'vo2_max' ? 'vO2_max' : stream
    return isId(id) ? { path: `${COLLECTIONS}${path}/${id}`, args: { one: true } } : null
  },
  // Not a deletion: documents that were just announced were not found.
  missing(args) {
    const atMs = valueAt(args, 'atMs')
    return typeof atMs === 'number' ? { wish: lastDays(stream, atMs) } : {}
  },
})

/** Single documents, by their collections. */
export const objects: Readonly<Record<string, ObjectKind>> = Object.fromEntries(
  noticed.map((name) => [name, document(name)]),
)
