import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { Logger } from '../../log.ts'

/** How soon to try again to make a user's writers notify, while one of them is running. */
const RETRY_MS = 50

/** Whom to watch, and a callback for when their writers notify. */
interface Watching {
  /** Whether anybody follows a user. */
  wanted(): ReadonlyMap<string, unknown>
  /** Events written before may not have been notified. */
  begun(userId: string): void
  log: Logger
}

/**
 * Makes the writers of followed users, and no others, notify this process: they recognise them by a shared advisory
 * lock per user (sync_event_notify.sql). The listening connection holds the locks.
 */
export class Watches {
  readonly #watching: Watching
  readonly #held = new Set<string>()
  #client: pg.PoolClient | undefined
  #adjusting = false

  constructor(watching: Watching) {
    this.#watching = watching
  }

  /** Starts again on a new connection, or stops without one: the locks were lost with the old connection. */
  use(client: pg.PoolClient | undefined): void {
    this.#client = client
    this.#held.clear()
    void this.adjust()
  }

  /** Takes and gives up locks until they are those of the followed users. */
  async adjust(): Promise<void> {
    if (this.#adjusting) return
    this.#adjusting = true
    try {
      while (this.#client) {
        const wanted = this.#watching.wanted()
        const unneeded = [...this.#held].filter((userId) => !wanted.has(userId))
        const missing = [...wanted.keys()].filter((userId) => !this.#held.has(userId))
        // In the same step as the end, so that no request falls in between.
        if (unneeded.length + missing.length === 0) return
        await this.#exchange(this.#client, unneeded, missing)
      }
    } catch (error) {
      if (this.#client)
        this.#watching.log.warn({ err: error }, 'cannot announce which users are followed, trying again')
    } finally {
      this.#adjusting = false
    }
  }

  async #exchange(client: pg.PoolClient, unneeded: string[], missing: string[]): Promise<void> {
    const gained = await exchange(client, unneeded, missing)
    // The connection was lost meanwhile, and its locks.
    if (client !== this.#client) return
    for (const userId of unneeded) this.#held.delete(userId)
    for (const userId of gained) this.#held.add(userId)
    for (const userId of gained) this.#watching.begun(userId)
    if (gained.length < missing.length) await delay(RETRY_MS)
  }
}

/** Releases and tries to take the locks of users; returns whose it got. It never waits: writers come first. */
async function exchange(client: pg.PoolClient, unneeded: string[], missing: string[]): Promise<string[]> {
  await client.query('select pg_advisory_unlock_shared(sync_watch_key(id)) from unnest($1::uuid[]) id', [unneeded])
  const { rows } = await client.query<{ id: string; held: boolean }>(
    'select id, pg_try_advisory_lock_shared(sync_watch_key(id)) as held from unnest($1::uuid[]) id',
    [missing],
  )
  return rows.filter(({ held }) => held).map(({ id }) => id)
}
