import { timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { eventNames } from '../catalogue/events.ts'
import { scopes } from '../catalogue/scopes.ts'
import { ConfigError, loadConfig } from '../config.ts'
import { counted } from '../counted.ts'
import { signature } from './sign.ts'

const USAGE = `npm run webhooks:listen -- [--port <port>] [<filters>] [--bodies]
npm run webhooks:listen -- --feed [--after <cursor>] [<filters>] [--bodies]

Prints each event that a running Pulsebase delivers, one line each, until Ctrl-C. It creates a temporary
endpoint at http://127.0.0.1:<port> and verifies every signature. With --feed it needs no endpoint, and reads the event
feed from 30 days ago or from a cursor on.

  --url <address>                      of Pulsebase; API_BASE_URL, else http://localhost:8000
  --email <email> --password <text>    login of a developer; ADMIN_EMAIL, ADMIN_PASSWORD
  --token <token>                      of a developer, instead of a login
  --key <key>                          API key, enough for --feed; BOOTSTRAP_API_KEY
  --types <name,…> --user <id>         filters
  --scope <live or historical>
  --bodies                             prints whole events
  --help                               prints this`

const NOT_HERE = `Pulsebase does not deliver to this machine by default. Start it with
  WEBHOOKS_ALLOW_HTTP=true WEBHOOKS_ALLOW_NETWORKS=127.0.0.0/8
or read the events without an endpoint: --feed.`

/** What receivers tolerate between the signature and now (contract 10.6). */
const TOLERANCE_SECONDS = 300
const POLL_MS = 1000

/** A command that cannot be executed; the message is for the developer. */
class UsageError extends Error {}

/** A request that was refused. */
class Refused extends UsageError {
  readonly status: number
  constructor(status: number, detail: string | { msg: string }[]) {
    super(typeof detail === 'string' ? detail : detail.map(({ msg }) => msg).join('; '))
    this.status = status
  }
}

const text = { type: 'string' } as const
const flag = { type: 'boolean' } as const
const help = { type: 'boolean', short: 'h' } as const
const options = {
  ...{ url: text, email: text, password: text, token: text, key: text },
  ...{ port: text, types: text, user: text, scope: text, after: text, feed: flag, bodies: flag, help },
}

function asked(args: string[]) {
  try {
    return parseArgs({ args, options }).values
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${USAGE}`)
  }
}

type Asked = ReturnType<typeof asked>

interface Event {
  id: string
  type: string
  scope?: string
  data: { user_id?: string | null }
}

function print(event: Event, bytes: number, whole: boolean): void {
  const user = event.data.user_id ?? '-'
  process.stdout.write(`${new Date().toISOString()} ${event.type} ${event.id} user ${user} ${counted(bytes, 'byte')}\n`)
  if (whole) process.stdout.write(`${JSON.stringify(event, undefined, 2)}\n`)
}

/** Sends requests with the given credentials, and renews an expired login. */
function openSession({ url, email, password, token, key }: Asked) {
  let credential: Record<string, string> | undefined
  async function login(): Promise<Record<string, string>> {
    if (token) return { Authorization: `Bearer ${token}` }
    if (email && password) {
      const body = new URLSearchParams({ username: email, password })
      const answer = await fetch(`${url}/api/v1/auth/login`, { method: 'POST', body })
      return { Authorization: `Bearer ${(await read<{ access_token: string }>(answer)).access_token}` }
    }
    if (key) return { 'X-Service-API-Key': key }
    throw new UsageError('Give --password or --token; for --feed, --key is enough.')
  }
  return async <T>(method: string, path: string, body?: object): Promise<T> => {
    const send = async () => {
      credential ??= await login()
      const headers = { ...credential, ...(body && { 'Content-Type': 'application/json' }) }
      return fetch(`${url}/api/v1/webhooks${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    }
    const answer = await send()
    if (answer.status !== 401) return read<T>(answer)
    credential = undefined
    return read<T>(await send())
  }
}

type Call = ReturnType<typeof openSession>

async function read<T>(answer: Response): Promise<T> {
  const body = (await answer.text()) || '{}'
  if (answer.ok) return JSON.parse(body) as T
  const isJson = answer.headers.get('content-type')?.startsWith('application/json')
  throw new Refused(answer.status, isJson ? JSON.parse(body).detail : `${answer.status} ${answer.statusText}`)
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Whether a delivery was signed with this secret, and recently. */
function isSigned({ headers }: IncomingMessage, body: Buffer, secret: string): boolean {
  const seconds = Number(headers['hook-timestamp'])
  if (!(Math.abs(Date.now() / 1000 - seconds) <= TOLERANCE_SECONDS)) return false
  const expected = Buffer.from(signature([secret], String(headers['hook-id']), seconds, body))
  return String(headers['hook-signature'])
    .split(' ')
    .some((entry) => entry.length === expected.length && timingSafeEqual(Buffer.from(entry), expected))
}

/** Receives deliveries at a temporary endpoint until `stop`, and removes it. */
async function receive(call: Call, { port, types, user, scope, bodies }: Asked, stop: AbortSignal): Promise<void> {
  let secret = ''
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request)
    const signed = isSigned(request, body, secret)
    response.writeHead(signed ? 204 : 401).end()
    if (!signed) return process.stdout.write('refused a delivery: its signature does not match\n')
    print({ id: String(request.headers['hook-id']), ...JSON.parse(body.toString()) }, body.length, bodies === true)
  })
  server.listen(Number(port ?? 0), '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const fields = { url, description: 'npm run webhooks:listen', user_id: user ?? null }
  const filters = { filter_types: types?.split(','), filter_scope: scope }
  const { id } = await call<{ id: string }>('POST', '/endpoints', { ...fields, ...filters }).catch((error) => {
    throw error instanceof Refused && error.status === 422 && /^Value error, url/.test(error.message)
      ? new UsageError(`${error.message}\n${NOT_HERE}`)
      : error
  })
  try {
    secret = (await call<{ key: string }>('GET', `/endpoints/${id}/secret`)).key
    process.stdout.write(`listening at ${url} as ${id}\n`)
    if (!stop.aborted) await once(stop, 'abort')
  } finally {
    await call('DELETE', `/endpoints/${id}`)
    server.close()
    server.closeAllConnections()
  }
}

