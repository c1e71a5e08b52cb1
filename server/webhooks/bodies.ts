import type { Database } from '../db/database.ts'
import { eventBody, type StoredEvent } from './body.ts'

/** Memory for bodies that several endpoints will soon get. */
const CACHE_BYTES = 32 * 2 ** 20

/** An event that this version cannot render, such as samples of a type that only a later version knows. */
export class UnreadableEvent extends Error {}

/** Bodies of events by the events' ids: rendered when first sent, and kept while the cache has space. */
export class Bodies {
  readonly #db: Database
  // A Map keeps the order of insertion: the first is the least recently used.
  readonly #kept = new Map<number, Buffer | StoredEvent>()
  readonly #loading = new Map<number, Promise<Buffer | undefined>>()
  #bytes = 0

  constructor(db: Database) {
    this.#db = db
  }

  /** Whether an event was read and is still cached. */
  has(eventId: number): boolean {
    return this.#kept.has(eventId)
  }

  /** Keeps an event that was already read. */
  add(eventId: number, event: StoredEvent): void {
    if (!this.#kept.has(eventId)) this.#keep(eventId, event)
  }

  /**
   * The body of an event, read from the database if it is not cached; undefined when the event no longer exists. Throws
   * UnreadableEvent, or the database's error.
   */
  async of(eventId: number): Promise<Buffer | undefined> {
    const one = this.#kept.get(eventId)
    if (Buffer.isBuffer(one)) {
      this.#kept.delete(eventId)
      this.#kept.set(eventId, one)
      return one
    }
    if (one) return this.#render(eventId, one)
    const loaded = this.#loading.get(eventId) ?? this.#load(eventId)
    this.#loading.set(eventId, loaded)
    return loaded
  }

  async #load(eventId: number): Promise<Buffer | undefined> {
    try {
      const [event] = await this.#db.query<StoredEvent>(
        'select type, user_id, scope, data, packed from event where id = $1',
        [eventId],
      )
      return event && this.#render(eventId, event)
    } finally {
      this.#loading.delete(eventId)
    }
  }

  #render(eventId: number, event: StoredEvent): Buffer {
    try {
      const body = eventBody(event)
      this.#keep(eventId, body)
      return body
    } catch (cause) {
      throw new UnreadableEvent(`an event called ${event.type} cannot be rendered`, { cause })
    }
  }

  #keep(eventId: number, one: Buffer | StoredEvent): void {
    this.#drop(eventId)
    this.#kept.set(eventId, one)
    this.#bytes += sizeOf(one)
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= CACHE_BYTES) break
      this.#drop(oldest)
    }
  }

  #drop(eventId: number): void {
    const one = this.#kept.get(eventId)
    if (one && this.#kept.delete(eventId)) this.#bytes -= sizeOf(one)
  }
}

const sizeOf = (one: Buffer | StoredEvent) => (Buffer.isBuffer(one) ? one.length : one.data.length)
