import { errors } from './errors.ts'

/** How much may be held at once, of connections, threads or bytes, and for how long others wait for it. */
export interface GateLimits {
  /** What is wanted too often, in the words of the refusal: `Too many <what> at once`. */
  what: string
  /** What all together may hold. */
  capacity: number
  /** What one key, a caller or a user, may hold of it. */
  perKey: number
  /** How many may wait, at most half of them with the same key; 0 = nobody waits. */
  waiting: number
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

interface EnterOptions {
  /** What is taken of the capacity, 1 unless given; at most what one key may hold. */
  weight?: number
  /** Who waits: one that hangs up gives up its place. */
  client?: Client
}

/** Gives back what was taken; further calls do nothing. */
export type Leave = () => void

/** Lets in as many as there is capacity for, and by turns: next is whose key holds least, then who came first. */
export interface Gate {
  /** Waits for a place. @throws AppError overloaded, client_left */
  enter(key: string, options?: EnterOptions): Promise<Leave>
  /** Does `work` in a place of weight 1. @throws AppError overloaded */
  run<T>(key: string, work: () => Promise<T>): Promise<T>
  /** What is held now. */
  held(): number
  /** How many wait. */
  waiting(): number
}

interface Place {
  key: string
  weight: number
  admit(leave: Leave): void
}

/** Builds a gate; `refused` is called for each refusal. */
export function createGate(limits: GateLimits, refused: () => void = () => {}): Gate {
  const { what, capacity, perKey, waitMs, retrySeconds } = limits
  let held = 0
  const heldBy = new Map<string, number>()
  const line: Place[] = []

  const heldOf = (key: string) => heldBy.get(key) ?? 0
  const fits = (key: string, weight: number) => held + weight <= capacity && heldOf(key) + weight <= perKey

  function change(key: string, by: number): void {
    held += by
    const now = heldOf(key) + by
    if (now > 0) heldBy.set(key, now)
    else heldBy.delete(key)
  }

  function take(key: string, weight: number): Leave {
    change(key, weight)
    let holding = true
    return () => {
      if (!holding) return
      holding = false
      change(key, -weight)
      admitWaiting()
    }
  }

  /** Nobody overtakes the next one, however little would fit, but those whose key holds all it may do not count. */
  function next(): Place | undefined {
    let best: Place | undefined
    for (const place of line) {
      if (heldOf(place.key) + place.weight > perKey) continue
      if (!best || heldOf(place.key) < heldOf(best.key)) best = place
    }
    return best && fits(best.key, best.weight) ? best : undefined
  }

  function admitWaiting(): void {
    for (let place = next(); place; place = next()) {
      line.splice(line.indexOf(place), 1)
      place.admit(take(place.key, place.weight))
    }
  }

  const isFull = (key: string) =>
    line.length > limits.waiting || line.filter((place) => place.key === key).length > Math.ceil(limits.waiting / 2)

  function refusal(): Error {
    refused()
    return errors.overloaded(`Too many ${what} at once; please retry.`, retrySeconds)
  }

  function wait(key: string, weight: number, client: Client | undefined): Promise<Leave> {
    return new Promise((resolve, reject) => {
      const place: Place = {
        key,
        weight,
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
        line.splice(line.indexOf(place), 1)
        stopWaiting()
        reject(error)
        // It may have been the one that did not fit.
        admitWaiting()
      }
      const hangUp = () => giveUp(errors.clientLeft())
      const timer = setTimeout(() => giveUp(refusal()), waitMs)
      client?.once('close', hangUp)
      line.push(place)
      admitWaiting()
      if (line.includes(place) && isFull(key)) giveUp(refusal())
    })
  }

  const gate: Gate = {
    async enter(key, { weight = 1, client } = {}) {
      if (client?.destroyed) throw errors.clientLeft()
      return line.length === 0 && fits(key, weight) ? take(key, weight) : wait(key, weight, client)
    },
    async run(key, work) {
      const leave = await gate.enter(key)
      try {
        return await work()
      } finally {
        leave()
      }
    },
    held: () => held,
    waiting: () => line.length,
  }
  return gate
}
