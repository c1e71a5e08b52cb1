import { REJECTIONS_KEPT, type Rejection, type Unstored } from '../server/batch/columns.ts'
import type { RejectedDays, RejectedLocally } from '../server/batch/counted-days.ts'
import { addRejected, addRejectedAt, dayText } from '../server/batch/day-counts.ts'
import { normaliseDeviceString } from '../server/catalogue/devices.ts'
import type { Decode } from './json-bytes.ts'
import { isObject, type Json, type Problem } from './sdk-fields.ts'

/** Kinds of items counted separately; further types are counted together. */
const KINDS_COUNTED = 100

const MAX_TYPE_LENGTH = 100

/** Under which type and day an item counts: its time in epoch ms, and the zone offset of its record, or null. */
export interface Place {
  type: string
  ms: number
  zoneMin: number | null
}

/** The probable meaning of a record type that is not stored. */
type MeantBy = (type: string) => Required<Pick<Unstored, 'likely' | 'known_to'>>

/** A part of an item that cannot be stored, and why. */
interface LeftOut {
  /** Such as `['workouts', 0, 'values', 3, 'unit']`. */
  path: readonly [collection: string, index: number, parts: string, at: number, field: string]
  part: Json
  item: Json
  reason: readonly [type: string, msg: string]
  place: Place | undefined
}

/** The account of the items of an upload or a parcel: every one is received, and stored, ignored or rejected. */
export class Account {
  received = 0
  /** Items of a type that is not stored. */
  ignored = 0
  /** Items whose key another item of the same upload repeated. */
  duplicates = 0
  rejected = 0
  readonly rejections: Rejection[] = []
  readonly rejectedDays: RejectedDays = {}
  readonly rejectedLocally: RejectedLocally = { days: {}, quarters: {} }
  readonly #decode: Decode
  readonly #meantBy: MeantBy
  readonly #unstored = new Map<string, Unstored>()

  constructor(decode: Decode, meantBy: MeantBy) {
    this.#decode = decode
    this.#meantBy = meantBy
  }

  /** Ignored and rejected items, by type and reason. */
  get unstored(): Unstored[] {
    return [...this.#unstored.values()]
  }

  /** An item has a type that is not stored. */
  ignoreItem(collection: string, item: Json): void {
    this.ignoreType(collection, wireType(item))
  }

  /** An item of this type is not stored. */
  ignoreType(collection: string, type: unknown): void {
    this.ignored += 1
    this.#count(collection, type, 'ignored_type')
  }

  /** A whole collection, or all the data, has the wrong shape: it counts as one item. */
  rejectCollection(collection: string, loc: string[], type: string, msg: string): void {
    this.received += 1
    this.#count(collection, null, type)
    this.#reject({ collection, index: null, loc, type, msg }, null)
  }

  /** An item of a collection, by its index, cannot be stored; `place` is undefined when its type or time is unknown. */
  rejectItem(
    [collection, index]: readonly [string, number],
    item: unknown,
    [field, type, msg]: Problem,
    place: Place | undefined,
  ): void {
    if (place) this.#countDay(place, type)
    const known = isObject(item) ? item : {}
    const loc = ['data', collection, index, ...(field ? [field] : [])]
    this.rejectPlace({ collection, index, loc, type, msg }, known.id, wireType(known))
  }

  /** What is at `loc` cannot be stored; `id` and `kind`: the platform's id and name of it, if it has them. */
  rejectPlace(rejection: Omit<Rejection, 'id'>, id: unknown, kind: unknown): void {
    this.#count(rejection.collection, kind, rejection.type)
    this.#reject(rejection, id)
  }

  /**
   * A part of an item cannot be stored, such as a statistic of a workout: it is listed like a rejected item, but counts as
   * none, since the item itself is stored. `place` is absent if the part would not have been a sample.
   */
  leaveOut({ path, part, item, reason: [type, msg], place }: LeftOut): void {
    const [collection, index, parts] = path
    if (place) this.#countDay(place, type)
    this.#count(`${collection}.${parts}`, part.type, type)
    this.#list({ collection, index, loc: ['data', ...path], type, msg }, item.id)
  }

  #count(collection: string, type: unknown, reason: string): void {
    const group = `${collection}\n${reason}\n`
    let key = typeof type === 'string' ? group + type : group
    if (!this.#unstored.has(key) && this.#unstored.size >= KINDS_COUNTED) key = group
    const known = this.#unstored.get(key)
    if (known) {
      known.items += 1
      return
    }
    const shownType = normaliseDeviceString(this.#decode(key.slice(group.length)), MAX_TYPE_LENGTH) || null
    const meant = shownType && collection === 'records' && reason === 'ignored_type' ? this.#meantBy(shownType) : {}
    this.#unstored.set(key, { collection, type: shownType, reason, items: 1, ...meant })
  }

  #countDay(place: Place, reason: string): void {
    addRejected(this.rejectedDays, { type: place.type, day: dayText(place.ms), reason }, 1)
    addRejectedAt(this.rejectedLocally, place, reason)
  }

  #reject(rejection: Omit<Rejection, 'id'>, id: unknown): void {
    this.rejected += 1
    this.#list(rejection, id)
  }

  #list(rejection: Omit<Rejection, 'id'>, id: unknown): void {
    if (this.rejections.length >= REJECTIONS_KEPT) return
    const shownId = typeof id === 'string' ? normaliseDeviceString(this.#decode(id), 100) || null : null
    this.rejections.push({ ...rejection, id: shownId })
  }
}

/** The platform's name of an item; for an interval of sleep, its stage. */
const wireType = (item: Json) => item.type ?? item.stage
