import { errors } from './errors.ts'

/** How much may be held at once, of connections, threads or bytes, and for how long others wait for it. */
export interface GateLimits {
  /** What is wanted too often, in the words of the refusal: `Too many <what> at once`. */
  what: string
  /** What all together may hold. */
  capacity: number
  /** What one key, a caller or a user, may hold of it. */
  perKey: number
  /** How many may wait; 0 = nobody waits. */
  waiting: number
  /** How many of them may wait with the same key, by default half of them. */
  waitingPerKey?: number
  /** Longest time to wait; shorter than the patience of the clients that come here. */
  waitMs: number
  /** What a refusal names as `Retry-After`. */
  retrySeconds: number
}

/** A client that may hang up: a response that is not finished. */
export interface Client {
  destroyed: boolean
  once(event: 'close', listener: () => void): unknown
  off(event: 'close', listener: () => void): unknown
}

/** How a place is taken. */
export interface EnterOptions {
  /** What is taken of the capacity, 1 unless given; at most what one key may hold. */
  weight?: number
  /** Who waits: one that hangs up gives up its place. */
  client?: Client
}

/** Gives back what was taken; further calls do nothing. */
export type Leave = () => void

interface Place {
  key: string
  weight: number
  /** By which those come whose keys hold as much: each of a key comes one turn after its former one. */
  turn: number
  admit(leave: Leave): void
}

/**
 * Lets in as many as there is capacity for, and by turns: next is whose key holds least, then whose turn it is, then who
 * came first. Where one place is all there is, nobody holds any when it becomes free, and a caller who sends a lot would
 * have it again and again.
 */
export class Gate {
  readonly #limits: GateLimits
  readonly #refused: () => void
  /** What is held, by all and by each key that holds anything. */
  #held = 0
  readonly #heldBy = new Map<string, number>()
  /** Who waits, in the order of arrival. */
  readonly #line: Place[] = []
  #takenAt = Number.NEGATIVE_INFINITY
  /** The last one that was let in. */
  #turn = 0

  /** `refused` is called for each refusal. */
  constructor(limits: GateLimits, refused: () => void = () => {}) {
    this.#limits = limits
    this.#refused = refused
  }

  /** Waits for a place. @throws AppError overloaded, client_left */
  async enter(key: string, { weight = 1, client }: EnterOptions = {}): Promise<Leave> {
    if (client?.destroyed) throw errors.clientLeft()
    return this.#line.length === 0 && this.#fits(key, weight)
      ? this.#take(key, weight)
      : this.#wait(key, weight, client)
  }

  /** Does `work` in a place of weight 1. @throws AppError overloaded */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const leave = await this.enter(key)
    try {
      return await work()
    } finally {
      leave()
    }
  }

  /** What is held now. */
  held(): number {
    return this.#held
  }

  /** When a place was last taken, on the clock of `performance.now()`; minus infinity: never. */
  takenAt(): number {
    return this.#takenAt
  }

  /** How many wait. */
  waiting(): number {
    return this.#line.length
  }

  /** Whether anybody with this key holds a place or waits for one. */
  knows(key: string): boolean {
    return this.#heldBy.has(key) || this.#line.some((place) => place.key === key)
  }

  #heldOf(key: string): number {
    return this.#heldBy.get(key) ?? 0
  }

  #fits(key: string, weight: number): boolean {
    const { capacity, perKey } = this.#limits
    return this.#held + weight <= capacity && this.#heldOf(key) + weight <= perKey
  }

  #take(key: string, weight: number): Leave {
    this.#change(key, weight)
    this.#takenAt = performance.now()
    let holding = true
    return () => {
      if (!holding) return
      holding = false
      this.#change(key, -weight)
      this.#admitWaiting()
    }
  }

  #change(key: string, by: number): void {
    this.#held += by
    const now = this.#heldOf(key) + by
    if (now > 0) this.#heldBy.set(key, now)
    else this.#heldBy.delete(key)
  }

  #admitWaiting(): void {
    for (let place = this.#next(); place; place = this.#next()) {
      this.#line.splice(this.#line.indexOf(place), 1)
      this.#turn = Math.max(this.#turn, place.turn)
      place.admit(this.#take(place.key, place.weight))
    }
  }

  /** Nobody overtakes the next one, however little would fit, but those whose key holds all it may do not count. */
  #next(): Place | undefined {
    let best: Place | undefined
    for (const place of this.#line) {
      if (this.#heldOf(place.key) + place.weight > this.#limits.perKey) continue
      if (!best || this.#isBefore(place, best)) best = place
    }
    return best && this.#fits(best.key, best.weight) ? best : undefined
  }

  #isBefore(one: Place, other: Place): boolean {
    const more = this.#heldOf(one.key) - this.#heldOf(other.key)
    return more < 0 || (more === 0 && one.turn < other.turn)
  }

  #turnOf(key: string): number {
    return 1 + (this.#line.findLast((place) => place.key === key)?.turn ?? this.#turn)
  }

  #wait(key: string, weight: number, client: Client | undefined): Promise<Leave> {
    return new Promise((resolve, reject) => {
      const place: Place = {
        key,
        weight,
        turn: this.#turnOf(key),
        admit(leave) {
          stopWaiting()
          resolve(leave)
        },
      }
      const stopWaiting = () => {
        clearTimeout(timer)
        client?.off('close', hangUp)
      }
      const giveUp = (error: Error) => {
        this.#line.splice(this.#line.indexOf(place), 1)
        stopWaiting()
        reject(error)
        // It may have been the one that did not fit.
        this.#admitWaiting()
      }
      const hangUp = () => giveUp(errors.clientLeft())
      const timer = setTimeout(() => giveUp(this.#refusal()), this.#limits.waitMs)
      client?.once('close', hangUp)
      this.#line.push(place)
      this.#admitWaiting()
      if (this.#line.includes(place) && this.#isFull(key)) giveUp(this.#refusal())
    })
  }

  /** Whether more wait than may, the last one of them with this key. */
  #isFull(key: string): boolean {
    const { waiting, waitingPerKey = Math.ceil(waiting / 2) } = this.#limits
    const line = this.#line
    return line.length > waiting || line.filter((place) => place.key === key).length > waitingPerKey
  }

  #refusal(): Error {
    this.#refused()
    const { what, retrySeconds } = this.#limits
    return errors.overloaded(`Too many ${what} at once; please retry.`, retrySeconds)
  }
}
