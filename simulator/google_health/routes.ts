import { createHash } from 'node:crypto'
import { json, type Reply } from '../http.ts'
import type { ApiCall } from '../provider.ts'
import type { Person } from '../truth/person.ts'
import { knownUntil } from '../truth/personas.ts'
import { DAY_MS, localDay, offsetAt } from '../zones.ts'
import { type Filter, filterOf } from './filters.ts'
import { accountOf, legacyIdOf, scopeOf, subOf } from './oauth.ts'
import { civil, instant, type Point, type Row, sourceOf, timeOf, wallMs, watchOf } from './points.ts'
import { type DataType, fieldOf, types } from './types.ts'

const MOST = 10_000
/** Sessions on a page; more is cut without an error. */
const MOST_SESSIONS = 25

/** An error of the API. */
export function fault(code: number, status: string, message: string): Reply {
  return json(code, { error: { code, message, status, details: [] } })
}

const invalid = (message: string) => fault(400, 'INVALID_ARGUMENT', message)
const notFound = () => fault(404, 'NOT_FOUND', 'Requested entity was not found.')
export const denied = () => fault(403, 'PERMISSION_DENIED', 'Request had insufficient authentication scopes.')

/** Which data a path asks for, such as `heart-rate`. */
export function familyOf(path: string): string | undefined {
  return /\/dataTypes\/([\w-]+)\//.exec(path)?.[1]
}

/** Answers a request to the API. */
export function answer(call: ApiCall): Reply {
  const { path, scopes, method, settings } = call
  if (settings.own.not_linked) return invalid('The account is not linked: ACCOUNT_NOT_LINKED')
  const [, type = '', rest = ''] = /^\/v4\/users\/me\/dataTypes\/([\w-]+)\/dataPoints(.*)$/.exec(path) ?? []
  if (type === '') return about(call)
  const found = Object.hasOwn(types, type) ? types[type] : undefined
  if (!found) return notFound()
  if (!scopes.has(scopeOf(found.scope))) return denied()
  if (rest === ':rollUp' && method === 'POST') return rollUp(call, type, found)
  if (rest === ':dailyRollUp' && method === 'POST') return dailyRollUp(call, type, found)
  if (method !== 'GET') return notFound()
  if (rest === '' || rest === ':reconcile') return list(call, type, found)
  return rest.startsWith('/') ? one(call, type, found) : notFound()
}

/** What is said of the account. */
function about({ path, method, person, scopes, nowMs }: ApiCall): Reply {
  const zone = person.day(localDay('UTC', nowMs)).zone
  if (method !== 'GET') return notFound()
  if (path === '/v4/users/me/identity')
    return json(200, { name: 'users/me/identity', healthUserId: accountOf(person), legacyUserId: legacyIdOf(person) })
  if (path === '/oauth2/v3/userinfo')
    return scopes.has('email') || scopes.has('openid')
      ? json(200, { sub: subOf(person), ...(scopes.has('email') && { email: person.email, email_verified: true }) })
      : denied()
  if (path === '/v4/users/me/settings')
    return scopes.has(scopeOf('settings'))
      ? json(200, { name: 'users/me/settings', timeZone: zone, utcOffset: `${offsetAt(zone, nowMs) * 60}s` })
      : denied()
  if (path === '/v4/users/me/pairedDevices')
    return scopes.has(scopeOf('settings')) ? json(200, { pairedDevices: paired(person, nowMs) }) : denied()
  return notFound()
}

function paired(person: Person, nowMs: number): Row[] {
  const synced = { lastSyncTime: instant(knownUntil(person, nowMs)), batteryLevel: 74 }
  return [
    { deviceType: 'TRACKER', deviceVersion: watchOf(person).displayName, ...synced },
    { deviceType: 'SCALE', deviceVersion: 'Aria Air', ...synced },
  ]
}

function nameOf(person: Person, type: string, id: string): string {
  return `users/${accountOf(person)}/dataTypes/${type}/dataPoints/${id}`
}

function shown(call: ApiCall, type: string, point: Point, merged: boolean): Row {
  const { person } = call
  const { shape } = types[type] as DataType
  const named = point.id === undefined ? {} : { [merged ? 'dataPointName' : 'name']: nameOf(person, type, point.id) }
  return {
    ...named,
    ...(!merged && { dataSource: sourceOf(person, point.source) }),
    [fieldOf(type)]: { ...timeOf(point, shape), ...point.value },
  }
}

