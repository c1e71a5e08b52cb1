import { sourceEnd } from './repeated-sources.ts'
import { BACKSLASH, QUOTE } from './scan-bytes.ts'

/** Distinct texts of one kind that are known by their bytes; a body has a handful. */
const MAX_TEXTS = 64

/** Places of a table of strings by hash: a power of two, never more than a quarter full. */
const PLACES = 256

/** Parses JSON between two positions of the body; undefined when it is none. */
export type ParseAt = (start: number, end: number) => unknown

/** The bytes of a body. */
export interface BodyBytes {
  readonly bytes: Uint8Array
  readonly view: DataView
  readonly parse: ParseAt
}

/** Strings that repeat, such as types and units, each known by a number; a string is decoded when it first occurs. */
export class KnownStrings {
  readonly values: string[] = []
  /** Position after the string that was read last. */
  end = 0
  readonly #body: BodyBytes
  readonly #starts: number[] = []
  readonly #lengths: number[] = []
  /** By hash: a number + 1, or 0. */
  readonly #places = new Uint8Array(PLACES)
  #last = 0

  constructor(body: BodyBytes) {
    this.#body = body
  }

  /** The number of the string whose opening quote is at `quote`; -1 when it is none, or one too many. */
  at(quote: number): number {
    const { bytes } = this.#body
    const start = quote + 1
    const length = this.#lengths[this.#last] as number
    if (bytes[start + length] === QUOTE && sameBytes(this.#body, this.#starts[this.#last] as number, start, length)) {
      this.end = start + length + 1
      return this.#last
    }
    let at = start
    let hash = 0
    for (;;) {
      if (at >= bytes.length) return -1
      const byte = bytes[at] as number
      if (byte === QUOTE) break
      if (byte < 0x20) return -1
      // What is escaped is checked when the string is decoded.
      if (byte === BACKSLASH) at += 1
      hash = Math.imul(hash ^ byte, 0x01000193)
      at += 1
    }
    this.end = at + 1
    const number = this.#numberOf(start, at - start, hash ^ (hash >>> 15))
    if (number >= 0) this.#last = number
    return number
  }

  #numberOf(start: number, length: number, hash: number): number {
    for (let place = hash & (PLACES - 1); ; place = (place + 1) & (PLACES - 1)) {
      const number = (this.#places[place] as number) - 1
      if (number < 0) return this.#add(start, length, place)
      if (this.#lengths[number] === length && sameBytes(this.#body, this.#starts[number] as number, start, length))
        return number
    }
  }

  #add(start: number, length: number, place: number): number {
    if (this.values.length === MAX_TEXTS) return -1
    const value = this.#body.parse(start - 1, start + length + 1)
    if (typeof value !== 'string') return -1
    this.#starts.push(start)
    this.#lengths.push(length)
    this.#places[place] = this.values.push(value)
    return this.values.length - 1
  }
}

/** Objects that repeat, such as sources, each known by a number and parsed when it first occurs. */
export class KnownObjects {
  readonly values: Record<string, unknown>[] = []
  readonly #body: BodyBytes
  readonly #starts: number[] = []
  readonly #lengths: number[] = []
  #last = 0

  constructor(body: BodyBytes) {
    this.#body = body
  }

  /** The number of the object that begins at `start`; -1 when it is none, one too many, or too large. */
  at(start: number): number {
    if (!this.#isAt(this.#last, start)) {
      const known = this.#starts.findIndex((_, number) => this.#isAt(number, start))
      this.#last = known < 0 ? this.#add(start) : known
    }
    return this.#last
  }

  /** Position after an object that begins at `start`. */
  endOf(number: number, start: number): number {
    return start + (this.#lengths[number] as number)
  }

  #isAt(number: number, start: number): boolean {
    const length = this.#lengths[number]
    return length !== undefined && sameBytes(this.#body, this.#starts[number] as number, start, length)
  }

  #add(start: number): number {
    const end = this.values.length < MAX_TEXTS ? sourceEnd(this.#body.bytes, start) : -1
    const value = end < 0 ? undefined : this.#body.parse(start, end)
    if (typeof value !== 'object' || value === null) return -1
    this.#starts.push(start)
    this.#lengths.push(end - start)
    return this.values.push(value as Record<string, unknown>) - 1
  }
}

/**
 * Whether bytes are the same as those of a known text, eight at a time. Doubles of different bytes differ, but for the two
 * zeros, whose bytes no JSON has; what is no number only seems to be another text.
 */
function sameBytes({ bytes, view }: BodyBytes, known: number, other: number, length: number): boolean {
  if (other + length > bytes.length) return false
  const doubles = length & ~7
  for (let at = 0; at < doubles; at += 8) if (view.getFloat64(known + at) !== view.getFloat64(other + at)) return false
  for (let at = doubles; at < length; at += 1) if (bytes[known + at] !== bytes[other + at]) return false
  return true
}
