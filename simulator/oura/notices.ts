import { createHmac } from 'node:crypto'
import { json, type Reply } from '../http.ts'
import type { Notice, Notices, Stretch, SubscriptionCall } from '../notices/notices.ts'
import { challenge, isAddress, type Subscription, withQuery } from '../notices/subscriptions.ts'
import { type Change, changesOf } from '../truth/changes.ts'
import type { Person } from '../truth/person.ts'
import { DAY_MS } from '../zones.ts'
import { accountOf, idOf } from './documents.ts'

const BASE = '/v2/webhook/subscription'
/** What can be subscribed to, with the scope that it needs; some of it has no data here. */
const TYPES: Readonly<Record<string, string>> = {
  ...{ tag: 'tag', enhanced_tag: 'tag', workout: 'workout', session: 'session', sleep: 'daily', daily_sleep: 'daily' },
  ...{ daily_readiness: 'daily', daily_activity: 'daily', daily_spo2: 'spo2', sleep_time: 'daily' },
  ...{ rest_mode_period: 'daily', ring_configuration: 'ring_configuration', daily_stress: 'daily' },
  ...{ daily_cardiovascular_age: 'heart_health', daily_resilience: 'stress', vo2_max: 'heart_health', meal: 'daily' },
}
const EVENTS = ['create', 'update', 'delete']

/** Notices of API v2, one for each document that is made, changed or deleted. */
export const notices: Notices = {
  byHand: false,
  // "About 10 times over about an hour".
  retries: [15, 30, 60, 120, 240, 360, 480, 600, 720, 900],
  answerSeconds: 10,
  of: told,
  headers: ({ text, client, settings, nowMs, firstMs }) => {
    const ms = settings.own.retries_keep_time ? firstMs : nowMs
    const timestamp = String(settings.own.timestamp_in_seconds ? Math.floor(ms / 1000) : ms)
    const signature = createHmac('sha256', client.secret).update(timestamp).update(text).digest('hex').toUpperCase()
    return { 'x-oura-signature': signature, 'x-oura-timestamp': timestamp }
  },
  takes: (status) => status >= 200 && status < 300,
  cancels: (status) => status === 410,
  answer: (call) => (call.path === BASE || call.path.startsWith(`${BASE}/`) ? answered(call) : undefined),
}

const HOW = { made: 'create', changed: 'update', removed: 'delete' } as const

function told(stretch: Stretch): Notice[] {
  const { person, scopes, fromMs, toMs } = stretch
  const found = changesOf(person, fromMs, toMs).flatMap((change) =>
    documentsOf(change).map((said) => notice(person, change.atMs, said)),
  )
  return found.filter(({ topic }) => scopes.has(TYPES[topic.split(' ')[0] ?? ''] ?? ''))
}

type Said = readonly [type: string, key: string, event: 'create' | 'update' | 'delete']

/** A deleted sleep stays a document, whose type says so; what was made of it goes. */
function documentsOf(change: Change): Said[] {
  const event = HOW[change.how]
  if (change.what === 'rest') return [['sleep', change.rest.key, event]]
  if (change.what === 'workout') return [['workout', change.view.workout.key, event]]
  if (change.what === 'day') {
    const { day } = change.day
    const daily: Said[] = [
      ['daily_activity', `activity/${day}`, event],
      ['daily_stress', `stress/${day}`, event],
    ]
    return change.complete && day % 7 === 0 ? [...daily, ['vo2_max', `vo2_max/${day}`, 'create']] : daily
  }
  if (change.what !== 'sleep') return []
  const { sleep } = change.view
  const self: Said = ['sleep', sleep.key, event === 'delete' ? 'update' : event]
  return sleep.nap ? [self] : [self, ...OF_NIGHTS.map(([type, name]): Said => [type, `${name}/${sleep.day}`, event])]
}

const OF_NIGHTS = Object.entries({
  ...{ daily_sleep: 'sleep', daily_readiness: 'readiness', daily_spo2: 'spo2' },
  ...{ daily_cardiovascular_age: 'age', daily_resilience: 'resilience' },
})

function notice(person: Person, atMs: number, [type, key, event]: Said): Notice {
  const body = {
    event_type: event,
    data_type: type,
    object_id: idOf(person, key),
    event_time: `${new Date(atMs).toISOString().slice(0, 19)}+00:00`,
    user_id: accountOf(person),
  }
  return { atMs, topic: `${type} ${event}`, body: () => body }
}

