import { DAY_MS, parseInstant } from '../../time.ts'
import { valuesOf } from '../accounts.ts'
import { listAt, textAt, valueAt } from '../answers.ts'
import type {
  Application,
  InboundRequest,
  Keys,
  Notice,
  Notices,
  OpenedBody,
  Reply,
  Subscribed,
  Subscriptions,
} from '../notices.ts'
import type { Json } from '../part.ts'
import type { Answer, Window, Wish } from '../provider.ts'
import { isSame } from '../signing.ts'
import type { Deleted } from './streams.ts'
import { type DataType, typeNamed } from './types.ts'

const SECRET = 'WEBHOOK_SECRET'

/** Clocks of people are at most so far from UTC. */
const ZONES_MS = 14 * 3_600_000

/** How Google notifies: of which type there is something new, or no longer, and when that was. */
export const notices: Notices = {
  limitBytes: 1024 * 1024,
  // Any other answer counts as a failure.
  accepted: 204,
  secrets: [SECRET],
  verify,
  tells: [
    ...([
      'steps',
      'distance_walking_running',
      'flights_climbed',
      'active_time',
      'exercise_time',
      'heart_rate',
    ] as const),
    ...(['resting_heart_rate', 'heart_rate_variability_rmssd', 'heart_rate_variability_sdnn'] as const),
    ...(['respiratory_rate', 'skin_temperature', 'weight', 'height', 'body_fat_percentage'] as const),
    ...(['blood_glucose', 'hydration', 'meal'] as const),
  ],
  accounts: valuesOf('healthUserId'),
  open,
  subscriptions,
}

/** The header that the subscriber was given. Google makes sure that we look at it, while it is subscribed to. */
function verify({ body, headers }: InboundRequest, { own, more }: Keys): 'signed' | 'refused' | Reply {
  const secrets = [own[SECRET], more[`${SECRET}_PREVIOUS`]].filter((one) => one)
  if (!secrets.some((secret) => isSame(headers.authorization, `Bearer ${secret}`))) return 'refused'
  return isVerification(body) ? { status: 201, json: { status: 'verified' } } : 'signed'
}

function isVerification(body: Uint8Array): boolean {
  if (body.length > 1_024) return false
  try {
    return textAt(JSON.parse(Buffer.from(body).toString('utf8')), 'type') === 'verification'
  } catch {
    return false
  }
}

/** Types that Google does not notify, by the notified ones that they come with. */
const companions: ReadonlyMap<string, readonly string[]> = new Map([
  ['steps', ['active-energy-burned', 'basal-energy-burned']],
  ['sleep', ['oxygen-saturation', 'core-body-temperature', 'daily-vo2-max']],
])

/** Google notifies each sync of a device. */
const EVERY_SECONDS = 60

/** What notices say: one, or a list. One that cannot be read costs no other. */
function open({ json, atMs }: OpenedBody): readonly Notice[] | 'malformed' {
  const all = Array.isArray(json) ? json : [json]
  const readable = all.filter((one) => textAt(one, 'data', 'healthUserId') && textAt(one, 'data', 'dataType'))
  if (readable.length === 0) return 'malformed'
  return readable.flatMap((one) => noticesOf(valueAt(one, 'data'), atMs))
}

function noticesOf(data: unknown, atMs: number): Notice[] {
  const account = textAt(data, 'healthUserId') ?? ''
  const type = typeNamed(textAt(data, 'dataType') ?? '')
  if (!type) return []
  const window = windowOf(type, listAt(data, 'intervals'), atMs)
  if (textAt(data, 'operation') === 'DELETE') return [{ account, kind: 'fetch', wish: deleted(type, window) }]
  const names = [type.name, ...(companions.get(type.name) ?? [])]
  return names.map((stream) => ({
    ...{ account, kind: 'fetch' },
    wish: { kind: 'span', stream, window, everySeconds: EVERY_SECONDS },
  }))
}

/** What is left is asked for, with renewed access: if the person has withdrawn it, nothing is to be deleted here. */
function deleted({ name }: DataType, { fromMs, untilMs }: Window): Wish {
  const args: Json = { fromMs, untilMs } satisfies Deleted
  return { kind: 'object', object: name, key: `${fromMs}-${untilMs}`, args }
}

/** All intervals together; a type of days has dates alone. */
function windowOf({ shape }: DataType, intervals: readonly unknown[], atMs: number): Window {
  const spans = intervals.flatMap((one) => (shape === 'daily' ? datesOf(one) : (physical(one, atMs) ?? wide(one))))
  if (spans.length === 0) return { fromMs: atMs - DAY_MS, untilMs: atMs }
  const fromMs = Math.min(...spans.map((span) => span.fromMs))
  return { fromMs, untilMs: Math.max(fromMs + 1, ...spans.map((span) => span.untilMs)) }
}

