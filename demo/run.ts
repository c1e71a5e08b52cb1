import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { DAY_MS } from '../simulator/zones.ts'
import { type Api, Refused } from './client.ts'
import { formerPhone, messOf } from './mess.ts'
import { externalId, type Person, people } from './people.ts'
import { DAYS, dateAt, type Upload, uploadsOf } from './uploads.ts'

/** The application whose backend lets the phones of the demo in. */
const APPLICATION = 'Demo data'
/** Uploads at the same time. */
const AT_ONCE = 4
const POLL_MS = 250

export interface RunOptions {
  readonly api: Api
  readonly seed?: string
  readonly nowMs?: number
  /** How many days; by default a year. */
  readonly days?: number
  /** Called with the share that is done, 0 to 1. */
  onProgress?(share: number): void
}

/** What a run came to. */
export interface Added {
  readonly people: readonly { name: string; userId: string }[]
  readonly items: number
  readonly uploads: number
}

interface Member {
  readonly person: Person
  readonly userId: string
  readonly token: string
  readonly isNew: boolean
}

/**
 * Adds the three people with a year of data that ends now, or what is new since the last time, and waits until all of
 * it is imported. @throws Refused, TypeError
 */
export async function addDemo(options: RunOptions): Promise<Added> {
  const { api, seed, nowMs = Date.now(), days = DAYS, onProgress = () => {} } = options
  const credentials = await application(api)
  const members: Member[] = []
  for (const person of people(seed)) members.push(await memberOf(api, person, credentials))
  const wanted = await Promise.all(
    members.map(async (member) => ({
      ...{ person: member.person, days, nowMs, syncSessionId: randomUUID() },
      ...(await knownOf(api, member, nowMs, days)),
    })),
  )
  let daysDone = 0
  let items = 0
  let uploads = 0
  const queue = inTurn(wanted.map(uploadsOf))
  const work = async () => {
    for (let next = queue.next(); !next.done; next = queue.next()) {
      const upload = next.value
      if (upload.items > 0) await send(api, memberFor(members, upload), upload.body)
      uploads += upload.items > 0 ? 1 : 0
      items += upload.items
      daysDone += upload.days
      onProgress((daysDone / days / members.length) * 0.95)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  for (const member of members) if (member.isNew) await makeMess(api, member, { nowMs, days })
  await imported(api, members)
  onProgress(1)
  const added = members.map(({ person, userId }) => ({ name: `${person.firstName} ${person.lastName}`, userId }))
  return { people: added, items, uploads }
}

/** Takes one from each in turn, until all have ended. */
function* inTurn<T>(sources: Generator<T>[]): Generator<T> {
  let open = sources
  while (open.length > 0) {
    const next = open.map((source) => ({ source, result: source.next() }))
    for (const { result } of next) if (!result.done) yield result.value
    open = next.filter(({ result }) => !result.done).map(({ source }) => source)
  }
}

function memberFor(members: readonly Member[], { person }: Upload): Member {
  const found = members.find((one) => one.person.key === person.key)
  if (!found) throw new Error(`nobody is called ${person.key}`)
  return found
}

type Credentials = Readonly<{ app_id: string; app_secret: string }>

/** The application of an earlier run with a new secret, or a new one. */
async function application(api: Api): Promise<Credentials> {
  const known = await ownApplication(api)
  return known
    ? await api.call('POST', `/applications/${known}/rotate-secret`)
    : await api.call('POST', '/applications', { body: { name: APPLICATION } })
}

async function ownApplication(api: Api): Promise<string | undefined> {
  const all = await api.call<{ name: string; app_id: string }[]>('GET', '/applications')
  return all.find(({ name }) => name === APPLICATION)?.app_id
}

async function userIdOf(api: Api, person: Person): Promise<string | undefined> {
  const path = `/users?external_user_id=${encodeURIComponent(externalId(person))}`
  const { items } = await api.call<{ items: { id: string }[] }>('GET', path)
  return items[0]?.id
}

/** A person's user, made unless there is one, with the token of a phone. */
async function memberOf(api: Api, person: Person, { app_id, app_secret }: Credentials): Promise<Member> {
  const known = await userIdOf(api, person)
  const fields = { first_name: person.firstName, last_name: person.lastName, external_user_id: externalId(person) }
  const userId = known ?? (await api.call<{ id: string }>('POST', '/users', { body: fields })).id
  if (!known) {
    const body = { birth_date: person.birthDate, sex: person.sex, gender: person.sex }
    await api.call('PUT', `/users/${userId}/personal-record`, { body })
  }
  const asking = { body: { app_id, app_secret } }
  const { access_token: token } = await api.call<{ access_token: string }>('POST', `/users/${userId}/token`, asking)
  return { person, userId, token, isNew: !known }
}

/** What the service has of a person already. */
async function knownOf(api: Api, { person, userId, isNew }: Member, nowMs: number, days: number) {
  const stored = new Map<number, number>()
  if (isNew) return { stored, fromDay: 0 }
  const user = await api.call<{ last_synced_at: string | null }>('GET', `/users/${userId}`)
  const today = dateAt(person, nowMs)
  const date = (day: number) => new Date(day * DAY_MS).toISOString().slice(0, 10)
  const range = `start_date=${date(today - Math.min(days, 365))}&end_date=${date(today)}`
  const coverage = await api.call<{ days: { day: string; provider: string; stored: number }[] }>(
    'GET',
    `/users/${userId}/coverage?${range}`,
  )
  for (const { day, provider, stored: items } of coverage.days) {
    if (provider !== person.provider) continue
    const number = Date.parse(day) / DAY_MS
    stored.set(number, (stored.get(number) ?? 0) + items)
  }
  const lastMs = user.last_synced_at ? Date.parse(user.last_synced_at) : 0
  // A night belongs to the day after, and a watch takes a while.
  return { stored, fromDay: dateAt(person, Math.min(lastMs, nowMs)) - 1 }
}

const compress = promisify(gzip)

async function send(api: Api, { userId, token }: Member, text: string): Promise<void> {
  const body = await compress(text, { level: 1 })
  const headers = { 'Content-Encoding': 'gzip', 'X-Request-Id': randomUUID() }
  await api.call('POST', `/sdk/users/${userId}/sync`, { body, token, headers })
}

/** What goes wrong on purpose, once. */
async function makeMess(api: Api, member: Member, { nowMs, days }: { nowMs: number; days: number }): Promise<void> {
  const mess = messOf(member.person, nowMs)
  if (mess) await send(api, member, JSON.stringify(mess))
  const former = formerPhone(member.person, dateAt(member.person, nowMs) - days + 1)
  if (!former) return
  await send(api, member, JSON.stringify(former.body))
  await api.call('DELETE', `/users/${member.userId}/connections/${former.provider}`, { token: member.token })
}

/** Waits until no upload is queued. */
async function imported(api: Api, members: readonly Member[]): Promise<void> {
  for (const { userId } of members) {
    const isWaiting = async () => {
      const batches = await api.call<{ status: string }[]>('GET', `/sdk/users/${userId}/sync/batches?limit=200`)
      return batches.some(({ status }) => status === 'queued')
    }
    while (await isWaiting()) await delay(POLL_MS)
  }
}

/** Removes the three people with everything of theirs, and the application. Returns how many people there were. */
export async function removeDemo(api: Api): Promise<number> {
  let removed = 0
  for (const person of people()) {
    const userId = await userIdOf(api, person)
    if (userId === undefined) continue
    await api.call('DELETE', `/users/${userId}`).catch((error: unknown) => {
      if (!(error instanceof Refused) || error.status !== 404) throw error
    })
    removed++
  }
  const known = await ownApplication(api)
  if (known) await api.call('DELETE', `/applications/${known}`)
  return removed
}
