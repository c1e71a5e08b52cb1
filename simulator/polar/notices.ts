import { createHmac, randomUUID } from 'node:crypto'
import { json, type Reply } from '../http.ts'
import type { Notice, Notices, Stretch, SubscriptionCall } from '../notices/notices.ts'
import { isAddress, type Subscription } from '../notices/subscriptions.ts'
import { isBasic } from '../oauth/client.ts'
import { changesOf } from '../truth/changes.ts'
import type { Person } from '../truth/person.ts'
import { dateOf } from '../zones.ts'
import { webhookFault } from './errors.ts'
import { accountOf, exerciseId, isNew } from './exercises.ts'
import type { Registrations } from './registrations.ts'
import { dateAt } from './routes.ts'

const BASE = '/v3/webhooks'
const EVENTS = [
  ...['EXERCISE', 'SLEEP', 'CONTINUOUS_HEART_RATE', 'ACTIVITY_SUMMARY', 'SLEEP_WISE_ALERTNESS'],
  ...['SLEEP_WISE_CIRCADIAN_BEDTIME', 'PHYSICAL_INFORMATION'],
]

/** Notices of who is registered; they name what to fetch, by an address of the real provider. */
export function noticesOf(registrations: Registrations): Notices {
  return {
    byHand: false,
    // Nothing is published about them.
    retries: [60, 600, 3600],
    answerSeconds: 10,
    holdDays: 7,
    of: (stretch) => (registrations.since(stretch.person) ? told(stretch) : []),
    headers: ({ topic, text, subscription }) => ({
      'polar-webhook-event': topic,
      'polar-webhook-signature': signature(subscription, text),
    }),
    takes: (status) => status === 200,
    answer: (call) => (call.path === BASE || call.path.startsWith(`${BASE}/`) ? answered(call) : undefined),
  }
}

function signature({ key }: Subscription, text: string): string {
  return createHmac('sha256', key ?? '')
    .update(text)
    .digest('hex')
}

type Said = { event: string; atMs: number; path: string; more?: Record<string, string> }

/** A new exercise is told, an edited or deleted one is not; sleep is told twice now and then. */
function told({ person, fromMs, toMs }: Stretch): Notice[] {
  const said = changesOf(person, fromMs, toMs).flatMap((change): Said[] => {
    const { atMs, how } = change
    if (change.what === 'workout' && how === 'made') {
      const entity_id = exerciseId(person, change.view.workout)
      return [{ event: 'EXERCISE', atMs, path: `/v3/exercises/${entity_id}`, more: { entity_id } }]
    }
    if (change.what === 'weighing') return [{ event: 'PHYSICAL_INFORMATION', atMs, path: '/v3/users/physical-info' }]
    if (change.what === 'day') return ofDay(person, atMs, change.complete ? change.day.day : null)
    if (change.what !== 'sleep' || how === 'removed' || change.view.sleep.nap) return []
    return ofNight(person, atMs, change.view.sleep.day)
  })
  return said.map((one) => notice(person, one))
}

/** The date on which it is where the person is; the day before as well when it is over. */
function ofDay(person: Person, atMs: number, ended: number | null): Said[] {
  const dates = new Set([...(ended === null ? [] : [dateOf(ended)]), dateAt(person, atMs)])
  return [...dates].flatMap((date) => [
    { event: 'ACTIVITY_SUMMARY', atMs, path: `/v3/users/activities/${date}`, more: { date } },
    { event: 'CONTINUOUS_HEART_RATE', atMs, path: `/v3/users/continuous-heart-rate/${date}`, more: { date } },
  ])
}

function ofNight(person: Person, atMs: number, day: number): Said[] {
  const date = dateOf(day)
  const sleep = { event: 'SLEEP', atMs, path: `/v3/users/sleep/${date}`, more: { date } }
  const span = { from: dateOf(day - 1), to: date }
  const wise = [
    ['SLEEP_WISE_ALERTNESS', 'alertness'],
    ['SLEEP_WISE_CIRCADIAN_BEDTIME', 'circadian-bedtime'],
  ].map(([event = '', name]) => {
    const path = `/v3/users/sleepwise/${name}/date?${new URLSearchParams(span)}`
    return { event, atMs, path, more: span }
  })
  return [...(day % 3 === 0 ? [sleep, sleep] : [sleep]), ...(isNew(person) ? wise : [])]
}

