import { json, type Reply } from '../http.ts'
import type { ApiCall } from '../provider.ts'
import { daysBetween } from '../truth/person.ts'
import type { WorkoutView } from '../truth/workouts.ts'
import { DAY_MS } from '../zones.ts'
import * as activities from './activities.ts'
import { fault } from './oauth.ts'

/** Most activities of a page. */
const MOST = 200

/** What a path asks for: `activities` or `streams`; who somebody is is no data. */
export function familyOf(path: string): string | undefined {
  if (/^\/activities\/[^/]+\/streams$/.test(path)) return 'streams'
  return path === '/athlete/activities' || /^\/activities\/[^/]+$/.test(path) ? 'activities' : undefined
}

export function missingScope(path: string): Reply {
  const profile = path.startsWith('/athlete') && path !== '/athlete/activities'
  const field = profile ? 'profile:read_permission' : 'activity:read_permission'
  return fault(401, 'Authorization Error', ['AccessToken', field, 'missing'])
}

const notFound = () => fault(404, 'Record Not Found', ['Activity', 'id', 'not found'])

/** Answers a request to the API. */
export function answer(call: ApiCall): Reply {
  const { method, path, person, scopes, nowMs } = call
  const [, id, streams] = /^\/activities\/([^/]+)(\/streams)?$/.exec(path) ?? []
  const isActivities = id !== undefined || path === '/athlete/activities'
  if (!isActivities && path !== '/athlete' && path !== '/athlete/zones') return notFound()
  if (method !== 'GET') return json(405, { message: 'Method Not Allowed' }, { allow: 'GET' })
  const all = scopes.has('profile:read_all')
  if (path === '/athlete')
    return json(200, all ? activities.detailedAthlete(person, nowMs) : activities.summaryAthlete(person))
  if (path === '/athlete/zones') return all ? json(200, activities.zones(person)) : missingScope(path)
  if (!scopes.has('activity:read') && !scopes.has('activity:read_all')) return missingScope(path)
  if (id === undefined) return list(call)
  const view = byId(call, id)
  if (!view) return notFound()
  if (streams) return streamsOf(call, view)
  return json(200, activities.detailedActivity(person, view, nowMs))
}

/** What the caller may see of some time, by start. */
function between({ person, scopes, nowMs }: ApiCall, fromMs: number, toMs: number): WorkoutView[] {
  const all = scopes.has('activity:read_all')
  return daysBetween(person, fromMs, Math.min(toMs, nowMs)).flatMap(({ workout }) => {
    const view = workout && activities.seen(person, workout, nowMs, all)
    return view ? [view] : []
  })
}

function byId(call: ApiCall, id: string): WorkoutView | undefined {
  const { person, nowMs } = call
  const found = between(call, person.span.firstDay * DAY_MS, nowMs)
  return found.find(({ workout }) => String(activities.activityId(person, workout)) === id)
}

/** Oldest first where `after` is given, newest first otherwise; a page beyond the last is empty. */
function list(call: ApiCall): Reply {
  const { query, person, nowMs, settings, nextPage } = call
  const numbers: Record<string, number> = {}
  for (const name of ['after', 'before', 'page', 'per_page']) {
    const given = query.get(name)
    if (given !== null && !/^\d{1,10}$/.test(given)) return fault(400, 'Bad Request', ['Application', name, 'invalid'])
    if (given !== null) numbers[name] = Number(given)
  }
  const { after, before, page = 1, per_page: size = settings.page_size } = numbers
  if (page < 1) return fault(400, 'Bad Request', ['Application', 'page', 'invalid'])
  if (size < 1 || size > MOST) return fault(400, 'Bad Request', ['Application', 'per_page', 'invalid'])
  const fromMs = after === undefined ? person.span.firstDay * DAY_MS : after * 1000
  const toMs = before === undefined ? nowMs + DAY_MS : before * 1000
  const found = between(call, fromMs, toMs)
    .filter(({ workout: { startMs } }) => startMs > fromMs && startMs < toMs)
    .sort((a, b) => (after === undefined ? b : a).workout.startMs - (after === undefined ? a : b).workout.startMs)
  const start = nextPage === 'itself' ? 0 : (page - 1) * size
  const shown = found.slice(start, start + size)
  return json(
    200,
    shown.map((view) => activities.summaryActivity(person, view, nowMs)),
  )
}

/** Those of the named ones that there are; nothing of what was entered by hand. */
function streamsOf({ query, person }: ApiCall, view: WorkoutView): Reply {
  if (view.workout.manual) return fault(404, 'Record Not Found', ['Activity', 'streams', 'not found'])
  const names = (query.get('keys') ?? '').split(',').filter((name) => name !== '')
  if (names.length === 0) return fault(400, 'Bad Request', ['StreamSet', 'keys', 'missing'])
  const streams = activities.streamsOf(person, view)
  const found = names.flatMap((name) => {
    const data = streams.get(name)
    return data ? [[name, { data, series_type: 'time', original_size: data.length, resolution: 'high' }] as const] : []
  })
  if (query.get('key_by_type') === 'true') return json(200, Object.fromEntries(found))
  return json(
    200,
    found.map(([type, stream]) => ({ type, ...stream })),
  )
}
