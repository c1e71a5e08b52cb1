import { json, type Reply } from '../http.ts'
import type { ApiCall } from '../provider.ts'
import { type Day, daysBetween, type Person, sleepsOf, workoutsOf } from '../truth/person.ts'
import type { SleepView } from '../truth/sleep.ts'
import type { WorkoutView } from '../truth/workouts.ts'
import { DAY_MS, dateOf, dayOf, localDay } from '../zones.ts'
import * as days from './days.ts'
import { fault } from './errors.ts'
import { exercise, exerciseId, isNew, type Row } from './exercises.ts'
import * as nights from './nights.ts'
import type { Registrations } from './registrations.ts'

/** Days that lists hold, and that ranges may have. */
const MOST_DAYS = 28
const EXERCISE_DAYS = 30
const OLDEST_DAYS = 365

interface Asked extends ApiCall {
  readonly registrations: Registrations
}

type Route = (asked: Asked, part: string) => Reply

const noContent: Reply = { status: 204 }
const notFound = () => fault(404, 'NotFoundException', 'No data')

/** Path below /v3, with a part of it in parentheses. */
const routes: readonly (readonly [pattern: RegExp, route: Route])[] = [
  [/^\/exercises$/, exercises],
  [/^\/exercises\/([^/]+)$/, oneExercise],
  [/^\/users\/activities$/, (asked) => ofDays(asked, activityOf(asked))],
  [/^\/users\/activities\/samples$/, (asked) => ofDays(asked, samplesOf(asked))],
  [/^\/users\/activities\/samples\/([^/]+)$/, (asked, date) => ofDate(asked, date, samplesOf(asked), noContent)],
  [/^\/users\/activities\/([^/]+)$/, (asked, date) => ofDate(asked, date, activityOf(asked), noContent)],
  [/^\/users\/continuous-heart-rate$/, heartRates],
  [/^\/users\/continuous-heart-rate\/([^/]+)$/, (asked, date) => ofDate(asked, date, heartRateOf(asked))],
  [/^\/users\/sleep$/, (asked) => json(200, { nights: ofNights(asked, (view) => nights.night(asked.person, view)) })],
  [/^\/users\/sleep\/available$/, (asked) => json(200, { available: ofNights(asked, nights.available) })],
  [/^\/users\/sleep\/([^/]+)$/, (asked, date) => ofDate(asked, date, ofNight(asked, nights.night))],
  [/^\/users\/nightly-recharge$/, (asked) => json(200, { recharges: ofNights(asked, rechargeOf(asked)) })],
  [/^\/users\/nightly-recharge\/([^/]+)$/, (asked, date) => ofDate(asked, date, ofNight(asked, judged))],
  [/^\/users\/cardio-load$/, (asked) => ofDays(asked, loadOf(asked))],
  [/^\/users\/cardio-load\/date$/, (asked) => ofDays(asked, loadOf(asked))],
  [/^\/users\/cardio-load\/period\/days\/(\d+)$/, (asked, count) => period(asked, Number(count), 180)],
  [/^\/users\/cardio-load\/period\/months\/(\d+)$/, (asked, count) => period(asked, Number(count) * 30, 180)],
  [/^\/users\/cardio-load\/([^/]+)$/, (asked, date) => ofDate(asked, date, inList(loadOf(asked)))],
  [
    /^\/users\/sleepwise\/alertness(?:\/date)?$/,
    (asked) => measured(asked, (view) => nights.alertness(view, asked.nowMs)),
  ],
  [
    /^\/users\/sleepwise\/circadian-bedtime(?:\/date)?$/,
    (asked) => measured(asked, (view) => nights.bedtime(view, asked.nowMs)),
  ],
  [
    /^\/users\/biosensing\/bodytemperature$/,
    (asked) => measured(asked, (view) => nights.bodyTemperature(asked.person, view)),
  ],
  [/^\/users\/biosensing\/skintemperature$/, (asked) => measured(asked, nights.skinTemperature)],
  [/^\/users\/biosensing\/spo2$/, (asked) => measured(asked, tested(asked, nights.spo2))],
  [/^\/users\/biosensing\/ecg$/, (asked) => measured(asked, tested(asked, nights.ecg))],
  [/^\/users\/biosensing\/skincontacts$/, () => noContent],
  [/^\/users\/physical-info$/, ({ person, nowMs }) => json(200, days.physical(person, nowMs))],
]

