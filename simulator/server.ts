import { once, setMaxListeners } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Limit } from './budgets.ts'
import { control } from './control.ts'
import { type Fault, spoiled } from './faults.ts'
import { bodyOf, escaped, json, page, type Reply, readText, send } from './http.ts'
import { requestText } from './notices/request.ts'
import type { Grant } from './oauth/grants.ts'
import type { Played } from './played.ts'
import type { Budget } from './provider.ts'
import { environment, makeWorld, type World, type WorldOptions } from './world.ts'

/** A simulator that listens. */
export interface Simulator {
  /** Its address, without a slash at the end. */
  readonly url: string
  readonly world: World
  /** The variables that point a service at it. */
  readonly env: Record<string, string>
  close(): Promise<void>
}

/**
 * Starts a simulator: 20 people, 400 days, seed 7, a free port, the machine's clock where nothing else is said.
 * @throws Error when the port is taken
 */
export async function startSimulator(options: Partial<WorldOptions> & { port?: number } = {}): Promise<Simulator> {
  const { port = 0, ...given } = options
  const world = makeWorld({ people: 20, days: 400, seed: 7, now: Date.now, ...given })
  const closing = new AbortController()
  // One for each request that is held back.
  setMaxListeners(0, closing.signal)
  const server = createServer((request, response) => {
    handle(world, request, response, closing.signal).catch((error) => {
      if (!closing.signal.aborted) process.stderr.write(`simulator: ${request.url}: ${(error as Error).stack}\n`)
      response.destroy()
    })
  })
  // Longer than a test that runs both sides is ever busy: closing an idle connection would fail a request on its way.
  server.keepAliveTimeout = 65_000
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://localhost:${(server.address() as AddressInfo).port}`
  for (const [name, post] of world.posts) post.start(`${url}/${name}`)
  return { url, world, env: environment(url), close: () => close(world, server, closing) }
}

async function close({ posts }: World, server: Server, closing: AbortController): Promise<void> {
  closing.abort()
  for (const post of posts.values()) post.close()
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
}

async function handle(world: World, request: IncomingMessage, response: ServerResponse, closing: AbortSignal) {
  const url = new URL(request.url ?? '/', `http://${request.headers.host ?? 'localhost'}`)
  const text = await readText(request)
  const [, segment = ''] = url.pathname.split('/')
  const played = world.played.get(segment)
  if (text === undefined) return send(response, json(413, { error: 'The body is too large' }), world.clock.data())
  if (played) return provide({ world, played, request, url, text }, response, closing)
  const method = request.method ?? 'GET'
  const reply = segment === '_control' ? await control(world, method, url, text) : home(world, url)
  return send(response, reply, world.clock.data())
}

interface Incoming {
  readonly world: World
  readonly played: Played
  readonly request: IncomingMessage
  readonly url: URL
  readonly text: string
}

/** A request to a provider, with what its token says. */
interface Asked extends Incoming {
  readonly method: string
  /** Below the provider's segment. */
  readonly path: string
  readonly isToken: boolean
  readonly form: URLSearchParams
  /** The path, or what the provider calls a request whose path does not say what it is for. */
  readonly name: string
  readonly token: string
  /** The consent the request is about, whether its token is good or not. */
  readonly grant: Grant | undefined
  /** What the provider takes for now: of its data, and of tokens and budgets. */
  readonly dataMs: number
  readonly nowMs: number
}

async function provide(incoming: Incoming, response: ServerResponse, closing: AbortSignal): Promise<void> {
  const asked = understood(incoming)
  const { world, name, method, played, url, grant } = asked
  const provider = played.provider.name
  const faults = world.faults.strike({ provider, path: name, person: grant?.person ?? null })
  const find = (kind: Fault['kind']) => faults.find((fault) => fault.kind === kind)
  const skewMs = (find('clock')?.seconds ?? 0) * 1000
  const slow = find('slow')
  if (slow) await delay(slow.ms, undefined, { signal: closing })
  const cut = find('reset') !== undefined
  const behindMs = (find('early')?.seconds ?? 0) * 1000
  const dataMs = asked.dataMs + skewMs - behindMs
  const reply = cut ? undefined : await replied({ ...asked, dataMs }, faults, closing)
  const lost = find('rotated_lost') && asked.isToken
  const bytes = reply && !lost ? (bodyOf(reply)?.bytes.length ?? 0) : 0
  world.log.add({
    ...{ at: new Date(asked.nowMs).toISOString(), provider, method, path: name },
    query: name === asked.path ? url.searchParams : new URLSearchParams([...url.searchParams, ...asked.form]),
    ...{ grant_type: asked.isToken ? asked.form.get('grant_type') : null, person: grant?.person ?? null },
    ...{ grant: grant?.id ?? null, faults: faults.map(({ kind }) => kind), bytes },
    status: reply && !lost ? reply.status : null,
  })
  if (!reply || lost) return void response.destroy()
  if (find('half')) return sendHalf(response, reply)
  send(response, reply, asked.nowMs + skewMs)
}

