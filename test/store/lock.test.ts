// One order of locks (server/store/lock.ts): whoever holds a lock may take every later one, whatever else is going on.
import t from 'tap'
import { startTestApp } from '../support/app.ts'
import { type LockPath, meetings } from '../support/lock-paths.ts'
import { engines } from '../support/servers.ts'

/** Those that wait while they hold something; lock.long.ts has all of them. */
const WAITING: readonly LockPath[] = [
  'delete the user',
  'disconnect a provider',
  'disconnect one whose first upload waits',
  "delete a provider's data",
  'import uploads',
  'set an upload aside',
  'close silent runs',
  'forget bodies',
  'give an endpoint a user',
]

t.test('whoever holds a lock of a user gets the later ones, whatever else waits for it', async (t) => {
  // Locks are the same on every engine.
  const [engine] = engines()
  if (!engine) throw new Error('no engine')
  const app = await startTestApp(t, engine, { outgoingWebhooksEnabled: true, eventFeedEnabled: true })
  t.strictSame(await meetings(app, WAITING), [])
})