/** So long ago a watch has synced that does so late. */
const LATE_MS = 12 * 3_600_000

/** All points that a filter lets pass, newest first. */
function pointsOf(
  { person, nowMs, settings }: ApiCall,
  { points }: DataType,
  filter: Filter,
  merged: boolean,
): Point[] {
  const { firstDay } = person.span
  const span = { fromMs: Math.max(filter.fromMs, (firstDay - 1) * DAY_MS), toMs: Math.min(filter.toMs, nowMs) }
  const late = settings.own.late_watch ? { lateMs: LATE_MS } : {}
  const found = span.toMs > span.fromMs ? points(person, { ...span, nowMs, ...late }, merged) : []
  return found.filter((point) => filter.passes(point)).reverse()
}

function list(call: ApiCall, type: string, found: DataType): Reply {
  const { query, path } = call
  const merged = path.endsWith(':reconcile')
  if (found.unlisted) return invalid(`${type} has rollups only`)
  const known = ['filter', 'pageSize', 'pageToken', ...(merged ? ['dataSourceFamily'] : [])]
  const unknown = [...query.keys()].find((name) => !known.includes(name))
  if (unknown !== undefined) return invalid(`Unknown name "${unknown}": Cannot bind query parameter.`)
  const family = query.get('dataSourceFamily') ?? 'users/me/dataSourceFamilies/all-sources'
  if (!/^users\/me\/dataSourceFamilies\/(all-sources|google-wearables|google-sources|self-sources)$/.test(family))
    return invalid(`Unknown dataSourceFamily: ${family}`)
  const filter = filterOf(query.get('filter'), type, found.shape)
  if (typeof filter === 'string') return invalid(filter)
  const sessions = type === 'sleep' || type === 'exercise'
  const size = sizeOf(query.get('pageSize'), sessions ? MOST_SESSIONS : 1440, sessions ? MOST_SESSIONS : MOST)
  if (Number.isNaN(size)) return invalid('pageSize is no number')
  const all = pointsOf(call, found, filter, merged)
  const own = new URLSearchParams([...query].filter(([name]) => name !== 'pageToken'))
  const page = pageOf(call, all, { size, token: query.get('pageToken') ?? '', request: `${path}?${own}` })
  if (!page) return invalid('pageToken does not belong to this request')
  const dataPoints = page.rows.map((point) => shown(call, type, point, merged))
  return json(200, { dataPoints, ...(page.next && { nextPageToken: page.next }) })
}

function sizeOf(text: string | null, usual: number, most: number): number {
  if (text === null || text === '0') return usual
  return /^\d{1,9}$/.test(text) ? Math.min(Number(text), most) : Number.NaN
}

interface Place {
  readonly size: number
  readonly token: string
  /** Everything else that has to stay the same. */
  readonly request: string
}

/** The rows of a page and the token of the next; undefined when a token is of another request. */
function pageOf<Of>({ settings, nextPage }: ApiCall, all: readonly Of[], { size, token, request }: Place) {
  const digest = createHash('sha256').update(request).digest('base64url').slice(0, 12)
  const [at = '', of] = Buffer.from(token, 'base64url').toString().split(' ')
  if (token !== '' && (of !== digest || !/^\d{1,9}$/.test(at))) return undefined
  const start = Number(at)
  const end = start + Math.min(size, settings.page_size)
  const following = Buffer.from(`${end} ${digest}`).toString('base64url')
  const next = nextPage === 'itself' ? token || encodeStart(digest) : end < all.length ? following : undefined
  return { rows: all.slice(start, end), next }
}

function encodeStart(digest: string): string {
  return Buffer.from(`0 ${digest}`).toString('base64url')
}

function one(call: ApiCall, type: string, found: DataType): Reply {
  const { person, path } = call
  const [, id = '', tcx] = /\/dataPoints\/([\w-]+)(:exportExerciseTcx)?$/.exec(path) ?? []
  const everything = { passes: () => true, fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY }
  const point = id === '' || tcx ? undefined : pointsOf(call, found, everything, false).find((one) => one.id === id)
  return point && person ? json(200, shown(call, type, point, false)) : notFound()
}

