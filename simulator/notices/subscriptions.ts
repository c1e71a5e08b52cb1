import { randomBytes, randomUUID } from 'node:crypto'

/** Where a provider sends its notices. */
export interface Subscription {
  readonly id: string
  url: string
  /** Whom it is about; null: everybody. */
  readonly person: string | null
  /** Null: all there are. */
  topics: readonly string[] | null
  /** Whether notices name an address to fetch instead of what they are about, where a provider leaves the choice. */
  ping: boolean
  /** Signs the notices, where each subscription has a key of its own. */
  readonly key: string | null
  readonly createdMs: number
  updatedMs: number
  /** Null: never. */
  expiresMs: number | null
  /** Whether notices are sent. */
  active: boolean
  /** Since when nothing was taken, by the clock of data; null: the last notice was. */
  failingSinceMs: number | null
}

/** The subscriptions of the application at one provider. */
export class Subscriptions {
  #list: Subscription[] = []
  #made = 0
  /** Those that get no more notices than they have coming. */
  readonly #closed = new WeakSet<Subscription>()

  /** Those that have not expired. */
  list(nowMs: number): readonly Subscription[] {
    return this.#current(nowMs).filter((one) => !this.#closed.has(one))
  }

  #current(nowMs: number): readonly Subscription[] {
    this.#list = this.#list.filter(({ expiresMs }) => expiresMs === null || expiresMs > nowMs)
    return this.#list
  }

  /** One of them, or one whose last notices are on their way. */
  find(id: string, nowMs: number): Subscription | undefined {
    return this.#current(nowMs).find((one) => one.id === id)
  }

  /** A new one; `id` is a UUID unless numbers are wanted. */
  add(given: Pick<Subscription, 'url' | 'topics'> & Partial<Subscription>, nowMs: number): Subscription {
    const times = { createdMs: nowMs, updatedMs: nowMs, expiresMs: null }
    const one: Subscription = {
      ...{ id: randomUUID(), person: null, key: null, ping: false, ...times, active: true, failingSinceMs: null },
      ...given,
    }
    this.#made++
    this.#list.push(one)
    return one
  }

  /** How many there ever were. */
  get made(): number {
    return this.#made
  }

  /** Ends those about a person, once the notices are sent that are made already. */
  close(person: string): void {
    for (const one of this.#list) if (one.person === person) this.#closed.add(one)
  }

  remove(one: Subscription): void {
    this.#list = this.#list.filter((other) => other !== one)
  }
}

/** A challenge that nobody can guess. */
export function challenge(): string {
  return randomBytes(12).toString('hex')
}

/** Whether notices can be sent to an address at all. */
export function isAddress(url: unknown): url is string {
  return typeof url === 'string' && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
}

/** An address with further parameters; its own stay as they are. */
export function withQuery(url: string, more: Record<string, string>): string {
  const [bare = ''] = url.split('#')
  return `${bare}${bare.includes('?') ? '&' : '?'}${new URLSearchParams(more)}`
}
