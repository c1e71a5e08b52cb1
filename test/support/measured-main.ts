// server/main.ts, telling the test that started it (see service.ts) how long its event loop was blocked.
import { readFileSync } from 'node:fs'

const TICK_MS = 5
const SPENT = `/proc/self/task/${process.pid}/schedstat`

/** Processor time of this thread in ms, of which a busy machine takes nothing away; where it is not known, the clock. */
function spentMs(): number {
  try {
    return Number(readFileSync(SPENT, 'latin1').split(' ', 1)[0]) / 1e6
  } catch {
    return performance.now()
  }
}

let lastMs = spentMs()
let maxMs = 0
/** What was done since the last turn was done at one go, for as far as anybody who waited could tell. */
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
// The test is gone, and so is the reason to run.
process.on('disconnect', () => process.exit())
await import('../../server/main.ts')
