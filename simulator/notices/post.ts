import type { Clock } from '../clock.ts'
import type { Fault, Faults } from '../faults.ts'
import { kept } from '../kept.ts'
import type { Played } from '../played.ts'
import { random, shuffled } from '../random.ts'
import type { Person } from '../truth/person.ts'
import type { Bundle, Notice } from './notices.ts'
import { requestText } from './request.ts'
import type { Subscription } from './subscriptions.ts'

/** A notice on its way to a subscription. */
interface Delivery {
  readonly number: number
  /** Names of people, with spaces between them. */
  readonly person: string
  /** Those of a lane follow each other. */
  readonly lane: string
  notice: Notice
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
const KEPT = 50_000
/** What is kept of bodies that were sent, in characters. */
const KEPT_TEXT = 64 * 2 ** 20
/** Requests that are open at the same time, where a provider says nothing else. */
const AT_ONCE = 6
/** Nothing becomes known between whole minutes. */
const MINUTE_MS = 60_000
/** Faults that strike notices; others that a request may meet do not. */
const KINDS: readonly Fault['kind'][] = ['silent', 'duplicate', 'shuffle']

/** What a provider's notices depend on. */
interface Surroundings {
  readonly played: Played
  readonly people: ReadonlyMap<string, Person>
  readonly faults: Faults
  readonly clock: Clock
  /** A number that no notice of any provider has had. */
  readonly number: () => number
}

/** Sends what became known at a provider to those who want to hear it. */
export class Post {
  readonly #played: Played
  readonly #people: ReadonlyMap<string, Person>
  readonly #faults: Faults
  readonly #clock: Clock
  readonly #number: () => number
  readonly #closing = new AbortController()
  #deliveries: Delivery[] = []
  #waiting: Delivery[] = []
  /** What is over and still has its body, oldest first, and how long these bodies are. */
  #over: Delivery[] = []
  #overLength = 0
  /** Up to when notices were made, by the clock of data. */
  #toldMs: number
  /** Until when nothing is sent, and failures one after the other so far. */
  #pausedUntilMs = 0
  #failures = 0
  #address = ''
  #running: Promise<void> | null = null
  #timer: NodeJS.Timeout | undefined

  constructor({ played, people, faults, clock, number }: Surroundings) {
    this.#played = played
    this.#people = people
    this.#faults = faults
    this.#clock = clock
    this.#number = number
    this.#toldMs = clock.data()
    played.grants.ended = ({ person }) => this.#left(person)
  }

