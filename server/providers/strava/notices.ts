import { valuesOf } from '../accounts.ts'
import { textAt, valueAt } from '../answers.ts'
import type {
  Application,
  Challenge,
  InboundRequest,
  Keys,
  Notice,
  Notices,
  OpenedBody,
  Subscribed,
  Subscriptions,
} from '../notices.ts'
import type { Answer, Form } from '../provider.ts'
import { fromHex, isRecent, isSame, isSignedBy, TOLERANCE_SECONDS } from '../signing.ts'
import { idOf, wishFor } from './streams.ts'

/** What Strava says back when it makes sure of the address, and what we add to the address. */
const TOKEN = 'WEBHOOK_VERIFY_TOKEN'
const KEY = 'WEBHOOK_KEY'

/** How Strava notifies: which activity has changed. What it signs with is not known, so nothing it says is believed. */
export const notices: Notices = {
  limitBytes: 16 * 1024,
  secrets: [TOKEN, KEY],
  verify,
  challenge,
  accounts: valuesOf('owner_id'),
  open,
  subscriptions,
}

/** By the key in the address, once a challenge came with it; by time and signature, as far as there are any. */
function verify({ body, headers, query, nowSeconds }: InboundRequest, keys: Keys) {
  if ((keys.confirmed.includes(KEY) || query.k !== undefined) && !isSame(query.k, keys.own[KEY])) return 'refused'
  const { WEBHOOK_SIGNING_SECRET: secret, WEBHOOK_SIGNATURE_TOLERANCE_SECONDS: tolerance } = keys.more
  const header = headers['x-strava-signature']
  if (header === undefined) return secret ? 'refused' : 'unsigned'
  const [, time = '', signature] = /^\s*t=(\d{1,15})\s*,\s*v1=([\da-f]+)\s*$/i.exec(header) ?? []
  if (!isRecent(time, nowSeconds, toleranceOf(tolerance))) return 'refused'
  return !secret || isSignedBy([secret], [`${time}.`, body], fromHex(signature)) ? 'unsigned' : 'refused'
}

const toleranceOf = (text: string | undefined) => (text === undefined ? TOLERANCE_SECONDS : Number(text))

function challenge(query: Form, { own }: Keys): Challenge {
  if (query['hub.mode'] !== 'subscribe') return { status: 400, json: { detail: 'Invalid hub.mode' } }
  if (!isSame(query['hub.verify_token'], own[TOKEN])) return { status: 403, json: { detail: 'Invalid verify token' } }
  const reply = { status: 200, json: { 'hub.challenge': query['hub.challenge'] ?? '' } }
  return isSame(query.k, own[KEY]) ? { ...reply, confirms: KEY } : reply
}

function open({ json, subscriptionIds }: OpenedBody): readonly Notice[] | 'malformed' {
  const account = idOf(valueAt(json, 'owner_id'))
  const id = idOf(valueAt(json, 'object_id'))
  const [type, aspect] = [textAt(json, 'object_type'), textAt(json, 'aspect_type')]
  if (account === undefined || id === undefined || type === undefined || aspect === undefined) return 'malformed'
  const subscription = idOf(valueAt(json, 'subscription_id'))
  // Of an application that is not ours, or of nobody: without a subscription Strava sends nothing.
  if (!subscriptionIds.includes(subscription ?? '')) return []
  if (type === 'athlete') return hasLeft(json, aspect) ? [{ account, kind: 'deauthorise' }] : []
  if (type !== 'activity') return []
  const wish = wishFor(id)
  if (aspect === 'create' || aspect === 'update') return [{ account, kind: 'fetch', wish }]
  return aspect === 'delete' ? [{ account, kind: 'delete', stream: 'activities', externalId: id, wish }] : []
}

const hasLeft = (json: unknown, aspect: string) =>
  aspect === 'delete' || String(valueAt(json, 'updates', 'authorized')) === 'false'

const PATH = '/push_subscriptions'

/** One for the application. */
function subscriptions({ settings, own }: Application): Subscriptions {
  const query = { client_id: settings.clientId, client_secret: settings.clientSecret }
  return {
    wanted: [{}],
    list: () => ({ path: PATH, as: 'nobody', query }),
    read: (answer) => read(answer, own[KEY]),
    create: (_, url) => ({
      ...{ path: PATH, method: 'POST', as: 'application' },
      form: { callback_url: withKey(url, own[KEY]), verify_token: own[TOKEN] ?? '' },
    }),
    remove: (id) => ({ path: `${PATH}/${encodeURIComponent(id)}`, method: 'DELETE', as: 'nobody', query }),
    refusal: ({ status, json }) =>
      status === 400 && /already exists/i.test(JSON.stringify(json ?? null)) ? 'exists' : undefined,
  }
}

/** Whoever does not know the key cannot notify: Strava repeats the address as it is, also with its challenge. */
function withKey(url: string, key: string | undefined): string {
  if (!key || !URL.canParse(url)) return url
  const address = new URL(url)
  address.searchParams.set('k', key)
  return address.href
}

const keyIn = (url = '') => (URL.canParse(url) ? new URL(url).searchParams.get('k') : null)

function withoutKey(url: string | undefined): string | null {
  if (url === undefined) return null
  return url.replace(/([?&])k=[^&]*(&?)/, (_, before, after) => (after ? before : ''))
}

function read({ json }: Answer, key: string | undefined): readonly Subscribed[] {
  return (Array.isArray(json) ? json : [json]).flatMap((one): Subscribed[] => {
    const id = idOf(valueAt(one, 'id'))
    if (id === undefined) return []
    const address = textAt(one, 'callback_url')
    const url = withoutKey(address)
    const application = valueAt(one, 'application_id')
    const shown = {
      id: Number(id),
      application_id: typeof application === 'number' ? application : null,
      callback_url: url,
      created_at: textAt(one, 'created_at') ?? null,
      updated_at: textAt(one, 'updated_at') ?? null,
    }
    // With a former key its notices are refused.
    return [{ id, url, ...(url !== null && { isActive: isSame(keyIn(address), key) }), shown }]
  })
}
