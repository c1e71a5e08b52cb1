import { setTimeout as delay } from 'node:timers/promises'

export interface ConnectOptions {
  /** Address of a running Pulsebase, without a slash at its end. */
  readonly service: string
  /** API key of it. */
  readonly key: string
  /** Address of the simulator. */
  readonly simulator: string
  /** Days of history that are asked for where the service does not ask on its own. */
  readonly historyDays: number
  /** How many people are connected, the first ones; all where nothing is said. */
  readonly people?: number
  /** How many providers each of them gets; all where nothing is said. */
  readonly each?: number
  say(line: string): void
}

interface Person {
  readonly key: string
  readonly first_name: string
  readonly last_name: string
  readonly accounts: Readonly<Record<string, string>>
}

/** SyncRunSummary of contract 7.5, as far as it is used. */
interface Run {
  readonly run_id: string
  readonly provider: string
  /** `backfill`: the provider sends the past by itself, which takes minutes. */
  readonly source?: string
  readonly status: string
  readonly items_processed: number | null
  readonly error: string | null
}

/** People who are connected at the same time. */
const AT_ONCE = 4
/** How long a service that asks for history on its own may take to begin. */
const BEGIN_MS = 2000
/** How long data is waited for. */
const PATIENCE_MS = 600_000

/** More requests than anybody makes, for as many limits as a provider may have. */
const UNLIMITED = Array.from({ length: 5 }, () => 1_000_000)

/** An answer that is no success. */
class Refused extends Error {
  readonly status: number
  constructor(status: number, text: string) {
    super(`${status} ${text.slice(0, 300)}`)
    this.status = status
  }
}

type Api = <T>(method: string, path: string, body?: object) => Promise<T>

/**
 * Makes people of a simulator users of a service, connects each to some providers through their sign-in, waits for the
 * data and says where it is. Who is connected already is asked to be synchronised. Answers how many connections failed.
 * @throws Refused, TypeError when service or simulator cannot be reached
 */
