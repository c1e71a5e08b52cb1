import { json, type Reply } from '../http.ts'
import type { ApiCall } from '../provider.ts'
import { currentWeight, type Person } from '../truth/person.ts'
import { fault } from './errors.ts'
import { accountOf } from './exercises.ts'

interface Registration {
  readonly memberId: string
  /** By the clock of data; what was uploaded before is not shown. */
  readonly atMs: number
}

/** Who was registered to the application: without it a token reads nothing. */
export class Registrations {
  readonly #registered = new Map<string, Registration>()

  since(person: Person): Registration | undefined {
    return this.#registered.get(person.key)
  }

  /** A token from before the simulator was started again is that of somebody who is registered. */
  welcomeBack({ inherited, person }: ApiCall): void {
    if (inherited && !this.since(person)) this.#registered.set(person.key, { memberId: person.key, atMs: 0 })
  }

  /** Requests to /v3/users. */
  answer(call: ApiCall): Reply {
    const { method, path, person } = call
    const id = path.slice('/v3/users/'.length)
    if (path === '/v3/users')
      return method === 'POST' ? this.#register(call) : fault(405, 'MethodNotAllowedException', 'POST is allowed')
    if (id !== String(accountOf(person))) return fault(403, 'ForbiddenException', 'The token is of another user')
    this.welcomeBack(call)
    const found = this.since(person)
    if (method === 'GET') return found ? json(200, shown(call, found)) : { status: 204 }
    if (method !== 'DELETE') return fault(405, 'MethodNotAllowedException', 'GET and DELETE are allowed')
    this.#registered.delete(person.key)
    call.leave()
    return { status: 204 }
  }

  #register(call: ApiCall): Reply {
    const memberId = memberOf(call.text)
    if (memberId === undefined) return fault(400, 'BadRequestException', 'member-id is missing')
    const isTaken = [...this.#registered.values()].some((other) => other.memberId === memberId)
    if (this.since(call.person) || isTaken) return fault(409, 'ConflictException', 'Already registered')
    const registration = { memberId, atMs: call.nowMs }
    this.#registered.set(call.person.key, registration)
    return json(200, shown(call, registration))
  }
}

function memberOf(text: string): string | undefined {
  try {
    const id = (JSON.parse(text) as Record<string, unknown> | null)?.['member-id']
    return typeof id === 'string' && id !== '' ? id : undefined
  } catch {
    return undefined
  }
}

function shown({ person, nowMs }: ApiCall, { memberId, atMs }: Registration) {
  const { firstName, lastName, birthYear, sex, heightCm } = person
  return {
    ...{ 'polar-user-id': accountOf(person), 'member-id': memberId },
    'registration-date': new Date(atMs).toISOString(),
    ...{ 'first-name': firstName, 'last-name': lastName, birthdate: `${birthYear}-01-01` },
    ...{ gender: sex.toUpperCase(), weight: currentWeight(person, nowMs), height: heightCm, 'extra-info': [] },
  }
}
