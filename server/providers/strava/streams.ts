import { parseInstant } from '../../time.ts'
import { listAt, textAt, valueAt } from '../answers.ts'
import { listing } from '../listed.ts'
import type { Json } from '../part.ts'
import type { Answer, Form, ObjectKind, Provider, Request, Stream, StreamState, Window, Wish } from '../provider.ts'
import { type Recording, recordingOf } from './recording.ts'

const DAY_S = 86_400
const DAY_MS = DAY_S * 1000

/** The largest page that Strava gives. */
const PAGE = 200

/** Activities that began so many days before the end of a window are asked for one by one; older ones are as listed. */
const DETAIL_DAYS = 30

/** What a request was for; goes with its answer to the mapping. */
export type Args =
  | {
      readonly of: 'list'
      /** What began before, epoch milliseconds, will not be asked for by itself. */
      readonly aloneBeforeMs?: number
      /** See `listing`. */
      readonly listed?: Json
    }
  | { readonly of: 'detail' }
  | ({ readonly of: 'samples' } & Recording)

/** The start of an activity decides; both ends are excluded. */
const within = ({ fromMs, untilMs }: Window, page: number, size: number): Form => ({
  after: String(Math.floor(fromMs / 1000) - 1),
  before: String(Math.ceil(untilMs / 1000)),
  page: String(page),
  per_page: String(size),
})

function list(window: Window, { isHistory }: StreamState): Request {
  const aloneBeforeMs = isHistory ? window.untilMs : window.untilMs - DETAIL_DAYS * DAY_MS
  // Only where there are such: what changes with the time would make every answer a new one. So whole days, too.
  const alone = aloneBeforeMs > window.fromMs ? { aloneBeforeMs } : {}
  const listed = listing(Math.ceil(window.fromMs / DAY_MS) * DAY_MS, Math.floor(window.untilMs / DAY_MS) * DAY_MS)
  const args = { of: 'list', ...alone, ...listed } satisfies Args
  return { path: '/athlete/activities', query: within(window, 1, PAGE), args }
}

/** Pages may be a little short; one that is half empty is the last. */
export const isLast = (page: unknown): boolean => listAt(page).length < PAGE / 2

/** The next page, which is not all that is listed. */
function next(answer: Answer, { args, ...asked }: Request): Request | null {
  if (isLast(answer.json)) return null
  const { listed: _, ...more } = args as unknown as Extract<Args, { of: 'list' }>
  return { ...asked, args: more, query: { ...asked.query, page: String(Number(asked.query?.page) + 1) } }
}

/** What of a recording is wanted. */
interface Wanted {
  readonly samples: boolean
  readonly route: boolean
}

const wantedOf = (...said: readonly unknown[]): Wanted => {
  const isWanted = (name: string) => said.some((one) => valueAt(one, name) === true)
  return { samples: isWanted('samples'), route: isWanted('route') }
}

/** Only by itself does an activity say its calories and its device. */
function details(answer: Answer, { args }: Request, { options }: StreamState): Wish[] {
  const { aloneBeforeMs = Number.NEGATIVE_INFINITY } = args as unknown as Extract<Args, { of: 'list' }>
  return listAt(answer.json).flatMap((activity) => {
    const id = idOf(valueAt(activity, 'id'))
    const startMs = parseInstant(textAt(activity, 'start_date') ?? '')
    return id === undefined || startMs === undefined || startMs < aloneBeforeMs ? [] : [wishFor(id, wantedOf(options))]
  })
}

/** The detail of an activity, and what was recorded in it if somebody wants that. */
export const wishFor = (id: string, wanted: Partial<Wanted> = {}): Wish => ({
  kind: 'object',
  object: 'activity',
  key: `activity:${id}`,
  args: { id, ...wanted },
})

/** Strava's ids are whole numbers, larger than 32 bits. */
export function idOf(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value : Number.isSafeInteger(value) ? String(value) : ''
  return /^\d{1,20}$/.test(text) ? text : undefined
}

const argsId = (args: Json) => idOf(valueAt(args, 'id'))

const activity: ObjectKind = {
  stream: 'activities',
  request(args) {
    const id = argsId(args)
    return id === undefined
      ? null
      : {
          ...{ path: `/activities/${id}`, query: { include_all_efforts: 'false' } },
          ...{ args: { of: 'detail' } satisfies Args, memo: { ...wantedOf(args) } },
        }
  },
  follow(answer, { memo }, { options }) {
    const wanted = wantedOf(options, memo)
    const recording = wanted.samples || wanted.route ? recordingOf(answer.json) : undefined
    if (!recording) return []
    const args = { ...recording, ...wanted }
    return [{ kind: 'object', object: 'samples', key: `samples:${recording.id}`, args }]
  },
  // Deleted, or hidden from us.
  missing(args) {
    const id = argsId(args)
    return id === undefined ? {} : { gone: id }
  },
}

const SAMPLES = ['heartrate', 'velocity_smooth', 'cadence', 'watts', 'altitude', 'temp']

const samples: ObjectKind = {
  stream: 'activities',
  // An activity that was entered by hand has none.
  emptyOn404: true,
  request(args) {
    const { samples, route, ...recording } = args as unknown as Recording & { samples: boolean; route: boolean }
    if (argsId(args) === undefined) return null
    const keys = ['time', ...(samples ? SAMPLES : []), ...(route ? ['latlng'] : [])]
    return {
      path: `/activities/${recording.id}/streams`,
      query: { keys: keys.join(','), key_by_type: 'true' },
      args: { of: 'samples', ...recording } satisfies Args,
    }
  },
}

/** Everything that is asked of Strava. */
export const streams: readonly Stream[] = [
  {
    name: 'activities',
    family: 'workouts',
    windowDays: 365,
    historyDays: null,
    overlapHours: 48,
    first: list,
    next,
    follow: details,
  },
  {
    name: 'athlete',
    family: '247',
    scope: 'profile:read_all',
    windowDays: 365,
    // Weight as it is now.
    historyDays: 0,
    overlapHours: 0,
    pollSeconds: DAY_S,
    first: () => ({ path: '/athlete' }),
  },
]

/** What is asked for by itself: an activity, and what was recorded in it. */
export const objects = { activity, samples }

/** Workouts as Strava lists them. */
export const workouts: NonNullable<Provider['workouts']> = {
  list({ window, limit, options }) {
    const page = Math.floor((Number(options.offset) || 0) / limit) + 1
    return { path: '/athlete/activities', query: within(window, page, limit) }
  },
  one: (id) => ({ path: `/activities/${encodeURIComponent(id)}` }),
}
