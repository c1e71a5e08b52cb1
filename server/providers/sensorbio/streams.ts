import { DAY_MS } from '../../time.ts'
import { listAt, textAt, valueAt } from '../answers.ts'
import type { Json } from '../part.ts'
import type { Answer, Form, Provider, Request, Stream, Window } from '../provider.ts'

/** The largest page. */
const PAGE = '50'

/** Numbers above are milliseconds (in seconds: the year 5138). */
const MILLISECONDS_FROM = 1e11

/** Epoch milliseconds of a time in seconds or milliseconds, as a number or as text. */
export function millisOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  if (typeof number !== 'number' || !Number.isFinite(number) || number <= 0) return undefined
  return Math.abs(number) > MILLISECONDS_FROM ? number : number * 1000
}

/** The end of a window; there is no parameter for it. */
const untilOf = ({ memo }: Request) => valueAt(memo, 'untilMs') as number

/** Everything after an instant, the oldest first. */
const after = (path: string, { fromMs, untilMs }: Window): Request => ({
  path,
  query: { 'last-timestamp': String(Math.max(0, Math.floor(fromMs))), limit: PAGE },
  memo: { untilMs },
})

/**
 * The next page, which begins with the last record of this one, or where a cursor says. There is none when Sensor Bio names
 * none, when there is nothing on the page, when it does not go on, and behind the window.
 */
function nextAfter({ json }: Answer, asked: Request): Request | null {
  const link = textAt(json, 'links', 'next')
  const lastMs = millisOf(valueAt(listAt(json, 'data').at(-1), 'timestamp'))
  if (link === undefined || lastMs === undefined || lastMs >= untilOf(asked)) return null
  const { query = {} } = asked
  const given = queryOf(link)
  if (given.cursor) return given.cursor === query.cursor ? null : { ...asked, query: given }
  if (lastMs <= Number(query['last-timestamp'])) return null
  return { ...asked, query: { ...query, 'last-timestamp': String(Math.floor(lastMs)) } }
}

/** The parameters of an address; its host and path are not asked. */
const queryOf = (link: string): Form =>
  URL.canParse(link) ? Object.fromEntries([...new URL(link).searchParams].slice(0, 20)) : {}

const dateOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)

/** One date; `args` say which, for answers that do not. */
const onDate = (path: string, date: string, more: Record<string, string>): Request => ({
  path,
  query: { date, ...more },
  args: { date } satisfies Json,
})

/**
 * What is asked for by the date, one after the other. It is the date of the person's clock, which is not known: those of UTC,
 * both edges included: the date may have begun half a day earlier, or 14 hours earlier in the east.
 */
function dated(name: string, path: string, more: Record<string, string> = {}): Stream {
  const following = ({ args, memo }: Request): Request | null => {
    const [date, last] = [valueAt(args, 'date') as string, valueAt(memo, 'last') as string]
    if (date >= last) return null
    return { ...onDate(path, dateOf(Date.parse(date) + DAY_MS), more), memo: { last } }
  }
  return {
    ...{ name, family: '247', windowDays: 30, historyDays: HISTORY_DAYS, overlapHours: 48, emptyOn404: true },
    first({ fromMs, untilMs }) {
      const [first, last] = [dateOf(fromMs - WEST_MS), dateOf(untilMs - 1 + EAST_MS)]
      return { ...onDate(path, first, more), memo: { last } }
    },
    next: (_, asked) => following(asked),
    skip: following,
  }
}

/** How far clocks are behind UTC, and before it: UTC-12 and UTC+14. */
const WEST_MS = DAY_MS / 2
const EAST_MS = (14 / 24) * DAY_MS

/** How far back there is data is not known. */
const HISTORY_DAYS = 30

const ACTIVITIES = '/v1/activities'

/** Everything that is asked of Sensor Bio. */
export const streams: readonly Stream[] = [
  {
    ...{ name: 'activities', family: 'workouts', windowDays: 90, historyDays: HISTORY_DAYS, overlapHours: 48 },
    first: (window) => after(ACTIVITIES, window),
    next: nextAfter,
  },
  {
    // 50 rows a page, of which a day may have 1,440: what comes later is found when a day or a week is asked for again.
    ...{ name: 'biometrics', family: '247', windowDays: 7, historyDays: HISTORY_DAYS, overlapHours: 6 },
    first: (window) => after('/v1/biometrics', window),
    next: nextAfter,
  },
  dated('sleep', '/v1/sleep'),
  dated('scores', '/v1/scores'),
  dated('steps', '/v1/step/details', { granularity: 'day' }),
]

/** Workouts as Sensor Bio lists them, from the start of the range on; there is no request for one of them. */
export const workouts: NonNullable<Provider['workouts']> = {
  list: ({ window, limit }) => {
    const { path, query } = after(ACTIVITIES, window)
    return { path, query: { ...query, limit: String(Math.min(limit, Number(PAGE))) } }
  },
}
