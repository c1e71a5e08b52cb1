/** How often at most, unless set otherwise. */
const EVERY_MS = 5_000

/** A count that probes and metrics share: at most one every few seconds, never two at once. */
export class LatestCount<T> {
  readonly #read: () => Promise<T>
  readonly #everyMs: number
  #reading: Promise<T | undefined> | undefined
  #countedAt = Number.NEGATIVE_INFINITY
  /** The last one; undefined before the first, and after a failed one. */
  last: T | undefined

  constructor(read: () => Promise<T>, everyMs = EVERY_MS) {
    this.#read = read
    this.#everyMs = everyMs
  }

  count(): Promise<T | undefined> {
    if (!this.#reading || performance.now() - this.#countedAt > this.#everyMs) {
      // Not again until it is over.
      this.#countedAt = Number.POSITIVE_INFINITY
      this.#reading = this.#readOnce()
    }
    return this.#reading
  }

  /** Starts the next count, and returns the last one without waiting. */
  readonly probe = (): T | undefined => {
    void this.count()
    return this.last
  }

  async #readOnce(): Promise<T | undefined> {
    this.last = await this.#read().catch(() => undefined)
    this.#countedAt = performance.now()
    return this.last
  }
}