function physical(interval: unknown, atMs: number): Window | undefined {
  const [start, end] = ['startTime', 'endTime'].map((name) =>
    parseInstant(textAt(interval, 'physicalTimeInterval', name) ?? ''),
  )
  if (start === undefined) return undefined
  // A sample has one instant.
  return { fromMs: start, untilMs: Math.max(end ?? atMs, start + 1) }
}

/** Dates of a clock that is not known. */
const wide = (interval: unknown): Window[] =>
  datesOf(interval).map(({ fromMs, untilMs }) => ({ fromMs: fromMs - ZONES_MS, untilMs: untilMs + ZONES_MS }))

/** From the first date that an interval names, at midnight UTC, to the end of the last one. */
function datesOf(interval: unknown): Window[] {
  const civil = ['civilIso8601TimeInterval', 'civilDateTimeInterval'].map((name) => valueAt(interval, name))
  const days = [...datesIn(civil), ...(civil.every((one) => one === undefined) ? datesIn(interval) : [])]
  if (days.length === 0) return []
  return [{ fromMs: Math.min(...days), untilMs: Math.max(...days) + DAY_MS }]
}

/** The dates in whatever form, at midnight UTC: texts that begin with one, and objects of three numbers. */
function datesIn(value: unknown): number[] {
  if (typeof value === 'string') {
    return [...value.matchAll(/\d{4}-\d\d-\d\d/g)].flatMap(([date]) => parseInstant(`${date}T00:00:00Z`) ?? [])
  }
  if (typeof value !== 'object' || value === null) return []
  const [year, month, day] = ['year', 'month', 'day'].map((name) => Number(valueAt(value, name)))
  const text = [year, month, day].map((one) => String(one).padStart(2, '0')).join('-')
  return parseInstant(`${text}T00:00:00Z`) === undefined
    ? Object.values(value).flatMap(datesIn)
    : [parseInstant(`${text}T00:00:00Z`) as number]
}

/** Types that Google notifies of, as far as they are read. */
const NOTIFIED = [
  ...['active-minutes', 'blood-glucose', 'body-fat', 'daily-heart-rate-variability', 'daily-oxygen-saturation'],
  ...[
    'daily-respiratory-rate',
    'daily-resting-heart-rate',
    'daily-sleep-temperature-derivations',
    'distance',
    'exercise',
  ],
  ...['floors', 'heart-rate', 'heart-rate-variability', 'height', 'hydration-log', 'nutrition-log', 'run-vo2-max'],
  ...['sleep', 'steps', 'weight'],
] as const

/** The name of our subscriber; a project may have others, which are left alone. */
const SUBSCRIBER = 'pulsebase'

/** One subscriber of the project, for everybody who has connected the application. */
function subscriptions({ settings: { more }, own }: Application): Subscriptions {
  const id = more.SUBSCRIBER_ID ?? SUBSCRIBER
  const path = `/v4/projects/${more.PROJECT_ID ?? ''}/subscribers`
  const asked = { as: 'application' } as const
  const body = (url: string): Json => ({
    endpointUri: url,
    subscriberConfigs: [{ dataTypes: [...NOTIFIED], subscriptionCreatePolicy: 'AUTOMATIC' }],
    endpointAuthorization: { secret: `Bearer ${own[SECRET] ?? ''}` },
  })
  const updated = { updateMask: 'endpointUri,subscriberConfigs,endpointAuthorization' }
  return {
    wanted: [{}],
    asOne: true,
    gives: own[SECRET],
    list: () => ({ ...asked, path, query: { pageSize: '1000' } }),
    read: (answer) => read(answer, id),
    create: (_, url) => ({ ...asked, path, method: 'POST', query: { subscriberId: id }, json: body(url) }),
    update: (one, url) => ({ ...asked, path: `${path}/${one.id}`, method: 'PATCH', query: updated, json: body(url) }),
    remove: (of) => ({
      ...asked,
      path: `${path}/${encodeURIComponent(of)}`,
      method: 'DELETE',
      query: { force: 'true' },
    }),
  }
}

/** The subscriber with our name: of a list, or of an operation, which may have yet to end. */
function read({ json }: Answer, id: string): readonly Subscribed[] {
  if (valueAt(json, 'error')) return []
  const listed = listAt(json, 'subscribers').filter((one) => textAt(one, 'name')?.split('/').at(-1) === id)
  // A list without any has no name; operations and subscribers do.
  const made = textAt(json, 'name') === undefined ? [] : [valueAt(json, 'response') ?? json]
  return [...listed, ...made].slice(0, 1).map((subscriber): Subscribed => {
    const [url, state] = [textAt(subscriber, 'endpointUri') ?? null, textAt(subscriber, 'state') ?? null]
    const types = listAt(subscriber, 'subscriberConfigs').flatMap((config) => listAt(config, 'dataTypes'))
    const isWhole = NOTIFIED.every((type) => types.includes(type))
    return {
      ...{ id, url },
      ...(url !== null && { isActive: state !== 'INACTIVE' && state !== 'UNVERIFIED' && isWhole }),
      shown: { id, endpoint_uri: url, state, data_types: types.filter((type) => typeof type === 'string') },
    }
  })
}
