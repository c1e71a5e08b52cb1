import { createHash } from 'node:crypto'
import { json, type Reply } from '../http.ts'
import type { ApiCall } from '../provider.ts'
import { type Cycle, cyclesOf, daysBetween, sleepsOf, workoutsOf } from '../truth/person.ts'
import type { SleepView } from '../truth/sleep.ts'
import type { WorkoutView } from '../truth/workouts.ts'
import { DAY_MS } from '../zones.ts'
import * as records from './records.ts'

/** A record of a collection, made when it is shown. */
interface Entry {
  readonly startMs: number
  make(): records.Row
}

interface Collection {
  readonly scope: string
  /** How its last page says that it is the last. */
  readonly lastPage: { next_token?: null | '' }
  entries(call: ApiCall, fromMs: number, toMs: number): Entry[]
}

const collections: Record<string, Collection> = {
  '/v2/activity/workout': {
    scope: 'read:workout',
    lastPage: { next_token: null },
    entries: (call, fromMs, toMs) =>
      workouts(call, fromMs, toMs).map((view) => ({
        startMs: view.workout.startMs,
        make: () => records.workoutRecord(call.person, view, call.nowMs),
      })),
  },
  '/v2/activity/sleep': {
    scope: 'read:sleep',
    lastPage: {},
    entries: (call, fromMs, toMs) =>
      sleeps(call, fromMs, toMs).map((view) => ({
        startMs: view.startMs,
        make: () => records.sleepRecord(call.person, view, call.nowMs),
      })),
  },
  '/v2/recovery': {
    scope: 'read:recovery',
    lastPage: { next_token: '' },
    entries: (call, fromMs, toMs) =>
      sleeps(call, fromMs, toMs)
        .filter(recovers)
        .map((view) => ({
          startMs: view.startMs,
          make: () => records.recoveryRecord(call.person, view, call.nowMs),
        })),
  },
  '/v2/cycle': {
    scope: 'read:cycles',
    lastPage: { next_token: null },
    entries: (call, fromMs, toMs) =>
      cycles(call, fromMs, toMs).map((cycle) => ({
        startMs: cycle.startMs,
        make: () => records.cycleRecord(call.person, cycle),
      })),
  },
}

function sleeps({ person, nowMs }: ApiCall, fromMs: number, toMs: number): SleepView[] {
  return sleepsOf(daysBetween(person, fromMs, toMs + DAY_MS), nowMs).filter(({ deleted }) => !deleted)
}

function workouts({ person, nowMs }: ApiCall, fromMs: number, toMs: number): WorkoutView[] {
  return workoutsOf(daysBetween(person, fromMs, toMs), nowMs).filter(({ deleted }) => !deleted)
}

function cycles({ person, nowMs }: ApiCall, fromMs: number, toMs: number): Cycle[] {
  return cyclesOf(person, daysBetween(person, fromMs, toMs + DAY_MS), nowMs)
}

/** Naps bring no recovery, and neither do nights without a score. */
function recovers({ sleep }: SleepView): boolean {
  return !sleep.nap && !sleep.unscorable
}

/** What a path asks for: `workout`, `sleep`, `recovery`, `cycle` or `body`; the profile is no data. */
export function familyOf(path: string): string | undefined {
  if (path === '/v2/user/measurement/body') return 'body'
  return /^\/v2\/(?:activity\/|cycle\/\w+\/)?(workout|sleep|recovery|cycle)\b/.exec(path)?.[1]
}

/** Answers a request to the API. */
export function answer(call: ApiCall): Reply {
  const { method, path } = call
  if (path === '/v2/user/access' && method === 'DELETE') {
    call.leave()
    return { status: 204 }
  }
  if (method !== 'GET') return json(405, { message: 'Method not allowed' }, { allow: 'GET' })
  const collection = Object.hasOwn(collections, path) ? collections[path] : undefined
  const single = collection ? undefined : singles.find(([pattern]) => pattern.test(path))
  const scope = collection?.scope ?? single?.[1]
  if (scope === undefined) return notFound()
  if (scope !== '' && !call.scopes.has(scope))
    return json(call.settings.missing_scope_status, { message: 'Missing scope' })
  if (collection) return list(call, collection)
  const found = single?.[2](call, path.split('/').at(single[3]) ?? '')
  return found ? json(200, found) : notFound()
}

function notFound(): Reply {
  return json(404, { message: 'Not found' })
}

type Find = (call: ApiCall, id: string) => records.Row | undefined

/** Pattern, scope, how to find it, and which part of the path names it. */
const singles: readonly (readonly [pattern: RegExp, scope: string, find: Find, part: number])[] = [
  [/^\/v2\/activity\/workout\/[^/]+$/, 'read:workout', workoutById, -1],
  [/^\/v2\/activity\/sleep\/[^/]+$/, 'read:sleep', sleepById, -1],
  [/^\/v2\/cycle\/[^/]+$/, 'read:cycles', cycleById, -1],
  [/^\/v2\/cycle\/[^/]+\/sleep$/, 'read:sleep', sleepOfCycle, -2],
  [/^\/v2\/cycle\/[^/]+\/recovery$/, 'read:recovery', recoveryOfCycle, -2],
  [
    /^\/v2\/user\/measurement\/body$/,
    'read:body_measurement',
    ({ person, nowMs }) => records.bodyRecord(person, nowMs),
    -1,
  ],
  [/^\/v2\/user\/profile\/basic$/, 'read:profile', ({ person }) => records.profileRecord(person), -1],
  [/^\/v1\/activity-mapping\/\d+$/, '', mappingOf, -1],
]

