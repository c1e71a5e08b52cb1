import type { Database } from '../db/database.ts'
import { eventBody, type StoredEvent } from './body.ts'

/** Room for bodies that several endpoints are about to get. */
const CACHE_BYTES = 32 * 2 ** 20

/** An event that this version cannot render, such as samples of a type that only a later one knows. */
export class UnreadableEvent extends Error {}

/** Bodies of events by the events' ids: rendered when they are first sent, kept while there is room. */
export interface Bodies {
  /** Keeps an event that was read already. */
  add(eventId: number, event: StoredEvent): void
  /**
   * The body of an event, which is read when it is not there; undefined when the event is gone. Throws UnreadableEvent, or
   * what the database does.
   */
  of(eventId: number): Promise<Buffer | undefined>
}

/** Opens the bodies of one process. */
export function openBodies(db: Database): Bodies {
  // A Map keeps the order of insertion: the first is the one that was used longest ago.
  const kept = new Map<number, Buffer | StoredEvent>()
  const loading = new Map<number, Promise<Buffer | undefined>>()
  let bytes = 0
  function keep(eventId: number, one: Buffer | StoredEvent): void {
    drop(eventId)
    kept.set(eventId, one)
    bytes += sizeOf(one)
    for (const oldest of kept.keys()) {
      if (bytes <= CACHE_BYTES) break
      drop(oldest)
    }
  }
  function drop(eventId: number): void {
    const one = kept.get(eventId)
    if (one && kept.delete(eventId)) bytes -= sizeOf(one)
  }
  async function load(eventId: number): Promise<Buffer | undefined> {
    try {
      const [event] = await db.query<StoredEvent>('select type, user_id, data, packed from event where id = $1', [
        eventId,
      ])
      return event && render(eventId, event)
    } finally {
      loading.delete(eventId)
    }
  }
  function render(eventId: number, event: StoredEvent): Buffer {
    try {
      const body = eventBody(event)
      keep(eventId, body)
      return body
    } catch (cause) {
      throw new UnreadableEvent(`an event called ${event.type} cannot be rendered`, { cause })
    }
  }
  return {
    add(eventId, event) {
      if (!kept.has(eventId)) keep(eventId, event)
    },
    async of(eventId) {
      const one = kept.get(eventId)
      if (Buffer.isBuffer(one)) {
        kept.delete(eventId)
        kept.set(eventId, one)
        return one
      }
      if (one) return render(eventId, one)
      const loaded = loading.get(eventId) ?? load(eventId)
      loading.set(eventId, loaded)
      return loaded
    },
  }
}

const sizeOf = (one: Buffer | StoredEvent) => (Buffer.isBuffer(one) ? one.length : one.data.length)
