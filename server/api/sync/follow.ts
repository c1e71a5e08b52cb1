import { Readable } from 'node:stream'

/** Heartbeats that pass before a client that takes nothing is dropped. */
const STALLED_HEARTBEATS = 2

/** Wait after a failed read; the database may be starting. */
const RETRY_MS = 1_000

/** A progress event as text of the stream, with its place in the user's order. */
export interface Told {
  id: number
  text: string
}

interface Source {
  /** Id after which to begin. */
  after: number
  /** The next events in order, as many as make a page; undefined: there is no such user any more. */
  read(after: number): Promise<{ events: Told[]; more: boolean } | undefined>
  onClose(): void
}

/** One client that follows a user. */
export interface Follower {
  stream: Readable
  /** There may be something new. */
  wake(): void
  /** Tells the client that the stream lives; drops one that takes nothing. */
  heartbeat(): void
  end(): void
}

/**
 * The body of one stream (contract 7.5, "SSE wire"). It reads the next page only when the client has taken the last
 * one, so a slow client costs a page of memory, and misses nothing.
 */
export function follow({ after, read, onClose }: Source): Follower {
  let last = after
  let behind = true
  let wanted = false
  let reading = false
  let ended = false
  let stalled = 0

  const stream = new Readable({
    // Nothing is asked for ahead of the client.
    highWaterMark: 0,
    read() {
      wanted = true
      stalled = 0
      void fill()
    },
    destroy(error, callback) {
      ended = true
      onClose()
      callback(error)
    },
  })
  const send = (text: string) => {
    wanted = false
    stream.push(text)
  }
  const end = () => {
    if (ended) return
    ended = true
    // What the client has not taken would keep it open.
    if (wanted) stream.push(null)
    else stream.destroy()
  }

  async function fill(): Promise<void> {
    while (wanted && behind && !reading && !ended) {
      reading = true
      behind = false
      try {
        const page = await read(last)
        if (ended) return
        if (!page) return end()
        behind ||= page.more
        last = page.events.at(-1)?.id ?? last
        if (page.events.length > 0) send(page.events.map(({ text }) => text).join(''))
      } catch {
        // The database has to say no more: whoever asks it for anything else logs why.
        behind = true
        setTimeout(() => void fill(), RETRY_MS).unref()
        return
      } finally {
        reading = false
      }
    }
  }

  send(': connected\n\n')
  return {
    stream,
    wake() {
      behind = true
      void fill()
    },
    heartbeat() {
      if (ended) return
      behind = true
      if (wanted) send(': heartbeat\n\n')
      else if (++stalled >= STALLED_HEARTBEATS) stream.destroy()
    },
    end,
  }
}