async function answered(call: SubscriptionCall): Promise<Reply> {
  const { client, method, path, subscriptions, nowMs } = call
  if (call.header('x-client-id') !== client.id || call.header('x-client-secret') !== client.secret)
    return json(401, { detail: 'Unauthorized' })
  const rest = path.slice(BASE.length).replace(/^\/|\/$/g, '')
  if (rest === '') {
    if (method === 'GET') return json(200, subscriptions.list(nowMs).map(shown))
    return method === 'POST' ? create(call) : json(405, { detail: 'Method Not Allowed' })
  }
  const renewing = rest.startsWith('renew/')
  const found = subscriptions.find(renewing ? rest.slice('renew/'.length) : rest, nowMs)
  if (!found && method === 'GET') return json(404, { detail: `No webhook id ${rest} found.` })
  if (!found) return json(403, { detail: 'Forbidden' })
  if (renewing) return method === 'PUT' ? renew(call, found) : json(405, { detail: 'Method Not Allowed' })
  if (method === 'GET') return json(200, shown(found))
  if (method === 'PUT') return update(call, found)
  if (method !== 'DELETE') return json(405, { detail: 'Method Not Allowed' })
  subscriptions.remove(found)
  return { status: 204 }
}

/** As it was created: data type and event type are in the topic. */
function shown({ id, url, topics, expiresMs }: Subscription) {
  const [type = '', event = ''] = topics?.[0]?.split(' ') ?? []
  const expiration = new Date(expiresMs ?? 0).toISOString().replace('Z', '000000')
  return { id, callback_url: url, event_type: event, data_type: type, expiration_time: expiration }
}

function fieldsOf({ text }: SubscriptionCall): Record<string, unknown> | undefined {
  try {
    const body: unknown = JSON.parse(text)
    return typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function invalid(name: string, input: unknown): Reply {
  return json(422, { detail: [{ loc: ['body', name], msg: 'Input should be valid', type: 'enum', input }] })
}

async function create(call: SubscriptionCall): Promise<Reply> {
  const { subscriptions, nowMs } = call
  const fields = fieldsOf(call) ?? {}
  const { callback_url: url, verification_token: token, event_type: event, data_type: type } = fields
  if (!isAddress(url)) return invalid('callback_url', url)
  if (typeof token !== 'string') return invalid('verification_token', token)
  if (!EVENTS.includes(String(event))) return invalid('event_type', event)
  if (!Object.hasOwn(TYPES, String(type))) return invalid('data_type', type)
  const topic = `${type} ${event}`
  const isThere = () => subscriptions.list(nowMs).some(({ topics }) => topics?.includes(topic))
  if (isThere()) return json(409, { detail: 'Subscription already exists' })
  if (!(await challenged(call, url, token))) return json(400, { detail: 'The callback did not answer the challenge' })
  if (isThere()) return json(409, { detail: 'Subscription already exists' })
  return json(201, shown(subscriptions.add({ url, topics: [topic], expiresMs: expiryOf(call) }, nowMs)))
}

async function update(call: SubscriptionCall, found: Subscription): Promise<Reply> {
  const fields = fieldsOf(call) ?? {}
  const [type, event] = found.topics?.[0]?.split(' ') ?? []
  const wanted = { callback_url: found.url, event_type: event, data_type: type, ...fields }
  if (!isAddress(wanted.callback_url)) return invalid('callback_url', wanted.callback_url)
  const { verification_token: token } = fields
  if (typeof token !== 'string') return invalid('verification_token', token)
  if (!EVENTS.includes(String(wanted.event_type))) return invalid('event_type', wanted.event_type)
  if (!Object.hasOwn(TYPES, String(wanted.data_type))) return invalid('data_type', wanted.data_type)
  if (!(await challenged(call, wanted.callback_url, token)))
    return json(400, { detail: 'The callback did not answer the challenge' })
  found.url = wanted.callback_url
  found.topics = [`${wanted.data_type} ${wanted.event_type}`]
  found.updatedMs = call.nowMs
  return json(200, shown(found))
}

function renew(call: SubscriptionCall, found: Subscription): Reply {
  found.expiresMs = expiryOf(call)
  return json(200, shown(found))
}

function expiryOf({ nowMs, settings }: SubscriptionCall): number | null {
  return settings.subscription_days === 0 ? null : nowMs + settings.subscription_days * DAY_MS
}

/** Asks the callback, which has to know the token and to repeat a random word. */
async function challenged(call: SubscriptionCall, url: string, token: string): Promise<boolean> {
  const word = challenge()
  const answer = await call.ask(withQuery(url, { verification_token: token, challenge: word }), { method: 'GET' })
  if (answer?.status !== 200) return false
  try {
    return (JSON.parse(answer.text) as { challenge?: unknown } | null)?.challenge === word
  } catch {
    return false
  }
}
