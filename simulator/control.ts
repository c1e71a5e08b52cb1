import { json, type Reply } from './http.ts'
import { isAddress } from './notices/subscriptions.ts'
import type { Played } from './played.ts'
import { changeSettings } from './settings.ts'
import type { Person } from './truth/person.ts'
import { allDays, personTruth, truthOf } from './truth/report.ts'
import type { World } from './world.ts'
import { dateOf, dayOf } from './zones.ts'

/** A request to /_control; the body is a JSON object, {} without one. */
interface ControlRequest {
  readonly world: World
  readonly query: URLSearchParams
  readonly body: Record<string, unknown>
  /** What follows the name, such as the id of a fault. */
  readonly rest: string
}

/** A request that cannot be fulfilled; the message says why. */
class ControlError extends Error {}

type Handler = (request: ControlRequest) => unknown

const handlers: Record<string, Handler> = {
  'GET people': ({ world }) => [...world.people.values()].map((person) => shown(world, person)),
  'GET truth': truth,
  'GET clock': ({ world }) => clockOf(world),
  'POST clock': moveClock,
  'GET faults': ({ world }) => world.faults.list(),
  'POST faults': ({ world, body }) => world.faults.add(body, [...world.played.keys()]),
  'DELETE faults': ({ world, rest }) => ({ removed: world.faults.remove(rest === '' ? null : Number(rest)) }),
  'GET notices': ({ world, query }) => {
    const after = Number(query.get('after') ?? 0)
    const found = named(world, query.get('provider')).map(({ provider }) => world.posts.get(provider.name)?.list(after))
    return found.flatMap((list) => list ?? []).sort((a, b) => a.number - b.number)
  },
  'POST notices': async ({ world }) => {
    await Promise.all([...world.posts.values()].map((post) => post.run()))
    return {}
  },
  'DELETE notices': ({ world }) => {
    for (const post of world.posts.values()) post.clear()
    return {}
  },
  'GET subscriptions': ({ world }) => [...world.played.values()].flatMap((one) => subscriptionsOf(world, one)),
  'POST subscriptions': subscribe,
  'DELETE subscriptions': unsubscribe,
  'POST scopes': changeScopes,
  'GET log': ({ world, query }) => world.log.list(Number(query.get('after') ?? 0), query.get('provider')),
  'DELETE log': ({ world }) => {
    world.log.clear()
    return {}
  },
  'GET secrets': ({ world }) => world.secrets,
  'GET settings': ({ world }) =>
    Object.fromEntries([...world.played].map(([name, one]) => [name, one.provider.settings])),
  'POST settings': ({ world, body: { provider, ...changes } }) => {
    const { settings } = playedOf(world, provider).provider
    changeSettings(settings, changes)
    return settings
  },
  'POST revoke': (request) => changeGrants(request, ({ grants }, grant) => grants.end(grant)),
  'POST expire': (request) =>
    changeGrants(request, (_, grant) => {
      grant.expired = grant.generation
    }),
  'GET budgets': ({ world }) =>
    Object.fromEntries([...world.played].map(([name, one]) => [name, one.budgets.report()])),
}

/** Answers a request to /_control (docs/simulator.md). */
export async function control(world: World, method: string, url: URL, text: string): Promise<Reply> {
  const [, , name = '', rest = ''] = url.pathname.split('/')
  if (name === '')
    return json(200, { seed: world.seed, people: [...world.people.keys()], requests: Object.keys(handlers) })
  const handler = handlers[`${method} ${name}`]
  if (!handler)
    return json(404, { error: `Not there: ${method} ${url.pathname}. There is: ${Object.keys(handlers).join(', ')}` })
  try {
    return json(200, await handler({ world, query: url.searchParams, body: bodyOf(text), rest }))
  } catch (error) {
    return json(400, { error: (error as Error).message })
  }
}

function bodyOf(text: string): Record<string, unknown> {
  const body: unknown = text === '' ? {} : JSON.parse(text)
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw new ControlError('Give a JSON object')
  return body as Record<string, unknown>
}

function shown({ played, clock }: World, person: Person) {
  const providers = [...played.values()].map(({ provider }) => provider)
  return personTruth(person, providers, clock.data())
}

function personOf({ people }: World, key: unknown): Person {
  const person = people.get(String(key))
  if (!person) throw new ControlError(`Unknown person: ${key}. Known: ${[...people.keys()].join(', ')}`)
  return person
}

function playedOf({ played }: World, name: unknown): Played {
  const found = played.get(String(name))
  if (!found) throw new ControlError(`Unknown provider: ${name}. Known: ${[...played.keys()].join(', ')}`)
  return found
}

/** A provider, or all where none is named. */
function named(world: World, name: unknown): Played[] {
  return name === undefined || name === null ? [...world.played.values()] : [playedOf(world, name)]
}

function truth({ world, query }: ControlRequest) {
  const person = personOf(world, query.get('person'))
  const nowMs = world.clock.data()
  const day = (name: string, otherwise: number) => {
    const given = query.get(name)
    const found = given === null ? otherwise : dayOf(given)
    if (Number.isNaN(found)) throw new ControlError(`${name} is no date: ${given}`)
    return found
  }
  const all = allDays(person, nowMs)
  const providers = [...world.played.values()].map(({ provider }) => provider)
  const days = { first: day('from', all.first), last: Math.min(day('to', all.last), all.last) }
  const flags = { minutes: query.get('minutes') === 'true', samples: query.get('samples') === 'true' }
  return truthOf({ person, providers, ...days, nowMs, ...flags })
}

