import type { Reply } from '../http.ts'
import type { ApiCall } from '../provider.ts'
import { type Day, daysBetween, type Person, sleepsOf, workoutsOf } from '../truth/person.ts'
import { knownUntil } from '../truth/personas.ts'
import { DAY_MS, dayOf } from '../zones.ts'
import { activities, intraday, workouts } from './activity.ts'
import { devices, type Row, seconds, zoneAt } from './devices.ts'
import { refusal, statuses, success } from './envelope.ts'
import { groupsOf, narrowed } from './measures.ts'
import { details, summary, watcherOf } from './sleep.ts'

/** Seconds that a request for what happened within a day may ask for; the rest is left out. */
const DAY_SECONDS = 86_400

type Route = (call: ApiCall) => Reply

/** What is done, by path and `action`, and the scope that it takes. */
const routes: Readonly<Record<string, readonly [scope: string, route: Route]>> = {
  '/measure/getmeas': ['user.metrics', measures],
  '/v2/measure/getactivity': ['user.activity', daily],
  '/v2/measure/getintradayactivity': ['user.activity', withinDay],
  '/v2/measure/getworkouts': ['user.activity', listed],
  '/v2/sleep/getsummary': ['user.activity', nights],
  '/v2/sleep/get': ['user.activity', night],
  '/v2/user/getdevice': ['user.info', ({ person, nowMs }) => success({ devices: devices(person, nowMs) })],
  '/v2/user/getgoals': ['user.info', () => success({ goals: { steps: 10_000 } })],
  '/v2/heart/list': ['user.metrics', () => success({ series: [], more: false, offset: 0 })],
}

/** What a request is for: `/v2/sleep/getsummary`. */
export function nameOf(path: string, form: URLSearchParams): string {
  const action = form.get('action')
  return action === null || !/^[a-z]+$/.test(action) ? path : `${path}/${action}`
}

/** The name of a call for data, such as `getmeas`. */
export function familyOf(name: string): string | undefined {
  return Object.hasOwn(routes, name) ? name.split('/').at(-1) : undefined
}

/** Answers a call for data. */
export function answer(call: ApiCall): Reply {
  const [scope, route] = routes[nameOf(call.path, call.form)] ?? []
  if (call.method !== 'POST' || !scope || !route) return refusal(statuses.action, 'Not implemented')
  return call.scopes.has(scope) ? route(call) : refusal(statuses.scope, 'Unauthorized: insufficient scope')
}

const wrong = (name: string) => refusal(statuses.parameters, `Invalid Params: ${name}`)

/** Which rows are meant: those of a range, or those that changed since. Instants in seconds, both included. */
interface Window {
  readonly from: number
  readonly to: number
  readonly changed: boolean
}

/** Undefined when the parameters are no window, or two. */
function windowOf({ form, nowMs }: ApiCall, [first, last]: readonly [string, string], ofDays: boolean) {
  const number = (name: string) => {
    const text = form.get(name) ?? ''
    if (!ofDays || name === 'lastupdate') return /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN
    return dayOf(text)
  }
  const byChange = form.has('lastupdate')
  if (byChange === (form.has(first) || form.has(last))) return undefined
  const to = byChange || (!ofDays && !form.has(last)) ? seconds(nowMs) : number(last)
  const window: Window = { from: number(byChange ? 'lastupdate' : first), to, changed: byChange }
  return Number.isNaN(window.from) || Number.isNaN(window.to) || window.from > window.to ? undefined : window
}

/** The days that may have something: what changes does so within a week. */
function daysIn(person: Person, { from, to, changed }: Window, ofDays: boolean, nowMs: number): Day[] {
  if (changed) return daysBetween(person, from * 1000 - 9 * DAY_MS, nowMs)
  return ofDays
    ? daysBetween(person, (from - 1) * DAY_MS, (to + 1) * DAY_MS)
    : daysBetween(person, from * 1000 - DAY_MS, to * 1000 + DAY_MS)
}

const isIn = ({ from, to }: Window, value: number) => value >= from && value <= to

/** A page of rows; `more` is a number in one of the lists. */
function paged({ form, settings, nextPage }: ApiCall, rows: readonly Row[], name: string, asNumber = false): Reply {
  const text = form.get('offset') ?? '0'
  if (!/^\d{1,9}$/.test(text)) return wrong('offset')
  const start = Number(text)
  const end = Math.min(start + settings.page_size, rows.length)
  const again = nextPage === 'itself'
  const more = again || end < rows.length
  const page = { [name]: rows.slice(start, end), more: asNumber ? Number(more) : more }
  return success({ ...page, offset: again ? start : more ? end : 0 })
}

function fieldsOf({ form }: ApiCall): ReadonlySet<string> {
  return new Set((form.get('data_fields') ?? '').split(','))
}

