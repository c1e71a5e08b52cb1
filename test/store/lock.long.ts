// Everything that locks a user's data, against everything else, over and over.
import t from 'tap'
import { startTestApp } from '../support/app.ts'
import { createTarget, type LockPath, lockPaths, meetings } from '../support/lock-paths.ts'
import { engines } from '../support/servers.ts'

const SEED = 20_261_122
const ROUNDS = 1

const paths = Object.keys(lockPaths) as LockPath[]
const ON = { outgoingWebhooksEnabled: true, eventFeedEnabled: true }
const [engine] = engines()
if (!engine) throw new Error('no engine')

/** Numbers between 0 and 1, the same in every run (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

t.test('whoever holds a lock of a user gets the later ones, whatever else waits for it', async (t) => {
  t.strictSame(await meetings(await startTestApp(t, engine, ON), paths), [])
})

t.test('no two of them deadlock, whichever begins first', async (t) => {
  const app = await startTestApp(t, engine, ON)
  const random = numbers(SEED)
  const failures: string[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [index, one] of paths.entries()) {
      for (const other of paths.slice(index)) {
        const target = await createTarget(app)
        const pair = random() < 0.5 ? [one, other] : [other, one]
        const delays = [0, Math.floor(random() * 15)]
        const done = pair.map(async (path, place) => {
          await new Promise((resolve) => setTimeout(resolve, delays[place]))
          await lockPaths[path](app, target)
        })
        for (const result of await Promise.allSettled(done))
          if (result.status === 'rejected') failures.push(`${pair.join(', ')}: ${result.reason}`)
      }
    }
  }
  t.strictSame(failures, [])
  const { deadlocks } = await app.db.one<{ deadlocks: number }>(
    'select deadlocks from pg_stat_database where datname = current_database()',
  )
  t.equal(deadlocks, 0)
})
