import { listen } from '../../db/listen.ts'
import { dueLanes, type Lane } from './lanes.ts'
import { type Found, laneOf, type OpenMeans, openDue } from './open.ts'

/** How often it is looked for what is due: most is opened as soon as it is received. */
const LOOK_MS = 1_000

/** Returns lanes, the same again for the same one: it keeps how much is opened at once. */
function rememberLanes(): (of: Pick<Lane, 'provider' | 'kind'>) => Lane {
  const lanes = new Map<string, Lane>()
  return ({ provider, kind }) => {
    const name = `${provider} ${kind}`
    const lane = lanes.get(name) ?? laneOf(provider, kind)
    lanes.set(name, lane)
    return lane
  }
}

/** Opens a lane until nothing is due; returns whether anything was opened. */
async function openWhile(means: OpenMeans, lane: Lane, isWanted: () => boolean): Promise<boolean> {
  let found: Found = 'more'
  let hasOpened = false
  while (isWanted() && found === 'more') {
    found = await openDue(means, lane)
    hasOpened ||= found !== 'none'
  }
  return hasOpened
}

/** Starts opening notices; returns a function that stops it, once those under way are stored. */
export async function startOpening(means: OpenMeans): Promise<() => Promise<void>> {
  const { db, parts } = means
  const known = rememberLanes()
  const opening = new Map<Lane, Promise<void>>()
  let looking: Promise<void> | undefined
  let wanted = false
  let stopped = false

  async function openAll(lane: Lane): Promise<void> {
    let hasOpened = false
    try {
      hasOpened = await openWhile(means, lane, () => !stopped)
    } catch (error) {
      parts.log.warn({ err: error, provider: lane.provider }, 'notices cannot be opened now')
    } finally {
      opening.delete(lane)
    }
    // Something may have waited for that in another lane, or have come just now.
    if (hasOpened) look()
  }

  async function lookOnce(): Promise<void> {
    // Whatever comes meanwhile may come too late for this look.
    while (wanted && !stopped) {
      wanted = false
      // One provider does not wait for another, and nobody for what takes long to read.
      for (const due of await dueLanes(db)) {
        const lane = known(due)
        if (!opening.has(lane)) opening.set(lane, openAll(lane))
      }
    }
  }

  function look(): void {
    wanted = !stopped
    looking ??= lookOnce()
      .catch((error) => parts.log.warn({ err: error }, 'cannot look for notices'))
      .finally(() => {
        looking = undefined
        if (wanted) look()
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
