// server/main.ts, telling the test that started it (see service.ts) how long its event loop was blocked.
import { monitorEventLoopDelay } from 'node:perf_hooks'

/** Longer than the sampling interval: a delay is recorded before it is told. */
const SETTLE_MS = 30

const delay = monitorEventLoopDelay({ resolution: 5 })
delay.enable()
process.on('message', (question) => {
  setTimeout(() => {
    process.send?.({ maxMs: delay.max / 1e6 })
    if (question === 'reset') delay.reset()
  }, SETTLE_MS)
})
// The test is gone, and so is the reason to run.
process.on('disconnect', () => process.exit())
await import('../../server/main.ts')