export async function connectPeople(options: ConnectOptions): Promise<number> {
  const { service, simulator, historyDays, say } = options
  const { seed } = await read<{ seed: number }>(await fetch(`${simulator}/_control`))
  const everybody = await read<Person[]>(await fetch(`${simulator}/_control/people`))
  const people = everybody.slice(0, options.people ?? everybody.length)
  await liftLimits(simulator)
  const api = openApi(options)
  const providers = await offered(api, Object.keys(people[0]?.accounts ?? {}), say)
  await enterAddresses(service, simulator, providers)
  const left = people.map((person, index) => ({ person, providers: dealt(providers, index, options.each) }))
  let failed = 0
  const work = async () => {
    for (let next = left.shift(); next; next = left.shift()) {
      const { person } = next
      const userId = await userOf(api, person, `simulated-${seed}-${person.key}`)
      const outcomes: string[] = []
      for (const provider of next.providers) {
        const outcome = await connected(historyDays, api, { person: person.key, userId, provider }).catch(
          (error: Error) => {
            failed++
            return `failed: ${error.message}`
          },
        )
        outcomes.push(`${provider} ${outcome}`)
      }
      say(`${person.first_name} ${person.last_name}: ${outcomes.join('; ')}`)
      say(`  ${service}/api/v1/users/${userId}/events/sleep?${lastDays()}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  const outcome = failed === 0 ? 'everybody is connected' : `${counted(failed, 'connection')} failed`
  say('The addresses need the API key: curl -H "X-Service-API-Key: $KEY" "<address>"')
  say(`${counted(people.length, 'user')}: ${outcome}.`)
  return failed
}

/** From one provider of a person to the next in the list: what stands side by side is alike. */
const STEP = 4

/** The providers of the person with an index: so many (all, without a number) that nobody has the same ones. */
export function dealt(providers: readonly string[], index: number, each = providers.length): string[] {
  const found: string[] = []
  for (let at = index; found.length < Math.min(each, providers.length); at += STEP) {
    const free = providers.findIndex((_, i) => !found.includes(providers[(at + i) % providers.length] ?? ''))
    found.push(providers[(at + free) % providers.length] ?? '')
  }
  return each < providers.length ? found : [...providers]
}

/** Those that the service has switched on; it is said which it has not. */
async function offered(api: Api, providers: readonly string[], say: (line: string) => void): Promise<string[]> {
  const listed = await api<{ provider: string }[]>('GET', '/oauth/providers?enabled_only=true&cloud_only=true')
  const isOffered = (name: string) => listed.some(({ provider }) => provider === name)
  const missing = providers.filter((name) => !isOffered(name))
  if (missing.length > 0) say(`Not switched on at the service, left out: ${missing.join(', ')}`)
  return providers.filter(isOffered)
}

/**
 * The past of twenty people takes some providers minutes, by what they take in one. As if they had granted the
 * application more; limits that somebody has set stay.
 */
async function liftLimits(simulator: string): Promise<void> {
  const address = `${simulator}/_control/settings`
  const settings = await read<Record<string, { limits: number[] | null }>>(await fetch(address))
  for (const [provider, { limits }] of Object.entries(settings)) {
    if (limits !== null) continue
    const body = JSON.stringify({ provider, limits: UNLIMITED })
    await read(await fetch(address, { method: 'POST', body }))
  }
}

/** Enters the service's addresses where people do that in a provider's dashboard; the others refuse. */
async function enterAddresses(service: string, simulator: string, providers: readonly string[]): Promise<void> {
  const address = `${simulator}/_control/subscriptions`
  const entered = await read<{ provider: string; url: string }[]>(await fetch(address))
  for (const provider of providers) {
    const url = `${service}/api/v1/providers/${provider}/webhooks`
    if (entered.some((one) => one.provider === provider && one.url.startsWith(url))) continue
    const body = JSON.stringify({ provider, url, with_secret: true })
    const answer = await fetch(address, { method: 'POST', body })
    if (answer.status !== 400) await read(answer)
  }
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function lastDays(): string {
  const date = (ms: number) => new Date(ms).toISOString().slice(0, 10)
  return `start_date=${date(Date.now() - 14 * 86_400_000)}&end_date=${date(Date.now() + 86_400_000)}`
}

function openApi({ service, key }: ConnectOptions): Api {
  return async (method, path, body) => {
    const headers = { 'X-Service-API-Key': key, ...(body && { 'Content-Type': 'application/json' }) }
    const answer = await fetch(`${service}/api/v1${path}`, {
      ...{ method, headers },
      ...(body && { body: JSON.stringify(body) }),
    })
    return read(answer)
  }
}

async function read<T>(answer: Response): Promise<T> {
  const text = await answer.text()
  if (!answer.ok) throw new Refused(answer.status, text)
  return JSON.parse(text) as T
}

/** The user of an earlier run, or a new one. */
async function userOf(api: Api, person: Person, externalId: string): Promise<string> {
  const { first_name, last_name } = person
  const found = await api<{ items: { id: string }[] }>(
    'GET',
    `/users?external_user_id=${encodeURIComponent(externalId)}`,
  )
  const [user = await api<{ id: string }>('POST', '/users', { first_name, last_name, external_user_id: externalId })] =
    found.items
  return user.id
}

interface Wanted {
  readonly person: string
  readonly userId: string
  readonly provider: string
}

/** Connects, or synchronises again; answers what came of it. */
async function connected(historyDays: number, api: Api, wanted: Wanted): Promise<string> {
  const { userId, provider } = wanted
  const connections = await api<{ provider: string; status: string }[]>('GET', `/users/${userId}/connections`)
  const before = new Set((await runsOf(api, wanted)).map(({ run_id }) => run_id))
  const again = connections.some((one) => one.provider === provider && one.status === 'active')
  if (again) {
    const answer = await api('POST', `/providers/${provider}/users/${userId}/sync`).catch((error) => {
      if (error instanceof Refused && (error.status === 429 || error.status === 400)) return error
      throw error
    })
    // What cannot be synchronised sends its data by itself.
    if (answer instanceof Refused)
      return answer.status === 400 ? 'connected before' : 'connected before, synchronised a moment ago'
  } else {
    await consent(api, wanted)
    if (!(await waitFor(api, wanted, before, { patienceMs: BEGIN_MS, done: () => true })))
      await api('POST', `/providers/${provider}/users/${userId}/sync/historical?days=${historyDays}`)
  }
  const isUnderWay = ({ status, source }: Run) => status === 'in_progress' && source === 'backfill'
  const done = (runs: readonly Run[]) => runs.every((run) => run.status !== 'in_progress' || isUnderWay(run))
  const runs = await waitFor(api, wanted, before, { patienceMs: PATIENCE_MS, done })
  if (!runs) throw new Error('the data did not arrive in time')
  const bad = runs.find((run) => !isUnderWay(run) && run.status !== 'success' && run.status !== 'skipped')
  if (bad) throw new Error(`${bad.status}: ${bad.error ?? 'no reason given'}`)
  const items = runs.reduce((sum, { items_processed }) => sum + (items_processed ?? 0), 0)
  const coming = runs.some(isUnderWay) ? ', its past comes within minutes' : ''
  return `${again ? 'connected before' : 'connected'}, ${counted(items, 'item')}${coming}`
}

/** Goes where a browser would go, from the link to the callback. */
async function consent(api: Api, { person, userId, provider }: Wanted): Promise<void> {
  const { authorization_url: link } = await api<{ authorization_url: string }>(
    'GET',
    `/oauth/${provider}/authorize?user_id=${userId}`,
  )
  const consentLink = new URL(link)
  consentLink.searchParams.set('auto', person)
  let called = false
  for (let next = await step(consentLink.href); next !== undefined; next = await step(next)) {
    const { pathname, searchParams } = new URL(next)
    if (pathname.endsWith('/oauth/error')) throw new Error(searchParams.get('message') ?? 'the service refused')
    called ||= pathname.endsWith(`/oauth/${provider}/callback`)
  }
  if (!called) throw new Error('the provider did not lead back to the service')
}

/** Where an address leads: undefined when it leads nowhere. */
async function step(link: string): Promise<string | undefined> {
  const answer = await fetch(link, { redirect: 'manual' })
  if (answer.status >= 400) throw new Refused(answer.status, await answer.text())
  await answer.arrayBuffer()
  const location = answer.headers.get('location')
  return location === null ? undefined : new URL(location, link).href
}

async function runsOf(api: Api, { userId, provider }: Wanted): Promise<Run[]> {
  const runs = await api<Run[]>('GET', `/users/${userId}/sync/runs?limit=200`)
  return runs.filter((run) => run.provider === provider)
}

/** Asks for the new runs until they are as wanted; undefined when they are not in time. */
async function waitFor(
  api: Api,
  wanted: Wanted,
  before: ReadonlySet<string>,
  { patienceMs, done }: { patienceMs: number; done(runs: readonly Run[]): boolean },
): Promise<Run[] | undefined> {
  const until = Date.now() + patienceMs
  for (let pause = 30; ; pause = Math.min(pause * 1.5, 1000)) {
    const runs = (await runsOf(api, wanted)).filter(({ run_id }) => !before.has(run_id))
    if (runs.length > 0 && done(runs)) return runs
    if (Date.now() >= until) return undefined
    await delay(pause)
  }
}