  /** Looks several times a second for something to send, until it is closed; `address` is that of the provider. */
  start(address: string): void {
    this.#address = address
    const look = () => {
      if (!this.#running) void this.run()
    }
    this.#timer = setInterval(look, 200).unref()
  }

  close(): void {
    clearInterval(this.#timer)
    this.#closing.abort()
  }

  /** Days that are lived again, since the clock was moved back, are told again. */
  rewind(): void {
    this.#toldMs = Math.min(this.#toldMs, this.#clock.data())
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
    const { subscriptions, provider } = this.#played
    const { notices, settings } = provider
    const told = new Map<string, Notice[]>()
    for (const { person, notice } of notices?.asked?.(this.#clock.data()) ?? [])
      kept(told, person, () => []).push(notice)
    this.#toldMs = Math.max(toMs, fromMs)
    if (notices && toMs > fromMs && subscriptions.list(this.#clock.now()).length > 0)
      for (const { person, scopes } of livePeople(this.#played, this.#people))
        kept(told, person.key, () => []).push(...notices.of({ person, scopes, fromMs, toMs, settings }))
    this.#add(told)
  }

  #left(key: string): void {
    const person = this.#people.get(key)
    const notice = person && this.#played.provider.notices?.left?.(person, this.#clock.data())
    if (notice) this.#add(new Map([[key, [notice]]]))
    const { grants, subscriptions } = this.#played
    if (!grants.live().some((grant) => grant.person === key)) subscriptions.close(key)
  }

  /** Tells what a person allows to be read from now on. */
  changed(person: Person, scopes: readonly string[]): void {
    const notice = this.#played.provider.notices?.changed?.(person, scopes, this.#clock.data())
    if (notice) this.#add(new Map([[person.key, [notice]]]))
  }

  #add(told: ReadonlyMap<string, readonly Notice[]>): void {
    const left = [...told].flatMap(([person, notices]) =>
      this.#struck(person, notices).map((notice) => ({ person, notice })),
    )
    const { provider, subscriptions } = this.#played
    if (provider.notices?.bundled)
      for (const subscription of subscriptions.list(this.#clock.now())) {
        const wanted = left.filter((one) => this.#takers(one.person, one.notice.topic).includes(subscription))
        for (const bundle of provider.notices.bundled(wanted, provider.settings)) this.#deliver(bundle, subscription)
      }
    else
      for (const { person, notice } of left)
        for (const subscription of this.#takers(person, notice.topic))
          this.#deliver({ people: [person], lane: person, notice }, subscription)
    this.#forget()
  }

  /** What is left of notices after the faults that strike them. */
  #struck(person: string, notices: readonly Notice[]): Notice[] {
    const wanted = notices.filter(({ topic }) => this.#takers(person, topic).length > 0)
    const struck = wanted.map((notice) => {
      const path = `/notices/${notice.topic}`
      const faults = this.#faults.strike({ provider: this.#played.provider.name, path, person }, KINDS)
      return { notice, kinds: faults.map(({ kind }) => kind) }
    })
    const told = struck
      .filter(({ kinds }) => !kinds.includes('silent'))
      .flatMap((one) => (one.kinds.includes('duplicate') ? [one, one] : [one]))
    const moved = told.filter(({ kinds }) => kinds.includes('shuffle'))
    const others = shuffled(moved, random(`shuffle/${person}/${this.#toldMs}`))
    return told.map((one) => (one.kinds.includes('shuffle') ? (others.pop() ?? one) : one).notice)
  }

  #takers(about: string, topic: string): Subscription[] {
    const all = this.#played.subscriptions.list(this.#clock.now())
    const theirs = all.filter(({ person }) => person === null || person === about)
    const keeps = this.#played.provider.notices?.keptDays !== undefined
    return theirs.filter(({ active, topics }) => (active || keeps) && topics?.includes(topic) !== false)
  }

  #deliver({ people, lane, notice }: Bundle, subscription: Subscription): void {
    const delivery: Delivery = {
      ...{ number: this.#number(), person: people.join(' '), lane, notice, subscription },
      ...{ dueMs: notice.atMs, firstMs: null, state: 'waiting', text: '', headers: {}, attempts: [] },
    }
    this.#deliveries.push(delivery)
    this.#waiting.push(delivery)
  }

  #forget(): void {
    if (this.#deliveries.length < KEPT * 1.1) return
    const old = this.#deliveries.slice(0, -KEPT).filter(({ state }) => state === 'waiting')
    this.#deliveries = [...old, ...this.#deliveries.slice(-KEPT)]
  }

  /** What has to be sent now, of each lane in the order in which it was made. */
  #due(): Delivery[][] {
    const nowMs = this.#clock.data()
    const groups = new Map<string, Delivery[]>()
    if (nowMs < this.#pausedUntilMs) return []
    for (const delivery of this.#waiting)
      if (delivery.dueMs <= nowMs && !this.#isHeld(delivery, nowMs))
        kept(groups, delivery.lane, () => []).push(delivery)
    return [...groups.values()]
  }

  /** Whether a notice waits for a subscription that gets none for now; too old ones are given up. */
  #isHeld({ notice, subscription }: Delivery, nowMs: number): boolean {
    const { keptDays } = this.#played.provider.notices ?? {}
    return keptDays !== undefined && !subscription.active && nowMs - notice.atMs <= keptDays * 86_400_000
  }

  async #send(groups: Delivery[][]): Promise<void> {
    const left = [...groups]
    const work = async () => {
      for (let group = left.shift(); group; group = left.shift())
        for (const delivery of group)
          if (!this.#closing.signal.aborted && this.#clock.data() >= this.#pausedUntilMs) await this.#try(delivery)
    }
    await Promise.all(Array.from({ length: this.#played.provider.notices?.atOnce ?? AT_ONCE }, work))
    this.#waiting = this.#waiting.filter(({ state }) => state === 'waiting')
  }

  async #try(delivery: Delivery): Promise<void> {
    const { subscription } = delivery
    const { provider, client, subscriptions } = this.#played
    const { notices, settings } = provider
    if (notices && this.#isHeld(delivery, this.#clock.data())) return
    if (!notices || !subscription.active || !subscriptions.find(subscription.id, this.#clock.now())) {
      this.#end(delivery, 'given up')
      return
    }
    const nowMs = this.#clock.now()
    delivery.firstMs ??= nowMs
    delivery.text = this.#textOf(delivery)
    const { topic } = delivery.notice
    delivery.headers = {
      'content-type': 'application/json',
      ...notices.headers({
        ...{ topic, text: delivery.text, subscription, client, settings, nowMs },
        firstMs: delivery.firstMs,
      }),
    }
    const started = performance.now()
    const answer = await requestText(
      subscription.url,
      { method: 'POST', body: delivery.text, headers: delivery.headers },
      { seconds: notices.answerSeconds, closing: this.#closing.signal },
    )
    const ms = Math.round(performance.now() - started)
    delivery.attempts.push({ at: new Date(nowMs).toISOString(), status: answer?.status ?? null, ms })
    this.#judge(delivery, answer?.status ?? null)
  }

  #textOf({ notice, subscription }: Delivery): string {
    const { grants } = this.#played
    const body = notice.body(subscription, {
      ...{ nowMs: this.#clock.data(), address: this.#address },
      remember: (secret) => grants.remember('access', secret, this.#clock.now()),
    })
    return typeof body === 'string' ? body : JSON.stringify(body)
  }

  /** What becomes of a notice and its subscription. */
  #judge(delivery: Delivery, status: number | null): void {
    const { subscription } = delivery
    const { provider, subscriptions } = this.#played
    const { notices, settings } = provider
    if (!notices) return
    const nowMs = this.#clock.data()
    if (status !== null && notices.takes(status)) {
      this.#end(delivery, 'taken')
      subscription.failingSinceMs = null
      this.#failures = 0
      return
    }
    if (status !== null && notices.cancels?.(status)) subscriptions.remove(subscription)
    subscription.failingSinceMs ??= nowMs
    if (notices.breaker && ++this.#failures >= notices.breaker.failures) {
      this.#failures = 0
      this.#pausedUntilMs = nowMs + notices.breaker.seconds * 1000
    }
    const heldAfterMs = (notices.holdDays ?? Number.POSITIVE_INFINITY) * 86_400_000
    if (nowMs - subscription.failingSinceMs >= heldAfterMs) subscription.active = false
    const cancelledMs = (notices.cancelDays ?? Number.POSITIVE_INFINITY) * 86_400_000
    if (nowMs - subscription.failingSinceMs >= cancelledMs) subscriptions.remove(subscription)
    const seconds = notices.retries[delivery.attempts.length - 1]
    if (seconds === undefined) this.#end(delivery, 'given up')
    else delivery.dueMs = nowMs + seconds * 10 * settings.retry_percent
  }

  /** Lets go of what a body was made of, and of the oldest bodies. */
  #end(delivery: Delivery, state: 'taken' | 'given up'): void {
    const { atMs, topic } = delivery.notice
    delivery.state = state
    delivery.notice = { atMs, topic, body: () => delivery.text }
    this.#over.push(delivery)
    this.#overLength += delivery.text.length
    while (this.#overLength > KEPT_TEXT) {
      const oldest = this.#over.shift()
      this.#overLength -= oldest?.text.length ?? 0
      if (oldest) oldest.text = ''
    }
  }

  /** What was made after a number. */
  list(after: number) {
    const provider = this.#played.provider.name
    const wanted = this.#deliveries.filter((one) => one.number > after)
    return wanted.map(({ number, person, notice, subscription, dueMs, state, text, headers, attempts }) => ({
      ...{ number, provider, person, topic: notice.topic, url: subscription.url },
      ...{ happened: new Date(notice.atMs).toISOString(), state },
      ...{ due: state === 'waiting' ? new Date(dueMs).toISOString() : null, body: text, headers, attempts },
    }))
  }

  /** Forgets what is over. */
  clear(): void {
    this.#deliveries = [...this.#waiting]
    this.#over = []
    this.#overLength = 0
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
