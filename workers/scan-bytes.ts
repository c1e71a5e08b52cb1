import { instant, ownOffset } from './instants.ts'

// How to read single values of JSON from its bytes, without making strings of them.

export const QUOTE = 0x22
export const COMMA = 0x2c
const DASH = 0x2d
const POINT = 0x2e
const ZERO = 0x30
export const COLON = 0x3a
const T = 0x54
const Z = 0x5a
export const OPEN_LIST = 0x5b
export const BACKSLASH = 0x5c
export const CLOSE_LIST = 0x5d
export const OPEN = 0x7b
export const CLOSE = 0x7d

/** The longest spelling of an instant that is looked at. */
const MAX_INSTANT_BYTES = 40

/** The longest number that is read here. */
const MAX_NUMBER_BYTES = 40

/** Digits of which every integer is exact as a double. */
const EXACT_DIGITS = 15
const POWERS = Array.from({ length: EXACT_DIGITS + 1 }, (_, power) => 10 ** power)

/** Position of the first byte that is no white space. */
export function afterSpace(bytes: Uint8Array, start: number): number {
  let at = start
  for (let byte = bytes[at]; byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09; byte = bytes[at]) at += 1
  return at
}

const isDigit = (byte: number | undefined) => byte !== undefined && byte >= ZERO && byte <= 0x39

/** Two digits as a number, 99 when they are none. */
function twoDigits(bytes: Uint8Array, at: number): number {
  const tens = (bytes[at] as number) - ZERO
  const ones = (bytes[at + 1] as number) - ZERO
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : 99
}

/** Reads numbers; `value` is the last one. */
export class NumberReader {
  value = 0

  /**
   * Position after the number that begins at `start`; -1 when it is none, not finite or very long. Its value is exactly
   * JSON.parse's.
   */
  read(bytes: Uint8Array, start: number): number {
    const isNegative = bytes[start] === DASH
    const first = isNegative ? start + 1 : start
    let at = first
    let digits = 0
    while (isDigit(bytes[at])) digits = digits * 10 + ((bytes[at++] as number) - ZERO)
    const length = at - first
    if (length === 0 || (length > 1 && bytes[first] === ZERO)) return -1
    let decimals = 0
    if (bytes[at] === POINT) {
      const point = at++
      while (isDigit(bytes[at])) digits = digits * 10 + ((bytes[at++] as number) - ZERO)
      decimals = at - point - 1
      if (decimals === 0) return -1
    }
    if (((bytes[at] as number) | 0x20) === 0x65 || length + decimals > EXACT_DIGITS) return this.#long(bytes, start, at)
    // Both exact, so that their quotient is the double next to the number.
    const size = decimals === 0 ? digits : digits / (POWERS[decimals] as number)
    this.value = isNegative ? -size : size
    return at
  }

  /** A number of many digits, or with an exponent, of which the part before `mantissaEnd` was read. */
  #long(bytes: Uint8Array, start: number, mantissaEnd: number): number {
    let at = mantissaEnd
    if (((bytes[at] as number) | 0x20) === 0x65) {
      at += 1
      if (bytes[at] === DASH || bytes[at] === 0x2b) at += 1
      if (!isDigit(bytes[at])) return -1
      while (isDigit(bytes[at])) at += 1
    }
    if (at - start > MAX_NUMBER_BYTES) return -1
    this.value = Number(asciiAt(bytes, start, at))
    return Number.isFinite(this.value) ? at : -1
  }
}

/** Reads instants; the day of the last one is kept, since records come in runs of a day. */
export class InstantReader {
  /** Epoch milliseconds. */
  ms = 0
  /** Whether it says another offset than UTC. */
  hasOffset = false
  #dayMs = 0
  /** The bytes of that day, as numbers. */
  #yyyy = 0
  #mmd = 0
  #d = 0

