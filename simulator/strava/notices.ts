import { createHmac } from 'node:crypto'
import { json, type Reply } from '../http.ts'
import type { Notice, Notices, Stretch, SubscriptionCall } from '../notices/notices.ts'
import { challenge, isAddress, type Subscription, withQuery } from '../notices/subscriptions.ts'
import { secretOf } from '../random.ts'
import { changesOf } from '../truth/changes.ts'
import { daysBetween, type Person } from '../truth/person.ts'
import { workoutAt } from '../truth/workouts.ts'
import { DAY_MS } from '../zones.ts'
import { accountOf, activityId, hiddenSpan, isHidden, kindOf, titleOf } from './activities.ts'
import { fault } from './oauth.ts'

const BASE = '/push_subscriptions'
const SIGNING = secretOf('strava signing')

/** What a service has to know to check signatures. */
export const variables = { STRAVA_WEBHOOK_SIGNING_SECRET: SIGNING }

/** Notices of activities and of consents that end. */
export const notices: Notices = {
  byHand: false,
  // Three attempts in all; the second was seen after two minutes.
  retries: [120, 600],
  answerSeconds: 2,
  of: told,
  left: (person, atMs) => notice(person, { atMs, aspect: 'update', updates: { authorized: 'false' } }),
  headers: ({ text, settings, nowMs }): Record<string, string> => {
    if (!settings.own.signature) return {}
    const seconds = Math.floor(nowMs / 1000)
    const signature = createHmac('sha256', SIGNING).update(`${seconds}.`).update(text).digest('hex')
    return { 'x-strava-signature': `t=${seconds},v1=${signature}` }
  },
  takes: (status) => status === 200,
  answer: (call) => (call.path === BASE || call.path.startsWith(`${BASE}/`) ? answered(call) : undefined),
}

type Said = { atMs: number; aspect: 'create' | 'update' | 'delete'; id?: number; updates?: Record<string, string> }

/** Of an activity, or of the athlete when no id is given. */
function notice(person: Person, { atMs, aspect, id, updates = {} }: Said): Notice {
  const type = id === undefined ? 'athlete' : 'activity'
  const body = {
    ...{ object_type: type, object_id: id ?? accountOf(person), aspect_type: aspect, updates },
    owner_id: accountOf(person),
  }
  return {
    atMs,
    topic: `${type} ${aspect}`,
    body: (subscription) => ({
      ...body,
      subscription_id: Number(subscription.id),
      event_time: Math.floor(atMs / 1000),
    }),
  }
}

/** Only a new title, type or privacy is an update; who may not read hidden activities sees them come and go. */
function told({ person, scopes, fromMs, toMs }: Stretch): Notice[] {
  const all = scopes.has('activity:read_all')
  if (!all && !scopes.has('activity:read')) return []
  const edits = changesOf(person, fromMs, toMs).flatMap((change): Said[] => {
    if (change.what !== 'workout') return []
    const { workout } = change.view
    if (!all && isHidden(person, workout, change.atMs)) return []
    const { atMs } = change
    const id = activityId(person, workout)
    if (change.how === 'made') return [{ atMs, aspect: 'create', id }]
    if (change.how === 'removed') return [{ atMs, aspect: 'delete', id }]
    return [{ atMs, aspect: 'update', id, updates: { title: titleOf(change.view), type: kindOf(change.view)[1] } }]
  })
  const said = [...edits, ...privacy(person, fromMs, toMs, all)]
  return said.sort((a, b) => a.atMs - b.atMs).map((one) => notice(person, one))
}

function privacy(person: Person, fromMs: number, toMs: number, all: boolean): Said[] {
  return daysBetween(person, fromMs - 7 * DAY_MS, toMs).flatMap(({ workout }): Said[] => {
    if (!workout) return []
    const span = hiddenSpan(person, workout)
    const id = activityId(person, workout)
    const changes = [
      { atMs: span.fromMs, hidden: true },
      { atMs: span.toMs, hidden: false },
    ].filter(({ atMs }) => atMs > fromMs && atMs <= toMs && workoutAt(workout, atMs)?.deleted === false)
    return changes.map(({ atMs, hidden }) => {
      if (!all) return { atMs, aspect: hidden ? 'delete' : 'create', id }
      return { atMs, aspect: 'update', id, updates: { private: String(hidden) } }
    })
  })
}

async function answered(call: SubscriptionCall): Promise<Reply> {
  const { client, method, path, query, form, subscriptions, nowMs } = call
  const given = method === 'POST' ? form : query
  if (given.get('client_id') !== client.id || given.get('client_secret') !== client.secret)
    return fault(401, 'Authorization Error', ['Application', 'client_id', 'invalid'])
  const id = path.slice(BASE.length + 1)
  if (id === '' && method === 'GET') return json(200, subscriptions.list(nowMs).map(shown))
  if (id === '' && method === 'POST') return create(call)
  const found = subscriptions.find(id, nowMs)
  if (!found) return fault(404, 'Record Not Found', ['PushSubscription', 'id', 'not found'])
  if (method !== 'DELETE') return json(405, { message: 'Method Not Allowed' }, { allow: 'DELETE' })
  subscriptions.remove(found)
  return { status: 204 }
}

function shown({ id, url, createdMs, updatedMs }: Subscription) {
  const utc = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`
  const times = { created_at: utc(createdMs), updated_at: utc(updatedMs) }
  return { id: Number(id), resource_state: 2, application_id: 55_555, callback_url: url, ...times }
}

/** There is one at most. The callback has to repeat a random word while this request is open. */
async function create(call: SubscriptionCall): Promise<Reply> {
  const { form, subscriptions, nowMs } = call
  const [url, token] = [form.get('callback_url') ?? '', form.get('verify_token') ?? '']
  const wrong = (field: string, code: string) => fault(400, 'Bad Request', ['PushSubscription', field, code])
  if (!isAddress(url) || url.length > 255) return wrong('callback_url', 'invalid')
  if (token === '') return wrong('verify_token', 'missing')
  const exists = () => subscriptions.list(nowMs).length > 0
  if (exists()) return wrong('', 'already exists')
  const word = challenge()
  const asked = { 'hub.mode': 'subscribe', 'hub.challenge': word, 'hub.verify_token': token }
  const answer = await call.ask(withQuery(url, asked), { method: 'GET' })
  if (answer?.status !== 200) return wrong('callback url', 'GET to callback URL does not return 200')
  if (!repeats(answer.text, word)) return wrong('callback url', 'not verifiable')
  if (exists()) return wrong('', 'already exists')
  const { id } = subscriptions.add({ id: String(301_222 + subscriptions.made), url, topics: null }, nowMs)
  return json(201, { id: Number(id) })
}

function repeats(text: string, word: string): boolean {
  try {
    return (JSON.parse(text) as Record<string, unknown> | null)?.['hub.challenge'] === word
  } catch {
    return false
  }
}
