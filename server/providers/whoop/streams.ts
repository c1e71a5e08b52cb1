import { DAY_MS, parseInstant, parseZoneOffset } from '../../time.ts'
import { listAt, textAt, valueAt } from '../answers.ts'
import { furtherPage, listingWithin } from '../listed.ts'
import type { Json } from '../part.ts'
import type { Answer, Form, ObjectKind, Provider, Request, Stream, Window } from '../provider.ts'

const DAY_S = 86_400

/** The largest page that WHOOP gives. */
const PAGE = 25

// Pages have the newest first. The start is included, the end is not; an id of the next page that is absent, null or
// empty says that there is none, as does a page without records.
function next(answer: Answer, asked: Request): Request | null {
  const token = textAt(answer.json, 'next_token')
  if (!token || listAt(answer.json, 'records').length === 0) return null
  return { ...asked, query: { ...asked.query, nextToken: token } }
}

const nextOfList = (answer: Answer, asked: Request): Request | null => next(answer, furtherPage(asked))

const within = ({ fromMs, untilMs }: Window): Form => ({
  limit: String(PAGE),
  start: new Date(fromMs).toISOString(),
  end: new Date(untilMs).toISOString(),
})

/**
 * The span that such a request lists completely: whole days, so `args` change daily; a sleep may end a day later. What began
 * before the window may be listed without all that began then.
 */
function listed({ fromMs, untilMs }: Window): Json {
  const lastMs = Math.floor(untilMs / DAY_MS) * DAY_MS
  return listingWithin((Math.ceil(fromMs / DAY_MS) + 1) * DAY_MS, lastMs, lastMs + DAY_MS)
}

const SLEEP = '/v2/activity/sleep'
const CYCLES = '/v2/cycle'

// WHOOP scores late and edits, and cannot be asked what has changed: a week is asked again. Any range may be asked for;
// 30 days are two pages.
const SHARED = { windowDays: 30, historyDays: null, overlapHours: 168 } as const

/** The offset of the newest record, which is the first of the first page. */
const zone = (answer: Answer, { query }: Request): string | null => {
  if (query?.nextToken !== undefined) return null
  const text = textAt(listAt(answer.json, 'records')[0], 'timezone_offset') ?? ''
  return parseZoneOffset(text) === undefined ? null : text
}

/** Everything that Pulsebase requests from WHOOP. */
export const streams: readonly Stream[] = [
  {
    ...SHARED,
    name: 'workout',
    family: 'workouts',
    scope: 'read:workout',
    first: (window) => ({ path: '/v2/activity/workout', query: within(window), args: listed(window) }),
    next: nextOfList,
  },
  {
    ...SHARED,
    name: 'sleep',
    family: '247',
    scope: 'read:sleep',
    first: (window) => ({ path: SLEEP, query: within(window), args: listed(window) }),
    next: nextOfList,
    zone,
  },
  {
    ...SHARED,
    name: 'recovery',
    family: '247',
    scope: 'read:recovery',
    first(window, { scope }) {
      if (scope === null || scope.has('read:sleep')) return whenFirst(window, 'sleep')
      return scope.has('read:cycles') ? whenFirst(window, 'cycle') : recoveries(within(window), { sleeps: {} })
    },
    next: nextRecovery,
  },
  {
    ...SHARED,
    name: 'cycle',
    family: '247',
    scope: 'read:cycles',
    first: (window) => ({ path: CYCLES, query: within(window) }),
    next,
  },
  {
    name: 'body',
    family: '247',
    scope: 'read:body_measurement',
    windowDays: 30,
    // Weight and height as they are now.
    historyDays: 0,
    overlapHours: 0,
    pollSeconds: DAY_S,
    first: () => ({ path: '/v2/user/measurement/body' }),
  },
]

/**
 * `args` of the requests for recoveries. A recovery names its sleep and its cycle, and says neither when these were nor in
 * which zone: so the sleeps are asked for first, or the cycles if sleeps were not granted, and what they say goes with the
 * pages of recoveries, to their mapping too.
 */
export interface RecoveryArgs {
  readonly of: 'sleep' | 'cycle' | 'recovery'
  /** Nights by their ids. */
  readonly sleeps: Spans
  /** The same of cycles, which begin with falling asleep. */
  readonly cycles?: Spans
  /** How many recoveries at the end of the pages before were made at one instant, as WHOOP writes it. */
  readonly before?: readonly [made: string, count: number]
}

/** Start and end in epoch milliseconds, and minutes east of UTC or null, by id. */
export type Spans = Readonly<Record<string, readonly [startMs: number, endMs: number, zoneMin: number | null]>>

/** Longest id of a sleep, in characters: WHOOP's are UUIDs. */
const MAX_ID = 100

/** A recovery may be listed whose sleep began before the window. */
function whenFirst(window: Window, of: 'sleep' | 'cycle'): Request {
  const earlier = { ...window, fromMs: window.fromMs - 2 * DAY_S * 1000 }
  const args = { of, sleeps: {}, ...(of === 'cycle' && { cycles: {} }) }
  // The query of the recoveries is kept until then.
  return { path: of === 'sleep' ? SLEEP : CYCLES, query: within(earlier), args, memo: within(window) }
}

