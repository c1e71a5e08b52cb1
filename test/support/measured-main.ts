// server/main.ts, reporting to the test that started it (see service.ts) how long its event loop was busy without a
// pause: by the processor time of its thread where Linux says that, so that other processes do not count.
import { readFileSync } from 'node:fs'

/** How often a free event loop looks. */
const LOOK_MS = 5
/** Longer than that: what is asked about has been seen. */
const SETTLE_MS = 30

/** Time that the main thread has worked, in ms; elsewhere time on the clock. */
function workedMs(): number {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[0]) / 1e6
  } catch {
    return performance.now()
  }
}

let longestMs = 0
let lastMs = workedMs()
setInterval(() => {
  const nowMs = workedMs()
  longestMs = Math.max(longestMs, nowMs - lastMs)
  lastMs = nowMs
}, LOOK_MS)
process.on('message', (question) => {
  setTimeout(() => {
    process.send?.({ maxMs: longestMs })
    if (question === 'reset') longestMs = 0
  }, SETTLE_MS)
})
// The test is gone, and so is the reason to run.
process.on('disconnect', () => process.exit())
await import('../../server/main.ts')