function notice(person: Person, { event, atMs, path, more }: Said): Notice {
  const timestamp = `${new Date(atMs).toISOString().slice(0, 19)}Z`
  const url = `https://www.polaraccesslink.com${path}`
  const body = { event, user_id: accountOf(person), ...more, timestamp, url }
  return { atMs, topic: event, body: () => body }
}

/** One webhook at most. */
async function answered(call: SubscriptionCall): Promise<Reply> {
  const { client, method, path, subscriptions, nowMs } = call
  if (!isBasic(call.header('authorization'), client)) return webhookFault(401, 'Unauthorized', 'Unknown client')
  const rest = path.slice(BASE.length + 1)
  const [only] = subscriptions.list(nowMs)
  if (rest === '' && method === 'GET')
    return json(200, { data: subscriptions.list(nowMs).map((one) => ({ ...shown(one), active: one.active })) })
  if (rest === '' && method === 'POST') return create(call)
  if (method === 'POST' && (rest === 'activate' || rest === 'deactivate')) return switched(call, rest, only)
  const found = subscriptions.find(rest, nowMs)
  if (!found) return webhookFault(404, 'WebhookNotFoundException', 'There is no such webhook')
  if (method === 'PATCH') return update(call, found)
  if (method !== 'DELETE') return webhookFault(405, 'MethodNotAllowed', 'PATCH and DELETE are allowed')
  subscriptions.remove(found)
  return { status: 204 }
}

function shown({ id, topics, url }: Subscription) {
  return { id, events: topics, url }
}

interface Fields {
  readonly events: string[] | undefined
  readonly url: string | undefined
}

/** What a body asks for; undefined when it is no sense. */
function fieldsOf(text: string): Fields | undefined {
  try {
    const { events, url } = JSON.parse(text) as Record<string, unknown>
    if (url !== undefined && !isAddress(url)) return undefined
    if (events === undefined) return { events, url }
    if (!Array.isArray(events) || events.length === 0) return undefined
    return events.every((event) => EVENTS.includes(event)) ? { events, url } : undefined
  } catch {
    return undefined
  }
}

const invalid = () => webhookFault(400, 'BadRequestException', 'events or url are not valid')
const unanswered = () => webhookFault(400, 'WebhookPingFailedException', 'The URL did not answer the PING with 200')
const conflict = () => webhookFault(409, 'WebhookAlreadyExistsException', 'The client has a webhook')

/** The first PING is not signed: nobody knows the key yet. */
async function create(call: SubscriptionCall): Promise<Reply> {
  const { text, subscriptions, nowMs } = call
  const { events: topics, url } = fieldsOf(text) ?? {}
  if (topics === undefined || url === undefined) return invalid()
  if (subscriptions.list(nowMs).length > 0) return conflict()
  if (!(await ping(call, url, null))) return unanswered()
  if (subscriptions.list(nowMs).length > 0) return conflict()
  const key = randomUUID()
  call.remember(key)
  const id = randomUUID().slice(0, 8)
  const made = subscriptions.add({ id, url, topics, key }, nowMs)
  return json(201, { data: { ...shown(made), signature_secret_key: key } })
}

async function update(call: SubscriptionCall, found: Subscription): Promise<Reply> {
  const fields = fieldsOf(call.text)
  if (!fields) return invalid()
  if (fields.url !== undefined && !(await ping(call, fields.url, found))) return unanswered()
  found.url = fields.url ?? found.url
  found.topics = fields.events ?? found.topics
  found.updatedMs = call.nowMs
  return json(200, { data: shown(found) })
}

async function switched(call: SubscriptionCall, how: string, only: Subscription | undefined): Promise<Reply> {
  if (!only) return { status: 204 }
  if (how === 'activate' && !(await ping(call, only.url, only))) return unanswered()
  only.active = how === 'activate'
  only.failingSinceMs = null
  return { status: 200 }
}

async function ping(call: SubscriptionCall, url: string, signed: Subscription | null): Promise<boolean> {
  const text = JSON.stringify({ timestamp: `${new Date(call.dataMs).toISOString().slice(0, 19)}Z`, event: 'PING' })
  const headers = {
    ...{ 'content-type': 'application/json', 'polar-webhook-event': 'PING' },
    ...(signed && { 'polar-webhook-signature': signature(signed, text) }),
  }
  return (await call.ask(url, { method: 'POST', body: text, headers }))?.status === 200
}