  /** Position after the string whose opening quote is at `quote`; -1 when it holds no instant that `instant` accepts. */
  read(bytes: Uint8Array, view: DataView, quote: number): number {
    const start = quote + 1
    if (bytes[quote] !== QUOTE || start + MAX_INSTANT_BYTES > bytes.length) return -1
    this.hasOffset = false
    const isUtc = bytes[start + 19] === Z && bytes[start + 20] === QUOTE
    if (!isUtc || bytes[start + 10] !== T || bytes[start + 13] !== COLON || bytes[start + 16] !== COLON)
      return this.#other(bytes, start)
    const hour = twoDigits(bytes, start + 11)
    const minute = twoDigits(bytes, start + 14)
    const second = twoDigits(bytes, start + 17)
    if (hour > 23 || minute > 59 || second > 59 || !this.#day(bytes, view, start)) return -1
    this.ms = this.#dayMs + (hour * 3600 + minute * 60 + second) * 1000
    return start + 21
  }

  #day(bytes: Uint8Array, view: DataView, start: number): boolean {
    const yyyy = view.getUint32(start)
    const mmd = view.getUint32(start + 4)
    const d = view.getUint16(start + 8)
    if (yyyy === this.#yyyy && mmd === this.#mmd && d === this.#d) return true
    const ms = instant(`${asciiAt(bytes, start, start + 10)}T00:00:00Z`)
    if (ms === undefined) return false
    this.#dayMs = ms
    this.#yyyy = yyyy
    this.#mmd = mmd
    this.#d = d
    return true
  }

  /** Any other spelling. */
  #other(bytes: Uint8Array, start: number): number {
    let end = start
    while (end < start + MAX_INSTANT_BYTES && isPlain(bytes[end] as number)) end += 1
    if (bytes[end] !== QUOTE) return -1
    const text = asciiAt(bytes, start, end)
    const ms = instant(text)
    if (ms === undefined) return -1
    this.ms = ms
    this.hasOffset = ownOffset(text) !== null
    return end + 1
  }
}

/** Printable ASCII of which a string of JSON consists as it stands. */
const isPlain = (byte: number) => byte >= 0x20 && byte <= 0x7e && byte !== QUOTE && byte !== BACKSLASH

/** Position of the closing quote of a string of printable ASCII without spaces and escapes; -1 when it is another one. */
export function plainEnd(bytes: Uint8Array, start: number): number {
  let at = start
  for (;;) {
    const byte = bytes[at]
    if (byte === QUOTE) return at
    if (byte === undefined || byte <= 0x20 || byte > 0x7e || byte === BACKSLASH) return -1
    at += 1
  }
}

/** A piece that is ASCII, as text. */
const asciiAt = (bytes: Uint8Array, start: number, end: number) => String.fromCharCode(...bytes.subarray(start, end))

/** A key of an object, with its quotes: 4 to 12 bytes, compared four at a time. */
export class KnownKey {
  readonly length: number
  readonly #first: number
  readonly #middle: number
  readonly #last: number
  /** Where the middle four and the last four begin. */
  readonly #middleAt: number
  readonly #lastAt: number

  constructor(name: string) {
    const key = Buffer.from(`"${name}"`)
    this.length = key.length
    this.#lastAt = key.length - 4
    this.#middleAt = Math.min(4, this.#lastAt)
    this.#first = key.readUInt32BE(0)
    this.#middle = key.readUInt32BE(this.#middleAt)
    this.#last = key.readUInt32BE(this.#lastAt)
  }

  /** Whether it stands at a position. */
  isAt(view: DataView, at: number): boolean {
    return (
      at + this.length <= view.byteLength &&
      view.getUint32(at) === this.#first &&
      view.getUint32(at + this.#lastAt) === this.#last &&
      view.getUint32(at + this.#middleAt) === this.#middle
    )
  }
}

/** Whether these bytes stand at a position. */
export function startsWith(bytes: Uint8Array, text: Uint8Array, at: number): boolean {
  for (let index = 0; index < text.length; index += 1) if (bytes[at + index] !== text[index]) return false
  return true
}

/** Position after the string whose opening quote is at `quote`; -1 when it is none, or one with escapes. */
export function stringEnd(bytes: Uint8Array, quote: number): number {
  if (bytes[quote] !== QUOTE) return -1
  for (let at = quote + 1; ; at += 1) {
    const byte = bytes[at]
    if (byte === QUOTE) return at + 1
    if (byte === undefined || byte < 0x20 || byte === BACKSLASH) return -1
  }
}

const WORDS = ['true', 'false', 'null'].map((word) => Buffer.from(word))

/** Position after a string, a number, a truth value or null; -1 when it is none of these. */
export function scalarEnd(bytes: Uint8Array, start: number, numbers: NumberReader): number {
  if (bytes[start] === QUOTE) return stringEnd(bytes, start)
  const word = WORDS.find((one) => startsWith(bytes, one, start))
  return word ? start + word.length : numbers.read(bytes, start)
}