function understood(incoming: Incoming): Asked {
  const { world, played, request, url, text } = incoming
  const { provider, grants } = played
  const path = url.pathname.slice(provider.name.length + 1)
  const form = new URLSearchParams(text)
  const token = /^bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? ''
  const about = form.get('refresh_token') ?? form.get('token') ?? url.searchParams.get('access_token') ?? ''
  return {
    ...incoming,
    ...{ path, form, token, method: request.method ?? 'GET' },
    name: provider.nameOf?.(path, form) ?? path,
    isToken: path === provider.oauth.tokenPath || provider.oauth.alsoToken?.(path, provider.settings) === true,
    grant: (grants.read(token) ?? grants.read(about))?.grant,
    ...{ dataMs: world.clock.data(), nowMs: world.clock.now() },
  }
}

/** The answer, after the faults that replace it or change what it says. */
async function replied(asked: Asked, faults: readonly Fault[], closing: AbortSignal): Promise<Reply> {
  const { provider } = asked.played
  const refused = faults.map((fault) => replaced(asked, fault)).find((reply) => reply !== undefined)
  if (refused) return refused
  const full = provider.countsAll ? exceeded(asked) : undefined
  const reply = full ?? signIn(asked) ?? (await subscribe(asked, closing)) ?? api(asked, faults)
  return 'json' in reply ? { ...reply, json: spoiled(reply.json, faults, provider.records) } : reply
}

/** What a fault answers instead. */
function replaced(
  { played, name, isToken, dataMs }: Asked,
  { kind, status, code, seconds, streams }: Fault,
): Reply | undefined {
  const { provider } = played
  if (kind === 'html') return page(200, 'Maintenance', '<p>We will be back soon.</p>')
  const ended = { error: 'invalid_grant', description: 'The consent has ended' }
  if (kind === 'revoked')
    return isToken ? (provider.oauth.refused?.(ended) ?? json(400, { error: ended.error })) : provider.unauthorized()
  if (kind === 'rpc') return json(200, { status: code, body: {}, error: `Simulated ${code}` })
  if (kind === 'half_streams') {
    const below = name.slice(provider.apiPath.length)
    const family = provider.family(below)
    const refused = family !== undefined && (streams ? streams.includes(family) : family.length % 2 === 0)
    const usual = () => json(provider.settings.missing_scope_status, { detail: 'Missing scope' })
    return refused ? (provider.missingScope?.(below) ?? usual()) : undefined
  }
  if (kind !== 'status') return undefined
  const [limit] = provider.limits
  if (status !== 429 || !limit) return json(status, { error: `Simulated ${status}` })
  const budget = { limit, used: limit.requests, left: 0, waitSeconds: seconds, resetSeconds: seconds }
  return withHeaders(provider.tooMany(budget, dataMs), provider.budgetHeaders?.([budget]))
}

function withHeaders(reply: Reply, headers: Record<string, string> = {}): Reply {
  return { ...reply, headers: { ...headers, ...reply.headers } }
}

function signIn({ played, method, path, url, request, text, nowMs }: Asked): Reply | undefined {
  return played.signIn.answer({
    ...{ method, path, query: url.searchParams, body: text, nowMs },
    contentType: request.headers['content-type'] ?? '',
    authorization: request.headers.authorization ?? '',
    address: `${url.origin}/${played.provider.name}`,
  })
}

/** What the application asks about its subscriptions; it may be asked something itself while that goes on. */
async function subscribe(asked: Asked, closing: AbortSignal): Promise<Reply | undefined> {
  const { world, played, method, path, url, text, form, request, dataMs, nowMs } = asked
  const { provider, client, grants, subscriptions } = played
  const { notices, settings, apiPath } = provider
  if (!notices?.answer || !path.startsWith(apiPath)) return undefined
  return notices.answer({
    ...{ method, path: path.slice(apiPath.length), query: url.searchParams, text, form },
    header: (name) => String(request.headers[name] ?? ''),
    ...{ client, subscriptions, settings, dataMs, nowMs },
    ...{ person: world.people.get(holder(asked)?.person ?? '') ?? null, scopes: scopesOf(played, holder(asked)) },
    remember: (key) => grants.remember('signing', key, nowMs),
    ask: (address, sent) => requestText(address, sent, { seconds: notices.answerSeconds, closing }),
  })
}

