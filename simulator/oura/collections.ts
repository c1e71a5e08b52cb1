import { json, type Reply } from '../http.ts'
import type { ApiCall } from '../provider.ts'
import { currentWeight, type Day, type Person, sleepsOf, workoutsOf } from '../truth/person.ts'
import { knownUntil } from '../truth/personas.ts'
import { DAY_MS, dateOf, dayOf, HOUR_MS, localDay, localMs, MINUTE_MS } from '../zones.ts'
import * as documents from './documents.ts'
import { heartRate } from './heart-rate.ts'
import { pageOf } from './pages.ts'

const BASE = '/v2/usercollection/'
const SANDBOX = '/v2/sandbox/usercollection/'

/** A document of a day, made when it is shown; `changedMs`: when it was last made new. */
interface Entry {
  readonly id: string
  readonly changedMs: number
  make(): documents.Document
}

interface Collection {
  readonly scope: string
  /** The documents of a day that are known, by time. */
  of(person: Person, day: Day, nowMs: number): Entry[]
}

type Night = ReturnType<typeof sleepsOf>[number]

/** A document for each main sleep that is there. */
function ofNight(name: string, scope: string, make: (person: Person, night: Night, day: Day) => documents.Document) {
  return {
    scope,
    of: (person: Person, day: Day, nowMs: number) => {
      const night = sleepsOf([day], nowMs).find(({ sleep, deleted }) => !sleep.nap && !deleted)
      if (!night) return []
      const id = documents.idOf(person, `${name}/${day.day}`)
      return [{ id, changedMs: night.updatedMs, make: () => make(person, night, day) }]
    },
  }
}

/** A document for each day that has begun, at 04:00; it changes until the next 04:00. */
function ofDay(name: string, make: (person: Person, day: Day, untilMs: number, endMs: number) => documents.Document) {
  return {
    scope: 'daily',
    of: (person: Person, day: Day, nowMs: number) => {
      const endMs = person.day(day.day + 1).startMs
      const untilMs = Math.min(endMs, knownUntil(person, nowMs))
      if (untilMs <= day.startMs) return []
      const id = documents.idOf(person, `${name}/${day.day}`)
      return [{ id, changedMs: untilMs, make: () => make(person, day, untilMs, endMs) }]
    },
  }
}

const collections: Record<string, Collection> = {
  sleep: { scope: 'daily', of: sleepEntries },
  workout: { scope: 'workout', of: workoutEntries },
  daily_sleep: ofNight('sleep', 'daily', documents.dailySleep),
  daily_readiness: ofNight('readiness', 'daily', documents.dailyReadiness),
  daily_spo2: ofNight('spo2', 'spo2', documents.dailySpo2),
  daily_cardiovascular_age: ofNight('age', 'heart_health', (_, __, day) => documents.cardiovascularAge(day)),
  daily_resilience: ofNight('resilience', 'stress', (person, _, day) => documents.dailyResilience(person, day)),
  daily_activity: ofDay('activity', (person, day, untilMs) => documents.dailyActivity(person, day, untilMs)),
  daily_stress: ofDay('stress', (person, day, untilMs, endMs) =>
    documents.dailyStress(person, day, (untilMs - day.startMs) / (endMs - day.startMs)),
  ),
  vO2_max: { scope: 'heart_health', of: vo2MaxEntries },
}

function sleepEntries(person: Person, day: Day, nowMs: number): Entry[] {
  const sleeps = sleepsOf([day], nowMs).map((view) => ({
    id: documents.idOf(person, view.sleep.key),
    changedMs: view.updatedMs,
    make: () => documents.sleepDocument(person, view),
  }))
  const { rest } = day
  if (!rest || rest.knownMs > nowMs) return sleeps
  const make = () => documents.restDocument(person, rest)
  return [...sleeps, { id: documents.idOf(person, rest.key), changedMs: rest.knownMs, make }]
}

function workoutEntries(person: Person, day: Day, nowMs: number): Entry[] {
  return workoutsOf([day], nowMs)
    .filter(({ deleted }) => !deleted)
    .map((view) => ({
      id: documents.idOf(person, view.workout.key),
      changedMs: view.updatedMs,
      make: () => documents.workoutDocument(person, view),
    }))
}

/** Once a week. */
function vo2MaxEntries(person: Person, day: Day, nowMs: number): Entry[] {
  const atMs = localMs(day.zone, day.day, 492)
  if (day.day % 7 !== 0 || knownUntil(person, nowMs) < atMs) return []
  const id = documents.idOf(person, `vo2_max/${day.day}`)
  return [{ id, changedMs: atMs, make: () => documents.vo2Max(person, day) }]
}

/** What a path asks for, such as `sleep`; the profile is none of it. */
export function familyOf(path: string): string | undefined {
  const name = path.startsWith(BASE) ? path.slice(BASE.length).split('/')[0] : undefined
  return name === 'personal_info' ? undefined : name
}

