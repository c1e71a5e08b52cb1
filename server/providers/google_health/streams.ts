import { DAY_MS, zoneText } from '../../time.ts'
import { listAt, textAt, valueAt } from '../answers.ts'
import { listing, listingWithin } from '../listed.ts'
import type { Json } from '../part.ts'
import type { Answer, Form, ObjectKind, Provider, Request, Stream, StreamState, Window } from '../provider.ts'
import { type FamilyArgs, instantsOf, spanLeft } from './complete.ts'
import { offsetMinutes } from './times.ts'
import { type DataType, dataTypes, familyOf, fieldOf, listsAll, type Shape, typeNamed } from './types.ts'

const HOUR_MS = 3_600_000

/** The largest pages: of sessions as Google has it, of others less than its 10,000, so that an answer stays below 4 MB. */
const PAGE = '5000'
const SESSIONS = '25'

/** Clocks of people are so far from UTC. */
const WEST_MS = 12 * HOUR_MS
const EAST_MS = 14 * HOUR_MS

const utc = (ms: number) => new Date(ms).toISOString()
const dateOf = (ms: number) => utc(ms).slice(0, 10)

/** How the points of a window are found; text in quotation marks. */
const bounds: Readonly<Record<Shape, (window: Window) => readonly [field: string, from: string, until: string]>> = {
  interval: ({ fromMs, untilMs }) => ['interval.start_time', utc(fromMs), utc(untilMs)],
  sample: ({ fromMs, untilMs }) => ['sample_time.physical_time', utc(fromMs), utc(untilMs)],
  // Dates of every clock that there was one of in the window.
  daily: ({ fromMs, untilMs }) => ['date', dateOf(fromMs - WEST_MS), dateOf(untilMs + EAST_MS + DAY_MS)],
  session: ({ fromMs, untilMs }) => [
    'interval.civil_start_time',
    dateOf(fromMs - DAY_MS),
    dateOf(untilMs + 2 * DAY_MS),
  ],
  // Nights that begin in the window end a day later at most.
  sleep: ({ fromMs, untilMs }) => ['interval.end_time', utc(fromMs), utc(untilMs + DAY_MS)],
}

const path = ({ name }: DataType, operation: string) => `/v4/users/me/dataTypes/${name}/dataPoints${operation}`

/** Points of a window: merged as Google's own apps show them, or by source where an operator wants that. */
function points(type: DataType, window: Window, { settings }: Pick<StreamState, 'settings'>): Request {
  const { name, shape } = type
  const [field, from, until] = bounds[shape](window)
  const place = `${name.replaceAll('-', '_')}.${field}`
  return {
    path: path(type, settings?.USE_RECONCILE === 'false' ? '' : ':reconcile'),
    query: {
      filter: `${place} >= "${from}" AND ${place} < "${until}"`,
      pageSize: name === 'sleep' || name === 'exercise' ? SESSIONS : PAGE,
    },
  }
}

/** Sums and means of hours, whole ones; the last one may not be over. */
function hours(type: DataType, { fromMs, untilMs }: Window): Request {
  const [start, end] = [Math.floor(fromMs / HOUR_MS), Math.ceil(untilMs / HOUR_MS)]
  const range = { startTime: utc(start * HOUR_MS), endTime: utc(end * HOUR_MS) }
  const json = { range, windowSize: '3600s', pageSize: 10_000 }
  return { path: path(type, ':rollUp'), method: 'POST', json, ...listingDays({ fromMs, untilMs }) }
}

/** Whole days, so that `args` change daily. */
function listingDays({ fromMs, untilMs }: Window, how = listing): Pick<Request, 'args'> {
  const [fromDay, untilDay] = [Math.ceil(fromMs / DAY_MS) * DAY_MS, Math.floor(untilMs / DAY_MS) * DAY_MS]
  return fromDay < untilDay ? { args: how(fromDay, untilDay) } : {}
}

/** Those of dates. */
function dates(type: DataType, { fromMs, untilMs }: Window): Request {
  const date = (ms: number) => {
    const [year, month, day] = dateOf(ms).split('-').map(Number) as [number, number, number]
    return { date: { year, month, day } }
  }
  const [startMs, endMs] = [fromMs - WEST_MS, untilMs + EAST_MS + DAY_MS]
  const json = { range: { start: date(startMs), end: date(endMs) }, windowSizeDays: 1 }
  const listed = listing(Date.parse(dateOf(startMs)), Date.parse(dateOf(endMs)))
  return { path: path(type, ':dailyRollUp'), method: 'POST', json, args: { of: 'dates', ...listed } }
}

