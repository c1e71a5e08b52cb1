import { Readable } from 'node:stream'

/** Heartbeats after which a client that reads nothing is dropped. */
const STALLED_HEARTBEATS = 2

/** Wait after a failed read; the database may be starting. */
const RETRY_MS = 1_000

/** A progress event as text of the stream, with its place in the user's order. */
export interface StreamEvent {
  id: number
  text: string
}

interface Source {
  /** Id after which to begin. */
  after: number
  /** The next events in order, at most a page; undefined: the user no longer exists. */
  read(after: number): Promise<{ events: StreamEvent[]; more: boolean } | undefined>
  onClose(): void
}

/**
 * One client that follows a user, and the body of its stream (contract 7.5, "SSE wire"). It reads the next page only
 * when the client has taken the last one, so a slow client costs a page of memory, and misses nothing.
 */
export class Follower {
  readonly stream: Readable
  readonly #source: Source
  #last: number
  #behind = true
  #wanted = false
  #reading = false
  #ended = false
  #stalled = 0

  constructor(source: Source) {
    this.#source = source
    this.#last = source.after
    this.stream = new Readable({
      // Never reads ahead of the client.
      highWaterMark: 0,
      read: () => {
        this.#wanted = true
        this.#stalled = 0
        void this.#fill()
      },
      destroy: (error, callback) => {
        this.#ended = true
        source.onClose()
        callback(error)
      },
    })
    this.#send(': connected\n\n')
  }

  /** There may be new events. */
  wake(): void {
    this.#behind = true
    void this.#fill()
  }

  /** Shows the client that the stream is alive; drops a client that reads nothing. */
  heartbeat(): void {
    if (this.#ended) return
    this.#behind = true
    if (this.#wanted) this.#send(': heartbeat\n\n')
    else if (++this.#stalled >= STALLED_HEARTBEATS) this.stream.destroy()
  }

  end(): void {
    if (this.#ended) return
    this.#ended = true
    // Unread data would keep it open.
    if (this.#wanted) this.stream.push(null)
    else this.stream.destroy()
  }

  #send(text: string): void {
    this.#wanted = false
    this.stream.push(text)
  }

  async #fill(): Promise<void> {
    while (this.#wanted && this.#behind && !this.#reading && !this.#ended) {
      this.#reading = true
      this.#behind = false
      try {
        const page = await this.#source.read(this.#last)
        if (this.#ended) return
        if (!page) return this.end()
        this.#behind ||= page.more
        this.#last = page.events.at(-1)?.id ?? this.#last
        if (page.events.length > 0) this.#send(page.events.map(({ text }) => text).join(''))
      } catch {
        // Not logged here: every other user of the database logs the reason.
        this.#behind = true
        setTimeout(() => void this.#fill(), RETRY_MS).unref()
        return
      } finally {
        this.#reading = false
      }
    }
  }
}