function clockOf({ clock }: World) {
  const now = new Date(clock.data()).toISOString()
  return { now, offset_seconds: clock.offsetMs / 1000, machine: new Date(clock.now()).toISOString() }
}

/** `now`, an instant; `offset_seconds` from the machine's clock; or `advance_seconds` and `advance_days`. */
function moveClock({ world, body }: ControlRequest) {
  const { clock } = world
  const known = ['now', 'offset_seconds', 'advance_seconds', 'advance_days']
  const unknown = Object.keys(body).find((name) => !known.includes(name))
  if (unknown !== undefined) throw new ControlError(`Unknown: ${unknown}. Known: ${known.join(', ')}`)
  const number = (name: string) => {
    const value = body[name] ?? 0
    if (typeof value !== 'number' || !Number.isFinite(value)) throw new ControlError(`${name} is no number`)
    return value
  }
  const start = body.offset_seconds === undefined ? clock.offsetMs : number('offset_seconds') * 1000
  const nowMs = body.now === undefined ? clock.now() + start : Date.parse(String(body.now))
  const movedMs = nowMs + number('advance_seconds') * 1000 + number('advance_days') * 86_400_000
  const year = Number(dateOf(Math.floor(movedMs / 86_400_000) || 0).slice(0, 4))
  if (Number.isNaN(movedMs) || year < 2000 || year > 2100) throw new ControlError('now is no instant of this century')
  clock.offsetMs = Math.round(movedMs - clock.now())
  for (const post of world.posts.values()) post.rewind()
  return clockOf(world)
}

type Change = (played: Played, grant: ReturnType<Played['grants']['live']>[number]) => void

/** Changes the consents of a provider (all, without one) and person (all, without one). */
function changeGrants({ world, body }: ControlRequest, change: Change) {
  const wanted = named(world, body.provider)
  const person = body.person === undefined ? undefined : personOf(world, body.person).key
  const found = wanted.flatMap((played) => played.grants.live().map((grant) => ({ played, grant })))
  const theirs = found.filter(({ grant }) => (person ?? grant.person) === grant.person)
  for (const { played, grant } of theirs) change(played, grant)
  return { grants: theirs.length }
}

function subscriptionsOf({ clock }: World, { provider, subscriptions }: Played) {
  const at = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString())
  return subscriptions
    .list(clock.now())
    .map(({ id, person, url, topics, ping, active, expiresMs, failingSinceMs }) => ({
      ...{ provider: provider.name, person, id, url, topics, ping, active },
      ...{ expires: at(expiresMs), failing_since: at(failingSinceMs) },
    }))
}

/** What an operator enters in a provider's dashboard. */
function subscribe(request: ControlRequest) {
  if (request.rest !== '') return resubscribe(request)
  const { world, body } = request
  const { provider, subscriptions } = playedOf(world, body.provider)
  const { url, topics = null, ping = false, with_secret: secret } = body
  if (!provider.notices?.byHand) throw new ControlError(`${provider.title} has requests for subscriptions`)
  if (!isAddress(url)) throw new ControlError(`url is no address: ${url}`)
  if (topics !== null && !isNames(topics)) throw new ControlError('topics is a list of names')
  const address = secret === true ? (provider.notices.addressed?.(url) ?? url) : url
  const { id } = subscriptions.add({ url: address, topics, ping: ping === true }, world.clock.now())
  return { provider: provider.name, id, url: address }
}

/** What an operator does about one of them: where it leads, what it is for, and whether it is on hold. */
function resubscribe({ world, body, rest }: ControlRequest) {
  const all = [...world.played.values()]
  const found = all.map(({ subscriptions }) => subscriptions.find(rest, world.clock.now())).find((one) => one)
  if (!found) throw new ControlError(`There is no such subscription: ${rest}`)
  const { url = found.url, topics = found.topics, ping = found.ping, active = found.active } = body
  if (!isAddress(url)) throw new ControlError(`url is no address: ${url}`)
  if (topics !== null && !isNames(topics)) throw new ControlError('topics is a list of names')
  Object.assign(found, { url, topics, ping: ping === true, active: active === true, failingSinceMs: null })
  return { id: found.id, url, topics, ping: found.ping, active: found.active }
}

function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}

/** What a person ticks or unticks in their account. */
function changeScopes({ world, body }: ControlRequest) {
  const { provider, grants } = playedOf(world, body.provider)
  const person = personOf(world, body.person)
  const { scopes } = body
  const known = Object.keys(provider.oauth.scopes)
  if (!isNames(scopes) || !scopes.every((scope) => known.includes(scope)))
    throw new ControlError(`scopes is a list of: ${known.join(', ')}`)
  const theirs = grants.live().filter((grant) => grant.person === person.key)
  for (const grant of theirs) grant.scopes = scopes.map((scope) => provider.oauth.scopePrefix + scope)
  if (theirs.length > 0) world.posts.get(provider.name)?.changed(person, scopes)
  return { grants: theirs.length }
}

/** As if somebody had deleted them at the provider: one, those of a provider, or all. */
function unsubscribe({ world, query, rest }: ControlRequest) {
  const wanted = named(world, query.get('provider'))
  let removed = 0
  for (const { subscriptions } of wanted)
    for (const one of subscriptions.list(world.clock.now()))
      if (rest === '' || one.id === rest) {
        subscriptions.remove(one)
        removed++
      }
  return { removed }
}