/** Answers a request to the API; under the sandbox's path every token does, and no scope is asked for. */
export function answer(call: ApiCall): Reply {
  const sandbox = call.path.startsWith(SANDBOX)
  if (!sandbox && !call.path.startsWith(BASE)) return json(404, { detail: 'Not Found' })
  if (call.method !== 'GET') return json(405, { detail: 'Method Not Allowed' }, { allow: 'GET' })
  const [name = '', id, ...more] = call.path.slice(sandbox ? SANDBOX.length : BASE.length).split('/')
  const may = (scope: string) => sandbox || call.scopes.has(scope)
  const missing = (scope: string) => json(call.settings.missing_scope_status, { detail: `Missing scope: ${scope}` })
  if (more.length > 0) return json(404, { detail: 'Not Found' })
  if (name === 'personal_info' && id === undefined) return json(200, personalInfo(call, may))
  if (name === 'heartrate' && id === undefined) return may('heartrate') ? heartRate(call) : missing('heartrate')
  if (name === 'ring_configuration') return may(name) ? rings(call, id) : missing(name)
  const collection = Object.hasOwn(collections, name) ? collections[name] : undefined
  if (!collection) return json(404, { detail: 'Not Found' })
  if (!may(collection.scope)) return missing(collection.scope)
  return id === undefined ? list(call, collection) : single(call, collection, id)
}

function list(call: ApiCall, { of }: Collection): Reply {
  const days = window(call)
  if ('status' in days) return days
  const { person, nowMs, query } = call
  const first = Math.max(days.first, person.span.firstDay)
  const last = Math.min(days.last, localDay('UTC', nowMs) + 1)
  const found: Entry[] = []
  for (let day = first; day <= last; day++) found.push(...of(person, person.day(day), nowMs))
  return pageOf(call, found, (entry) => shown(call, entry, query.get('fields')))
}

function single(call: ApiCall, { of }: Collection, id: string): Reply {
  const { person, nowMs } = call
  for (let day = localDay('UTC', nowMs) + 1; day >= person.span.firstDay; day--) {
    const entry = of(person, person.day(day), nowMs).find((one) => one.id === id)
    if (entry) return json(200, shown(call, entry, null))
  }
  return json(404, { detail: 'Document not found.' })
}

function shown({ settings }: ApiCall, { make, changedMs }: Entry, fields: string | null): documents.Document {
  const updated = new Date(changedMs).toISOString()
  const whole = { ...make(), ...(settings.own.document_meta && { meta: { version: 1, updated_at: updated } }) }
  if (!fields) return whole
  const wanted = new Set(['id', ...fields.split(',')])
  return Object.fromEntries(Object.entries(whole).filter(([name]) => wanted.has(name)))
}

/**
 * The local days asked for, both ends included. A bare `end_date` of today leaves out today's documents, as callers
 * have seen; one with a time of day brings them.
 */
function window({ query, person, nowMs }: ApiCall): { first: number; last: number } | Reply {
  const today = localDay(person.day(localDay('UTC', nowMs)).zone, nowMs)
  const end = query.get('end_date') ?? `${dateOf(today)}T23:59:59`
  const start = query.get('start_date') ?? dateOf(day(end) - 1)
  for (const [name, value] of Object.entries({ start_date: start, end_date: end }))
    if (Number.isNaN(day(value))) return invalid(name, value)
  if (day(start) > day(end)) return json(400, { detail: 'Start date is greater than end date' })
  const last = end.length === 10 && day(end) === today ? today - 1 : day(end)
  return { first: day(start), last }
}

/** The day of a date or date-time; NaN when it is neither. */
function day(value: string): number {
  const [date = '', time] = value.split('T')
  return time === undefined || /^\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/.test(time) ? dayOf(date) : Number.NaN
}

function invalid(name: string, input: string): Reply {
  const detail = { loc: ['query', name], msg: 'Input should be a valid date or datetime', type: 'date_parsing', input }
  return json(422, { detail: [detail] })
}

/** The id needs no scope. */
function personalInfo({ person, nowMs }: ApiCall, may: (scope: string) => boolean): documents.Document {
  const { sex, heightCm, birthYear } = person
  const body = {
    age: Number(dateOf(Math.floor(nowMs / DAY_MS)).slice(0, 4)) - birthYear,
    weight: currentWeight(person, nowMs),
    height: heightCm / 100,
    biological_sex: sex,
  }
  return {
    id: documents.accountOf(person),
    ...(may('personal') && body),
    ...(may('email') && { email: person.email }),
  }
}

function rings(call: ApiCall, id: string | undefined): Reply {
  const { person } = call
  const ring = {
    id: documents.idOf(person, 'ring'),
    ...{ color: 'stealth_black', design: 'heritage', firmware_version: '3.4.3', hardware_type: person.ring, size: 10 },
    set_up_at: new Date(person.span.firstDay * DAY_MS - 12 * HOUR_MS + 7 * MINUTE_MS).toISOString(),
  }
  if (id === undefined) return pageOf(call, [ring], (one) => one)
  return id === ring.id ? json(200, ring) : json(404, { detail: 'Document not found.' })
}
