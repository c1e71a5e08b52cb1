import type pg from 'pg'
import type { Logger } from '../log.ts'
import type { Database } from './database.ts'

const RECONNECT_MS = 1_000

/** Callbacks for the notifications of a channel. */
export interface Subscriber {
  channel: string
  notified(payload: string): void
  /** Listening has begun, at first or again: earlier notifications are unknown. */
  opened(client: pg.PoolClient): void
  /** No notifications arrive until `opened`. */
  lost(): void
}

/**
 * Listens to a channel of PostgreSQL on a separate connection, and again a second after it was lost. Returns a function
 * that stops it. Throws when the first attempt fails.
 */
export async function listen(db: Database, log: Logger, subscriber: Subscriber): Promise<() => Promise<void>> {
  let current: pg.PoolClient | undefined
  let closed = false

  const connectLater = () => {
    if (!closed) setTimeout(() => connect().catch(retry), RECONNECT_MS).unref()
  }
  const retry = (error: unknown) => {
    log.warn({ err: error, channel: subscriber.channel }, 'cannot listen to the database, trying again')
    connectLater()
  }
  async function connect(): Promise<void> {
    if (closed) return
    const client = await db.pool.connect()
    const lost = () => {
      if (client !== current) return
      current = undefined
      client.release(true)
      subscriber.lost()
      connectLater()
    }
    client.on('error', lost)
    client.on('end', lost)
    client.on('notification', ({ payload }) => subscriber.notified(payload ?? ''))
    try {
      await client.query(`set statement_timeout = 0; listen ${subscriber.channel}`)
    } catch (error) {
      client.release(true)
      throw error
    }
    if (closed) return client.release(true)
    current = client
    subscriber.opened(client)
  }
  await connect()

  return async () => {
    closed = true
    const client = current
    current = undefined
    client?.release(true)
  }
}
