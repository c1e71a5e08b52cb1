import type { Database } from '../db/database.ts'
import { eventBody, type StoredEvent } from './body.ts'

/** Room for bodies that several endpoints are about to get. */
const CACHE_BYTES = 32 * 2 ** 20

/** Bodies of events by the events' ids: rendered once, kept while there is room. */
export interface Bodies {
  /** Renders an event that was read already. */
  add(eventId: number, event: StoredEvent): void
  /** The body of an event, read when it is not there; undefined when the event is gone. */
  of(eventId: number): Promise<Buffer | undefined>
}

/** Opens the bodies of one process. */
export function openBodies(db: Database): Bodies {
  // A Map keeps the order of insertion: the first is the one that was used longest ago.
  const kept = new Map<number, Buffer>()
  const loading = new Map<number, Promise<Buffer | undefined>>()
  let bytes = 0
  function keep(eventId: number, body: Buffer): Buffer {
    kept.set(eventId, body)
    bytes += body.length
    for (const [oldest, { length }] of kept) {
      if (bytes <= CACHE_BYTES) break
      kept.delete(oldest)
      bytes -= length
    }
    return body
  }
  async function load(eventId: number): Promise<Buffer | undefined> {
    try {
      const [event] = await db.query<StoredEvent>('select type, user_id, data, packed from event where id = $1', [
        eventId,
      ])
      return event && keep(eventId, eventBody(event))
    } finally {
      loading.delete(eventId)
    }
  }
  return {
    add(eventId, event) {
      if (!kept.has(eventId)) keep(eventId, eventBody(event))
    },
    async of(eventId) {
      const body = kept.get(eventId)
      if (body) {
        kept.delete(eventId)
        kept.set(eventId, body)
        return body
      }
      const loaded = loading.get(eventId) ?? load(eventId)
      loading.set(eventId, loaded)
      return loaded
    },
  }
}
