import type { Clock } from '../clock.ts'
import type { Fault, Faults } from '../faults.ts'
import type { Played } from '../played.ts'
import { random, shuffled } from '../random.ts'
import type { Person } from '../truth/person.ts'
import type { Notice } from './notices.ts'
import { fetchText } from './request.ts'
import type { Subscription } from './subscriptions.ts'

/** A notice on its way to a subscription. */
interface Delivery {
  readonly number: number
  readonly played: Played
  readonly person: string
  readonly notice: Notice
  readonly subscription: Subscription
  /** By the clock of data. */
  dueMs: number
  /** By the machine's clock, when it was sent first. */
  firstMs: number | null
  state: 'waiting' | 'taken' | 'given up'
  text: string
  headers: Record<string, string>
  readonly attempts: { readonly at: string; readonly status: number | null; readonly ms: number }[]
}

/** What is kept; older deliveries are forgotten once they are over. */
const KEPT = 100_000
/** Requests that are open at the same time; those about one person at one provider follow each other. */
const AT_ONCE = 16
/** Nothing becomes known between whole minutes. */
const MINUTE_MS = 60_000
/** Faults that strike notices; others that a request may meet do not. */
const KINDS: readonly Fault['kind'][] = ['silent', 'duplicate', 'shuffle']

/** Sends what became known to those who want to hear it. */
export class Post {
  readonly #played: readonly Played[]
  readonly #people: ReadonlyMap<string, Person>
  readonly #faults: Faults
  readonly #clock: Clock
  readonly #closing = new AbortController()
  #deliveries: Delivery[] = []
  #waiting: Delivery[] = []
  #last = 0
  /** Up to when notices were made, by the clock of data. */
  #toldMs: number
  #running: Promise<void> | null = null
  #timer: NodeJS.Timeout | undefined

  constructor(played: readonly Played[], people: ReadonlyMap<string, Person>, faults: Faults, clock: Clock) {
    this.#played = played
    this.#people = people
    this.#faults = faults
    this.#clock = clock
    this.#toldMs = clock.data()
    for (const one of played) one.grants.ended = ({ person }) => this.#left(one, person)
  }

  /** Looks several times a second for something to send, until it is closed. */
  start(): void {
    this.#timer = setInterval(() => void this.run(), 200).unref()
  }

  close(): void {
    clearInterval(this.#timer)
    this.#closing.abort()
  }

  /** Makes the notices of the time since it was last called, and sends all that are due. */
  async run(): Promise<void> {
    while (this.#running) await this.#running
    this.#running = this.#run().finally(() => {
      this.#running = null
    })
    await this.#running
  }

  async #run(): Promise<void> {
    this.#make()
    for (let due = this.#due(); due.length > 0 && !this.#closing.signal.aborted; due = this.#due())
      await this.#send(due)
  }

