/** Work that is repeated on request, but never runs twice at the same time. */
export interface Coalesced {
  /** Starts the work, or repeats it once if it is running. */
  wake(): void
  /** Lets the running work finish, and starts no more. */
  stop(): Promise<void>
}

/** `failed` gets the error that the work throws; it is retried at the next `wake`. */
export function coalesce(work: () => Promise<void>, failed: (error: unknown) => void): Coalesced {
  let asked = false
  let stopped = false
  let running: Promise<void> | undefined
  async function run(): Promise<void> {
    while (asked && !stopped) {
      asked = false
      try {
        await work()
      } catch (error) {
        if (!stopped) failed(error)
      }
    }
    // In the same step as the last look at `asked`, so that no request falls in between.
    running = undefined
  }
  return {
    wake() {
      asked = true
      if (!stopped) running ??= run()
    },
    async stop() {
      stopped = true
      await running
    },
  }
}
