import { json, type Reply } from '../http.ts'
import type { SubscriptionCall } from '../notices/notices.ts'
import { isAddress, type Subscription } from '../notices/subscriptions.ts'
import type { Row } from './points.ts'
import { fault } from './routes.ts'
import { PROJECT, type ServiceTokens } from './service-account.ts'
import { TOLD } from './told.ts'

const BASE = `/v4/projects/${PROJECT}/subscribers`

/** Requests about the subscribers of the project, with a token of its service account; undefined for other paths. */
export function answerSubscribers(call: SubscriptionCall, tokens: ServiceTokens): Promise<Reply> | undefined {
  return call.path.startsWith('/v4/projects/') ? answered(call, tokens) : undefined
}

async function answered(call: SubscriptionCall, tokens: ServiceTokens): Promise<Reply> {
  const { method, path, subscriptions, nowMs } = call
  const token = /^bearer (.+)$/i.exec(call.header('authorization'))?.[1] ?? ''
  if (!((tokens.get(token) ?? 0) > nowMs))
    return fault(401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.')
  if (path !== BASE && !path.startsWith(`${BASE}/`)) return fault(403, 'PERMISSION_DENIED', 'Not your project')
  const id = path.slice(BASE.length + 1)
  if (id === '' && method === 'GET') return list(call)
  if (id === '' && method === 'POST') return create(call)
  const found = subscriptions.find(id, nowMs)
  if (!found) return fault(404, 'NOT_FOUND', 'Requested entity was not found.')
  if (method === 'PATCH') return update(call, found)
  if (method !== 'DELETE') return fault(404, 'NOT_FOUND', 'Method not found.')
  subscriptions.remove(found)
  return operation(id, {})
}

function operation(id: string, response: Row): Reply {
  return json(200, { name: `operations/${id}`, done: true, response })
}

function shown({ id, url, topics, key, createdMs, updatedMs }: Subscription): Row {
  return {
    ...{ name: `${BASE.slice('/v4/'.length)}/${id}`, endpointUri: url, state: 'ACTIVE' },
    subscriberConfigs: [{ dataTypes: topics, subscriptionCreatePolicy: 'AUTOMATIC' }],
    ...{ createTime: new Date(createdMs).toISOString(), updateTime: new Date(updatedMs).toISOString() },
    endpointAuthorization: { secretSet: key !== null },
  }
}

function list({ query, subscriptions, nowMs }: SubscriptionCall): Reply {
  const all = subscriptions.list(nowMs)
  const start = Number(query.get('pageToken') ?? 0)
  const size = Math.min(Number(query.get('pageSize') ?? 50) || 50, 1000)
  const next = start + size < all.length ? { nextPageToken: String(start + size) } : {}
  return json(200, { subscribers: all.slice(start, start + size).map(shown), totalSize: all.length, ...next })
}

/** What a body asks for, or what is wrong with it. */
function wantedOf(text: string): { url?: string; topics?: string[]; secret?: string } | Reply {
  const invalid = (message: string) => fault(400, 'INVALID_ARGUMENT', message)
  const body = objectOf(text)
  if (!body) return invalid('The body is no JSON object')
  const { endpointUri: url, subscriberConfigs: configs, endpointAuthorization } = body
  const secret = (endpointAuthorization as Row | undefined)?.secret
  if (url !== undefined && !isAddress(url)) return invalid('endpointUri is no address')
  if (secret !== undefined && typeof secret !== 'string') return invalid('endpointAuthorization.secret is no text')
  if (configs !== undefined && !(Array.isArray(configs) && configs.every(isRow)))
    return invalid('subscriberConfigs is no list')
  const topics = (configs as Row[] | undefined)?.flatMap(({ dataTypes }) => (dataTypes ?? []) as string[])
  const unknown = topics?.find((topic) => !TOLD.some((known) => known === topic))
  if (unknown !== undefined) return invalid(`Unsupported data type: ${unknown}`)
  if ((configs as Row[] | undefined)?.some((one) => one.subscriptionCreatePolicy !== 'AUTOMATIC'))
    return invalid('Only the policy AUTOMATIC is played')
  return { ...(url !== undefined && { url }), ...(topics && { topics }), ...(secret !== undefined && { secret }) }
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function objectOf(text: string): Row | undefined {
  try {
    const body: unknown = JSON.parse(text)
    return isRow(body) ? body : undefined
  } catch {
    return undefined
  }
}

async function create(call: SubscriptionCall): Promise<Reply> {
  const { query, text, subscriptions, nowMs, remember } = call
  const id = query.get('subscriberId') ?? ''
  if (!/^[a-z][a-z0-9-]{3,35}$/.test(id)) return fault(400, 'INVALID_ARGUMENT', 'subscriberId is invalid')
  const exists = () => subscriptions.list(nowMs).some((one) => one.id === id)
  const taken = () => fault(409, 'ALREADY_EXISTS', 'Requested entity already exists')
  const wanted = wantedOf(text)
  if ('status' in wanted) return wanted
  const { url, topics, secret } = wanted
  if (url === undefined || !topics?.length) return fault(400, 'INVALID_ARGUMENT', 'endpointUri, subscriberConfigs')
  if (exists()) return taken()
  const problem = await handshake(call, url, secret ?? null)
  if (problem) return problem
  if (exists()) return taken()
  if (secret !== undefined) remember(secret)
  return operation(id, shown(subscriptions.add({ id, url, topics, key: secret ?? null }, nowMs)))
}

/** Two requests: with the secret 201 (or 200) is wanted, without it 401 or 403. */
async function handshake({ ask }: SubscriptionCall, url: string, secret: string | null): Promise<Reply | undefined> {
  const probe = (more: Record<string, string>) => {
    const headers = {
      ...{ 'content-type': 'application/json', 'user-agent': 'Google-Health-API-Webhooks-Verifier' },
      ...more,
    }
    return ask(url, { method: 'POST', body: JSON.stringify({ type: 'verification' }), headers })
  }
  const known = await probe(secret === null ? {} : { authorization: secret })
  const unknown = await probe({})
  const refused = unknown?.status === 401 || unknown?.status === 403
  if ((known?.status === 201 || known?.status === 200) && refused) return undefined
  return fault(400, 'FAILED_PRECONDITION', 'The endpoint could not be verified.')
}

/** What `updateMask` names; a new address or secret is tried first. */
async function update(call: SubscriptionCall, found: Subscription): Promise<Reply> {
  const mask = (call.query.get('updateMask') ?? '').split(',').map((name) => name.split('.')[0])
  const wanted = wantedOf(call.text)
  if ('status' in wanted) return wanted
  const url = mask.includes('endpointUri') ? (wanted.url ?? found.url) : found.url
  const key = mask.includes('endpointAuthorization') ? (wanted.secret ?? null) : found.key
  if (url !== found.url || key !== found.key) {
    const problem = await handshake(call, url, key)
    if (problem) return problem
    if (key !== null) call.remember(key)
  }
  const topics = mask.includes('subscriberConfigs') ? (wanted.topics ?? found.topics) : found.topics
  Object.assign(found, { url, key, topics, updatedMs: call.nowMs })
  return operation(found.id, shown(found))
}
