import type { Database } from '../../db/database.ts'
import { listen } from '../../db/listen.ts'
import { IS_LARGE, type Lane, laneOf, type OpenMeans, openDue } from './open.ts'

/** How often it is looked for what is due: most is opened as soon as it is received. */
const LOOK_MS = 1_000

const LANES_SQL = `
  select distinct provider, ${IS_LARGE} as "isLarge" from notification
  where state <> 'malformed' and due_at <= now()
  order by 1, 2`

async function dueLanes(db: Database, known: Map<string, Lane>): Promise<Lane[]> {
  const due = await db.query<Pick<Lane, 'provider' | 'isLarge'>>(LANES_SQL)
  return due.map(({ provider, isLarge }) => {
    const name = `${provider} ${isLarge}`
    const lane = known.get(name) ?? laneOf(provider, isLarge)
    known.set(name, lane)
    return lane
  })
}

/** Starts opening notices; returns a function that stops it, once those under way are stored. */
export async function startOpening(means: OpenMeans): Promise<() => Promise<void>> {
  const { db, parts } = means
  const lanes = new Map<string, Lane>()
  const opening = new Map<Lane, Promise<void>>()
  let looking: Promise<void> | undefined
  let wanted = false
  let stopped = false

  async function openAll(lane: Lane): Promise<void> {
    try {
      while (!stopped && (await openDue(means, lane)));
    } catch (error) {
      parts.log.warn({ err: error, provider: lane.provider }, 'notices cannot be opened now')
    } finally {
      opening.delete(lane)
    }
  }

  async function lookOnce(): Promise<void> {
    // Whatever comes meanwhile may come too late for this look.
    while (wanted && !stopped) {
      wanted = false
      // One provider does not wait for another, and nobody for what takes long to read.
      for (const lane of await dueLanes(db, lanes)) if (!opening.has(lane)) opening.set(lane, openAll(lane))
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
