import { json, type Reply } from '../http.ts'
import type { ApiCall } from '../provider.ts'
import { currentWeight, type Day, sleepsOf, workoutsOf } from '../truth/person.ts'
import { knownUntil } from '../truth/personas.ts'
import { dateOf, dayOf, localDay, offsetAt } from '../zones.ts'
import * as days from './days.ts'
import { sleepLog, workoutLog } from './logs.ts'
import { fault, legacyIdOf } from './oauth.ts'
import { localText, type Row } from './times.ts'

type Route = (call: ApiCall, parts: readonly string[]) => Reply

const DATES = '/date/([\\w-]+)/([\\w-]+)\\.json$'
const DATE = '/date/([\\w-]+)\\.json$'
const pattern = (path: string) => new RegExp(`^/1(?:\\.\\d)?/user/(?:-|[A-Z0-9]{6})${path}`)

/** Paths, the scope that each takes, and what it answers. */
const routes: readonly (readonly [path: RegExp, scope: string, route: Route])[] = [
  [pattern('/activities/list\\.json$'), 'activity', workouts],
  [pattern(`/activities${DATE}`), 'activity', ofDate((call, day) => days.daySummary(call.person, day, call.nowMs))],
  [pattern(`/activities/heart${DATES}`), 'heartrate', ofDates(366, 'activities-heart', heart)],
  [pattern('/activities/(heart)/date/([\\w-]+)/1d/(1sec|1min)\\.json$'), 'heartrate', intraday],
  [pattern('/activities/(steps)/date/([\\w-]+)/1d/(1min)\\.json$'), 'activity', intraday],
  [pattern(`/activities/(\\w+)${DATES}`), 'activity', series],
  [pattern('/sleep/list\\.json$'), 'sleep', sleepList],
  [pattern(`/sleep${DATES}`), 'sleep', sleeps],
  [pattern(`/hrv${DATES}`), 'heartrate', ofDates(30, 'hrv', nightly('hrv'))],
  [pattern(`/br${DATES}`), 'respiratory_rate', ofDates(30, 'br', nightly('br'))],
  [pattern(`/spo2${DATES}`), 'oxygen_saturation', ofDates(366, '', nightly('spo2'))],
  [pattern(`/spo2${DATE}`), 'oxygen_saturation', ofDate((call, day) => nightly('spo2')(call, [day])[0] ?? {})],
  [pattern(`/temp/skin${DATES}`), 'temperature', ofDates(30, 'tempSkin', nightly('temp/skin'))],
  [pattern(`/temp/core${DATES}`), 'temperature', ofDates(30, 'tempCore', core)],
  [pattern(`/cardioscore${DATES}`), 'cardio_fitness', ofDates(30, 'cardioScore', cardio)],
  [pattern(`/body/log/weight${DATES}`), 'weight', ofDates(31, 'weight', weighed('weight'))],
  [pattern(`/body/log/fat${DATES}`), 'weight', ofDates(30, 'fat', weighed('fat'))],
  [pattern('/profile\\.json$'), 'profile', profile],
  [pattern('/devices\\.json$'), 'settings', devices],
]

/** Which data a path asks for, such as `sleep` or `hrv`. */
export function familyOf(path: string): string | undefined {
  return /^\/1(?:\.\d)?\/user\/[-\w]+\/([a-z0-9]+)/.exec(path)?.[1]
}

/** Answers a request to the API. */
export function answer(call: ApiCall): Reply {
  for (const [path, scope, route] of routes) {
    const match = path.exec(call.path)
    if (!match || call.method !== 'GET') continue
    if (!call.scopes.has(scope)) return insufficient()
    return route(call, match.slice(1))
  }
  return fault(404, 'not_found', 'The API you are requesting could not be found.')
}

export const insufficient = () =>
  fault(403, 'insufficient_scope', 'This application does not have permission to access this data.')
const invalid = (message: string) => fault(400, 'validation', message)

