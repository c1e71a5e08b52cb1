import { json, type Reply } from './http.ts'
import { changeSettings } from './settings.ts'
import type { Person } from './truth/person.ts'
import { allDays, personTruth, truthOf } from './truth/report.ts'
import type { Played, World } from './world.ts'
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
  'POST revoke': (request) =>
    grants(request, (grant) => {
      grant.ended = true
    }),
  'POST expire': (request) =>
    grants(request, (grant) => {
      grant.expired = grant.generation
    }),
  'GET budgets': ({ world }) =>
    Object.fromEntries([...world.played].map(([name, one]) => [name, one.budgets.report()])),
}

/** Answers a request to /_control (docs/simulator.md). */
export function control(world: World, method: string, url: URL, text: string): Reply {
  const [, , name = '', rest = ''] = url.pathname.split('/')
  if (name === '')
    return json(200, { seed: world.seed, people: [...world.people.keys()], requests: Object.keys(handlers) })
  const handler = handlers[`${method} ${name}`]
  if (!handler)
    return json(404, { error: `Not there: ${method} ${url.pathname}. There is: ${Object.keys(handlers).join(', ')}` })
  try {
    return json(200, handler({ world, query: url.searchParams, body: bodyOf(text), rest }))
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
  return truthOf({ person, providers, ...days, nowMs, minutes: query.get('minutes') === 'true' })
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
  return clockOf(world)
}

type Change = (grant: ReturnType<Played['grants']['live']>[number]) => void

/** Changes the consents of a provider (all, without one) and person (all, without one). */
function grants({ world, body }: ControlRequest, change: Change) {
  const wanted = body.provider === undefined ? [...world.played.values()] : [playedOf(world, body.provider)]
  const person = body.person === undefined ? undefined : personOf(world, body.person).key
  const found = wanted.flatMap((one) => one.grants.live()).filter((grant) => (person ?? grant.person) === grant.person)
  for (const grant of found) change(grant)
  return { grants: found.length }
}
