import { createHash, hash, randomBytes } from 'node:crypto'
import type { Database } from '../db/database.ts'
import { listen } from '../db/listen.ts'
import type { Logger } from '../log.ts'

/** SHA-256 of a key: what is stored. Keys are 128 random bits or more, so no salt is needed. */
export const hashApiKey = (key: string) => createHash('sha256').update(key).digest()

/** A new key in the format of contract 1.6: `sk-` and 32 hexadecimal digits. */
export const newApiKey = () => `sk-${randomBytes(16).toString('hex')}`

/** The part of a key that lists show. */
export const apiKeyPrefix = (key: string) => key.slice(0, 9)

/** Answers whether a key is known, from memory once it has been seen. */
export interface ApiKeys {
  /** The id of the key, undefined when it is unknown or revoked. */
  find(key: string): Promise<string | undefined>
  /** Clears this process' cache; call it when a key was rotated or deleted. */
  forget(): void
  close(): Promise<void>
}

const FLUSH_INTERVAL_MS = 30_000
/** Limits the effect of a lost notification: a connection that died silently, a pooler in between. */
const REMEMBER_MS = 60_000

/**
 * Caches keys that were found, and clears the cache when PostgreSQL notifies of a change, so that a revoked key stops
 * working in every process at once. Caches nothing while the notification connection is down. Writes the last use of
 * each key back every 30 seconds.
 */
export async function openApiKeys(db: Database, log: Logger): Promise<ApiKeys> {
  const found = new FoundKeys(db)
  const uses = new LastUses(db, log)
  const stopListening = await listen(db, log, {
    channel: 'api_key_changed',
    notified: () => found.forget(),
    opened: () => found.remember(),
    lost: () => found.stopRemembering(),
  })
  const timer = setInterval(() => uses.write(), FLUSH_INTERVAL_MS).unref()
  return {
    async find(key) {
      const id = await found.find(key)
      if (id) uses.note(id)
      return id
    },
    forget: () => found.forget(),
    async close() {
      clearInterval(timer)
      await uses.write()
      await stopListening()
    },
  }
}

/** Keys that were found, cached while notifications of changes arrive. */
class FoundKeys {
  readonly #db: Database
  readonly #known = new Map<string, { id: string; untilMs: number }>()
  #listening = false
  #generation = 0

  constructor(db: Database) {
    this.#db = db
  }

  remember(): void {
    this.#listening = true
  }

  stopRemembering(): void {
    this.#listening = false
    this.forget()
  }

  forget(): void {
    this.#generation += 1
    this.#known.clear()
  }

  async find(key: string): Promise<string | undefined> {
    const name = hash('sha256', key, 'base64')
    const remembered = this.#known.get(name)
    if (remembered && remembered.untilMs > Date.now()) return remembered.id
    const before = this.#generation
    const [row] = await this.#db.query<{ id: string }>('select id from api_key where key_hash = $1', [hashApiKey(key)])
    // A change during the look-up may have been this very key.
    if (row && this.#listening && before === this.#generation)
      this.#known.set(name, { id: row.id, untilMs: Date.now() + REMEMBER_MS })
    return row?.id
  }
}

/** The last use of each key, until it is written. */
class LastUses {
  readonly #db: Database
  readonly #log: Logger
  readonly #usedMs = new Map<string, number>()

  constructor(db: Database, log: Logger) {
    this.#db = db
    this.#log = log
  }

  note(id: string): void {
    this.#usedMs.set(id, Date.now())
  }

  /** Writes the recorded uses; a failure is logged, and those uses are lost. */
  async write(): Promise<void> {
    if (this.#usedMs.size === 0) return
    const entries = [...this.#usedMs]
    this.#usedMs.clear()
    try {
      await this.#db.query(
        `update api_key k
         set last_used_at = greatest(k.last_used_at, to_timestamp(u.used_ms / 1000.0))
         from unnest($1::uuid[], $2::float8[]) u (id, used_ms)
         where k.id = u.id`,
        [entries.map(([id]) => id), entries.map(([, usedMs]) => usedMs)],
      )
    } catch (error) {
      this.#log.warn({ err: error }, 'cannot write the last use of API keys')
    }
  }
}
