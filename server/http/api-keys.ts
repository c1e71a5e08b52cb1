import { createHash, randomBytes } from 'node:crypto'
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
  /** Drops what is remembered, in this process; call it when a key was rotated or deleted. */
  forget(): void
  close(): Promise<void>
}

const FLUSH_INTERVAL_MS = 30_000
/** Bounds what a notification that never arrives can cost: a connection that died silently, a pooler in between. */
const REMEMBER_MS = 60_000

/**
 * Remembers keys that were found, and forgets them when PostgreSQL notifies that one changed, so that a
 * revoked key stops working in every process at once. While the notification connection is down nothing
 * is remembered. The last use of each key is written back every 30 seconds.
 */
export async function openApiKeys(db: Database, log: Logger): Promise<ApiKeys> {
  const known = new Map<string, { id: string; untilMs: number }>()
  const used = new Map<string, number>()
  let listening = false
  let generation = 0
  const forget = () => {
    generation += 1
    known.clear()
  }
  const stopListening = await listen(db, log, {
    channel: 'api_key_changed',
    notified: forget,
    opened() {
      listening = true
    },
    lost() {
      listening = false
      forget()
    },
  })

  async function flush(): Promise<void> {
    if (used.size === 0) return
    const entries = [...used]
    used.clear()
    await db.query(
      `update api_key k
       set last_used_at = greatest(k.last_used_at, to_timestamp(u.used_ms / 1000.0))
       from unnest($1::uuid[], $2::float8[]) u (id, used_ms)
       where k.id = u.id`,
      [entries.map(([id]) => id), entries.map(([, usedMs]) => usedMs)],
    )
  }
  const timer = setInterval(() => {
    flush().catch((error) => log.warn({ err: error }, 'cannot write the last use of API keys'))
  }, FLUSH_INTERVAL_MS).unref()

  return {
    async find(key) {
      const hash = hashApiKey(key)
      const name = hash.toString('base64')
      const remembered = known.get(name)
      let id = remembered && remembered.untilMs > Date.now() ? remembered.id : undefined
      if (!id) {
        const before = generation
        const [row] = await db.query<{ id: string }>('select id from api_key where key_hash = $1', [hash])
        id = row?.id
        // A change during the look-up may have been this very key.
        if (id && listening && before === generation) known.set(name, { id, untilMs: Date.now() + REMEMBER_MS })
      }
      if (id) used.set(id, Date.now())
      return id
    },
    forget,
    async close() {
      clearInterval(timer)
      await flush().catch((error) => log.warn({ err: error }, 'cannot write the last use of API keys'))
      await stopListening()
    },
  }
}
