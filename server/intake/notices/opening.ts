import { listen } from '../../db/listen.ts'
import { dueLanes, type Lane } from './lanes.ts'
import { type Found, laneOf, type OpenMeans, openDue } from './open.ts'

/** How often it is looked for what is due: most is opened as soon as it is received. */
const LOOK_MS = 1_000

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

/** Lanes that are opened beside each other, each by one at a time. */
class Openings {
  readonly #means: OpenMeans
  readonly #isWanted: () => boolean
  /** By provider and kind: a lane keeps how much is opened at once. */
  readonly #lanes = new Map<string, Lane>()
  readonly #running = new Map<Lane, Promise<void>>()

  constructor(means: OpenMeans, isWanted: () => boolean) {
    this.#means = means
    this.#isWanted = isWanted
  }

  /** Begins a lane that is not being opened; `opened` is called in the end if anything was. */
  begin({ provider, kind }: Pick<Lane, 'provider' | 'kind'>, opened: () => void): void {
    const name = `${provider} ${kind}`
    const lane = this.#lanes.get(name) ?? laneOf(provider, kind)
    this.#lanes.set(name, lane)
    if (!this.#running.has(lane)) this.#running.set(lane, this.#open(lane, opened))
  }

  async #open(lane: Lane, opened: () => void): Promise<void> {
    let hasOpened = false
    try {
      hasOpened = await openWhile(this.#means, lane, this.#isWanted)
    } catch (error) {
      this.#means.parts.log.warn({ err: error, provider: lane.provider }, 'notices cannot be opened now')
    } finally {
      this.#running.delete(lane)
    }
    if (hasOpened) opened()
  }

  /** Those under way are stored. */
  async ended(): Promise<void> {
    await Promise.all(this.#running.values())
  }
}

/** Starts opening notices; returns a function that stops it, once those under way are stored. */
export async function startOpening(means: OpenMeans): Promise<() => Promise<void>> {
  const { db, parts } = means
  let looking: Promise<void> | undefined
  let wanted = false
  let stopped = false
  const openings = new Openings(means, () => !stopped)

  async function lookOnce(): Promise<void> {
    // Whatever comes meanwhile may come too late for this look.
    while (wanted && !stopped) {
      wanted = false
      // One provider does not wait for another, and nobody for what takes long to read. What was opened may have kept another
      // lane waiting, and more may have come just now.
      for (const due of await dueLanes(db)) openings.begin(due, look)
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
    await openings.ended()
  }
}