/** The first request for a window, as finely as an operator wants it. */
function first(type: DataType, window: Window, state: StreamState): Request | null {
  const { granularity = 'raw' } = state
  if (granularity === 'hourly' && type.isRolled) return hours(type, window)
  if (granularity === 'daily' && type.isRolled) return dates(type, window)
  if (granularity === 'daily' && type.hasDaily) return null
  const request = points(type, window, state)
  if (listsAll(type)) return { ...request, ...listingDays(window) }
  const isListed = type.name === 'sleep' || type.name === 'exercise'
  return isListed ? { ...request, ...listingDays(window, listingWithin) } : request
}

/** The next page has the same parameters, and lists what the ones before left. How long a page is says nothing. */
function nextOf(type: DataType): NonNullable<Stream['next']> {
  return ({ json }, { args, ...asked }) => {
    const pageToken = textAt(json, 'nextPageToken')
    if (pageToken === undefined) return null
    const { listed: _, deleted, ...kept } = (args ?? {}) as Record<string, Json>
    const listed = listsAll(type) || deleted ? spanLeft(json, type, args) : undefined
    const left = { ...kept, ...(listed && { listed }), ...(listed && deleted && { deleted }) }
    const request = { ...asked, ...(Object.keys(left).length > 0 && { args: left }) }
    if (asked.json === undefined) return { ...request, query: { ...asked.query, pageToken } }
    return { ...request, json: { ...(asked.json as Record<string, Json>), pageToken } }
  }
}

/** `args` of the requests for variabilities of days, which count where there are no samples of the day. */
export type VariabilityArgs =
  | { readonly of: 'samples'; readonly days: readonly string[]; readonly midnights: readonly string[] }
  /** Dates with samples; those with one at midnight UTC, which is where the value of a date is stored. */
  | { readonly of: 'days'; readonly days: readonly string[]; readonly midnights: readonly string[] }

/** The samples of the days, and then the days. */
function firstVariability(type: DataType, window: Window, state: StreamState): Request | null {
  const days = points(type, window, state)
  const args = { days: [], midnights: [] }
  if (state.granularity === 'daily') return { ...days, args: { of: 'days', ...args } satisfies VariabilityArgs }
  const wide = { fromMs: window.fromMs - WEST_MS - DAY_MS, untilMs: window.untilMs + EAST_MS + DAY_MS }
  const samples = points({ ...type, name: 'heart-rate-variability', shape: 'sample' }, wide, state)
  return { ...samples, args: { of: 'samples', ...args } satisfies VariabilityArgs, memo: { ...days } }
}

function nextVariability(answer: Answer, asked: Request): Request | null {
  const args = asked.args as unknown as VariabilityArgs
  const more = nextOf(typeNamed(VARIABILITY) as DataType)(answer, asked)
  if (args.of === 'days') return more
  const seen = samplesOf(answer)
  const days = [...new Set([...args.days, ...seen.map(({ date }) => date)])].sort()
  const midnights = [...new Set([...args.midnights, ...seen.flatMap(({ midnight }) => midnight ?? [])])].sort()
  if (more) return { ...more, args: { of: 'samples', days, midnights } satisfies VariabilityArgs }
  const request = asked.memo as unknown as Request
  return { ...request, args: { of: 'days', days, midnights } satisfies VariabilityArgs }
}

/** The dates of samples by the clock of the person, and those of which midnight UTC has one. */
function samplesOf({ json }: Answer): { date: string; midnight: string | undefined }[] {
  return listAt(json, 'dataPoints').flatMap((point) => {
    const time = valueAt(point, 'heartRateVariability', 'sampleTime')
    const ms = Date.parse(textAt(time, 'physicalTime') ?? '')
    if (Number.isNaN(ms)) return []
    const zoneMin = offsetMinutes(textAt(time, 'utcOffset')) ?? 0
    return [{ date: dateOf(ms + zoneMin * 60_000), midnight: ms % DAY_MS === 0 ? dateOf(ms) : undefined }]
  })
}

/** The offset that the newest point says, which is the first of the first page. */
const zoneOf =
  (type: DataType): NonNullable<Stream['zone']> =>
  ({ json }, { query, method }) => {
    if (query?.pageToken !== undefined || method === 'POST') return null
    const value = valueAt(listAt(json, 'dataPoints')[0], fieldOf(type.name))
    const minutes = offsetMinutes(
      textAt(value, 'sampleTime', 'utcOffset') ?? textAt(value, 'interval', 'startUtcOffset'),
    )
    return minutes === null ? null : zoneText(minutes)
  }

const VARIABILITY = 'daily-heart-rate-variability'

