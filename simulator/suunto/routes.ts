import { json, type Reply } from '../http.ts'
import type { ApiCall, Budget } from '../provider.ts'
import { secretOf } from '../random.ts'
import { daysBetween, workoutsOf } from '../truth/person.ts'
import type { WorkoutView } from '../truth/workouts.ts'
import { DAY_MS } from '../zones.ts'
import { activity, recovery, type Span, sleeps } from './samples.ts'
import { statistics } from './statistics.ts'
import { workoutKey, workoutRow } from './workouts.ts'

/** What opens the gateway; both keys do, so that one can be changed. */
const SUBSCRIPTION_KEY = secretOf('suunto subscription')
const SECOND_KEY = secretOf('suunto second subscription')

export const variables = { SUUNTO_SUBSCRIPTION_KEY: SUBSCRIPTION_KEY }

/** Days that a request for 24/7 data may ask for. */
const MOST_DAYS = 28
const MOST_WORKOUTS = 100

const rows = { sleep: sleeps, recovery, activity } as const
type Kind = keyof typeof rows

/** An error of the gateway. */
export function refusal(statusCode: number, message: string, headers: Record<string, string> = {}): Reply {
  return json(statusCode, { statusCode, message }, headers)
}

function fault(status: number, code: string, description: string): Reply {
  return json(status, { error: { code, description }, payload: null, metadata: {} })
}

/** A quota of a week is another answer than a limit of a minute. */
export function tooMany({ limit, waitSeconds }: Budget): Reply {
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0')
  const clock = `${two(waitSeconds / 3600)}:${two((waitSeconds % 3600) / 60)}:${two(waitSeconds % 60)}`
  if (limit.seconds > 86_400) return refusal(403, `Out of call volume quota. Quota will be replenished in ${clock}.`)
  const message = `Rate limit is exceeded. Try again in ${waitSeconds} seconds.`
  return refusal(429, message, { 'retry-after': String(waitSeconds) })
}

/** Which data a path asks for: `workouts`, `sleep`, `recovery`, `activity`, `daily-activity-statistics`. */
export function familyOf(path: string): string | undefined {
  return /^\/v3\/(workouts)/.exec(path)?.[1] ?? /^\/247(?:samples)?\/([\w-]+)/.exec(path)?.[1]
}

/** Answers a request to the API. */
export function answer(call: ApiCall): Reply {
  const { method, path, settings } = call
  const key = call.header('ocp-apim-subscription-key')
  if (key === '') return refusal(401, 'Access denied due to missing subscription key.')
  if (key !== SUBSCRIPTION_KEY && key !== SECOND_KEY)
    return refusal(401, 'Access denied due to invalid subscription key.')
  if (method !== 'GET') return refusal(404, 'Resource not found')
  if (path === '/v3/workouts' || path === '/v3/workouts/') return workouts(call)
  const [, one, file] = /^\/v3\/workouts\/([\w-]+)(\/fit)?$/.exec(path) ?? []
  if (one !== undefined) return file ? fault(404, 'NOT_FOUND', 'There is no file') : workout(call, one)
  const product = settings.own.old_product ? '/247/' : '/247samples/'
  if (!path.startsWith(product)) return refusal(404, 'Resource not found')
  const name = path.slice(product.length)
  if (name === 'daily-activity-statistics') return daily(call)
  return Object.hasOwn(rows, name) ? samples(call, name as Kind) : refusal(404, 'Resource not found')
}

function number(query: URLSearchParams, name: string, otherwise: number): number {
  const text = query.get(name)
  if (text === null) return otherwise
  return /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
}

/** Newest first, by their last change or by their start. */
function workouts({ person, query, nowMs, settings }: ApiCall): Reply {
  if (settings.own.errors_as_success) return fault(200, 'INTERNAL_ERROR', 'Try again later')
  const numbers = { since: 0, until: nowMs, limit: 50, offset: 0 }
  const { since, until, limit, offset } = Object.fromEntries(
    Object.entries(numbers).map(([name, otherwise]) => [name, number(query, name, otherwise)]),
  ) as typeof numbers
  if ([since, until, limit, offset].some(Number.isNaN)) return fault(400, 'BAD_REQUEST', 'Numbers are expected')
  const byStart = query.get('filter-by-modification-time') === 'false'
  const instant = (view: WorkoutView) => (byStart ? view.workout.startMs : view.updatedMs)
  const all = workoutsOf(daysBetween(person, person.span.firstDay * DAY_MS, nowMs), nowMs)
    .filter((view) => !view.deleted && instant(view) >= since && instant(view) <= until)
    .sort((a, b) => instant(b) - instant(a))
  const found = all.slice(offset, offset + Math.min(limit, MOST_WORKOUTS))
  return json(200, {
    error: null,
    payload: found.map((view) => workoutRow(person, view, nowMs)),
    metadata: { workoutcount: String(found.length), until: String(until) },
  })
}

function workout({ person, nowMs }: ApiCall, key: string): Reply {
  const all = workoutsOf(daysBetween(person, person.span.firstDay * DAY_MS, nowMs), nowMs)
  const view = all.find((one) => !one.deleted && workoutKey(person, one.workout) === key)
  if (!view) return fault(404, 'NOT_FOUND', 'There is no such workout')
  return json(200, { error: null, payload: workoutRow(person, view, nowMs), metadata: {} })
}

function samples({ person, query, nowMs }: ApiCall, kind: Kind): Reply {
  const span = { fromMs: number(query, 'from', Number.NaN), toMs: number(query, 'to', Number.NaN) }
  const problem = spanProblem(span)
  return problem ? refusal(400, problem) : json(200, rows[kind](person, span, nowMs))
}

function daily({ person, query, nowMs }: ApiCall): Reply {
  const instant = (name: string) => {
    const text = query.get(name) ?? ''
    if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(text)) return Number.NaN
    return Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`)
  }
  const span = { fromMs: instant('startdate'), toMs: instant('enddate') }
  const problem = spanProblem(span)
  return problem ? refusal(400, problem) : json(200, statistics(person, span, nowMs))
}

function spanProblem({ fromMs, toMs }: Span): string | undefined {
  if (Number.isNaN(fromMs) || Number.isNaN(toMs)) return 'The start or the end is missing, or no time'
  if (fromMs > toMs) return 'The start is after the end'
  return toMs - fromMs > MOST_DAYS * DAY_MS ? `The range may have at most ${MOST_DAYS} days` : undefined
}