/** Reads the event feed until `stop`, and prints where to continue. */
async function follow(call: Call, { after, types, user, scope, bodies }: Asked, stop: AbortSignal): Promise<void> {
  const unknown = types?.split(',').find((name) => !eventNames.some((known) => known === name))
  if (unknown !== undefined) throw new UsageError(`Unknown event: ${unknown}.`)
  if (scope !== undefined && !scopes.some((known) => known === scope)) throw new UsageError(`Unknown scope: ${scope}.`)
  const wanted = types && new Set(types.split(','))
  let next = after
  process.stdout.write('following the event feed\n')
  while (!stop.aborted) {
    const query = next === undefined ? '' : `?after=${encodeURIComponent(next)}`
    const page = await call<{ data: Event[]; next: string; done: boolean }>('GET', `/events${query}`)
    for (const event of page.data) {
      if (wanted && !wanted.has(event.type)) continue
      if (user && event.data.user_id !== user) continue
      if (scope && (event.scope ?? scope) !== scope) continue
      const body = JSON.stringify({ type: event.type, scope: event.scope, data: event.data })
      print(event, Buffer.byteLength(body), bodies === true)
    }
    next = page.next
    if (page.done) await delay(POLL_MS, undefined, { signal: stop }).catch(() => {})
  }
  process.stdout.write(`continue with --after ${next}\n`)
}

async function main(): Promise<void> {
  const given = asked(process.argv.slice(2))
  if (given.help) {
    process.stdout.write(`${USAGE}\n`)
    return
  }
  const config = loadConfig(process.env)
  const values = {
    ...{ email: config.adminEmail, password: config.adminPassword, key: config.bootstrapApiKey },
    ...given,
    url: (given.url ?? config.apiBaseUrl).replace(/\/+$/, ''),
  } as Asked
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort())
  const call = openSession(values)
  await (values.feed ? follow(call, values, stop.signal) : receive(call, values, stop.signal))
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    const known = error instanceof UsageError || error instanceof ConfigError
    const reason = (error as { cause?: Error }).cause?.message ?? (error as Error).message
    process.stderr.write(`${known ? (error as Error).message : `Could not listen: ${reason}`}\n`)
    process.exit(1)
  },
)