function api(asked: Asked, faults: readonly Fault[]): Reply {
  const { world, played, path, url, method, dataMs, nowMs } = asked
  const { provider, grants } = played
  const below = path.startsWith(provider.apiPath) ? path.slice(provider.apiPath.length) : ''
  const open = provider.isOpen?.(below) === true && asked.request.headers.authorization !== undefined
  const grant = holder(asked)
  const person = open ? [...world.people.values()][0] : world.people.get(grant?.person ?? '')
  if (!person || (!grant && !open)) return provider.unauthorized()
  const budgets = provider.countsAll ? [] : count(asked, grant)
  const refused = budgets.find(({ waitSeconds }) => waitSeconds > 0)
  const has = (kind: Fault['kind']) => faults.some((fault) => fault.kind === kind)
  const reply = refused
    ? provider.tooMany(refused, dataMs)
    : provider.answer({
        ...{ method, path: below, query: url.searchParams, person, settings: provider.settings, nowMs: dataMs },
        ...{ text: asked.text, form: asked.form, inherited: grant?.inherited ?? false },
        address: `${url.origin}/${provider.name}${provider.apiPath}`,
        header: (name) => String(asked.request.headers[name] ?? ''),
        hears: (topic) => played.subscriptions.list(nowMs).some(({ topics }) => topics?.includes(topic) !== false),
        scopes: scopesOf(played, grant),
        nextPage: has('next_itself') ? 'itself' : has('next_elsewhere') ? 'elsewhere' : 'normal',
        leave: () => {
          for (const one of grants.live()) if (one.person === person.key) grants.end(one)
        },
      })
  return withHeaders(reply, provider.budgetHeaders?.(budgets))
}

/** The consent whose access token came along and is good. */
function holder({ played, token, nowMs }: Asked): Grant | undefined {
  const { provider, grants } = played
  const grant = grants.access(token, nowMs, provider.oauth.accessEndsOnRefresh)
  if (grant && provider.oauth.graceEndsOnUse) grants.used(token)
  return grant
}

/** What may be read, without the provider's prefix. */
function scopesOf({ provider }: Played, grant: Grant | undefined): ReadonlySet<string> {
  return new Set(grant?.scopes.map((scope) => scope.slice(provider.oauth.scopePrefix.length)))
}

/** Counts a request of any kind but those of browsers; the refusal where a limit is used up. */
function exceeded(asked: Asked): Reply | undefined {
  const { provider } = asked.played
  if (asked.path === provider.oauth.authorizePath) return undefined
  const refused = count(asked, asked.grant).find(({ waitSeconds }) => waitSeconds > 0)
  return refused && provider.tooMany(refused, asked.dataMs)
}

/** Counts a request, unless a limit is used up. */
function count({ played, path, nowMs }: Asked, grant: Grant | undefined): Budget[] {
  const { provider, budgets, grants } = played
  const members = provider.limits.some(({ perMember }) => perMember) ? grants.members() : 0
  const limits = provider.limits.map((limit, i) => {
    const requests = provider.settings.limits?.[i] ?? limit.requests + (limit.perMember ?? 0) * members
    const key = limit.per === 'token' ? `token ${grant?.id ?? 'sandbox'}` : 'application'
    const kind = limit.kind === undefined ? '' : `${limit.kind} `
    return { limit: { ...limit, requests }, key: `${key} ${kind}${limit.seconds} s` }
  })
  const counted = limits.filter(({ limit }) => limit.path === undefined || path.includes(limit.path))
  return budgets.take(counted, nowMs).map((use, i) => ({ ...use, limit: counted[i]?.limit as Limit }))
}

/** Promises the whole body, sends half of it and cuts the connection. */
function sendHalf(response: ServerResponse, reply: Reply): void {
  const body = bodyOf(reply) ?? { bytes: Buffer.from('{"data": ['), type: 'application/json' }
  response.writeHead(reply.status, { 'content-type': body.type, 'content-length': body.bytes.length })
  response.write(body.bytes.subarray(0, Math.floor(body.bytes.length / 2)), () => response.destroy())
}

/** The page at the address of the simulator. */
function home(world: World, url: URL): Reply {
  if (url.pathname === '/connected') return page(200, 'Connected', '<p>You are back in the application.</p>')
  if (url.pathname !== '/') return json(404, { error: 'Not there' })
  const people = [...world.people.values()].map(
    ({ key, firstName, lastName, homeZone }) =>
      `<li><a href="/_control/truth?person=${escaped(key)}">${escaped(`${firstName} ${lastName}`)}</a>, ${escaped(homeZone)}</li>`,
  )
  const titles = [...world.played.values()].map(({ provider }) => provider.title)
  const names = new Intl.ListFormat('en-GB').format(titles)
  return page(
    200,
    'Simulated providers',
    `<p>Plays ${escaped(names)} for these people, who are made up. <a href="/_control/settings">Settings</a>,
<a href="/_control/log">requests</a>, <a href="/_control/faults">faults</a>.</p><ul>${people.join('\n')}</ul>`,
  )
}
