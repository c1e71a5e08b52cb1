import { DAY_MS, parseInstant, parseZoneOffset, zoneText } from '../../time.ts'
import { listAt, textAt, valueAt } from '../answers.ts'
import type { Json } from '../part.ts'
import type { Answer, Form, ObjectKind, Provider, Request, Stream, StreamState, Window, Wish } from '../provider.ts'

/** The largest page of workouts that Suunto gives, and the one that a sync asks for which names none. */
const PAGE = 100
const USUAL_PAGE = 50

/** How far back a sync asks that names no range: everything, as far as a sync reaches. */
const ALL_DAYS = 365

const within = ({ fromMs, untilMs }: Window): Form => ({
  since: String(Math.floor(fromMs)),
  until: String(Math.ceil(untilMs)),
})

/** A page of workouts; a range of changes, or of starts. */
function page(window: Window, options: StreamState['options'], limit: number, isOfStarts: boolean): Request {
  const query = {
    ...within(window),
    limit: String(limit),
    offset: String(numberIn(options.offset) ?? 0),
    'filter-by-modification-time': String(!isOfStarts && options.filter_by_modification_time !== false),
  }
  return { path: '/v3/workouts', query }
}

const numberIn = (value: Json | undefined) => (Number.isSafeInteger(value) ? (value as number) : undefined)

/** Exactly the page that a caller names, otherwise all of them. */
function list(window: Window, { options, isHistory }: StreamState): Request {
  const limit = Math.min(Math.max(numberIn(options.limit) ?? PAGE, 1), PAGE)
  const isOne = (options.limit !== undefined && limit !== USUAL_PAGE) || (numberIn(options.offset) ?? 0) > 0
  return { ...page(window, options, limit, isHistory), memo: { isOne } }
}

function next({ json }: Answer, asked: Request): Request | null {
  const { limit, offset } = asked.query as { limit: string; offset: string }
  if (valueAt(asked.memo, 'isOne') === true || listAt(json, 'payload').length < Number(limit)) return null
  return { ...asked, query: { ...asked.query, offset: String(Number(offset) + Number(limit)) } }
}

/** Both ends are included. */
const between = ({ fromMs, untilMs }: Window): Form => ({
  from: String(Math.floor(fromMs)),
  to: String(Math.ceil(untilMs) - 1),
})

/** The offset that the newest row says. */
function zoneOf({ json }: Answer): string | null {
  let newest: { ms: number; zone: string } | undefined
  for (const row of listAt(json)) {
    const text = textAt(row, 'timestamp') ?? ''
    const ms = parseInstant(text)
    const zone = /(?:Z|[+-]\d\d:?\d\d)$/.exec(text)?.[0]
    if (ms !== undefined && zone !== undefined && !(newest && newest.ms > ms)) newest = { ms, zone }
  }
  const minutes = newest && parseZoneOffset(newest.zone)
  return minutes === undefined ? null : zoneText(minutes)
}

/** Rows of all day; at most 28 days, of which each has many. */
const rows = (name: string, windowDays: number) => ({
  ...{ name, family: '247' as const, windowDays, historyDays: null, overlapHours: 72 },
  first: (window: Window): Request => ({ path: `/247samples/${name}`, query: between(window) }),
  zone: zoneOf,
})

/** What is the same thing for keys of an older product. */
const older: ReadonlyMap<string, string> = new Map([
  ['/247samples/activity', '/247'],
  ['/247samples/daily-activity-statistics', '/247/daily-activity-statistics'],
])

/** The same of the older product, where a key has no other. */
function ofOlder({ status }: Answer, asked: Request): Request | null {
  const path = status === 404 ? older.get(asked.path) : undefined
  return path === undefined ? null : { ...asked, path }
}

/** What a request of totals was for; goes with its answer to the mapping. */
export type DayArgs =
  /** Only to learn where the person is. */
  | { readonly of: 'zone' }
  /** Days that begin with midnight, so many minutes east of UTC; null: not known. */
  | { readonly of: 'days'; readonly zoneMin: number | null }

/** So far back a row is looked for that says where the person is. */
const ZONE_DAYS = 7

/** Totals of days from a midnight of the person's clock to another one. Who says nothing of it is asked for first. */
function days(window: Window, { zone }: Pick<StreamState, 'zone'>): Request {
  const zoneMin = parseZoneOffset(zone ?? '')
  if (zoneMin !== undefined) return daysIn(window, zoneMin)
  const recent = { fromMs: window.untilMs - ZONE_DAYS * DAY_MS, untilMs: window.untilMs }
  return {
    ...{ path: '/247samples/recovery', query: between(recent) },
    ...{ args: { of: 'zone' } satisfies DayArgs, memo: { ...window } },
  }
}

function nextDays(answer: Answer, asked: Request): Request | null {
  if (valueAt(asked.args, 'of') !== 'zone') return ofOlder(answer, asked)
  return daysIn(asked.memo as unknown as Window, parseZoneOffset(zoneOf(answer) ?? '') ?? null)
}

function daysIn({ fromMs, untilMs }: Window, zoneMin: number | null): Request {
  const zoneMs = (zoneMin ?? 0) * 60_000
  const text = (day: number) => new Date(day * DAY_MS - zoneMs).toISOString().slice(0, 19)
  const [first, last] = [Math.floor((fromMs + zoneMs) / DAY_MS), Math.ceil((untilMs + zoneMs) / DAY_MS)]
  return {
    path: '/247samples/daily-activity-statistics',
    query: { startdate: text(first), enddate: text(last) },
    args: { of: 'days', zoneMin } satisfies DayArgs,
  }
}

/** Everything that is asked of Suunto. */
export const streams: readonly Stream[] = [
  {
    ...{ name: 'workouts', family: 'workouts', windowDays: 365, historyDays: null, overlapHours: 72 },
    ...{ usualDays: ALL_DAYS, first: list, next },
  },
  rows('sleep', 20),
  rows('recovery', 20),
  // Up to 10,000 rows and several megabytes in 28 days.
  { ...rows('activity', 7), emptyOn404: true, next: ofOlder },
  {
    ...{ name: 'statistics', family: '247', windowDays: 14, historyDays: null, overlapHours: 72, emptyOn404: true },
    ...{ first: days, next: nextDays },
  },
]

/** Suunto's keys of workouts. */
export const isKey = (text: string | undefined): text is string => /^[A-Za-z0-9_-]{1,128}$/.test(text ?? '')

const workout: ObjectKind = {
  stream: 'workouts',
  request(args) {
    const key = textAt(args, 'key')
    return isKey(key) ? { path: `/v3/workouts/${key}` } : null
  },
}

/** What is asked for by itself. */
export const objects = { workout }

/** A workout that a notice named. */
export const wishFor = (key: string): Wish => ({
  kind: 'object',
  object: 'workout',
  key: `workout:${key}`,
  args: { key },
})

/** Workouts as Suunto lists them. */
export const workouts: NonNullable<Provider['workouts']> = {
  list: ({ window, limit, options }) => page(window, options, limit, false),
  one: (id) => ({ path: `/v3/workouts/${encodeURIComponent(id)}` }),
}
