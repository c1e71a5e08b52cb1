import { normaliseDeviceString } from '../server/catalogue/devices.ts'
import { REJECTIONS_KEPT, type Rejection } from '../server/ingest/columns.ts'
import type { Decode } from './json-bytes.ts'
import type { Problem } from './sdk-fields.ts'

/** What became of the items of an upload: every one is received, and stored, ignored or rejected. */
export class Account {
  received = 0
  /** Items of a type that is not stored. */
  ignored = 0
  /** Items whose key another item of the same upload repeated. */
  duplicates = 0
  rejected = 0
  readonly rejections: Rejection[] = []
  readonly #decode: Decode

  constructor(decode: Decode) {
    this.#decode = decode
  }

  /** A whole collection, or all the data, has the wrong shape: it counts as one item. */
  rejectCollection(collection: string, loc: string[], type: string, msg: string): void {
    this.received += 1
    this.#reject(collection, null, null, loc, type, msg)
  }

  /** An item that was received cannot be stored. */
  rejectItem(collection: string, index: number, id: unknown, [field, type, msg]: Problem): void {
    this.#reject(collection, index, id, ['data', collection, index, ...(field ? [field] : [])], type, msg)
  }

  #reject(
    collection: string,
    index: number | null,
    id: unknown,
    loc: (string | number)[],
    type: string,
    msg: string,
  ): void {
    this.rejected += 1
    if (this.rejections.length >= REJECTIONS_KEPT) return
    const shownId = typeof id === 'string' ? normaliseDeviceString(this.#decode(id), 100) || null : null
    this.rejections.push({ collection, index, id: shownId, loc, type, msg })
  }
}
