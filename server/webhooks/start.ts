import type { Database } from '../db/database.ts'
import { listen } from '../db/listen.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { Vault } from '../vault.ts'
import { createGuard, type GuardSettings } from './address-guard.ts'
import { coalesce } from './coalesce.ts'
import { fanOut } from './fan-out.ts'
import { startLanes } from './lanes.ts'

/** How often to look for due deliveries; new events send a notification. */
const POLL_MS = 1_000

interface WebhooksOptions {
  db: Database
  /** Whether events go to endpoints; otherwise they only get their places in the feed. */
  deliver: boolean
  /** Opens the secrets of endpoints. */
  vault: Vault
  guard: GuardSettings
  /** Id of this process in the list of living ones. */
  processId(): number
  metrics: Metrics
  log: Logger
}

/** Starts to fan out events, and to deliver them; returns a function that stops it. */
export async function startWebhooks(options: WebhooksOptions): Promise<() => Promise<void>> {
  const { db, deliver, log } = options
  const lanes = deliver ? startLanes({ ...options, guard: createGuard(options.guard) }) : undefined
  const fanning = coalesce(
    async () => {
      await fanOut(db, deliver)
    },
    (error) => log.warn({ err: error }, 'cannot fan out events, trying again'),
  )
  const subscribed = [listen(db, log, subscriber('event', fanning.wake))]
  if (lanes) subscribed.push(listen(db, log, subscriber('delivery', lanes.wake)))
  const unsubscribe = await Promise.all(subscribed)
  const poll = setInterval(() => {
    fanning.wake()
    lanes?.wake()
  }, POLL_MS)
  return async () => {
    clearInterval(poll)
    await Promise.all(unsubscribe.map((stop) => stop()))
    await Promise.all([fanning.stop(), lanes?.stop()])
  }
}

const subscriber = (channel: string, wake: () => void) => ({ channel, notified: wake, opened: wake, lost() {} })