function bodyOf(text: string): Row {
  try {
    const body: unknown = JSON.parse(text)
    return typeof body === 'object' && body !== null ? (body as Row) : {}
  } catch {
    return {}
  }
}

/** A range of so many windows, by a clock: epoch ms, or local time as if it were UTC. */
interface Windows {
  readonly fromMs: number
  readonly toMs: number
  readonly lengthMs: number
  readonly clock: (point: Point) => number
  readonly show: (fromMs: number, toMs: number) => Row
}

function rollUp(call: ApiCall, type: string, found: DataType): Reply {
  const { range, windowSize } = bodyOf(call.text)
  const { startTime, endTime } = (range ?? {}) as Row
  const seconds = Number(/^(\d+)s$/.exec(String(windowSize))?.[1] ?? Number.NaN)
  return windows(call, type, found, {
    ...{ fromMs: Date.parse(String(startTime)), toMs: Date.parse(String(endTime)), lengthMs: seconds * 1000 },
    clock: ({ startMs }) => startMs,
    show: (fromMs, toMs) => ({ startTime: instant(fromMs), endTime: instant(toMs) }),
  })
}

function dailyRollUp(call: ApiCall, type: string, found: DataType): Reply {
  const { range, windowSizeDays = 1 } = bodyOf(call.text)
  const { start, end } = (range ?? {}) as Record<string, Row | undefined>
  const days = Number.isInteger(windowSizeDays) && Number(windowSizeDays) > 0 ? Number(windowSizeDays) : Number.NaN
  return windows(call, type, found, {
    ...{ fromMs: civilMs(start), toMs: civilMs(end), lengthMs: days * DAY_MS },
    clock: ({ zone, startMs }) => wallMs(zone, startMs),
    show: (fromMs, toMs) => ({ civilStartTime: civil(fromMs), civilEndTime: civil(toMs) }),
  })
}

function civilMs(time: Row | undefined): number {
  const { year, month, day } = (time?.date ?? {}) as Record<string, number>
  const { hours = 0, minutes = 0, seconds = 0 } = (time?.time ?? {}) as Record<string, number>
  return Date.UTC(year ?? Number.NaN, (month ?? Number.NaN) - 1, day ?? Number.NaN, hours, minutes, seconds)
}

/** Windows with something in them, oldest first. */
function windows(call: ApiCall, type: string, found: DataType, wanted: Windows): Reply {
  const { fromMs, toMs, lengthMs, clock, show } = wanted
  const { rollup } = found
  if (!rollup) return invalid(`${type} has no rollups`)
  if (Number.isNaN(fromMs + toMs + lengthMs) || lengthMs <= 0 || fromMs >= toMs)
    return invalid('Invalid range or window')
  const days = found.rollupDays ?? 90
  if (toMs - fromMs > days * DAY_MS) return invalid(`The range of ${type} may have at most ${days} days`)
  const { pageSize = 1440, pageToken = '', ...rest } = bodyOf(call.text)
  const size = Number(pageSize)
  if (!(size >= Math.ceil((toMs - fromMs) / lengthMs)) || size > MOST)
    return invalid('pageSize has to be at least the number of windows')
  const margin = 14 * 3_600_000
  const filter = {
    ...{ fromMs: fromMs - margin, toMs: toMs + margin },
    passes: (point: Point) => clock(point) >= fromMs && clock(point) < toMs,
  }
  const parts = new Map<number, Point[]>()
  for (const point of pointsOf(call, found, filter, true).reverse()) {
    const number = Math.floor((clock(point) - fromMs) / lengthMs)
    const part = parts.get(number)
    if (part) part.push(point)
    else parts.set(number, [point])
  }
  const rows = [...parts].map(([number, points]) => {
    const startMs = fromMs + number * lengthMs
    return { ...show(startMs, Math.min(toMs, startMs + lengthMs)), [fieldOf(type)]: rollup(points) }
  })
  const place = { size, token: String(pageToken), request: call.path + JSON.stringify({ ...rest, pageSize }) }
  const page = pageOf(call, rows, place)
  if (!page) return invalid('pageToken does not belong to this request')
  return json(200, { rollupDataPoints: page.rows, ...(page.next && { nextPageToken: page.next }) })
}
