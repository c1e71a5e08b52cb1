import { DAY_MS } from '../../time.ts'
import { valuesOf } from '../accounts.ts'
import { listAt, textAt, valueAt } from '../answers.ts'
import { basicCredentials } from '../basic-credentials.ts'
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
import type { Answer, Wish } from '../provider.ts'
import { fromHex, isSignedBy } from '../signing.ts'

/** How Polar notifies: what there is to fetch. Polar does not notify that somebody has left. */
export const notices: Notices = {
  limitBytes: 64 * 1024,
  givesSigningSecret: true,
  verify,
  tells: ['steps', 'energy', 'basal_energy', 'active_time', 'distance_walking_running', 'heart_rate'],
  accounts: valuesOf('user_id'),
  open,
  subscriptions,
}

/** The body is signed with what Polar gave us when the webhook was created; it pings us before it gives that. */
function verify({ body, headers }: InboundRequest, { given }: Keys): 'signed' | 'refused' | Reply {
  if (isPing(body)) return { status: 200, json: { status: 'ok' } }
  return isSignedBy([given], [body], fromHex(headers['polar-webhook-signature'])) ? 'signed' : 'refused'
}

/** Nothing but a ping, which has no effect: it needs no proof. */
function isPing(body: Uint8Array): boolean {
  if (body.length > 1_000) return false
  try {
    const json: unknown = JSON.parse(Buffer.from(body).toString('utf8'))
    return valueAt(json, 'event') === 'PING' && valueAt(json, 'user_id') === undefined
  } catch {
    return false
  }
}

/** Events, and the streams whose days they name. */
const spans: Readonly<Record<string, string>> = {
  CONTINUOUS_HEART_RATE: 'continuous_heart_rate',
  ACTIVITY_SUMMARY: 'activities',
  SLEEP_WISE_ALERTNESS: 'alertness',
  PHYSICAL_INFORMATION: 'physical_info',
}

const events = ['EXERCISE', 'SLEEP', ...Object.keys(spans)]

function open({ json, atMs }: OpenedBody): readonly Notice[] | 'malformed' {
  const event = textAt(json, 'event')
  const user = valueAt(json, 'user_id')
  const account = Number.isSafeInteger(user) || typeof user === 'string' ? String(user) : ''
  if (event === undefined || account === '') return event === 'PING' ? [] : 'malformed'
  if (!events.includes(event)) return []
  const wishes = wishesOf(event, json, atMs)
  return wishes === undefined ? 'malformed' : wishes.map((wish) => ({ account, kind: 'fetch', wish }))
}

function wishesOf(event: string, json: unknown, atMs: number): readonly Wish[] | undefined {
  if (event === 'EXERCISE') {
    const id = textAt(json, 'entity_id') ?? ''
    if (!/^[A-Za-z0-9]{1,100}$/.test(id)) return undefined
    return [{ kind: 'object', object: 'exercise', key: `exercise:${id}`, args: { id } }]
  }
  const stream = spans[event]
  if (stream === 'physical_info') return [{ kind: 'span', stream, window: { fromMs: atMs - DAY_MS, untilMs: atMs } }]
  const date = textAt(json, 'date')
  const [fromMs, untilMs] = [dayMs(date ?? textAt(json, 'from')), dayMs(date ?? textAt(json, 'to'))]
  if (fromMs === undefined || untilMs === undefined || untilMs < fromMs) return undefined
  if (stream === undefined) {
    return date === undefined ? undefined : [{ kind: 'object', object: 'night', key: `night:${date}`, args: { date } }]
  }
  const window = { fromMs, untilMs: untilMs + DAY_MS }
  // It follows from the activities of the day.
  const load: Wish = { kind: 'span', stream: 'cardio_load', window, everySeconds: 3_600 }
  const wish: Wish = { kind: 'span', stream, window }
  return stream === 'activities' ? [wish, load] : [wish]
}

const dayMs = (date: string | undefined) => {
  const ms = /^\d{4}-\d\d-\d\d$/.test(date ?? '') ? Date.parse(date as string) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

const PATH = '/v3/webhooks'

/** One for the application. */
function subscriptions({ settings }: Application): Subscriptions {
  const asked = { as: 'nobody', headers: { authorization: basicCredentials(settings) } } as const
  const named = (id: string) => `${PATH}/${encodeURIComponent(id)}`
  return {
    wanted: [{}],
    asOne: true,
    list: () => ({ ...asked, path: PATH }),
    read,
    create: (_, url) => ({ ...asked, path: PATH, method: 'POST', json: { events, url } }),
    update: ({ id }, url) => ({ ...asked, path: named(id), method: 'PATCH', json: { events, url } }),
    remove: (id) => ({ ...asked, path: named(id), method: 'DELETE' }),
    activate: () => ({ ...asked, path: `${PATH}/activate`, method: 'POST' }),
  }
}

function read({ json }: Answer): readonly Subscribed[] {
  const data = valueAt(json, 'data')
  return (Array.isArray(data) ? data : [data]).flatMap((one): Subscribed[] => {
    const id = textAt(one, 'id')
    if (id === undefined) return []
    const url = textAt(one, 'url') ?? null
    const told = listAt(one, 'events').filter((event) => typeof event === 'string')
    const signingSecret = textAt(one, 'signature_secret_key')
    return [
      {
        ...{ id, url, isActive: valueAt(one, 'active') !== false },
        ...(signingSecret !== undefined && { signingSecret }),
        shown: { id, events: told, url },
      },
    ]
  })
}