/** The time of all data. */
function always(call: ApiCall): [number, number] {
  return [call.person.span.firstDay * DAY_MS - DAY_MS, call.nowMs]
}

function workoutById(call: ApiCall, id: string): records.Row | undefined {
  const view = workouts(call, ...always(call)).find((one) => records.workoutId(call.person, one) === id)
  return view && records.workoutRecord(call.person, view, call.nowMs)
}

function sleepById(call: ApiCall, id: string): records.Row | undefined {
  const view = sleeps(call, ...always(call)).find((one) => records.sleepId(call.person, one) === id)
  return view && records.sleepRecord(call.person, view, call.nowMs)
}

/** The cycle with an id, when it has begun. */
function cycleOf({ person, nowMs }: ApiCall, id: string): Cycle | undefined {
  const day = Number(id) - records.cycleId(person, 0)
  if (!(day >= person.span.firstDay && day <= nowMs / DAY_MS + 2)) return undefined
  return Number.isInteger(day) ? cyclesOf(person, [person.day(day)], nowMs)[0] : undefined
}

function cycleById(call: ApiCall, id: string): records.Row | undefined {
  const cycle = cycleOf(call, id)
  return cycle && records.cycleRecord(call.person, cycle)
}

function sleepOfCycle(call: ApiCall, id: string): records.Row | undefined {
  const night = cycleOf(call, id)?.night
  return night ? records.sleepRecord(call.person, night, call.nowMs) : undefined
}

function recoveryOfCycle(call: ApiCall, id: string): records.Row | undefined {
  const night = cycleOf(call, id)?.night
  return night && recovers(night) ? records.recoveryRecord(call.person, night, call.nowMs) : undefined
}

function mappingOf(call: ApiCall, id: string): records.Row | undefined {
  const ids = [
    ...sleeps(call, ...always(call)).map((view) => records.sleepId(call.person, view)),
    ...workouts(call, ...always(call)).map((view) => records.workoutId(call.person, view)),
  ]
  const found = ids.find((one) => records.v1Id(one) === Number(id))
  return found === undefined ? undefined : { v2_activity_id: found }
}

/** A page of a collection, newest start first: `start` is included, `end` is not. */
function list(call: ApiCall, collection: Collection): Reply {
  const { query, nowMs, settings } = call
  const limit = Number(query.get('limit') ?? settings.page_size)
  const [start, end] = [query.get('start'), query.get('end')]
  const toMs = end === null ? nowMs : instant(end)
  const fromMs = start === null ? toMs - 30 * DAY_MS : instant(start)
  const at = placeOf(call)
  if (!Number.isInteger(limit) || limit < 1 || limit > 25) return json(400, { message: 'limit must be from 1 to 25' })
  if (!(fromMs <= toMs)) return json(400, { message: 'start and end must be ISO 8601 date-times in order' })
  if (at === undefined) return json(400, { message: 'nextToken does not belong to this request' })
  const found = collection
    .entries(call, fromMs, Math.min(toMs, nowMs))
    .filter(({ startMs }) => startMs >= fromMs && startMs < toMs)
    .sort((a, b) => b.startMs - a.startMs)
  const shown = found.slice(at, at + limit).map((entry) => entry.make())
  return json(200, {
    records: shown,
    ...following(call, collection, at, found.length > at + limit ? at + limit : null),
  })
}

function following(call: ApiCall, { lastPage }: Collection, at: number, next: number | null): records.Row {
  const token = (place: number) => Buffer.from(`${place}:${requestOf(call)}`).toString('base64url')
  if (call.nextPage === 'itself') return { next_token: token(at) }
  if (call.nextPage === 'elsewhere') return { next_token: `https://elsewhere.example${call.path}?nextToken=1` }
  return next === null ? lastPage : { next_token: token(next) }
}

/** Where the page begins; undefined when the token is none of this request's. */
function placeOf(call: ApiCall): number | undefined {
  const token = call.query.get('nextToken')
  if (token === null || token === '') return 0
  const [place, request] = Buffer.from(token, 'base64url').toString().split(':')
  return request === requestOf(call) && /^\d+$/.test(place ?? '') ? Number(place) : undefined
}

function requestOf({ query, path }: ApiCall): string {
  const own = new URLSearchParams([...query].filter(([name]) => name !== 'nextToken'))
  own.sort()
  return createHash('sha256').update(`${path}?${own}`).digest('hex').slice(0, 12)
}

/** NaN for what is no ISO 8601 date-time. */
function instant(value: string): number {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/.test(value) ? Date.parse(value) : Number.NaN
}