/** Newest first. */
function measures(call: ApiCall): Reply {
  const { person, form, nowMs, settings } = call
  const window = windowOf(call, ['startdate', 'enddate'], false)
  if (!window) return wrong('startdate, enddate or lastupdate')
  const wanted = (form.get('meastypes') ?? form.get('meastype') ?? '').split(',').filter((type) => type !== '')
  const types = wanted.length > 0 ? new Set(wanted.map(Number)) : null
  const category = form.get('category')
  const advanced = !settings.own.free_plan
  const groups = daysIn(person, window, false, nowMs)
    .flatMap((day) => groupsOf(person, day, { nowMs, advanced }))
    .filter((group) => isIn(window, window.changed ? group.modified : group.date))
    .filter((group) => category === null || group.category === Number(category))
    .sort((a, b) => b.date - a.date)
  const rows = groups.map((group) => narrowed(group, types)).filter((group) => group !== null)
  const reply = paged(call, rows, 'measuregrps', true)
  const { status, body } = reply.json as { status: number; body: Row }
  if (status !== 0) return reply
  return success({ updatetime: seconds(nowMs), timezone: zoneAt(person, nowMs), ...body })
}

/** Rows with a `date`, by it, or by when they changed. */
function rowsIn(window: Window, rows: readonly Row[]): Row[] {
  const instant = ({ modified, date }: Row) => (window.changed ? Number(modified) : dayOf(String(date)))
  return rows.filter((row) => isIn(window, instant(row)))
}

function daily(call: ApiCall): Reply {
  const { person, nowMs } = call
  const window = windowOf(call, ['startdateymd', 'enddateymd'], true)
  if (!window) return wrong('startdateymd, enddateymd or lastupdate')
  const days = daysIn(person, window, true, nowMs)
  const rows = days.flatMap((day) => activities(person, day, nowMs, fieldsOf(call)))
  return paged(call, rowsIn(window, rows), 'activities')
}

function listed(call: ApiCall): Reply {
  const { person, nowMs } = call
  const window = windowOf(call, ['startdateymd', 'enddateymd'], true)
  if (!window) return wrong('startdateymd, enddateymd or lastupdate')
  const views = workoutsOf(daysIn(person, window, true, nowMs), nowMs).filter(({ deleted }) => !deleted)
  const rows = views.flatMap((view) => workouts(person, view, fieldsOf(call)))
  return paged(call, rowsIn(window, rows), 'series')
}

/** Who watches somebody's sleep: where both do, it is listed twice. */
function watchersOf({ person, settings }: ApiCall) {
  return settings.own.two_devices ? ([16, 32] as const) : [watcherOf(person)]
}

function sleepsIn({ person, nowMs }: ApiCall, days: readonly Day[]) {
  return sleepsOf(days, nowMs).filter(({ deleted, sleep }) => !deleted && sleep.day >= person.span.firstDay)
}

function nights(call: ApiCall): Reply {
  const { person, nowMs, settings } = call
  const window = windowOf(call, ['startdateymd', 'enddateymd'], true)
  if (!window) return wrong('startdateymd, enddateymd or lastupdate')
  const choice = { fields: fieldsOf(call), advanced: !settings.own.free_plan }
  const views = sleepsIn(call, daysIn(person, window, true, nowMs))
  const rows = views.flatMap((view) => watchersOf(call).map((watcher) => summary(person, view, { ...choice, watcher })))
  return paged(call, rowsIn(window, rows), 'series')
}

/** At most a day from the start on. */
function dayWindow(call: ApiCall): Window | undefined {
  const window = windowOf(call, ['startdate', 'enddate'], false)
  return window && !window.changed ? { ...window, to: Math.min(window.to, window.from + DAY_SECONDS) } : undefined
}

function night(call: ApiCall): Reply {
  const { person, nowMs, settings } = call
  const window = dayWindow(call)
  if (!window) return wrong('startdate, enddate')
  const choice = { fields: fieldsOf(call), advanced: !settings.own.free_plan }
  const views = sleepsIn(call, daysIn(person, window, false, nowMs))
  const series = views
    .flatMap((view) => watchersOf(call).flatMap((watcher) => details(person, view, { ...choice, watcher })))
    .filter(({ startdate, enddate }) => Number(enddate) > window.from && Number(startdate) < window.to)
  return success({ series, model: watcherOf(person) })
}

function withinDay(call: ApiCall): Reply {
  const { person, nowMs, settings } = call
  const window = dayWindow(call)
  if (!window) return wrong('startdate, enddate')
  const advanced = ['spo2_auto', 'rmssd', 'sdnn1', 'hrv_quality', 'rr', 'core_body_temperature']
  const fields = new Set(fieldsOf(call))
  if (settings.own.free_plan) for (const name of advanced) fields.delete(name)
  const until = Math.min(window.to * 1000, knownUntil(person, nowMs))
  const series = intraday(person, [window.from * 1000, until], fields)
  return success({ series: Object.keys(series).length > 0 ? series : [] })
}
