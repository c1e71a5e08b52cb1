import { json, type Reply } from '../http.ts'
import type { ApiCall } from '../provider.ts'
import { DAY_MS } from '../zones.ts'
import { gpxOf } from './activities.ts'
import type { Backfills } from './backfills.ts'
import type { Announced, Callbacks } from './callbacks.ts'
import { userIdOf } from './items.ts'
import { type SummaryType, types } from './types.ts'

const REST = '/wellness-api/rest'
const GATEWAY = '/partner-gateway/rest'

/** How far back may be asked, and how much in one request. */
const OLDEST_DAYS = 30
const LONGEST_DAYS = 90

/** What the application keeps at Garmin. */
export interface Memory {
  readonly backfills: Backfills
  readonly callbacks: Callbacks
}

/** An error of the API. */
export function fault(status: number, errorMessage: string): Reply {
  return json(status, { errorMessage })
}

/** Which data a path asks for, such as `sleeps`, asked of the past or fetched. */
export function familyOf(path: string): string | undefined {
  const [, name] = /\/rest\/(?:backfill\/)?(\w+)$/.exec(path) ?? []
  return name
}

/** Answers a request to the API. */
export function answer(call: ApiCall, memory: Memory): Reply {
  const { path, settings } = call
  if (path.startsWith(`${GATEWAY}/user/`)) return ofUser(call, path.slice(GATEWAY.length))
  if (!path.startsWith(`${REST}/`)) return fault(404, 'Not found')
  const below = path.slice(REST.length)
  if (below.startsWith('/user/')) return settings.own.gateway_only ? fault(404, 'Not found') : ofUser(call, below)
  if (call.method !== 'GET') return fault(405, 'Method not allowed')
  return below.startsWith('/backfill/')
    ? backfill(call, memory, below.slice('/backfill/'.length))
    : fetched(call, memory)
}

function ofUser(call: ApiCall, path: string): Reply {
  const { method, person, scopes, settings } = call
  if (path === '/user/id' && method === 'GET') return json(200, { userId: userIdOf(person) })
  if (path === '/user/permissions' && method === 'GET') {
    const permissions = [...scopes]
    return json(200, settings.own.bare_permissions ? permissions : { permissions })
  }
  if (path !== '/user/registration' || method !== 'DELETE') return fault(404, 'Not found')
  call.leave()
  return { status: 204 }
}

/** 202 without a body; the data is pushed later. */
function backfill(call: ApiCall, { backfills }: Memory, name: string): Reply {
  const { person, query, scopes, settings, nowMs } = call
  const type = types.find((one) => one.backfill === name)
  if (!type) return fault(404, `Unknown summary type: ${name}`)
  const span = spanOf(query, 'summary')
  if (!span) return fault(400, 'Missing time range parameters')
  if (!scopes.has('HISTORICAL_DATA_EXPORT') || !scopes.has(type.permission))
    return fault(settings.missing_scope_status, 'The user has not granted the permission')
  if (!call.hears(type.key)) return fault(400, `Endpoint not enabled for summary type: ${type.code}`)
  const problem = rangeProblem(span, nowMs)
  if (problem === 'too early' && settings.own.old_unauthorized) return fault(401, 'Not authorized')
  if (problem === 'too early')
    return fault(400, `start ${iso(span.fromMs)} before min start time of ${iso(oldest(nowMs))}`)
  if (problem) return fault(400, problem)
  if (backfills.overlaps(person, type, span)) return fault(409, 'Duplicate backfill processing is not allowed')
  backfills.add(person, type, span, { nowMs, settings })
  return { status: 202 }
}

function oldest(nowMs: number): number {
  return nowMs - OLDEST_DAYS * DAY_MS
}

function rangeProblem({ fromMs, toMs }: { fromMs: number; toMs: number }, nowMs: number): string | undefined {
  if (toMs <= fromMs) return 'The end is before the start'
  if (toMs - fromMs > LONGEST_DAYS * DAY_MS) return `The range is longer than ${LONGEST_DAYS} days`
  return fromMs < oldest(nowMs) ? 'too early' : undefined
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}

function spanOf(query: URLSearchParams, what: 'summary' | 'upload') {
  const [from, to] = ['Start', 'End'].map((end) => query.get(`${what}${end}TimeInSeconds`) ?? '')
  if (!/^\d{1,11}$/.test(from ?? '') || !/^\d{1,11}$/.test(to ?? '')) return undefined
  return { fromMs: Number(from) * 1000, toMs: Number(to) * 1000 }
}

/** What a ping has named; without its token nothing can be fetched. */
function fetched(call: ApiCall, { callbacks }: Memory): Reply {
  const { path, person, query, nowMs } = call
  const name = path.slice(REST.length + 1)
  const found = callbacks.find(query.get('token') ?? '', nowMs)
  const isFile = name === 'activityFile'
  if (!isFile && !types.some((type: SummaryType) => type.key === name)) return fault(404, 'Not found')
  if (found === undefined) return fault(400, 'InvalidPullTokenException failure')
  if (found === 'too late') return fault(410, 'The link has expired')
  if (found.person !== person) return fault(401, 'The token is of another user')
  if (isFile !== (found.topic === 'activityFiles')) return fault(404, 'Not found')
  if (!isFile) return found.topic === name ? json(200, found.rows()) : fault(404, 'Not found')
  const day = dayOf(found)
  const text = day && gpxOf(person, day, nowMs)
  return text ? { status: 200, file: { type: 'application/gpx+xml', text } } : fault(404, 'No file')
}

/** The day of the activity of which a push tells the file. */
function dayOf({ person, items }: Announced) {
  const [item] = items
  if (!item) return undefined
  const around = [-1, 0, 1].map((step) => person.day(Math.floor(item.startMs / DAY_MS) + step))
  return around.find(({ workout }) => workout?.startMs === item.startMs)
}
