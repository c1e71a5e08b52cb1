import { listen } from '../../db/listen.ts'
import { type OpenMeans, openDue } from './open.ts'

/** How often it is looked for what is due: most is opened as soon as it is received. */
const LOOK_MS = 1_000

const PROVIDERS_SQL = `
  select distinct provider from notification where state <> 'malformed' and due_at <= now() order by provider`

/** Starts opening notices; returns a function that stops it, once those under way are stored. */
export async function startOpening(means: OpenMeans): Promise<() => Promise<void>> {
  const { db, parts } = means
  const opening = new Map<string, Promise<void>>()
  let looking: Promise<void> | undefined
  let wanted = false
  let stopped = false

  async function openAll(provider: string): Promise<void> {
    try {
      while (!stopped && (await openDue(means, provider)));
    } catch (error) {
      parts.log.warn({ err: error, provider }, 'notices cannot be opened now')
    } finally {
      opening.delete(provider)
    }
  }

  async function lookOnce(): Promise<void> {
    // Whatever comes meanwhile may come too late for this look.
    while (wanted && !stopped) {
      wanted = false
      for (const { provider } of await db.query<{ provider: string }>(PROVIDERS_SQL)) {
        // One provider does not wait for another.
        if (!opening.has(provider)) opening.set(provider, openAll(provider))
      }
    }
  }

  function look(): void {
    wanted = true
    looking ??= lookOnce()
      .catch((error) => parts.log.warn({ err: error }, 'cannot look for notices'))
      .finally(() => {
        looking = undefined
      })
  }

  const timer = setInterval(look, LOOK_MS)
  const stopListening = await listen(db, parts.log, {
    ...{ channel: 'notification', notified: look, opened: look, lost() {} },
  }).catch(() => async () => {})
  return async () => {
    stopped = true
    clearInterval(timer)
    await stopListening()
    await looking
    await Promise.all(opening.values())
  }
}
