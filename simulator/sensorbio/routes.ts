import { json, type Reply } from '../http.ts'
import type { ApiCall } from '../provider.ts'
import { knownMs } from '../truth/personas.ts'
import { DAY_MS, dateOf, dayOf, localMs } from '../zones.ts'
import { accountOf } from './oauth.ts'
import { biometrics, type Row, resting, sleepRow, sleepsOn, stepMetrics, workouts } from './records.ts'

const MOST = 50

type Route = (call: ApiCall) => Reply

const routes: Readonly<Record<string, readonly [parameters: readonly string[], route: Route]>> = {
  '/v1/user': [[], ({ person }) => json(200, { data: { id: accountOf(person), name: person.firstName } })],
  '/v1/activities': [
    ['last-timestamp', 'limit'],
    (call) => records(call, (after) => workouts(call.person, after, call.nowMs)),
  ],
  '/v1/biometrics': [
    ['last-timestamp', 'limit'],
    (call) => records(call, (after, most) => measured(call, after, most)),
  ],
  '/v1/sleep': [['date'], sleeps],
  '/v1/scores': [['date'], scores],
  '/v1/step/details': [['date', 'granularity'], steps],
}

/** An error of the API. */
export function fault(status: number, title: string, detail: string): Reply {
  return json(status, { errors: [{ title, detail }] })
}

const invalid = (detail: string) => fault(400, 'Bad Request', detail)

/** Which data a path asks for: `activities`, `biometrics`, `sleep`, `scores`, `step`. */
export function familyOf(path: string): string | undefined {
  return path === '/v1/user' ? undefined : /^\/v1\/(\w+)/.exec(path)?.[1]
}

/** Answers a request to the API. */
export function answer(call: ApiCall): Reply {
  const [parameters, route] = routes[call.path] ?? []
  if (call.method !== 'GET' || !parameters || !route) return fault(404, 'Not Found', 'There is no such resource')
  const unknown = [...call.query.keys()].find((name) => !parameters.includes(name))
  return unknown === undefined ? route(call) : invalid(`Unknown parameter: ${unknown}`)
}

function measured({ person, nowMs, settings }: ApiCall, afterMs: number, most: number): Row[] {
  return biometrics(person, { afterMs, nowMs, every: Math.max(1, Number(settings.own.biometric_minutes)), most })
}

/** A page of what came after an instant, oldest first; the address of the next as long as this one is full. */
function records(call: ApiCall, find: (afterMs: number, most: number) => Row[]): Reply {
  const { query, path, address, nextPage } = call
  const [after, limit] = [query.get('last-timestamp') ?? '', query.get('limit') ?? String(MOST)]
  if (!/^\d{1,15}$/.test(after)) return invalid('last-timestamp is required, in milliseconds')
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > MOST) return invalid('limit is at most 50')
  const most = Math.min(Number(limit), call.settings.page_size)
  const data = find(Number(after), most).slice(0, most)
  const last = data.at(-1)?.timestamp
  const base = nextPage === 'elsewhere' ? 'https://elsewhere.example' : address
  const cursor = nextPage === 'itself' ? after : data.length === most ? String(last) : undefined
  const links = cursor === undefined ? {} : { next: `${base}${path}?last-timestamp=${cursor}&limit=${limit}` }
  return json(200, { data, links })
}

/** The day that a request names; an answer where it names none. */
function dayAsked({ query }: ApiCall): number | Reply {
  const day = dayOf(query.get('date') ?? '')
  return Number.isNaN(day) ? invalid('date is required, YYYY-MM-DD') : day
}

function sleeps(call: ApiCall): Reply {
  const day = dayAsked(call)
  if (typeof day !== 'number') return day
  const { person, nowMs, settings } = call
  const data = sleepsOn(person, day, nowMs).map((view) => sleepRow(person, view, settings.own.times_in_ms === true))
  return json(200, { data })
}

/** Recovery and sleep of the night before, activity in the evening; blocks without anything are empty. */
function scores(call: ApiCall): Reply {
  const day = dayAsked(call)
  if (typeof day !== 'number') return day
  const { person, nowMs } = call
  const night = sleepsOn(person, day, nowMs).find(({ sleep }) => !sleep.nap && !sleep.unscorable)
  const isNear = day >= person.span.firstDay && day * DAY_MS < nowMs + 2 * DAY_MS
  const truth = isNear ? person.day(day) : null
  const isEvening = truth !== null && knownMs(person, localMs(truth.zone, day, 1200)) <= nowMs
  const recovery = night && { value: night.sleep.recovery, stage: night.sleep.recovery >= 67 ? 'good' : 'fair' }
  return json(200, {
    data: {
      ...(day % 4 !== 0 && { date: dateOf(day) }),
      recovery: recovery ?? {},
      sleep: night ? { value: night.sleep.quality, biometrics: resting(night) } : {},
      activity: isEvening && truth ? { value: truth.activity, avg: 60 } : {},
    },
  })
}

/** The record itself, without an envelope. */
function steps(call: ApiCall): Reply {
  const day = dayAsked(call)
  if (typeof day !== 'number') return day
  const { person, nowMs, query } = call
  const granularity = query.get('granularity') ?? ''
  if (!['day', 'week', 'month', 'year'].includes(granularity)) return invalid('granularity is required')
  const metrics = stepMetrics(person, day, nowMs) ?? []
  const goal = { daily_steps_goal: 10_000, steps_goal_achieved_percentage: Number(metrics[0]?.value ?? 0) / 100 }
  return json(200, { date: dateOf(day), granularity, ...goal, metrics })
}
