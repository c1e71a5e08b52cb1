import { jsonDepth, MAX_JSON_DEPTH } from '../server/http/json.ts'

/** A number as JSON writes it, or a string, so that digits within one are no number. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs

/** Digits of the smallest integer beyond 2^53. */
const DIGITS = 16

/**
 * Parses the JSON of a provider from its UTF-8 bytes. Integers that a double cannot hold (beyond 2^53: identifiers of 64
 * bits) become text, digit by digit.
 */
export function parseExactJson(bytes: Uint8Array): { readonly value: unknown } | 'not_json' | 'too_deep' {
  if (jsonDepth(bytes) > MAX_JSON_DEPTH) return 'too_deep'
  try {
    const text = new TextDecoder().decode(bytes)
    return { value: JSON.parse(hasManyDigits(bytes) ? text.replace(TOKENS, exact) : text) }
  } catch {
    return 'not_json'
  }
}

/** Whether so many digits follow each other, not of a fraction, that they may be such an integer; looks at every 16th byte. */
function hasManyDigits(bytes: Uint8Array): boolean {
  for (let at = DIGITS - 1; at < bytes.length; at += DIGITS) {
    let first = at
    while (isDigit(bytes[first])) first -= 1
    let end = first + 1
    while (isDigit(bytes[end])) end += 1
    if (end - first > DIGITS && bytes[first] !== POINT) return true
  }
  return false
}

const POINT = 0x2e
const isDigit = (byte: number | undefined) => byte !== undefined && byte >= 0x30 && byte <= 0x39

function exact(token: string): string {
  return /^-?[1-9]\d{15,}$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${token}"` : token
}