/** What a path asks for, such as `exercises`, `sleep` or `spo2`; the registration is no data. */
export function familyOf(path: string): string | undefined {
  const [, name, more] = /^\/v3\/(?:users\/)?([a-z][\w-]+)(?:\/([a-z][\w-]+))?/.exec(path) ?? []
  if (name === undefined || name === 'users' || name === 'webhooks' || name === 'notifications') return undefined
  return name === 'biosensing' || name === 'sleepwise' ? more : name
}

/** Answers a request to the API. */
export function answer(call: ApiCall, registrations: Registrations): Reply {
  const { method, path, settings } = call
  if (!path.startsWith('/v3/')) return notFound()
  // Whoever has withdrawn the consents that Polar needs is refused everywhere, without a body.
  if (settings.own.consents_missing) return { status: 403 }
  if (path === '/v3/users' || /^\/v3\/users\/\d+$/.test(path)) return registrations.answer(call)
  registrations.welcomeBack(call)
  if (!registrations.since(call.person)) return fault(403, 'ForbiddenException', 'The user is not registered')
  if (!call.scopes.has('accesslink.read_all')) return fault(403, 'ForbiddenException', 'Missing scope')
  for (const [pattern, route] of routes) {
    const match = pattern.exec(path.slice('/v3'.length))
    if (match && method !== 'GET') return fault(405, 'MethodNotAllowedException', 'GET is allowed')
    if (match) return route({ ...call, registrations }, match[1] ?? '')
  }
  return notFound()
}

const isOn = ({ query }: Asked, name: string) => query.get(name) === 'true'

/** Uploads of the last days; those from before the registration only where that was asked for. */
function uploads({ person, nowMs, registrations, settings }: Asked, fromMs: number): WorkoutView[] {
  const since = settings.own.old_exercises ? 0 : (registrations.since(person)?.atMs ?? nowMs)
  return workoutsOf(daysBetween(person, fromMs - 7 * DAY_MS, nowMs), nowMs).filter(
    ({ deleted, createdMs }) => !deleted && createdMs > fromMs && createdMs > since,
  )
}

function extrasOf(asked: Asked) {
  return { samples: isOn(asked, 'samples'), zones: isOn(asked, 'zones'), route: isOn(asked, 'route') }
}

function exercises(asked: Asked): Reply {
  const found = uploads(asked, asked.nowMs - EXERCISE_DAYS * DAY_MS)
  return json(
    200,
    found.map((view) => exercise(asked.person, view, extrasOf(asked))),
  )
}

function oneExercise(asked: Asked, id: string): Reply {
  const { person } = asked
  const found = uploads(asked, person.span.firstDay * DAY_MS).find(({ workout }) => exerciseId(person, workout) === id)
  return found ? json(200, exercise(person, found, extrasOf(asked))) : notFound()
}

type OfDay = (day: Day) => Row | null

function activityOf(asked: Asked): OfDay {
  return (day) => days.activity(asked.person, day, asked.nowMs, dayExtras(asked, false))
}

function samplesOf(asked: Asked): OfDay {
  return (day) => days.activitySamples(asked.person, day, asked.nowMs, dayExtras(asked, true))
}

function dayExtras(asked: Asked, all: boolean): days.DayExtras {
  return {
    steps: all || isOn(asked, 'steps'),
    zones: all || isOn(asked, 'activity_zones'),
    stamps: all || isOn(asked, 'inactivity_stamps'),
    asSpecified: asked.settings.own.as_specified === true,
  }
}

function heartRateOf(asked: Asked): OfDay {
  return (day) => days.heartRates(asked.person, day, asked.nowMs)
}

function loadOf(asked: Asked): OfDay {
  return (day) => days.cardioLoad(asked.person, day, asked.nowMs)
}

const inList =
  (of: OfDay) =>
  (day: Day): unknown => {
    const row = of(day)
    return row && [row]
  }

/** The main sleep of a date, as known now. */
function nightOf({ person, nowMs }: Asked, day: Day): SleepView | undefined {
  return sleepsOf([day], nowMs).find(
    ({ sleep, deleted }) => !sleep.nap && !deleted && sleep.day >= person.span.firstDay,
  )
}