const recoveries = (query: Form, { sleeps, cycles }: Pick<RecoveryArgs, 'sleeps' | 'cycles'>): Request => ({
  path: '/v2/recovery',
  query,
  args: { of: 'recovery', sleeps, ...(cycles && { cycles }) },
})

function nextRecovery(answer: Answer, asked: Request): Request | null {
  const args = asked.args as unknown as RecoveryArgs
  const more = next(answer, asked)
  if (args.of === 'recovery') return more && { ...more, args: { ...args, ...madeTogether(answer, args) } }
  const told =
    args.of === 'sleep'
      ? { sleeps: { ...args.sleeps, ...nightsOf(answer) } }
      : { sleeps: {}, cycles: { ...args.cycles, ...cyclesOf(answer) } }
  return more ? { ...more, args: { ...args, ...told } } : recoveries((asked.memo ?? {}) as Form, told)
}

/** How many of the last recoveries so far WHOOP made at one instant: these have that time only, if nothing else names them. */
function madeTogether(answer: Answer, { before }: RecoveryArgs): Pick<RecoveryArgs, 'before'> {
  const all = listAt(answer.json, 'records').map((record) => textAt(record, 'created_at') ?? '')
  const last = all.at(-1)
  if (!last) return {}
  const count = all.length - (all.findLastIndex((one) => one !== last) + 1)
  return { before: [last, count === all.length && before?.[0] === last ? count + before[1] : count] }
}

/** The nights of a page of sleeps; naps have no recovery. */
const nightsOf = (answer: Answer): Spans =>
  spansIn(listAt(answer.json, 'records').filter((record) => valueAt(record, 'nap') !== true))

/** The cycles of a page; one that is not over goes on for a day. */
const cyclesOf = (answer: Answer): Spans => spansIn(listAt(answer.json, 'records'), DAY_MS)

function spansIn(records: readonly unknown[], openMs?: number): Spans {
  const spans = records.flatMap((record) => {
    const id = textAt(record, 'id') ?? String(valueAt(record, 'id') ?? '')
    const startMs = parseInstant(textAt(record, 'start') ?? '')
    if (!id || id.length > MAX_ID || startMs === undefined) return []
    const endMs = parseInstant(textAt(record, 'end') ?? '') ?? (openMs === undefined ? undefined : startMs + openMs)
    if (endMs === undefined) return []
    const zoneMin = parseZoneOffset(textAt(record, 'timezone_offset') ?? '') ?? null
    return [[id, [startMs, endMs, zoneMin]] as const]
  })
  return Object.fromEntries(spans)
}

/** Workouts as WHOOP lists them. */
export const workouts: NonNullable<Provider['workouts']> = {
  list: ({ window, limit }) => ({
    path: '/v2/activity/workout',
    query: { ...within(window), limit: String(Math.min(limit, PAGE)) },
  }),
  one: (id) => ({ path: `/v2/activity/workout/${encodeURIComponent(id)}` }),
}

/** What a notice names: its id, and when it came, epoch milliseconds. */
export interface Named {
  readonly id: string
  readonly atMs: number
}

/** WHOOP's ids are UUIDs; those of its former API are numbers. */
export const isId = (id: string): boolean => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(id)

const idIn = (args: Json): string | undefined => {
  const id = textAt(args, 'id') ?? ''
  return isId(id) ? id : undefined
}

const record = (stream: string, path: string): ObjectKind => ({
  stream,
  request(args) {
    const id = idIn(args)
    return id === undefined ? null : { path: `${path}/${id}`, args: { one: true } }
  },
  missing(args) {
    const id = idIn(args)
    return id === undefined ? {} : { gone: id }
  },
})

/** A recovery is found through its sleep, and may lag behind the notice of it. */
const recovery: ObjectKind = {
  stream: 'recovery',
  request(args) {
    const id = idIn(args)
    return id === undefined
      ? null
      : { path: `${SLEEP}/${id}`, args: { of: 'sleep', sleeps: {} } satisfies RecoveryArgs }
  },
  next(answer, { args }) {
    const cycle = valueAt(answer.json, 'cycle_id')
    if (valueAt(args, 'of') !== 'sleep' || !Number.isSafeInteger(cycle)) return null
    const sleeps = nightsOf({ ...answer, json: { records: [answer.json] } })
    return { path: `/v2/cycle/${cycle}/recovery`, args: { of: 'recovery', sleeps, one: true } }
  },
  missing(args) {
    const atMs = valueAt(args, 'atMs')
    if (typeof atMs !== 'number') return {}
    const window = { fromMs: atMs - 2 * DAY_S * 1000, untilMs: atMs }
    return { wish: { kind: 'span', stream: 'recovery', window } }
  },
}

/** What notices name. */
export const objects = {
  workout: record('workout', '/v2/activity/workout'),
  sleep: record('sleep', SLEEP),
  recovery,
}