/** Types whose points come all day. */
const ALL_DAY: ReadonlySet<string> = new Set(['steps', 'heart-rate'])

/** Everything that is asked of Google Health: a stream for each data type. */
export const streams: readonly Stream[] = dataTypes.map((type) => ({
  name: type.name,
  family: type.name === 'exercise' ? 'workouts' : '247',
  scope: type.scope,
  windowDays: type.days,
  historyDays: null,
  overlapHours: 48,
  first: (window, state) =>
    type.name === VARIABILITY ? firstVariability(type, window, state) : first(type, window, state),
  next: type.name === VARIABILITY ? nextVariability : nextOf(type),
  ...(ALL_DAY.has(type.name) && { zone: zoneOf(type) }),
}))

/** What a notice says was deleted: a span of a type, epoch milliseconds. */
export interface Deleted {
  readonly fromMs: number
  readonly untilMs: number
}

const spanOf = (args: Json): Window | undefined => {
  const [fromMs, untilMs] = ['fromMs', 'untilMs'].map((name) => valueAt(args, name))
  const isSpan =
    Number.isSafeInteger(fromMs) && Number.isSafeInteger(untilMs) && (fromMs as number) < (untilMs as number)
  return isSpan ? { fromMs: fromMs as number, untilMs: untilMs as number } : undefined
}

/** What is left of a span in which something was deleted: whatever else is stored there goes. */
const remaining = (type: DataType): ObjectKind => ({
  stream: type.name,
  request(args, state) {
    const window = spanOf(args)
    if (!window) return null
    const granularity = state.granularity ?? 'raw'
    if (familyOf(type.name).length > 1) return firstOfFamily(type, window, state)
    const { fromMs, untilMs } = window
    if (!type.isRolled || granularity === 'raw')
      return { ...points(type, window, state), args: { ...listingWithin(fromMs, untilMs), deleted: true } }
    if (granularity === 'daily') {
      const request = dates(type, window)
      return { ...request, args: { ...(request.args as Record<string, Json>), deleted: true } }
    }
    const [startMs, endMs] = [Math.floor(fromMs / HOUR_MS) * HOUR_MS, Math.ceil(untilMs / HOUR_MS) * HOUR_MS]
    return { ...hours(type, window), args: { ...listing(startMs, endMs), deleted: true } }
  },
  next: familyOf(type.name).length > 1 ? nextOfFamily : nextOf(type),
  // Google also says so of everything when the person has withdrawn access.
  provesAccess: true,
})

/** More instants are not carried from request to request: then nothing goes. */
const MOST_KEPT = 10_000

/** Of types with the same series each is asked for, one after the other. */
function firstOfFamily({ name }: DataType, { fromMs, untilMs }: Window, state: StreamState): Request {
  const requests = familyOf(name).map((of): Request => {
    const args = { listed: [fromMs, untilMs], of, kept: [] } satisfies FamilyArgs
    return { ...points(typeNamed(of) as DataType, { fromMs, untilMs }, state), args }
  })
  const [first, ...others] = requests
  return { ...(first as Request), memo: others as unknown as Json }
}

function nextOfFamily({ json }: Answer, asked: Request): Request | null {
  const args = asked.args as unknown as FamilyArgs
  const starts = instantsOf(json, typeNamed(args.of) as DataType)
  const kept = args.kept && starts && [...args.kept, ...starts]
  const known = { kept: kept && kept.length <= MOST_KEPT ? kept : null }
  const pageToken = textAt(json, 'nextPageToken')
  if (pageToken !== undefined)
    return { ...asked, query: { ...asked.query, pageToken }, args: { ...args, ...known } as unknown as Json }
  const [next, ...others] = asked.memo as unknown as Request[]
  if (!next) return null
  return { ...next, args: { ...(next.args as Record<string, Json>), ...known }, memo: others as unknown as Json }
}

/** What notices of deletions name. */
export const objects = Object.fromEntries(dataTypes.map((type) => [type.name, remaining(type)]))

const EXERCISES = '/v4/users/me/dataTypes/exercise/dataPoints'

/** Workouts as Google lists them, by source. */
export const workouts: NonNullable<Provider['workouts']> = {
  list({ window, limit }) {
    const [field, from, until] = bounds.session(window)
    const filter = `exercise.${field} >= "${from}" AND exercise.${field} < "${until}"`
    const query: Form = { filter, pageSize: String(Math.min(limit, Number(SESSIONS))) }
    return { path: EXERCISES, query }
  },
  one: (id) => ({ path: `${EXERCISES}/${encodeURIComponent(id)}` }),
}
