import { createHash } from 'node:crypto'
import type { Queryable } from '../../db/database.ts'

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
}

interface Waiting {
  readonly notice: ReceivedNotice
  stored(): void
  failed(error: unknown): void
}

/** The way of notices into the database. */
export class Inbox {
  readonly #db: Queryable
  readonly #waiting: Waiting[] = []
  #storing = false

  constructor(db: Queryable) {
    this.#db = db
  }

  /** Resolves when the notice is stored; rejects when it is not. The caller bounds how many bytes wait here. */
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
      await this.#db.query('select receive_notices($1, $2, $3, $4)', [
        notices.map(({ provider }) => provider),
        notices.map(({ signed }) => signed),
        notices.map(({ body }) => createHash('sha256').update(body).digest()),
        notices.map(({ body }) => Buffer.from(body.buffer, body.byteOffset, body.byteLength)),
      ])
      for (const one of some) one.stored()
    } catch (error) {
      for (const one of some) one.failed(error)
    }
  }
}
