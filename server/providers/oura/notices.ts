import { DAY_MS, parseInstant } from '../../time.ts'
import { valuesOf } from '../accounts.ts'
import { textAt } from '../answers.ts'
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
import type { Answer, Form, Wish } from '../provider.ts'
import { fromHex, isRecent, isSame, isSignedBy } from '../signing.ts'
import { isId, lastDays, noticed } from './streams.ts'

const TOKEN = 'WEBHOOK_VERIFICATION_TOKEN'

/** Whether a notice that is sent again keeps its first time is not known; that goes on for about an hour. */
const TOLERANCE_S = 3_600

/** How Oura notifies: which document has changed. */
export const notices: Notices = {
  limitBytes: 64 * 1024,
  secrets: [TOKEN],
  verify,
  challenge,
  tells: [
    ...(['steps', 'energy', 'basal_energy', 'distance_walking_running', 'active_time', 'oxygen_saturation'] as const),
    ...(['skin_temperature_deviation', 'cardiovascular_age', 'vo2_max'] as const),
  ],
  accounts: valuesOf('user_id'),
  open,
  subscriptions,
}

/** The time as it is written, followed by the body; Oura's example signs the body as JSON writes it again. */
function verify({ body, headers, nowSeconds }: InboundRequest, { client }: Keys) {
  const time = headers['x-oura-timestamp']
  const signature = fromHex(headers['x-oura-signature'])
  if (time === undefined || !isRecent(time, nowSeconds, TOLERANCE_S)) return 'refused'
  const isSigned = isSignedBy(client, [time, body], signature) || isSignedBy(client, [time, rewritten(body)], signature)
  return isSigned ? 'signed' : 'refused'
}

function rewritten(body: Uint8Array): string {
  try {
    return JSON.stringify(JSON.parse(Buffer.from(body).toString('utf8')))
  } catch {
    return ''
  }
}

function challenge(query: Form, { own }: Keys): Challenge {
  const { verification_token: token, challenge: said } = query
  if (!isSame(token, own[TOKEN]) || !said) return { status: 401, json: { detail: 'Invalid verification token' } }
  return { status: 200, json: { challenge: said } }
}

function open({ json, atMs }: OpenedBody): readonly Notice[] | 'malformed' {
  const account = textAt(json, 'user_id')
  const type = textAt(json, 'data_type')
  const event = textAt(json, 'event_type')
  const id = textAt(json, 'object_id')
  if (account === undefined || type === undefined || event === undefined) return 'malformed'
  if (!(noticed as readonly string[]).includes(type)) return []
  if (id !== undefined && !isId(id)) return 'malformed'
  const wish: Wish =
    id === undefined ? lastDays(type, atMs) : { kind: 'object', object: type, key: `${type}:${id}`, args: { id, atMs } }
  if (event === 'delete' && id !== undefined) return [{ account, kind: 'delete', stream: type, externalId: id, wish }]
  // Of heart rates there are no notices: they come with these.
  const pulse: Wish = {
    ...{ kind: 'span', stream: 'heartrate', everySeconds: 900 },
    window: { fromMs: atMs - DAY_MS, untilMs: atMs },
  }
  const wishes = type === 'sleep' || type === 'daily_activity' ? [wish, pulse] : [wish]
  return wishes.map((one) => ({ account, kind: 'fetch', wish: one }))
}

const PATH = '/v2/webhook/subscription'

/** One for each collection and event; they end after about 90 days. */
function subscriptions({ settings, own }: Application): Subscriptions {
  const headers = { 'x-client-id': settings.clientId, 'x-client-secret': settings.clientSecret }
  const asked = { as: 'nobody', headers } as const
  const named = (id: string) => `${PATH}/${encodeURIComponent(id)}`
  const body = (of: { eventType?: string; dataType?: string }, url: string) => ({
    callback_url: url,
    verification_token: own[TOKEN] ?? '',
    event_type: of.eventType ?? '',
    data_type: of.dataType ?? '',
  })
  return {
    wanted: noticed.flatMap((dataType) => ['create', 'update'].map((eventType) => ({ dataType, eventType }))),
    list: () => ({ ...asked, path: PATH }),
    read: (answer) => read(answer),
    create: (of, url) => ({ ...asked, path: PATH, method: 'POST', json: body(of, url) }),
    update: (one, url) => ({ ...asked, path: named(one.id), method: 'PUT', json: body(one, url) }),
    remove: (id) => ({ ...asked, path: named(id), method: 'DELETE' }),
    one: (id) => ({ ...asked, path: named(id) }),
    renew: ({ id }) => ({ ...asked, path: `${PATH}/renew/${encodeURIComponent(id)}`, method: 'PUT' }),
    // So is one that is not known, or not ours.
    refusal: ({ status }) => (status === 403 ? 'missing' : undefined),
  }
}

function read({ json }: Answer): readonly Subscribed[] {
  return (Array.isArray(json) ? json : [json]).flatMap((one): Subscribed[] => {
    const id = textAt(one, 'id')
    if (id === undefined) return []
    const [url, eventType, dataType] = ['callback_url', 'event_type', 'data_type'].map((name) => textAt(one, name))
    const expires = textAt(one, 'expiration_time')
    const expiresAtMs = parseInstant(expires ?? '')
    return [
      {
        ...{ id, url: url ?? null },
        ...(eventType !== undefined && { eventType }),
        ...(dataType !== undefined && { dataType }),
        ...(expiresAtMs !== undefined && { expiresAtMs }),
        shown: {
          ...{ id, callback_url: url ?? null, event_type: eventType ?? null, data_type: dataType ?? null },
          expiration_time: expires ?? null,
        },
      },
    ]
  })
}
