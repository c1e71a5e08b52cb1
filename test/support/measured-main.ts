// server/main.ts, which reports to the test that started it (see service.ts) how long its event loop was blocked.
import { readFileSync } from 'node:fs'

const TICK_MS = 5
const SPENT = `/proc/self/task/${process.pid}/schedstat`

/** Processor time of this thread in ms, which does not depend on other load; where it is unknown, the clock. */
function spentMs(): number {
  try {
    return Number(readFileSync(SPENT, 'latin1').split(' ', 1)[0]) / 1e6
  } catch {
    return performance.now()
  }
}

let lastMs = spentMs()
let maxMs = 0
/** Everything since the last turn ran without a break, as far as a waiting client could notice. */
const look = () => {
  const nowMs = spentMs()
  maxMs = Math.max(maxMs, nowMs - lastMs)
  lastMs = nowMs
}
setInterval(look, TICK_MS)
process.on('message', (question) => {
  look()
  process.send?.({ maxMs })
  if (question === 'reset') maxMs = 0
})
// The test has ended: stop.
process.on('disconnect', () => process.exit())
await import('../../server/main.ts')
