/** Tokens and budgets go by the machine's clock, data by one that can be moved. */
export class Clock {
  readonly now: () => number
  offsetMs = 0

  constructor(now: () => number) {
    this.now = now
  }

  /** What time it is in people's lives. */
  data(): number {
    return this.now() + this.offsetMs
  }
}
