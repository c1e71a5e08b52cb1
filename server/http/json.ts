import type { Issue } from '../errors.ts'

/** Deepest nesting of arrays and objects that is accepted (contract 1.1). */
export const MAX_JSON_DEPTH = 32

/**
 * Most arrays and objects in one text. Each costs some 60 bytes of heap, however short: 32 MiB of `[[[{}]]],` exceeded
 * the memory of a thread, which ended the process. A body full of records has a tenth of this.
 */
export const MAX_JSON_CONTAINERS = 1_000_000

const QUOTE = 0x22
const BACKSLASH = 0x5c

/**
 * Depth of the deepest array or object in JSON text, without building it; stops counting above `limit`, and counts
 * text of more than MAX_JSON_CONTAINERS arrays and objects as infinitely deep; `taken` of them are no longer in it.
 * Works on UTF-8 bytes: no multi-byte sequence contains an ASCII byte. Two tight loops, since most bytes are in strings.
 */
export function jsonDepth(bytes: Uint8Array, limit = MAX_JSON_DEPTH, taken = 0): number {
  const end = bytes.length
  let depth = 0
  let deepest = 0
  let containers = taken
  for (let index = 0; index < end; index += 1) {
    const byte = bytes[index] as number
    if (byte === QUOTE) {
      index += 1
      while (index < end && bytes[index] !== QUOTE) index += bytes[index] === BACKSLASH ? 2 : 1
    } else if (byte > 0x5a) {
      // Setting bit 5 makes { of [ and } of ].
      const bracket = byte | 0x20
      if (bracket === 0x7b) {
        depth += 1
        containers += 1
        if (depth > deepest) {
          deepest = depth
          if (deepest > limit) return deepest
        }
      } else if (bracket === 0x7d) depth -= 1
    }
  }
  return containers > MAX_JSON_CONTAINERS ? Number.POSITIVE_INFINITY : deepest
}

/** The error of malformed or too deep JSON text, as an issue of contract 1.8. */
export function jsonProblem(text: string): Issue {
  const [position, error] = jsonFailure(text)
  return { type: 'json_invalid', loc: ['body', position], msg: 'JSON decode error', input: {}, ctx: { error } }
}

function jsonFailure(text: string): [position: number, error: string] {
  if (jsonDepth(Buffer.from(text)) > MAX_JSON_DEPTH) return [0, `nested deeper than ${MAX_JSON_DEPTH} levels`]
  const message = parseMessage(text)
  const position = Number(/at position (\d+)/.exec(message)?.[1] ?? 0)
  if (/end of JSON|Unterminated/.test(message) || position === text.length)
    return [text.length, 'Unexpected end of data']
  return [message.startsWith(UNEXPECTED) ? unexpectedAt(text) : position, 'Expecting value']
}

/** V8's error for a character that cannot start a value, the only one without a position. */
const UNEXPECTED = 'Unexpected token'
/** Longest text in which that character is searched. */
const MAX_SEARCHED_LENGTH = 65_536

function parseMessage(text: string): string {
  try {
    JSON.parse(text)
    return ''
  } catch (error) {
    return error instanceof Error ? error.message : ''
  }
}

/** The text before the character fails differently, or not at all; with the character it fails like the whole. */
function unexpectedAt(text: string): number {
  if (text.length > MAX_SEARCHED_LENGTH) return 0
  let [low, high] = [0, text.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (parseMessage(text.slice(0, middle + 1)).startsWith(UNEXPECTED)) high = middle
    else low = middle + 1
  }
  return low
}
