/** A process that ended is replaced after a second, and after twice as long each time that others end soon. */
const AGAIN_MS = 1_000
const LONGEST_MS = 30_000
/** A process that lived as long did not end because of how it starts. */
const SETTLED_MS = 60_000

/** How long it is waited before processes that ended are replaced. */
export class BackOff {
  #waitMs = AGAIN_MS

  /** The wait for the next one, after one that lived so long. */
  afterMs(livedMs: number): number {
    if (livedMs >= SETTLED_MS) this.#waitMs = AGAIN_MS
    const waitMs = this.#waitMs
    this.#waitMs = Math.min(LONGEST_MS, waitMs * 2)
    return waitMs
  }
}