function ofNight(asked: Asked, make: (person: Person, view: SleepView) => Row | null): OfDay {
  return (day) => {
    const view = nightOf(asked, day)
    return view ? make(asked.person, view) : null
  }
}

/** Nights that could not be judged have no recharge. */
function judged(person: Person, view: SleepView): Row | null {
  return view.sleep.unscorable ? null : nights.recharge(person, view)
}

function rechargeOf({ person }: Asked) {
  return (view: SleepView) => judged(person, view)
}

function tested({ person }: Asked, make: (person: Person, view: SleepView) => Row) {
  return (view: SleepView) => (nights.tests(person, view) ? make(person, view) : null)
}

function today({ person, nowMs }: Asked): number {
  return localDay(person.day(localDay('UTC', nowMs)).zone, nowMs)
}

/** Days asked for, both included: at most 28, none before last year; without parameters the last 28. */
function range(asked: Asked, required = false): { first: number; last: number } | Reply {
  const { query } = asked
  const [from, to] = [query.get('from'), query.get('to')]
  const now = today(asked)
  const bad = (message: string) => fault(400, 'BadRequestException', message)
  if (required && (from === null || to === null)) return bad('from and to are required')
  const last = to === null ? now : dayOf(to)
  const first = from === null ? last - MOST_DAYS + 1 : dayOf(from)
  if (Number.isNaN(first) || Number.isNaN(last)) return bad('from and to must be dates')
  if (first > last) return bad('from is after to')
  if (last - first >= MOST_DAYS) return bad(`The range may have at most ${MOST_DAYS} days`)
  if (first < now - OLDEST_DAYS) return bad(`from may be at most ${OLDEST_DAYS} days ago`)
  return { first: Math.max(first, asked.person.span.firstDay), last: Math.min(last, now + 1) }
}

function rowsOf<Of>({ person }: Asked, span: { first: number; last: number }, of: (day: Day) => Of | null): Of[] {
  const count = Math.max(0, span.last - span.first + 1)
  return Array.from({ length: count }, (_, i) => of(person.day(span.first + i))).filter((row) => row !== null)
}

/** A list that may be empty. */
function ofDays(asked: Asked, of: OfDay): Reply {
  const span = range(asked)
  return 'status' in span ? span : json(200, rowsOf(asked, span, of))
}

function ofDate(asked: Asked, date: string, of: (day: Day) => unknown, otherwise = notFound()): Reply {
  const day = dayOf(date)
  if (Number.isNaN(day)) return fault(400, 'BadRequestException', 'The date must be YYYY-MM-DD')
  if (day < asked.person.span.firstDay || day > today(asked) + 1) return otherwise
  const found = of(asked.person.day(day))
  return found ? json(200, found) : otherwise
}

function ofNights(asked: Asked, make: (view: SleepView) => Row | null): Row[] {
  const now = today(asked)
  const first = Math.max(now - MOST_DAYS + 1, asked.person.span.firstDay)
  return rowsOf(
    asked,
    { first, last: now + 1 },
    ofNight(asked, (_, view) => make(view)),
  )
}

/** What only newer devices measure, and not every day. */
function measured(asked: Asked, make: (view: SleepView) => Row | null): Reply {
  const span = range(asked)
  if ('status' in span) return span
  const rows = isNew(asked.person)
    ? rowsOf(
        asked,
        span,
        ofNight(asked, (_, view) => make(view)),
      )
    : []
  return rows.length > 0 ? json(200, rows) : noContent
}

/** Within one object; no limit of a range is published. */
function heartRates(asked: Asked): Reply {
  const span = range(asked, true)
  return 'status' in span ? span : json(200, { heart_rates: rowsOf(asked, span, heartRateOf(asked)) })
}

function period(asked: Asked, count: number, most: number): Reply {
  if (count < 1 || count > most) return fault(400, 'BadRequestException', 'The period is too long')
  const now = today(asked)
  const first = Math.max(now - count + 1, asked.person.span.firstDay)
  return json(200, rowsOf(asked, { first, last: now }, loadOf(asked)))
}

/** The date of an instant where a person is. */
export function dateAt(person: Person, ms: number): string {
  return dateOf(localDay(person.day(localDay('UTC', ms)).zone, ms))
}