/** The profile's zone: that of where the person is now. */
function zoneNow({ person, nowMs }: ApiCall): string {
  return person.day(localDay('UTC', nowMs)).zone
}

function dayAsked(call: ApiCall, text: string): number {
  return text === 'today' ? localDay(zoneNow(call), call.nowMs) : dayOf(text)
}

/** The days of a range of so many at most, none before the account was made. */
function range(call: ApiCall, [from = '', to = '']: readonly string[], most: number): Day[] | Reply {
  const [first, last] = [dayAsked(call, from), dayAsked(call, to)]
  if (Number.isNaN(first) || Number.isNaN(last)) return invalid(`Invalid date value: ${from}, ${to}`)
  if (first > last) return invalid('The end date must be after the start date.')
  if (last - first >= most) return invalid(`The range of dates may have at most ${most} days.`)
  const begin = Math.max(first, call.person.span.firstDay)
  const end = Math.min(last, localDay('UTC', call.nowMs) + 1)
  return Array.from({ length: Math.max(0, end - begin + 1) }, (_, i) => call.person.day(begin + i))
}

type Find = (call: ApiCall, days: readonly Day[]) => Row[]

function heart({ person, nowMs }: ApiCall, list: readonly Day[]): Row[] {
  return days.heart(person, list, nowMs)
}

function nightly(kind: string): Find {
  return ({ person, nowMs }, list) => days.nightly(person, list, kind, nowMs)
}

function core({ person, nowMs }: ApiCall, list: readonly Day[]): Row[] {
  return days.coreTemperatures(person, list, nowMs)
}

function cardio({ person, nowMs }: ApiCall, list: readonly Day[]): Row[] {
  return days.cardio(person, list, nowMs)
}

function weighed(kind: 'weight' | 'fat'): Find {
  return ({ person, nowMs }, list) => days.weighings(person, list, kind, nowMs)
}

/** A list under a name, or alone. */
function ofDates(most: number, name: string, find: Find): Route {
  return (call, parts) => {
    const found = range(call, parts, most)
    if ('status' in found) return found
    const rows = find(call, found)
    return json(200, name === '' ? rows : { [name]: rows })
  }
}

function ofDate(find: (call: ApiCall, day: Day) => Row): Route {
  return (call, [date = '']) => {
    const day = dayAsked(call, date)
    return Number.isNaN(day) ? invalid(`Invalid date value: ${date}`) : json(200, find(call, call.person.day(day)))
  }
}

function series(call: ApiCall, [resource = '', ...dates]: readonly string[]): Reply {
  if (!Object.hasOwn(days.resources, resource)) return fault(404, 'not_found', 'There is no such resource.')
  const { person, nowMs } = call
  const find: Find = (_, list) => days.series(person, list, resource, nowMs)
  return ofDates(resource === 'activityCalories' ? 30 : 1095, `activities-${resource}`, find)(call, dates)
}

/** For applications that have the permission. */
function intraday(call: ApiCall, [resource = '', date = '']: readonly string[]): Reply {
  const { person, nowMs, settings } = call
  if (!settings.own.intraday) return fault(403, 'insufficient_permissions', 'Read-only intraday access is not granted')
  const number = dayAsked(call, date)
  if (Number.isNaN(number)) return invalid(`Invalid date value: ${date}`)
  const day = person.day(number)
  const rows = resource === 'heart' ? days.heart(person, [day], nowMs) : days.series(person, [day], resource, nowMs)
  const found = number < person.span.firstDay ? { dataset: [] } : days.intraday(person, day, resource, nowMs)
  return json(200, { [`activities-${resource}`]: rows, [`activities-${resource}-intraday`]: found })
}

function sleeps(call: ApiCall, dates: readonly string[]): Reply {
  const found = range(call, dates, 100)
  if ('status' in found) return found
  const rows = sleepsOf(found, call.nowMs).filter(({ deleted }) => !deleted)
  const sleep = rows.map((view) => sleepLog(call.person, view)).reverse()
  return json(200, { sleep, summary: { totalSleepRecords: sleep.length } })
}