  #make(): void {
    const toMs = Math.floor(this.#clock.data() / MINUTE_MS) * MINUTE_MS
    const fromMs = this.#toldMs
    if (toMs === fromMs) return
    this.#toldMs = toMs
    if (toMs < fromMs) return
    for (const played of this.#played) {
      const { notices, settings } = played.provider
      if (!notices || played.subscriptions.list(this.#clock.now()).length === 0) continue
      for (const { person, scopes } of livePeople(played, this.#people))
        this.#add(played, person.key, notices.of({ person, scopes, fromMs, toMs, settings }))
    }
  }

  #left(played: Played, key: string): void {
    const person = this.#people.get(key)
    const notice = person && played.provider.notices?.left?.(person, this.#clock.data())
    if (notice) this.#add(played, key, [notice])
  }

  #add(played: Played, person: string, notices: readonly Notice[]): void {
    const struck = notices.map((notice) => {
      const path = `/notices/${notice.topic}`
      const faults = this.#faults.strike({ provider: played.provider.name, path, person }, KINDS)
      return { notice, kinds: faults.map(({ kind }) => kind) }
    })
    const told = struck
      .filter(({ kinds }) => !kinds.includes('silent'))
      .flatMap((one) => (one.kinds.includes('duplicate') ? [one, one] : [one]))
    const moved = told.filter(({ kinds }) => kinds.includes('shuffle'))
    const others = shuffled(moved, random(`shuffle/${person}/${this.#last}`))
    const ordered = told.map((one) => (one.kinds.includes('shuffle') ? (others.pop() ?? one) : one))
    for (const { notice } of ordered) this.#address(played, person, notice)
  }

  #address(played: Played, person: string, notice: Notice): void {
    for (const subscription of played.subscriptions.list(this.#clock.now())) {
      if (!subscription.active || subscription.topics?.includes(notice.topic) === false) continue
      const delivery: Delivery = {
        ...{ number: ++this.#last, played, person, notice, subscription, dueMs: notice.atMs, firstMs: null },
        ...{ state: 'waiting', text: '', headers: {}, attempts: [] },
      }
      this.#deliveries.push(delivery)
      this.#waiting.push(delivery)
    }
    if (this.#deliveries.length > KEPT * 1.1)
      this.#deliveries = [
        ...this.#deliveries.slice(0, -KEPT).filter(({ state }) => state === 'waiting'),
        ...this.#deliveries.slice(-KEPT),
      ]
  }

  /** What has to be sent now, of each person at each provider in the order in which it was made. */
  #due(): Delivery[][] {
    const nowMs = this.#clock.data()
    const groups = new Map<string, Delivery[]>()
    for (const delivery of this.#waiting) {
      if (delivery.dueMs > nowMs) continue
      const key = `${delivery.played.provider.name} ${delivery.person}`
      const group = groups.get(key)
      if (group) group.push(delivery)
      else groups.set(key, [delivery])
    }
    return [...groups.values()]
  }

  async #send(groups: Delivery[][]): Promise<void> {
    const left = [...groups]
    const work = async () => {
      for (let group = left.shift(); group; group = left.shift())
        for (const delivery of group) if (!this.#closing.signal.aborted) await this.#try(delivery)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    this.#waiting = this.#waiting.filter(({ state }) => state === 'waiting')
  }

  async #try(delivery: Delivery): Promise<void> {
    const { played, subscription } = delivery
    const { notices, settings } = played.provider
    if (!notices || !subscription.active || !played.subscriptions.find(subscription.id, this.#clock.now())) {
      delivery.state = 'given up'
      return
    }
    const nowMs = this.#clock.now()
    delivery.firstMs ??= nowMs
    delivery.text = JSON.stringify(delivery.notice.body(subscription))
    const { topic } = delivery.notice
    delivery.headers = {
      'content-type': 'application/json',
      ...notices.headers({
        ...{ topic, text: delivery.text, subscription, client: played.client, settings, nowMs },
        firstMs: delivery.firstMs,
      }),
    }
    const started = performance.now()
    const answer = await fetchText(
      subscription.url,
      { method: 'POST', body: delivery.text, headers: delivery.headers },
      { seconds: notices.answerSeconds, closing: this.#closing.signal },
    )
    const ms = Math.round(performance.now() - started)
    delivery.attempts.push({ at: new Date(nowMs).toISOString(), status: answer?.status ?? null, ms })
    this.#judge(delivery, answer?.status ?? null)
  }

  /** What becomes of a notice and its subscription. */
  #judge(delivery: Delivery, status: number | null): void {
    const { played, subscription } = delivery
    const { notices, settings } = played.provider
    if (!notices) return
    const nowMs = this.#clock.data()
    if (status !== null && notices.takes(status)) {
      delivery.state = 'taken'
      subscription.failingSinceMs = null
      return
    }
    if (status !== null && notices.cancels?.(status)) played.subscriptions.remove(subscription)
    subscription.failingSinceMs ??= nowMs
    const heldAfterMs = (notices.holdDays ?? Number.POSITIVE_INFINITY) * 86_400_000
    if (nowMs - subscription.failingSinceMs >= heldAfterMs) subscription.active = false
    const seconds = notices.retries[delivery.attempts.length - 1]
    if (seconds === undefined) delivery.state = 'given up'
    else delivery.dueMs = nowMs + seconds * 10 * settings.retry_percent
  }

  /** Deliveries after a number, of one provider or of all. */
  list(after: number, provider: string | null) {
    const wanted = this.#deliveries.filter(
      (one) => one.number > after && (provider === null || one.played.provider.name === provider),
    )
    return wanted.map(({ number, played, person, notice, subscription, dueMs, state, text, headers, attempts }) => ({
      ...{ number, provider: played.provider.name, person, topic: notice.topic, url: subscription.url },
      ...{ happened: new Date(notice.atMs).toISOString(), state },
      ...{ due: state === 'waiting' ? new Date(dueMs).toISOString() : null, body: text, headers, attempts },
    }))
  }

  /** Forgets what is over; answers nothing. */
  clear(): void {
    this.#deliveries = [...this.#waiting]
  }
}

/** Who has given consent, with what may be read of them. */
function livePeople({ grants, provider }: Played, people: ReadonlyMap<string, Person>) {
  const prefix = provider.oauth.scopePrefix
  const newest = new Map(grants.live().map((grant) => [grant.person, grant]))
  return [...newest.values()].flatMap(({ person: key, scopes }) => {
    const person = people.get(key)
    return person ? [{ person, scopes: new Set(scopes.map((scope) => scope.slice(prefix.length))) }] : []
  })
}
