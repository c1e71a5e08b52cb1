import { createHash } from 'node:crypto'
import type { Queryable } from '../../db/database.ts'
import { LARGE_NOTICE_BYTES, type NoticeBodies } from './bodies.ts'

// Notices are stored as they came, and answered once they are: what is in them is looked at later. Those that arrive while
// others are being stored share the next statement.

/** What is stored by one statement at most. */
const ROWS = 200
const BYTES = 8 * 1024 * 1024

/** A notice that was verified. */
export interface ReceivedNotice {
  readonly provider: string
  readonly signed: boolean
  readonly body: Uint8Array
  /** Of the accounts that it is about; none: it is large. */
  readonly slots: readonly number[]
}

interface Waiting {
  readonly notice: ReceivedNotice
  stored(): void
  failed(error: unknown): void
}

/** The way of notices into the database: large ones are stored beside the others, which do not wait for them. */
export class Inbox {
  readonly #small: Line
  readonly #large: Line

  constructor(db: Queryable, bodies: NoticeBodies) {
    this.#small = new Line(db, bodies)
    this.#large = new Line(db, bodies)
  }

  /** Resolves when the notice is stored; rejects when it is not. The caller bounds how many bytes wait here. */
  add(notice: ReceivedNotice): Promise<void> {
    return (notice.body.length > LARGE_NOTICE_BYTES ? this.#large : this.#small).add(notice)
  }
}

/** Notices that are stored in the order of receipt. */
class Line {
  readonly #db: Queryable
  readonly #bodies: NoticeBodies
  readonly #waiting: Waiting[] = []
  #storing = false

  constructor(db: Queryable, bodies: NoticeBodies) {
    this.#db = db
    this.#bodies = bodies
  }

  add(notice: ReceivedNotice): Promise<void> {
    return new Promise((stored, failed) => {
      this.#waiting.push({ notice, stored, failed })
      if (!this.#storing) void this.#store()
    })
  }

  async #store(): Promise<void> {
    this.#storing = true
    try {
      while (this.#waiting.length > 0) await this.#storeSome(this.#some())
    } finally {
      this.#storing = false
    }
  }

  #some(): Waiting[] {
    let [rows, bytes] = [0, 0]
    for (const { notice } of this.#waiting) {
      bytes += notice.body.length
      if (rows > 0 && (rows === ROWS || bytes > BYTES)) break
      rows += 1
    }
    return this.#waiting.splice(0, rows)
  }

  async #storeSome(some: readonly Waiting[]): Promise<void> {
    const notices = some.map(({ notice }) => notice)
    try {
      const ids = await this.#db.query<{ id: number }>('select receive_notices($1, $2, $3, $4, $5, $6, $7) as id', [
        notices.map(({ provider }) => provider),
        notices.map(({ signed }) => signed),
        Buffer.concat(notices.map(({ body }) => createHash('sha256').update(body).digest())),
        notices.map(({ body }) => body.length),
        Buffer.concat(notices.map(({ body }) => body)),
        notices.map(({ slots }) => slots.length),
        notices.flatMap(({ slots }) => slots),
      ])
      // One that waits already is not among them, and it is not said which that is.
      if (ids.length === some.length)
        for (const [at, { id }] of ids.entries()) this.#bodies.put(id, notices[at]?.body ?? new Uint8Array())
      for (const one of some) one.stored()
    } catch (error) {
      for (const one of some) one.failed(error)
    }
  }
}
