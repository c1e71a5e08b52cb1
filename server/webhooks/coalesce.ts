/** Work that is done again whenever somebody asks for it, but never twice at the same time. */
export interface Coalesced {
  /** Has the work done; once more when it is going on. */
  wake(): void
  /** Lets the work that goes on finish, and does no more. */
  stop(): Promise<void>
}

/** `failed` is told what the work throws; it is tried again at the next `wake`. */
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
    // In the same step as the last look at `asked`, so that nobody asks in between.
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