interface Entry {
  readonly row: Row
  /** Local time of the start. */
  readonly start: string
}

function workouts(call: ApiCall): Reply {
  const { person, nowMs } = call
  const all = workoutsOf(everything(call), nowMs).filter(({ deleted }) => !deleted)
  const entries = all.map((view) => ({
    ...{ row: workoutLog(person, view), start: localText(view.workout.zone, view.workout.startMs) },
  }))
  return listed(call, 'activities', entries)
}

function sleepList(call: ApiCall): Reply {
  const all = sleepsOf(everything(call), call.nowMs).filter(({ deleted }) => !deleted)
  const entries = all.map((view) => {
    const row = sleepLog(call.person, view)
    return { row, start: String(row.startTime) }
  })
  return listed(call, 'sleep', entries)
}

function everything({ person, nowMs }: ApiCall): Day[] {
  const last = localDay('UTC', nowMs) + 1
  const count = Math.max(0, last - person.span.firstDay + 1)
  return Array.from({ length: count }, (_, i) => person.day(person.span.firstDay + i))
}

/** From a date on, or before one; the next page by an address only, whose offset nobody may count on. */
function listed(call: ApiCall, name: string, entries: readonly Entry[]): Reply {
  const { query, settings, address, path, nextPage } = call
  const [after, before] = [query.get('afterDate'), query.get('beforeDate')]
  const limit = Number(query.get('limit') ?? Number.NaN)
  const sort = query.get('sort')
  if ((after === null) === (before === null)) return invalid('Provide afterDate or beforeDate')
  if (sort !== (after === null ? 'desc' : 'asc')) return invalid('sort is asc with afterDate, desc with beforeDate')
  if (!(limit >= 1 && limit <= 100)) return invalid('limit is 1 to 100')
  const start = placeOf(query)
  if (start === undefined) return invalid('Only offset=0 is supported')
  const wanted = entries.filter((one) => (after === null ? one.start < String(before) : one.start >= after))
  const sorted = wanted.sort((a, b) => (a.start < b.start ? -1 : 1) * (sort === 'asc' ? 1 : -1))
  const end = start + Math.min(limit, settings.page_size)
  const base = nextPage === 'elsewhere' ? 'https://elsewhere.example' : address
  const following = (offset: number) => {
    const parameters = new URLSearchParams(query)
    parameters.set('offset', '0')
    parameters.set('next', String(offset))
    return `${base}${path}?${parameters}`
  }
  const next = nextPage === 'itself' ? following(start) : end < sorted.length ? following(end) : ''
  const dates = after === null ? { beforeDate: before } : { afterDate: after }
  const pagination = { ...dates, limit, next, offset: 0, previous: '', sort }
  return json(200, { [name]: sorted.slice(start, end).map(({ row }) => row), pagination })
}

function placeOf(query: URLSearchParams): number | undefined {
  if (query.get('offset') !== '0') return undefined
  const next = query.get('next') ?? '0'
  return /^\d{1,9}$/.test(next) ? Number(next) : undefined
}

function profile(call: ApiCall): Reply {
  const { person, nowMs } = call
  const zone = zoneNow(call)
  const user = {
    ...{ encodedId: legacyIdOf(person), displayName: person.firstName, timezone: zone },
    ...{ offsetFromUTCMillis: offsetAt(zone, nowMs) * 60_000, height: person.heightCm },
    ...{ weight: currentWeight(person, nowMs), gender: person.sex.toUpperCase() },
    memberSince: dateOf(person.span.firstDay),
  }
  return json(200, { user })
}

function devices(call: ApiCall): Reply {
  const { person, nowMs } = call
  const lastSyncTime = localText(zoneNow(call), knownUntil(person, nowMs))
  const tracker = { id: '2283', deviceVersion: 'Charge 5', type: 'TRACKER', battery: 'High', batteryLevel: 87 }
  return json(200, [{ ...tracker, lastSyncTime }])
}
